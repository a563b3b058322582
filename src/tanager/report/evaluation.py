"""Performance of a classifier on given rows: error, log-loss, confusion matrix, calibration, curves of a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray

_N_BINS = 15
_MOST_POINTS = 400  # of a curve


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
    areas : float64 array of shape (C,)
        Area under the ROC curve of each class against the others; NaN if all rows have the class, or none.
    """

    n_rows: int
    n_unknown: int
    error: float
    log_loss: float
    confusion: NDArray[np.int64]
    calibration: Calibration
    areas: FloatArray

    @property
    def standard_error(self) -> float:
        """Standard error of the error rate."""
        return float(np.sqrt(self.error * (1 - self.error) / self.n_rows))

    def of_classes(self) -> dict[str, FloatArray]:
        """Rows, precision, recall and F1 of each class, float64[C]; NaN where there is nothing to divide."""
        right, true, predicted = np.diag(self.confusion), self.confusion.sum(axis=1), self.confusion.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "rows": true.astype(np.float64),
                "precision": right / predicted,
                "recall": right / true,
                "f1": 2 * right / (true + predicted),
            }


def evaluate(probabilities: FloatArray, truth: IntArray) -> Evaluation:
    """Compare predicted probabilities with the numbers of the true classes, -1 for an unknown class.

    Parameters
    ----------
    probabilities : float array of shape (N, C)
    truth : int array of shape (N,)

    Examples
    --------
    >>> found = evaluate(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1]))
    >>> found.error, found.confusion.tolist()
    (0.333, [[1, 0], [1, 1]])
    """
    predicted = probabilities.argmax(axis=1)
    is_known = truth >= 0
    n_classes = probabilities.shape[1]
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
        areas=np.array([area_under_curve(probabilities[:, c], truth == c) for c in range(n_classes)]),
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


def area_under_curve(score: FloatArray, is_positive: NDArray[np.bool_]) -> float:
    """Probability that a positive row has a higher score than a negative one, ties counting half; NaN without both.

    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    n_positive = int(is_positive.sum())
    n_negative = len(score) - n_positive
    if not n_positive or not n_negative:
        return float("nan")
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    above = mean_rank[place][is_positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * n_negative))


@dataclass(frozen=True)
class ThresholdCurve:
    """How many rows of two classes have a probability of the second class from a threshold on.

    Attributes
    ----------
    threshold : float64 array of shape (P,), falling
    positive, negative : int64 arrays of shape (P,)
        Rows of the second and of the first class.
    """

    threshold: FloatArray
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]


def trace_threshold(score: FloatArray, is_positive: NDArray[np.bool_]) -> ThresholdCurve:
    """Count rows for up to 400 thresholds, all different probabilities if there are no more.

    >>> curve = trace_threshold(np.array([0.9, 0.4, 0.4]), np.array([True, False, True]))
    >>> curve.threshold.tolist(), curve.positive.tolist(), curve.negative.tolist()
    ([0.9, 0.4], [1, 2], [0, 1])
    """
    order = np.argsort(-score, kind="stable")
    positive = np.cumsum(is_positive[order])
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)  # the last row of each probability
    if len(last) > _MOST_POINTS:
        last = last[np.unique(np.linspace(0, len(last) - 1, _MOST_POINTS).astype(np.int64))]
    return ThresholdCurve(score[order][last], positive[last], last + 1 - positive[last])
