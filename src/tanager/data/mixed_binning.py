"""Bins for numbers of unknown kind: by the classes where they say something, else by what there is.

The MDL method cuts a column where the classes change. It leaves a column whole of which it has too few rows, or which
tells the classes apart only together with others; and it joins values that a column with few of them, such as a
position on a board or a number of children, has for a reason. So here a column with few distinct values keeps them all,
and one that the MDL method leaves whole is cut at quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.binning import Binning, QuantileBinning, distinct_values, midpoints, quantile_cuts
from tanager.data.mdlp import MDLPBinning

_FEW_VALUES = 10
_ROWS_PER_VALUE = 10
_QUANTILES = 4
_GLANCE = 1000  # rows that mostly show that there are many values


BINNINGS = ("auto", "mdlp", "quantile", "none")
"""Words for ways of cutting; with "none" every number is a category."""

_QUANTILE_BINS = 10  # of a column that is cut at quantiles


@dataclass(frozen=True)
class MixedBinning:
    """All values where they are few, else cuts by the MDL method, else quartiles.

    A column has few values if there are at most 10 of them and, on average, at least 10 rows of each. ``mdlp.max_bins``
    limits all bins.

    Examples
    --------
    >>> few, noise = np.tile([1.0, 2.0, 3.0], 40), np.random.default_rng(0).normal(size=120)
    >>> step, y = np.arange(120.0), np.repeat([0, 1], 60)
    >>> [len(cuts) for cuts in MixedBinning(MDLPBinning(y))([few, noise, step], None)]
    [2, 3, 1]
    """

    mdlp: MDLPBinning

    def __call__(
        self, columns: Sequence[NDArray[Any]], sample_weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        """Return the cuts of every column."""
        by_classes = self.mdlp(columns, sample_weight)
        return [self._cuts(*pair, sample_weight) for pair in zip(columns, by_classes, strict=True)]

    def _cuts(
        self, values: NDArray[Any], by_classes: NDArray[np.float64], sample_weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        most = self.mdlp.max_bins or _FEW_VALUES
        used = values if sample_weight is None else values[sample_weight > 0]
        if len(np.unique(used[:_GLANCE])) <= _FEW_VALUES + 1:  # NaN is one
            distinct, weight = distinct_values(values, sample_weight)
            is_few = len(distinct) <= min(_FEW_VALUES, most) and weight.sum() >= _ROWS_PER_VALUE * len(distinct)
            if is_few and len(distinct) > 1:
                return midpoints(distinct[:-1], distinct[1:])
        if len(by_classes):
            return by_classes
        return quantile_cuts(values, sample_weight, min(_QUANTILES, most))


def make_binning(name: str, labels: NDArray[Any], max_bins: int | None, n_threads: int = 1) -> Binning:
    """The way of cutting numeric columns that a word of `BINNINGS` stands for, given the classes of the rows."""
    if name in ("quantile", "none"):
        return QuantileBinning(_QUANTILE_BINS if max_bins is None else max_bins)
    mdlp = MDLPBinning(labels, max_bins=max_bins, n_threads=n_threads)
    return MixedBinning(mdlp) if name == "auto" else mdlp
