"""Two threads against one: one fit on the shape of mnist.

This is the one benchmark in wall time. The best of several rounds counts, and the share of a core that the best round
of one thread got tells how busy the machine was: well below 1, the ratio says little.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.data import Fold, error_percent, no_data, paper_fold, random_fold
from benchmarks.records import Row, Section, Target
from benchmarks.shapes import SHAPES, Shape
from benchmarks.timing import best_wall, ratio
from tanager import TANClassifier

_TINY = Shape(200, 50, 3, (3, 4, 5, 3, 4))


def _fit(fold: Fold, n_jobs: int, batch_size: int, epochs: int) -> TANClassifier:
    model = TANClassifier(binning="none", epochs=epochs, batch_size=batch_size, n_jobs=n_jobs, random_state=0)
    return model.fit(fold.X_train, fold.y_train)


def _share_of_core(fold: Fold, batch_size: int, epochs: int) -> float:
    """Processor time of a fit on one thread over its wall time."""
    processor, wall = time.process_time(), time.perf_counter()
    _fit(fold, 1, batch_size, epochs)
    return (time.process_time() - processor) / (time.perf_counter() - wall)


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    missing: list[str] = []
    shape = _TINY if tiny else SHAPES["mnist"]
    fold = None if tiny else paper_fold("mnist")
    if fold is None:
        if not tiny:
            missing.append(no_data("mnist"))
        fold = random_fold(shape)
    rounds, epochs = (2, 1) if tiny else (7, 3)
    size = shape.batch_size
    models: dict[str, TANClassifier] = {}

    def fit(name: str, n_jobs: int) -> None:
        models[name] = _fit(fold, n_jobs, size, epochs)

    times = best_wall({"one": lambda: fit("one", 1), "two": lambda: fit("two", 2)}, rounds=rounds)
    share = max(_share_of_core(fold, size, epochs) for _ in range(min(rounds, 3)))
    is_equal = np.array_equal(models["one"].network_.theta, models["two"].network_.theta)
    error = error_percent(models["two"].predict(fold.X_test), fold.y_test)
    row = Row(
        f"fit of {epochs} epochs, mnist, two threads (wall time, best of {rounds})",
        times["two"],
        "one thread",
        times["one"],
        ratio(times["one"], times["two"]),
        None if tiny else Target(1.6),
        f"parameters {'equal to the last bit' if is_equal else 'DIFFER'}; test error {error:.2f} %",
    )
    notes = [
        f"One thread got {share:.2f} of a core at best; the second number in brackets is the median of the rounds."
    ]
    return Section("Threads", [row], notes, missing=missing)
