"""Cut points of numeric columns: midpoints between neighbouring distinct values, placed at weighted quantiles.

A value x has the code "number of cuts <= x", so a value on a cut goes up. Cuts depend only on the weight of every
distinct value: a row of weight 3 is three rows, a row of weight 0 is absent, and the order of rows does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_ROWS_PER_VALUE = 10  # amounts in adult gain from bins of their own; frequencies in spambase, with six rows each, lose


class Binning(Protocol):
    """How the cuts of numeric columns are found; called once with all of them."""

    def __call__(
        self, columns: Sequence[NDArray[Any]], sample_weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        """Return the strictly increasing cuts of every column."""


@dataclass(frozen=True)
class QuantileBinning:
    """Cuts at weighted quantiles, at most `max_bins - 1` a column (see `quantile_cuts`)."""

    max_bins: int

    def __call__(
        self, columns: Sequence[NDArray[Any]], sample_weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        """Return the cuts of every column."""
        return [quantile_cuts(values, sample_weight, self.max_bins) for values in columns]


@dataclass(frozen=True)
class FineBinning:
    """Many cuts, half of them at quantiles and half evenly spaced (see `fine_cuts`).

    There are at most about `max_bins` bins, and about twice the root of the number of rows where these are few. A
    column of at most `most_values` distinct values, and no more than that root allows, keeps them all: single amounts,
    years or hours may tell more than their neighbours.
    """

    max_bins: int
    n_rows: float | None = None  # where values stand for more rows than there are
    most_values: int = 0

    def __call__(
        self, columns: Sequence[NDArray[Any]], sample_weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        """Return the cuts of every column."""
        if not columns:
            return []
        most = math.ceil(2 * math.sqrt(self._count_rows(len(columns[0]), sample_weight)))
        max_bins, most_values = min(self.max_bins, most), min(self.most_values, most)
        return [fine_cuts(values, sample_weight, max_bins, most_values) for values in columns]

    def _count_rows(self, n_values: int, sample_weight: NDArray[np.float64] | None) -> float:
        if self.n_rows is not None or sample_weight is None:
            return float(n_values) if self.n_rows is None else self.n_rows
        is_count = bool((sample_weight == np.floor(sample_weight)).all())
        return float(sample_weight.sum() if is_count else np.count_nonzero(sample_weight))


def quantile_cuts(
    values: NDArray[Any], sample_weight: NDArray[np.float64] | None, max_bins: int
) -> NDArray[np.float64]:
    """Cut a numeric column into at most `max_bins` bins of about equal weight.

    With at most `max_bins` distinct values each gets a bin of its own. Otherwise cut k of `max_bins - 1` goes to the
    gap between distinct values whose weight below comes nearest to k / max_bins of the total (the lower gap on a tie),
    and cuts that fall into one gap are one. NaN cells are left out.

    Parameters
    ----------
    values : ndarray of shape (N,)
    sample_weight : ndarray of shape (N,) or None
    max_bins : int, at least 1

    Returns
    -------
    ndarray of float64
        Strictly increasing cuts; none for a constant column.

    Examples
    --------
    >>> import numpy as np
    >>> quantile_cuts(np.array([1, 2, 2, 3]), None, max_bins=4)
    array([1.5, 2.5])
    >>> quantile_cuts(np.arange(100), None, max_bins=4)
    array([24.5, 49.5, 74.5])
    """
    check_max_bins(max_bins)
    distinct, weight = distinct_values(values, sample_weight)
    n_gaps = distinct.size - 1
    if n_gaps < 1 or max_bins == 1:
        return np.empty(0)
    if n_gaps < max_bins:
        return midpoints(distinct[:-1], distinct[1:])
    weight_below = np.cumsum(weight)
    # Both sides are multiplied by max_bins: with whole-number weights every comparison is then exact.
    scaled = weight_below[:-1] * max_bins
    targets = np.arange(1, max_bins) * weight_below[-1]
    upper = np.searchsorted(scaled, targets).clip(max=n_gaps - 1)
    lower = (upper - 1).clip(min=0)
    is_lower_nearer = targets - scaled[lower] <= np.abs(scaled[upper] - targets)
    gaps = np.unique(np.where(is_lower_nearer, lower, upper))
    return midpoints(distinct[gaps], distinct[gaps + 1])


def fine_cuts(
    values: NDArray[Any], sample_weight: NDArray[np.float64] | None, max_bins: int, most_values: int = 0
) -> NDArray[np.float64]:
    """Cut a numeric column into about `max_bins` bins, some of about equal weight and some of equal width.

    With at most `max_bins` distinct values each gets a bin of its own, and so does a value that many rows have. With at
    most `most_values` each gets one if ten rows, on average, have each of those that are not so common.

    Examples
    --------
    >>> fine_cuts(np.array([0.0] * 50 + [1.0, 2.0, 3.0, 4.0, 5.0, 60.0]), None, max_bins=4)
    array([ 0.5,  3.5, 32.5])
    """
    check_max_bins(max_bins)
    distinct, weight = distinct_values(values, sample_weight)
    n_gaps = distinct.size - 1
    if n_gaps < 1 or max_bins == 1:
        return np.empty(0)
    if n_gaps < max_bins:
        return midpoints(distinct[:-1], distinct[1:])
    is_heavy = weight * max_bins > 2 * weight.sum()
    has_rows = weight[~is_heavy].sum() >= _ROWS_PER_VALUE * np.count_nonzero(~is_heavy)
    if n_gaps < most_values and has_rows:
        return midpoints(distinct[:-1], distinct[1:])
    half = max(max_bins // 2, 2)
    light_below = np.cumsum(np.where(is_heavy, 0.0, weight))
    targets = np.arange(1, half) * light_below[-1] / half
    heavy = np.flatnonzero(is_heavy)
    low, high = distinct[0] / 2, distinct[-1] / 2  # halved: a range may be beyond floats
    even = 2 * (low + np.arange(1, half) * ((high - low) / half))
    is_cut = np.zeros(n_gaps + 2, bool)  # with room for those before the first and behind the last value
    for gaps in (light_below.searchsorted(targets), heavy - 1, heavy, distinct.searchsorted(even) - 1):
        is_cut[gaps + 1] = True
    gaps = np.flatnonzero(is_cut[1:-1])
    return midpoints(distinct[gaps], distinct[gaps + 1])


def distinct_values(
    values: NDArray[Any], sample_weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sorted distinct values with their total weights; NaN and zero weights are left out, infinities are an error."""
    numbers = np.asarray(values, dtype=np.float64)
    is_used = ~np.isnan(numbers)
    if sample_weight is not None:
        is_used &= sample_weight > 0
    if np.isinf(numbers[is_used]).any():
        raise ValueError("values must be finite or NaN, but some are infinite (inf)")
    if sample_weight is None:
        distinct, counts = np.unique(numbers[is_used], return_counts=True)
        return distinct, counts.astype(np.float64)
    numbers, weight = numbers[is_used], sample_weight[is_used]
    # Equal values are summed in order of weight, so that rounding does not depend on the order of rows.
    order = np.lexsort((weight, numbers))
    numbers, weight = numbers[order], weight[order]
    is_first = np.append(True, numbers[1:] != numbers[:-1])[: numbers.size]
    starts = np.flatnonzero(is_first)
    return numbers[starts], np.add.reduceat(weight, starts) if starts.size else weight


def midpoints(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Midpoints m of neighbouring values with lower < m <= upper, also where the two differ in the last bit."""
    middle = lower / 2 + upper / 2
    return np.where(middle > lower, middle, upper)


def check_max_bins(max_bins: int) -> None:
    """Refuse anything but a whole number from 1 on."""
    if isinstance(max_bins, bool) or not isinstance(max_bins, (int, np.integer)) or max_bins < 1:
        raise ValueError(f"max_bins must be an integer from 1 on, got {max_bins!r}")


def check_sample_weight(sample_weight: NDArray[Any] | None, n_rows: int) -> NDArray[np.float64] | None:
    """Weights as float64, refused where they are not one finite non-negative number a row with a positive sum."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one weight a row, but its shape is {weight.shape}"
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one must be positive")
    return weight
