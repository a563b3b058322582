"""Performance of a classifier on given rows: error, confusion matrix and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray

_N_BINS = 15


@dataclass(frozen=True)
class Calibration:
    """Rows by the probability of the predicted class, in bins of equal width.

    Attributes
    ----------
    n_rows : int64 array of shape (n_bins,)
    confidence, accuracy : float64 arrays of shape (n_bins,)
        Mean probability of the predicted class, and fraction of rows where it is correct; NaN in an empty bin.
    """

    n_rows: NDArray[np.int64]
    confidence: FloatArray
    accuracy: FloatArray

    @property
    def expected_error(self) -> float:
        """Expected calibration error: mean distance between confidence and accuracy over the rows."""
        share = self.n_rows / self.n_rows.sum()
        return float(np.nansum(share * np.abs(self.accuracy - self.confidence)))


@dataclass(frozen=True)
class Evaluation:
    """Performance on a set of rows.

    Attributes
    ----------
    n_rows : int
    n_unknown : int
        Rows with classes that did not occur in training; they count as errors and are not in the confusion matrix.
    error, log_loss : float
    confusion : int64 array of shape (C, C)
        Number of rows by true class and predicted class.
    calibration : Calibration
    """

    n_rows: int
    n_unknown: int
    error: float
    log_loss: float
    confusion: NDArray[np.int64]
    calibration: Calibration

    @property
    def standard_error(self) -> float:
        """Standard error of the error rate."""
        return float(np.sqrt(self.error * (1 - self.error) / self.n_rows))


def evaluate(probabilities: FloatArray, y: Any, classes: NDArray[Any]) -> Evaluation:
    """Compare predicted probabilities with the true classes.

    Parameters
    ----------
    probabilities : float array of shape (N, C)
    y : array-like of shape (N,)
    classes : array of shape (C,)

    Examples
    --------
    >>> found = evaluate(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), ["a", "b", "b"], np.array(["a", "b"]))
    >>> found.error, found.confusion.tolist()
    (0.333, [[1, 0], [1, 1]])
    """
    truth = number_classes(y, classes)
    if len(truth) != len(probabilities):
        raise ValueError(f"y has {len(truth)} entries, but X has {len(probabilities)} rows")
    predicted = probabilities.argmax(axis=1)
    is_known = truth >= 0
    n_classes = len(classes)
    pairs = truth[is_known] * n_classes + predicted[is_known]
    own = probabilities[is_known, truth[is_known]]
    is_right = predicted == truth
    return Evaluation(
        n_rows=len(truth),
        n_unknown=int((~is_known).sum()),
        error=float(1 - is_right.mean()),
        log_loss=0.0 - float(np.log(np.maximum(own, np.finfo(float).tiny)).mean()),
        confusion=np.bincount(pairs, minlength=n_classes**2).reshape(n_classes, n_classes),
        calibration=calibrate(probabilities.max(axis=1), is_right),
    )


def number_classes(y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Number of the class of each row, -1 for an unknown class."""
    position = {label: number for number, label in enumerate(classes.tolist())}
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one class for each row, got an array of shape {labels.shape}")
    numbers = np.array([position.get(label, -1) for label in labels.tolist()], np.int64)
    if not (numbers >= 0).any():
        known = ", ".join(map(repr, list(position)[:5]))
        raise ValueError(f"y has none of the classes of the model ({known}{', ...' if len(position) > 5 else ''})")
    return numbers


def calibrate(confidence: FloatArray, is_right: NDArray[np.bool_], n_bins: int = _N_BINS) -> Calibration:
    """Bin rows by the probability of the predicted class.

    Examples
    --------
    >>> calibrate(np.array([0.6, 0.6, 0.9]), np.array([True, False, True]), n_bins=2).expected_error
    0.0333
    """
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    n_rows = np.bincount(bins, minlength=n_bins)
    totals = [np.bincount(bins, values, minlength=n_bins) for values in (confidence, is_right)]
    with np.errstate(invalid="ignore"):
        means = [total / n_rows for total in totals]
    return Calibration(n_rows, *means)
