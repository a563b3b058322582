"""Cuts of numeric columns by the MDL method of Fayyad and Irani (1993), which the paper discretises with.

A range of N rows with k classes and class entropy E is cut in two where the class information gained is largest, at
the midpoint of neighbouring distinct values, if::

    N gain > log2(N - 1) + log2(3^k - 2) - (k E - k1 E1 - k2 E2)

and then each part in its turn. This is the rule "textbook". The rule "best-passing" was found in the discretised data
that the paper's authors published: where the cut of largest gain fails the test, the cut of largest gain among those
that pass it is taken.

The MDL method leaves a column whole of which it has too few rows, or which tells the classes apart only together with
others; and it joins values that a column with few of them, such as a position on a board or a number of children, has
for a reason. So the default, `MixedBinning`, keeps all values where they are few, and cuts at quantiles what the method
leaves whole.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager.data.binning import (
    Binning,
    FineBinning,
    QuantileBinning,
    check_max_bins,
    check_sample_weight,
    distinct_values,
    midpoints,
    quantile_cuts,
)

Rule = Literal["textbook", "best-passing"]

_RULES = ("textbook", "best-passing")
# Weights are whole numbers below 2^52, so that float64 computes with them without loss.
_BITS = 52
# Integer classes up to here are used as they are.
_LARGEST_CLASS = 255


@dataclass(frozen=True, eq=False)
class MDLPBinning:
    """Cuts by the MDL method, for `FrameEncoder.fit` (see `mdlp_column_cuts`)."""

    y: NDArray[Any]
    rule: Rule = "textbook"
    max_bins: int | None = None
    n_threads: int = 1

    def __call__(
        self, columns: Sequence[NDArray[Any]], sample_weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        """Return the cuts of every column."""
        return mdlp_column_cuts(columns, self.y, sample_weight, self.rule, self.max_bins, self.n_threads)


def mdlp_cuts(
    values: NDArray[Any],
    y: NDArray[Any],
    sample_weight: NDArray[np.float64] | None = None,
    rule: Rule = "textbook",
    max_bins: int | None = None,
) -> NDArray[np.float64]:
    """Cut one numeric column; see `mdlp_column_cuts`.

    Examples
    --------
    >>> import numpy as np
    >>> values, y = np.arange(100), np.repeat([0, 1, 0], [40, 20, 40])
    >>> mdlp_cuts(values, y)
    array([39.5, 59.5])
    """
    return mdlp_column_cuts([values], y, sample_weight, rule, max_bins)[0]


def mdlp_column_cuts(
    columns: Sequence[NDArray[Any]],
    y: NDArray[Any],
    sample_weight: NDArray[np.float64] | None = None,
    rule: Rule = "textbook",
    max_bins: int | None = None,
    n_threads: int = 1,
) -> list[NDArray[np.float64]]:
    """Cut numeric columns where the classes change.

    The time is O(N log N + N depth) a column, with depth the depth of the tree of cuts.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (N,)
        NaN cells are left out.
    y : ndarray of shape (N,)
        Class labels of any type that sorts.
    sample_weight : ndarray of shape (N,) or None
        A weight counts as a number of rows, also in the MDL test: weights much below one leave too little evidence
        for any cut, and rows that weigh less than two together are never cut.
    rule : {"textbook", "best-passing"}
    max_bins : int or None
        Largest number of bins; cuts are then taken in order of the information they gain.
    n_threads : int
        Threads over columns. The result does not depend on it.

    Returns
    -------
    list of ndarray of float64
        Strictly increasing cuts of each column; the code of x is the number of cuts <= x.
    """
    if rule not in _RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, _RULES))}, got {rule!r}")
    if max_bins is not None:
        check_max_bins(max_bins)
    n_rows = len(y)
    for index, values in enumerate(columns):
        if values.shape != (n_rows,):
            raise ValueError(f"column {index} has shape {values.shape}, but y has {n_rows} rows")
    rows = _prepare_rows(y, check_sample_weight(sample_weight, n_rows))
    most = n_rows + 1  # bins that there can be
    cut = partial(_cut_column, rows, rule == "best-passing", most if max_bins is None else min(max_bins, most))
    if n_threads == 1 or len(columns) <= 1:
        return [cut(values) for values in columns]
    with ThreadPoolExecutor(min(n_threads, len(columns), os.cpu_count() or 1)) as pool:
        return list(pool.map(cut, columns))


def _cut_column(rows: core.ClassedRows, best_passing: bool, max_bins: int, values: NDArray[Any]) -> NDArray[np.float64]:
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    return midpoints(*core.find_gaps(rows, numbers, best_passing, max_bins))


def _prepare_rows(y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> core.ClassedRows:
    """Number the classes, and turn weights into whole numbers of a unit that is a power of two."""
    codes, n_classes = _number_classes(np.asarray(y))
    if sample_weight is None:
        return core.ClassedRows(codes, None, n_classes)
    unit = 1.0
    total = float(np.sum(np.sort(sample_weight)))  # sorted, so that the order of rows cannot change the unit
    if total >= 2.0**_BITS or (sample_weight != np.floor(sample_weight)).any():
        unit = 2.0 ** (math.frexp(total)[1] - _BITS)
    return core.ClassedRows(codes, np.rint(sample_weight / unit).astype(np.int64), n_classes, unit)


def _number_classes(y: NDArray[Any]) -> tuple[NDArray[np.int32], int]:
    """Classes as small non-negative integers, and how many numbers there are; some of them may be unused."""
    if y.dtype.kind in "iu" and y.size and y.min() >= 0 and y.max() <= _LARGEST_CLASS:
        return y.astype(np.int32), int(y.max()) + 1
    classes, codes = np.unique(y, return_inverse=True)
    return codes.astype(np.int32), classes.size


_FEW_VALUES = 10
_ROWS_PER_VALUE = 10
_QUANTILES = 4
_GLANCE = 1000  # rows that mostly show that there are many values


BINNINGS = ("auto", "mdlp", "quantile", "fine", "none")
"""Words for ways of cutting; with "none" every number is a category."""

_QUANTILE_BINS = 10  # of a column that is cut at quantiles
_FINE_BINS, _FINE_VALUES = 64, 256  # of a column; more values than bins where each of them gets one


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


def _both(one: Binning, other: Binning) -> Binning:
    """The cuts of two ways together."""

    def cut(columns: Sequence[NDArray[Any]], sample_weight: NDArray[np.float64] | None) -> list[NDArray[np.float64]]:
        found = zip(one(columns, sample_weight), other(columns, sample_weight), strict=True)
        return [np.union1d(*cuts) for cuts in found]

    return cut


def make_binning(
    name: str, labels: NDArray[Any], max_bins: int | None, n_threads: int = 1, n_rows: float | None = None
) -> Binning:
    """The way of cutting numeric columns that a word of `BINNINGS` stands for, given the classes of the rows.

    "both" has the cuts of "fine" and those of "auto", or the former alone where ``max_bins`` limits them. ``n_rows`` is
    given where values that are cut stand for more rows than there are.
    """
    if name in ("quantile", "none"):
        return QuantileBinning(_QUANTILE_BINS if max_bins is None else max_bins)
    if name == "both" and max_bins is None:
        return _both(*(make_binning(each, labels, max_bins, n_threads, n_rows) for each in ("fine", "auto")))
    if name in ("fine", "both"):
        return FineBinning(_FINE_BINS, n_rows, _FINE_VALUES) if max_bins is None else FineBinning(max_bins, n_rows)
    mdlp = MDLPBinning(labels, max_bins=max_bins, n_threads=n_threads)
    return MixedBinning(mdlp) if name == "auto" else mdlp
