"""What the lowest error of many experiments would be, from the errors of few.

The paper reports the minimum over n experiments of a grid; here fewer were run, drawn evenly from the same grid. Below
a threshold u, which 2 sqrt(m) of our m errors do not exceed, the distance u - e is taken to have a generalised Pareto
distribution, the limit law of tails (Pickands, 1975), fitted by probability-weighted moments (Hosking and Wallis,
1987). Its shape is kept between that of an exponential tail, which has no lowest error, and 2, where errors pile up at
the lowest one. The minimum of n new experiments then has a known distribution; resampling our errors and refitting
adds the uncertainty of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tanager._types import FloatArray
from tanager.experiments.grids import paper_grid, sample_grid
from tanager.experiments.selection import Point

FEWEST = 20
"""With fewer experiments, nothing is extrapolated."""

_N_RESAMPLES = 2000
_SHAPES = (0.0, 2.0)
_LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Minimum:
    """The minimum that so many experiments would have: its median, and the bounds of 90 % of cases."""

    low: float
    median: float
    high: float

    def verdict(self, reported: float) -> str:
        """Where a reported minimum lies.

        >>> Minimum(9.2, 9.5, 9.8).verdict(9.37)
        'within'
        """
        if reported < self.low:
            return "below"
        return "above" if reported > self.high else "within"


def evenly_drawn(points: Sequence[Point], dataset: str, method: str) -> list[Point]:
    """The points that make up the longest beginning of the grid's even order without a gap.

    Experiments that were run for other reasons, such as the authors' best, would distort the distribution. In full
    grids everything is drawn evenly.
    """
    if not points:
        return []
    by_experiment = {point.spec.experiment: point for point in points}
    drawn: dict[tuple[object, ...], Point] = {}
    grid = paper_grid(dataset, method)
    for spec in sample_grid(grid, len(grid)):
        if spec.experiment not in by_experiment:
            break
        drawn[spec.experiment] = by_experiment[spec.experiment]
    return list(drawn.values())


def extrapolate_minimum(errors: ArrayLike, n: int, seed: int = 0) -> Minimum | None:
    """The minimum that ``n`` new experiments would have.

    Parameters
    ----------
    errors : array-like of shape (M,)
        Errors of experiments drawn from the same distribution.
    n : int
    seed : int
        Seed of the resampling.

    Returns
    -------
    Minimum or None
        None if there are fewer than `FEWEST` errors.

    Examples
    --------
    >>> errors = 9 + np.random.default_rng(0).gamma(2, 1, size=100)
    >>> extrapolate_minimum(errors, 10).median < 9.8
    True
    """
    values = np.sort(np.asarray(errors, np.float64))
    if len(values) < FEWEST:
        return None
    rng = np.random.default_rng(seed)
    resamples = np.sort(rng.choice(values, (_N_RESAMPLES, len(values))), axis=1)
    minima = _draw_minima(resamples, n, rng.random(_N_RESAMPLES))
    return Minimum(*np.quantile(minima, _LEVELS).tolist())


def _draw_minima(samples: FloatArray, n: int, uniform: FloatArray) -> FloatArray:
    """A draw of the minimum of n experiments from a fit to each row of sorted errors, (R, M) to (R,)."""
    # The minimum is above x with probability (1 - F(x)) ** n.
    levels = -np.expm1(np.log(uniform) / n)
    n_tail = max(2, round(2 * samples.shape[1] ** 0.5))
    share = n_tail / samples.shape[1]
    threshold = samples[:, n_tail - 1]
    shape, scale = _fit_tails(threshold[:, None] - samples[:, n_tail - 1 :: -1])
    ratio = np.minimum(levels / share, 1.0)
    is_exponential = shape < 1e-6
    safe = np.where(is_exponential, 1.0, shape)
    depth = np.where(is_exponential, -np.log(ratio), (1 - ratio**safe) / safe)
    ranks = np.minimum((levels * samples.shape[1]).astype(np.int64), samples.shape[1] - 1)
    inner = np.take_along_axis(samples, ranks[:, None], axis=1)[:, 0]
    return np.where(levels < share, threshold - scale * depth, inner)


def _fit_tails(depths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shape k and scale s of P(depth > d) = (1 - k d / s) ** (1 / k), from each row of depths in increasing order."""
    first = depths.mean(axis=1)
    ranks = (np.arange(depths.shape[1]) + 0.65) / depths.shape[1]
    second = (depths * (1 - ranks)).mean(axis=1)
    gap = np.maximum(first - 2 * second, 1e-12)
    shape = np.clip(first / gap - 2, *_SHAPES)
    # The scale that keeps the mean depth, s / (1 + k), for the shape that was kept within its bounds.
    return shape, first * (1 + shape)
