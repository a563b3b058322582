"""Two threads against one: one fit each on mnist and letter.

This benchmark alone measures wall time; the best of several rounds counts. The number of cores that the two threads got
shows how busy the machine was: if it is well below 2, the ratio says little, and the processor time of the main thread
says more.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from benchmarks.data import Fold, error_percent, no_data, paper_fold, random_fold
from benchmarks.records import Row, Section, Target
from benchmarks.shapes import SHAPES, Shape
from benchmarks.timing import best_wall, ratio
from tanager import GradientDescent, TANClassifier

# Epochs, and the target; letter's epochs are shorter.
_WORK = {"mnist": (3, Target(1.8)), "letter": (15, Target(1.4))}

_TINY = Shape(200, 50, 3, (3, 4, 5, 3, 4))


def _fit(fold: Fold, n_jobs: int, batch_size: int, epochs: int) -> TANClassifier:
    descent = GradientDescent(epochs=epochs, batch_size=batch_size)
    model = TANClassifier("subset", descent, binning="none", n_jobs=n_jobs, random_state=0)
    return model.fit(fold.X_train, fold.y_train)


class _Use(NamedTuple):
    """Processor time of a fit, in seconds, and how many cores it got on average."""

    all_threads: float
    main_thread: float
    cores: float


def _use(fold: Fold, n_jobs: int, batch_size: int, epochs: int) -> _Use:
    wall, everything, main = time.perf_counter(), time.process_time(), time.thread_time()
    _fit(fold, n_jobs, batch_size, epochs)
    everything = time.process_time() - everything
    return _Use(everything, time.thread_time() - main, everything / (time.perf_counter() - wall))


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    missing: list[str] = []
    rows, notes = [], ["The second number in brackets is the median of the rounds."]
    for name, (epochs, target) in {"tiny": (1, None)}.items() if tiny else _WORK.items():
        shape = _TINY if tiny else SHAPES[name]
        fold = None if tiny else paper_fold(name)
        if fold is None:
            if not tiny:
                missing.append(no_data(name))
            fold = random_fold(shape)
        row, note = _compare(name, fold, shape.batch_size, epochs, target, rounds=2 if tiny else 7)
        rows.append(row)
        notes.append(note)
    return Section("Threads", rows, notes, missing=missing)


def _compare(name: str, fold: Fold, size: int, epochs: int, target: Target | None, *, rounds: int) -> tuple[Row, str]:
    """Two threads against one on one data set, and how much of the work the threads shared."""
    models: dict[str, TANClassifier] = {}

    def fit(label: str, n_jobs: int) -> None:
        models[label] = _fit(fold, n_jobs, size, epochs)

    times = best_wall({"one": lambda: fit("one", 1), "two": lambda: fit("two", 2)}, rounds=rounds)
    one, two = (min(_use(fold, n_jobs, size, epochs) for _ in range(min(rounds, 3))) for n_jobs in (1, 2))
    is_equal = np.array_equal(models["one"].network_.theta, models["two"].network_.theta)
    error = error_percent(models["two"].predict(fold.X_test), fold.y_test)
    row = Row(
        f"fit of {epochs} epochs, {name}, two threads (wall time, best of {rounds})",
        times["two"],
        "one thread",
        times["one"],
        ratio(times["one"], times["two"]),
        target,
        f"parameters {'equal to the last bit' if is_equal else 'DIFFER'}; test error {error:.2f} %",
    )
    note = (
        f"{name}: the two threads got {two.cores:.2f} cores on average in the fit that took least processor time. A "
        f"single thread has {one.all_threads:.2f} s of work and the main thread of two {two.main_thread:.2f} s: with "
        f"free cores, the speed-up is at most {one.all_threads / two.main_thread:.2f}."
    )
    return row, note
