"""Error over model size: the same search with a growing price on parameters (``size_penalty``).

Errors are of the fifth of the training rows that is held back; no test row is looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.data import Fold, error_percent, no_data, paper_fold, random_fold
from benchmarks.records import Section
from benchmarks.shapes import Shape
from tanager import TANClassifier

_TINY = Shape(200, 50, 3, (3, 4, 2, 3, 4))
_DATA = ("letter", "satimage")
_PRICES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
_N_SEEDS = 3
_OPTIONS = {
    "lam": 30.0,
    "gamma": 5.0,
    "eta": 10.0,
    "epochs": 60,
    "batch_size": 100,
    "learning_rate": 0.1,
    "parent_dropout": 0.2,
    "smoothness": 0.01,
    "shrinkage": 0.0,
    "max_parents": 8,
}


class Point(NamedTuple):
    """One point of the curve: means over the seeds."""

    size_penalty: float
    n_parameters: float
    error: float
    standard_error: float


def size_curve(
    fold: Fold, prices: tuple[float, ...] = _PRICES, n_seeds: int = _N_SEEDS, **options: object
) -> list[Point]:
    """Size and error on held-back rows for each price.

    Parameters
    ----------
    fold : Fold
        Of which only the training rows are used.
    prices : tuple of float
        Values of ``size_penalty``.
    n_seeds : int
        Each seed is another split, another ordering and other candidates.
    **options
        Of `tanager.TANClassifier`.
    """
    points = []
    for price in prices:
        runs = [_run(fold, seed, size_penalty=price, **options) for seed in range(n_seeds)]
        sizes, errors = np.array(runs).T
        spread = float(errors.std(ddof=1) / np.sqrt(n_seeds)) if n_seeds > 1 else 0.0
        points.append(Point(price, float(sizes.mean()), float(errors.mean()), spread))
    return points


def _run(fold: Fold, seed: int, **options: object) -> tuple[int, float]:
    order = np.random.default_rng(seed).permutation(len(fold.y_train))
    held, kept = np.split(order, [len(order) // 5])
    model = TANClassifier("subset", binning="none", random_state=seed, **options)
    model.fit(fold.X_train[kept], fold.y_train[kept])
    return model.network_.n_parameters, error_percent(model.predict(fold.X_train[held]), fold.y_train[held])


def run(*, tiny: bool = False) -> Section:
    """Make the curve of each data set that is there."""
    missing: list[str] = []
    lines: list[str] = []
    for name in ("tiny",) if tiny else _DATA:
        fold = random_fold(_TINY) if tiny else paper_fold(name)
        if fold is None:
            missing.append(no_data(name))
            continue
        options = {"prices": (0.0, 10.0), "n_seeds": 1, "epochs": 2} if tiny else _OPTIONS
        lines.append(f"  {name}: size_penalty, parameters, error on held-back training rows")
        for point in size_curve(fold, **options):
            error = f"{point.error:6.2f} +- {point.standard_error:.2f} %"
            lines.append(f"    {point.size_penalty:8g} {point.n_parameters:10,.0f} {error}")
    return Section("Error over model size", lines=lines, missing=missing)
