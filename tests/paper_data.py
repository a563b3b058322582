"""The discretised data sets and folds of the paper, which are not part of the repository.

They are found through the environment variable TANAGER_DATA: the folder that holds ``letter_paper.npz`` and the others.
Without it the tests that need them are skipped, each with a line that says so.
"""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

N_FOLDS = {"letter": 1, "satimage": 5, "usps": 1, "mnist": 1}


class Fold(NamedTuple):
    """Codes and classes of one split into training and test rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    n_values: np.ndarray  # number of codes of each feature


def load_folds(name: str) -> list[Fold]:
    """All folds of a data set; skips the running test if there is no data, and fails if the folder lacks the file."""
    folder = os.environ.get("TANAGER_DATA")
    if not folder:
        pytest.skip(f"{_running_test()} DID NOT RUN: set TANAGER_DATA to the folder that holds {name}_paper.npz")
    return _read(Path(folder) / f"{name}_paper.npz", N_FOLDS[name])


def need_long_runs(what: str) -> None:
    """Skip the running test unless TANAGER_LONG=1 asks for runs of minutes."""
    if os.environ.get("TANAGER_LONG") != "1":
        pytest.skip(f"{_running_test()} DID NOT RUN: set TANAGER_LONG=1 for {what}")


@cache
def _read(path: Path, n_folds: int) -> list[Fold]:
    with np.load(path, allow_pickle=False) as arrays:
        return [Fold(*(arrays[f"{field}_{fold}"] for field in Fold._fields)) for fold in range(1, n_folds + 1)]


def _running_test() -> str:
    """Name of the test that runs, as pytest gives it to child processes."""
    return os.environ.get("PYTEST_CURRENT_TEST", "a test").removesuffix(" (call)").removesuffix(" (setup)")
