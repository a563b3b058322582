"""One trial: a method with its options, trained with one seed on one part of one fold. Results are cached on disk.

Except for its time, a trial depends on its arguments alone, so the cache can be deleted at any time, and an interrupted
comparison resumes where it stopped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Memory
from numpy.typing import NDArray

from benchmarks.beyond.methods import make_model
from tanager.datasets import Dataset, load_dataset

Part = Literal["validation", "test"]

CACHE = Path(os.environ.get("TANAGER_BENCH_CACHE", ".benchmarks")) / "beyond"

_HELD_OUT = 0.2
_SPLIT_SEED = 0


class NotFinishedError(Exception):
    """A trial has not been run yet."""


class Outcome(NamedTuple):
    """Error in per cent, processor seconds of the fit, and number of parameters (0 where it is not defined)."""

    error: float
    seconds: float
    n_parameters: int


def run_trial(dataset: str, fold: int, method: str, options: Mapping[str, Any], seed: int, part: Part) -> Outcome:
    """Train and measure, or read the result of an earlier run from the cache.

    Parameters
    ----------
    dataset : str
    fold : int
        From 1 on.
    method : str
        See `benchmarks.beyond.methods`.
    options : mapping
        Tuned options by their names in ``set_params``.
    seed : int
    part : {"validation", "test"}
        Train on four fifths of the training rows and measure on the rest, or train on all and measure on test rows.
    """
    return Outcome(*_memory.cache(_trial)(dataset, fold, method, tuple(sorted(options.items())), seed, part))


def finished_trial(dataset: str, fold: int, method: str, options: Mapping[str, Any], seed: int, part: Part) -> Outcome:
    """The outcome of a trial that was run before; raises `NotFinishedError` for others."""
    arguments = (dataset, fold, method, tuple(sorted(options.items())), seed, part)
    if not _memory.cache(_trial).check_call_in_cache(*arguments):
        raise NotFinishedError
    return run_trial(dataset, fold, method, options, seed, part)


_memory = Memory(CACHE, verbose=0)


def _trial(
    dataset: str, fold: int, method: str, options: tuple[tuple[str, Any], ...], seed: int, part: Part
) -> tuple[float, float, int]:
    data = load_dataset(dataset, fold)
    X, y, X_other, y_other = _parts(data, part)
    model = make_model(dataset, method, dict(options), seed)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    error = 100.0 * float(np.mean(model.predict(X_other) != y_other))
    return error, seconds, _count_parameters(model)


def _parts(data: Dataset, part: Part) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    if part == "test":
        return data.X_train, data.y_train, data.X_test, data.y_test
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(data.y_train))
    held, kept = np.split(order, [round(_HELD_OUT * len(order))])
    return data.X_train[kept], data.y_train[kept], data.X_train[held], data.y_train[held]


def _count_parameters(model: Any) -> int:
    if hasattr(model, "network_"):
        return int(model.network_.n_parameters)
    if getattr(model, "combine", "log") == "probability":
        return sum(int(member.network_.n_parameters) for member in model.estimators_)  # CPTs do not merge
    if hasattr(model, "average_"):
        return int(model.average_.n_parameters)
    return 0
