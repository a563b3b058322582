"""One trial: a method fitted to the training rows of a data set and tested, in a process of its own, on one thread.

The process measures its own processor time, after a first fit to few rows, which loads and compiles what is needed. It
ends when fit and prediction exceed the time limit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from threading import Event, Thread
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import machine
from benchmarks.csv_files import Split
from benchmarks.rivals.data import load_splits
from benchmarks.rivals.measures import count_parameters, pickled_bytes, score
from benchmarks.rivals.methods import METHODS
from benchmarks.rivals.outcomes import NOT_FINISHED, Outcome, Result, Stopped
from benchmarks.timing import time_once

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_FEW_OF_A_CLASS = 10
_OUT_OF_TIME = 75  # exit status


class ProcessEndedError(RuntimeError):
    """The process of a trial was killed, which says nothing about the method."""


def run_trial(table: str, method: str, seconds: float) -> Outcome:
    """Run a trial in a process of its own.

    Parameters
    ----------
    table : str
        One of `benchmarks.rivals.data.TABLES`.
    method : str
        One of `benchmarks.rivals.methods.METHODS`.
    seconds : float
        Limit on the processor time of fit and prediction together.

    Raises
    ------
    ProcessEndedError
        The process was killed.
    """
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.rivals.trials", table, method, str(seconds)]
    environment = os.environ | dict.fromkeys(_ONE_THREAD, "1")
    # In a process group of its own, so that Ctrl-C reaches this process alone, which then ends the other.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, process_group=0
    )
    try:
        out, complaints = process.communicate()
    finally:
        process.kill()
        process.wait()
    if process.returncode == _OUT_OF_TIME:
        return Stopped(NOT_FINISHED, seconds)
    if process.returncode < 0:
        raise ProcessEndedError(f"{table}, {method}: ended by {signal.Signals(-process.returncode).name}")
    if process.returncode > 0:
        return Stopped(f"failed: {complaints.strip().splitlines()[-1]}", seconds)
    return Result(**json.loads(out.splitlines()[-1]))


def warm_up(split: Split, model: Any) -> None:
    """Fit to few rows, some of each class."""
    few = split.y_train.groupby(split.y_train, observed=True).head(_FEW_OF_A_CLASS).index
    model.fit(split.X_train.loc[few], split.y_train.loc[few]).predict_proba(split.X_test.iloc[:10])


def measure(splits: Sequence[Split], make: Callable[[], Any], seconds: float) -> Result:
    """Fit and test in this process, which is ended if that takes too long; folds are put together.

    Times are those of one fold and of its test rows, sizes those of the last one.
    """
    found, fit_seconds, predict_seconds = [], 0.0, 0.0
    for split in splits:
        model = make()
        with threadpool_limits(1), _limit(seconds):
            fit, _ = time_once(lambda model=model, split=split: model.fit(split.X_train, split.y_train))
            predict, given = time_once(lambda model=model, split=split: model.predict_proba(split.X_test))
        fit_seconds, predict_seconds = fit_seconds + fit.median / 1e3, predict_seconds + predict.median / 1e3
        found.append((given, split.y_test.to_numpy()))
    probabilities, y = (np.concatenate(each) for each in zip(*found, strict=True))
    return Result(
        len(splits[0].y_train),
        len(y),
        splits[0].X_train.shape[1],
        len(model.classes_),
        *score(probabilities, model.classes_, y),
        fit_seconds / len(splits),
        predict_seconds / len(splits),
        pickled_bytes(model),
        count_parameters(model),
        machine.describe(),
    )


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """End this process if the block takes more processor time."""
    is_done = Event()
    Thread(target=_end_after, args=(seconds, is_done), daemon=True).start()
    try:
        yield
    finally:
        is_done.set()


def _end_after(seconds: float, is_done: Event) -> None:
    """Wait for the end of the work or of the time; system timers would make the processor clock coarse."""
    end = time.process_time() + seconds
    while not is_done.wait(max(end - time.process_time(), 0.01)):
        if time.process_time() >= end:
            os._exit(_OUT_OF_TIME)


def _main(table: str, method: str, seconds: str) -> None:
    splits, make = load_splits(table), METHODS[method].make
    if METHODS[method].is_warmed_up:
        warm_up(splits[0], make())
    result = measure(splits, make, float(seconds))
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
