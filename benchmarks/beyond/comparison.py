"""Selection on validation rows, then test errors over seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.beyond.methods import METHODS
from benchmarks.beyond.trials import Outcome, finished_trial, run_trial

N_SEEDS = 5
N_FOLDS = {"satimage": 5}


@dataclass(frozen=True)
class Line:
    """A method on a data set.

    Attributes
    ----------
    method : str
    options : list of dict
        Selected options of each fold.
    validation_error : float
        Of the selected options; mean over folds.
    errors : list of float
        Test error of each seed; mean over folds.
    seconds : float
        Median processor time of a fit to all training rows.
    n_parameters : int
    """

    method: str
    options: list[dict[str, Any]]
    validation_error: float
    errors: list[float]
    seconds: float
    n_parameters: int

    @property
    def mean(self) -> float:
        """Mean test error over the seeds."""
        return float(np.mean(self.errors))

    @property
    def standard_error(self) -> float:
        """Standard error of that mean over seeds; other test rows would add to it."""
        return float(np.std(self.errors, ddof=1) / np.sqrt(len(self.errors))) if len(self.errors) > 1 else 0.0


def compare(dataset: str, method: str, n_seeds: int = N_SEEDS, *, only_finished: bool = False) -> Iterator[str | Line]:
    """Yield progress messages, and the line at the end.

    Options are selected on validation rows with one seed, in each fold separately, since rows held out in one fold are
    test rows of another. That seed is not among those that are tested. With ``only_finished`` nothing is trained, and a
    missing trial raises `NotFinishedError`.
    """
    run = finished_trial if only_finished else run_trial
    folds = range(1, N_FOLDS.get(dataset, 1) + 1)
    grid = METHODS[method].grid(dataset)
    selected, validation_errors = [], []
    for fold in folds:
        tried = []
        for options in grid:
            outcome = run(dataset, fold, method, options, n_seeds, "validation")
            tried.append(outcome.error)
            yield f"{dataset}, fold {fold}, {method}, {options}: {outcome.error:.2f} % on validation rows"
        best = int(np.argmin(tried))
        selected.append(grid[best])
        validation_errors.append(tried[best])
    outcomes: list[list[Outcome]] = []
    for seed in range(METHODS[method].n_seeds(dataset, n_seeds)):
        runs = [run(dataset, fold, method, selected[fold - 1], seed, "test") for fold in folds]
        outcomes.append(runs)
        yield f"{dataset}, {method}, seed {seed}: tested"
    yield Line(
        method,
        selected,
        float(np.mean(validation_errors)),
        [float(np.mean([run.error for run in runs])) for runs in outcomes],
        float(np.median([run.seconds for runs in outcomes for run in runs])),
        int(np.median([run.n_parameters for runs in outcomes for run in runs])),
    )
