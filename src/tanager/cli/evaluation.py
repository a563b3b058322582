"""Errors on held-out rows: of a classifier, and of simpler ones on the same rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tanager.cli.training_data import take_rows
from tanager.estimators import TANClassifier

_Split = tuple[NDArray[np.int64], NDArray[np.int64]]
# Options that the simpler classifiers share with the one they are compared with.
_SHARED = (
    *("categorical_features", "ordinal_features", "binning", "max_bins", "max_categories", "missing", "class_weight"),
    *("random_state", "n_jobs"),
)


@dataclass(frozen=True)
class Score:
    """Error of one classifier.

    Attributes
    ----------
    name : str
    error, standard_error : float
        As fractions of the test rows.
    seconds : float
        Wall time of all fits.
    """

    name: str
    error: float
    standard_error: float
    seconds: float


def hold_out(y: NDArray[Any], fraction: float, seed: int) -> list[_Split]:
    """One stratified split into training and test rows; every class keeps a training row.

    >>> [(train, test)] = hold_out(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, seed=0)
    >>> len(train), len(test)
    (6, 2)
    """
    test = []
    for rows in _rows_of_classes(y, seed):
        n_test = min(round(fraction * len(rows)), len(rows) - 1)
        test.append(rows[:n_test])
    tested = np.sort(np.concatenate(test))
    return [(np.setdiff1d(np.arange(len(y)), tested), tested)]


def folds(y: NDArray[Any], n_folds: int, seed: int) -> list[_Split]:
    """Stratified splits that test every row once.

    >>> [len(test) for _, test in folds(np.array([0] * 7 + [1] * 3), 5, seed=0)]
    [2, 2, 2, 2, 2]
    """
    fold_of = np.empty(len(y), np.int64)
    # Counting on from one class to the next keeps the sizes of the folds within one row of each other.
    fold_of[np.concatenate(list(_rows_of_classes(y, seed)))] = np.arange(len(y)) % n_folds
    return [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(n_folds)]


def _rows_of_classes(y: NDArray[Any], seed: int) -> Iterator[NDArray[np.int64]]:
    """The rows of each class, shuffled."""
    rng = np.random.default_rng(seed)
    _, numbers = np.unique(y, return_inverse=True)
    for number in range(int(numbers.max()) + 1):
        yield rng.permutation(np.flatnonzero(numbers == number))


def contenders(classifier: Any) -> dict[str, Any]:
    """The classifier, and simpler ones with the same encoding to compare it with."""
    shared = {name: getattr(classifier, name) for name in _SHARED}
    return {
        "naive Bayes": TANClassifier("none", "ml", **shared),
        "Chow-Liu tree": TANClassifier("chow-liu", "ml", **shared),
        "learned": classifier,
    }


def evaluate(name: str, classifier: Any, X: Any, y: NDArray[Any], splits: list[_Split]) -> Score:
    """Fit to the training rows of each split and count the errors on its test rows; the fit to all rows will warn."""
    errors, seconds = [], 0.0
    for train, test in splits:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = clone(classifier).fit(take_rows(X, train), y[train])
        seconds += time.perf_counter() - start
        errors.append(fitted.predict(take_rows(X, test)) != y[test])
    return Score(name, *_error(errors), seconds)


def most_frequent_class(y: NDArray[Any], splits: list[_Split]) -> Score:
    """The error of always predicting the most frequent class of the training rows."""
    errors = []
    for train, test in splits:
        classes, counts = np.unique(y[train], return_counts=True)
        errors.append(y[test] != classes[counts.argmax()])
    return Score("most frequent class", *_error(errors), 0.0)


def _error(errors: list[NDArray[np.bool_]]) -> tuple[float, float]:
    """Error on all test rows and its standard error: binomial for one split, from the spread over several folds."""
    pooled = np.concatenate(errors)
    error = float(pooled.mean())
    if len(errors) == 1:
        return error, float(np.sqrt(error * (1 - error) / len(pooled)))
    by_fold = np.array([part.mean() for part in errors])
    return error, float(by_fold.std(ddof=1) / np.sqrt(len(by_fold)))
