"""What lies inside the bins of a numeric column: enough to draw numbers such as it had, and to name a typical one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNLIMITED = -1
"""Number of decimals of a column that has numbers with more than six."""

_MOST_ROWS = 20_000  # enough for the quantiles of a bin; of more rows, so many are taken at equal distances
_POINTS, _FEWEST, _MOST = 256, 3, 33  # numbers kept for a column, and for a bin of it
_MOST_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class BinContents:
    """Quantiles of the numbers in each bin.

    Attributes
    ----------
    points : float64 array of shape (B, K)
        The smallest number of each bin, quantiles at equal distances, and the largest; K is odd. Without numbers to go
        by, K is 1 and the one point the middle of the bin.
    decimals : int
        Digits behind the point that all numbers of the column can do with, 0 if all are whole; -1 if more than six.

    Examples
    --------
    >>> contents = BinContents.read(np.array([1.0, 2.0, 3.0, 10.0, 20.0]), np.array([5.0]))
    >>> contents.medians()
    array([ 2., 10.])
    >>> contents.draw(np.array([0, 0, 1]), np.array([0.0, 0.999, 0.5]))
    array([ 1.,  3., 10.])
    """

    points: NDArray[np.float64]
    decimals: int = UNLIMITED

    @classmethod
    def read(
        cls, values: NDArray[np.number], cuts: NDArray[np.float64], weight: NDArray[np.float64] | None = None
    ) -> BinContents:
        """Find the quantiles of a column; NaN and rows of weight zero are left out."""
        step = -(-len(values) // _MOST_ROWS)
        sampled, row_weight = values[::step], np.ones(-(-len(values) // step)) if weight is None else weight[::step]
        is_used = np.isfinite(sampled) & (row_weight > 0)
        if not is_used.any():
            return cls.between(cuts)
        order = np.argsort(sampled[is_used], kind="stable")
        used = sampled[is_used][order]
        total = np.cumsum(row_weight[is_used][order])
        x = used.astype(np.float64)
        first = np.concatenate([[0], np.searchsorted(x, cuts, side="left"), [len(x)]])
        low, high = first[:-1, None], first[1:, None]
        before = np.concatenate([[0.0], total])
        n_points = max(_FEWEST, min(_MOST, _POINTS // (len(cuts) + 1))) | 1
        goal = before[low] + np.linspace(0.0, 1.0, n_points) * (before[high] - before[low])
        place = np.searchsorted(total, goal.ravel(), side="left").reshape(goal.shape)
        points = x[np.minimum(np.maximum(np.minimum(place, high - 1), low), len(x) - 1)]
        is_empty = (low == high).ravel()
        if is_empty.any():
            points[is_empty] = np.clip(bin_middles(cuts)[is_empty], x[0], x[-1])[:, None]
        return cls(points, _decimals(used))

    @classmethod
    def between(cls, cuts: NDArray[np.float64]) -> BinContents:
        """What can be said without numbers: the middles of the bins."""
        return cls(bin_middles(cuts)[:, None])

    def medians(self) -> NDArray[np.float64]:
        """A number in the middle of each bin that it had, float64[B]."""
        return self.points[:, self.points.shape[1] // 2]

    def single_values(self) -> list[float | None]:
        """The number of each bin that has only one, otherwise None."""
        if self.points.shape[1] == 1:
            return [None] * len(self.points)
        return [float(low) if low == high else None for low, high in self.points[:, [0, -1]]]

    def draw(self, bins: NDArray[np.integer], uniform: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers with the distribution inside their bins, from numbers in [0, 1), float64[N]."""
        points = self.points[bins]
        rows, last = np.arange(len(bins)), points.shape[1] - 1
        if last == 0:
            return points[:, 0]
        place = uniform * last
        below = np.minimum(place.astype(np.int64), last - 1)
        share = place - below
        drawn = points[rows, below] * (1 - share) + points[rows, below + 1] * share
        low, high = points[:, 0], points[:, -1]
        if self.decimals != UNLIMITED:
            drawn = np.round(drawn, self.decimals)
            # Where a bin can have few numbers only, those that it had are drawn as often as they occurred.
            with np.errstate(over="ignore"):
                has_few = (high - low) * 10.0**self.decimals < last + 0.5
            drawn = np.where(has_few, points[rows, (uniform * (last + 1)).astype(np.int64)], drawn)
        return np.clip(drawn, low, high)


def bin_middles(cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """A number inside each bin: its middle; in the outer ones, half the width of their neighbour beyond the cut.

    With a single cut the distance is half the size of the cut, at least a half; without a cut the one number is 0.

    >>> bin_middles(np.array([10.0]))
    array([ 5., 15.])
    """
    if not cuts.size:
        return np.zeros(1)
    lower, upper = cuts[:-1], cuts[1:]
    middle = np.maximum(lower / 2 + upper / 2, lower)
    # Between neighbouring numbers there is no third; a number on a cut belongs to the bin above.
    middle = np.where(middle < upper, middle, lower)
    half = (upper / 2 - lower / 2) if lower.size else np.maximum(np.abs(cuts), 1.0) / 2
    limit = np.finfo(np.float64).max
    # Python's numbers, unlike NumPy's, become infinite without a warning, and are then brought back.
    first = min(max(float(cuts[0]) - float(half[0]), -limit), float(np.nextafter(cuts[0], -np.inf)))
    last = min(float(cuts[-1]) + float(half[-1]), limit)
    return np.concatenate([[first], middle, [last]])


def _decimals(values: NDArray[np.number]) -> int:
    """Digits behind the point that all values can do with."""
    if values.dtype.kind != "f":
        return 0
    with np.errstate(over="ignore", invalid="ignore"):
        exact = (n for n in range(_MOST_DECIMALS + 1) if np.array_equal(np.round(values, n), values))
        return next(exact, UNLIMITED)
