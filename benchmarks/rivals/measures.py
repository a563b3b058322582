"""Measures of predicted probabilities, and the size of a model.

Classes that the training rows lack cannot be predicted: such rows count as errors, and the probabilities are judged on
the other rows.
"""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np

SMALLEST_PROBABILITY = 1e-15
N_BINS = 15


class Scores(NamedTuple):
    """How good probabilities are on test rows.

    Attributes
    ----------
    n_wrong : int
        Rows whose most probable class is wrong.
    log_loss : float
        Mean of -log of the probability of the true class; probabilities below 1e-15 count as 1e-15.
    calibration_error : float
        In per cent, see `calibration_error`.
    """

    n_wrong: int
    log_loss: float
    calibration_error: float


def score(probabilities: np.ndarray, classes: np.ndarray, y: np.ndarray) -> Scores:
    """Judge probabilities, shape (N, C), of ``classes`` by the classes ``y`` of the rows.

    >>> score(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array(["a", "b"]), np.array(["a", "c"])).n_wrong
    1
    """
    is_right = classes[probabilities.argmax(axis=1)] == y
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    numbers = np.array([number_of.get(label, -1) for label in y.tolist()])
    is_seen = numbers >= 0
    of_true = probabilities[is_seen, numbers[is_seen]]
    log_loss = -np.log(np.clip(of_true, SMALLEST_PROBABILITY, 1.0)).mean()
    calibration = calibration_error(probabilities[is_seen].max(axis=1), is_right[is_seen])
    return Scores(int(np.count_nonzero(~is_right)), float(log_loss), calibration)


def calibration_error(top: np.ndarray, is_right: np.ndarray) -> float:
    """Expected calibration error in per cent.

    The rows are put into 15 bins of equal width by the probability of the predicted class. In each bin, the share of
    right predictions is compared with the mean probability; the result is the mean difference, weighted by rows.

    >>> float(calibration_error(np.array([0.7, 0.7, 0.99]), np.array([True, False, True])))
    13.67
    """
    bins = np.minimum((top * N_BINS).astype(int), N_BINS - 1)
    surplus = np.bincount(bins, weights=is_right - top, minlength=N_BINS)
    return float(100.0 * np.abs(surplus).sum() / len(top))


def pickled_bytes(model: Any) -> int:
    """Length of the pickle of a fitted model, the only size that all of them have."""
    return len(pickle.dumps(model))


def count_parameters(model: Any) -> int | None:
    """Number of parameters of a fitted model: entries of CPTs, or weights; None for trees."""
    if hasattr(model, "network_"):
        return int(model.network_.n_parameters)
    if hasattr(model, "average_"):
        return int(model.average_.n_parameters)
    if hasattr(model, "n_parameters"):
        return int(model.n_parameters)
    last = model[-1] if hasattr(model, "steps") else model
    return int(last.coef_.size + last.intercept_.size) if hasattr(last, "coef_") else None
