"""Prediction sets: for each row the classes that cannot be ruled out, with a coverage that the user chooses.

Split conformal prediction: rows that were not trained on tell how improbable the true class is. If a new row is drawn
as they were, the classes that are not more improbable than the right quantile of these contain the true one with at
least the chosen probability, whatever the classifier is worth; a poor one only makes larger sets. By class, that holds
for the rows of each class.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._options import check_number
from tanager._types import FloatArray, IntArray
from tanager.data import Fingerprint, Frame, FrameEncoder
from tanager.data.fingerprint import hash_cells, hash_rows
from tanager.estimators.inputs import read_known_classes, read_rows


@dataclass(frozen=True, eq=False)
class ConformalScores:
    """How improbable the true classes of the calibration rows are, ``1 - p``.

    Attributes
    ----------
    scores : tuple of float64 arrays, each sorted
        One for all classes together, or one for each class.
    """

    scores: tuple[FloatArray, ...]

    @property
    def is_by_class(self) -> bool:
        """Whether each class has scores of its own."""
        return len(self.scores) > 1

    def limits(self, coverage: float, n_classes: int) -> FloatArray:
        """The largest score at which each class belongs to a set, float64[C]; infinite where rows are too few.

        >>> ConformalScores((np.arange(9) / 10,)).limits(0.5, 2)
        array([0.4, 0.4])
        """
        limits = [_quantile(scores, coverage) for scores in self.scores]
        return np.array(limits if self.is_by_class else limits * n_classes)


class ConformalMixin:
    """Adds prediction sets to a classifier with `classes_`, `encoder_` and `predict_proba`."""

    classes_: NDArray[Any]
    encoder_: FrameEncoder
    fingerprint_: Fingerprint
    conformal_: ConformalScores

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class given each row, shape (N, C)."""
        raise NotImplementedError

    def conformalize(self, X: Any, y: Any, *, by_class: bool = False) -> Any:
        """Take the rows that prediction sets are to be right about.

        The classifier and its probabilities stay as they are; `save` keeps what was taken, and another fit forgets it.

        Parameters
        ----------
        X, y
            Rows that the classifier was not trained on, drawn as those that are to come. There is a warning if most of
            them are training rows. A coverage of 90 % requires at least 9 rows, one of 99 % at least 99.
        by_class : bool, default=False
            Whether the coverage is to hold for the rows of each class, also of rare ones, instead of on average. Each
            class then requires as many rows.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from tanager import TANClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> clf = TANClassifier("chow-liu", "ml").fit(X[:900], y[:900])
        >>> clf.conformalize(X[900:1350], y[900:1350]).predict_set(X[1350:], coverage=0.9).shape
        (447, 10)
        """
        check_is_fitted(self)
        if not isinstance(by_class, bool):
            raise ValueError(f"by_class must be True or False, got {by_class!r}")
        frame = read_rows(self, X, reset=False)
        numbers = read_known_classes(y, frame.n_rows, self.classes_)
        self._warn_of_training_rows(frame, numbers)
        score = _improbability(self.predict_proba(X))[np.arange(len(numbers)), numbers]
        own = [score[numbers == c] for c in range(len(self.classes_))] if by_class else [score]
        self.conformal_ = ConformalScores(tuple(np.sort(each) for each in own))
        return self

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Which classes cannot be ruled out for each row, bool array of shape (N, C).

        Parameters
        ----------
        X : array-like or frame of shape (N, D)
        coverage : float, above 0 and below 1, default=0.9
            Probability that the set of a new row has its true class, at least. It is that of the rows that are to
            come, as long as they are drawn as those of `conformalize`; it says nothing about a single row.

        Returns
        -------
        bool array of shape (N, C)
            ``classes_[sets[n]]`` is the set of row n. It has the most probable class in any case. If `conformalize` had
            too few rows for the coverage, every class belongs to every set.
        """
        check_is_fitted(self)
        check_number("coverage", coverage, above=0, below=1)
        if not hasattr(self, "conformal_"):
            raise ValueError("prediction sets require rows that were not trained on: call conformalize(X, y) first")
        probability = self.predict_proba(X)
        sets = _improbability(probability) <= self.conformal_.limits(coverage, len(self.classes_))
        sets[np.arange(len(sets)), probability.argmax(axis=1)] = True
        return sets

    def evaluate_sets(self, X: Any, y: Any, coverage: float = 0.9) -> dict[str, Any]:
        """Coverage and size of prediction sets on rows with known classes.

        Parameters
        ----------
        X, y
            Test rows.
        coverage : float, default=0.9

        Returns
        -------
        dict
            The share of sets that have the true class, as "coverage", and for each class as "coverage_by_class" (NaN
            where a class has no row); the "mean_size" of sets, and the share of sets with one class only, as "single".
        """
        sets = self.predict_set(X, coverage)
        numbers = read_known_classes(y, len(sets), self.classes_)
        is_right = sets[np.arange(len(numbers)), numbers]
        totals = np.bincount(numbers, minlength=len(self.classes_)).astype(np.float64)
        right = np.bincount(numbers, is_right, minlength=len(self.classes_))
        by_class = np.divide(right, totals, out=np.full(len(totals), np.nan), where=totals > 0)
        return {
            "coverage": float(is_right.mean()),
            "coverage_by_class": dict(zip(self.classes_.tolist(), by_class.tolist(), strict=True)),
            "mean_size": float(sets.sum(axis=1).mean()),
            "single": float((sets.sum(axis=1) == 1).mean()),
        }

    def _warn_of_training_rows(self, frame: Frame, numbers: IntArray) -> None:
        fingerprint = getattr(self, "fingerprint_", None)
        if fingerprint is None:
            return
        cells = hash_cells(self.encoder_, frame, self.encoder_.encode(frame))
        share = fingerprint.share_of(hash_rows(cells, numbers))
        if share is not None and share > 0.5:
            warnings.warn(
                f"about {share:.0%} of these rows are training rows, for which the classifier is too sure: prediction "
                "sets will be too small. Use rows that it was not trained on",
                UserWarning,
                stacklevel=3,
            )


def _improbability(probability: FloatArray) -> FloatArray:
    score: FloatArray = np.clip(1.0 - probability, 0.0, 1.0)
    return score


def _quantile(scores: FloatArray, coverage: float) -> float:
    """The score that so large a share of scores does not exceed, with one unknown score counted as the largest."""
    rank = math.ceil((len(scores) + 1) * coverage - 1e-9)
    return float(scores[rank - 1]) if rank <= len(scores) else math.inf
