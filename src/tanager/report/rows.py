"""The rows that a report is about: cells, codes, probabilities and classes, and the few of them that it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.data import CategoryColumn, Frame, hash_cells, hash_rows
from tanager.data.coders import number_reader
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.estimators.inputs import read_rows
from tanager.report.evaluation import Evaluation, evaluate, number_classes

Classifier = TANClassifier | TANEnsembleClassifier

_N_WORST, _N_OTHERS = 30, 10


@dataclass(frozen=True)
class ReportRows:
    """Rows with what the classifier says of them.

    Attributes
    ----------
    X : array-like or frame of shape (N, D)
        The rows as they were given.
    frame : Frame
        Their cells.
    codes : unsigned int array of shape (N, D)
    probabilities : float64 array of shape (N, C)
    truth : int64 array of shape (N,) or None
        Numbers of the true classes, -1 for a class that training did not show; None if they were not given.
    evaluation : Evaluation or None
    """

    X: Any
    frame: Frame
    codes: IntArray
    probabilities: FloatArray
    truth: NDArray[np.int64] | None
    evaluation: Evaluation | None

    @classmethod
    def read(cls, clf: Classifier, X: Any, y: Any = None) -> ReportRows:
        """Encode and predict rows, and evaluate the predictions if classes are given."""
        probabilities = clf.predict_proba(X)
        frame = read_rows(clf, X, reset=False)
        truth = None if y is None else number_classes(y, clf.classes_)
        if truth is not None and len(truth) != frame.n_rows:
            raise ValueError(f"y has {len(truth)} entries, but X has {frame.n_rows} rows")
        found = None if truth is None else evaluate(probabilities, truth)
        return cls(X, frame, clf.encoder_.encode(frame), probabilities, truth, found)

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    def share_trained_on(self, clf: Classifier) -> float | None:
        """Estimate of the share of the rows that the classifier was trained on, None if it cannot be told."""
        fingerprint = getattr(clf, "fingerprint_", None)
        if fingerprint is None or self.truth is None:
            return None
        is_known = self.truth >= 0
        hashes = hash_rows(hash_cells(clf.encoder_, self.frame, self.codes)[is_known], self.truth[is_known])
        share: float | None = fingerprint.share_of(hashes)
        return share

    def matrix(self, clf: Classifier) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The cells as numbers, float64[N, D], NaN where missing or unknown, and which columns are categories.

        Categories are the codes of the classifier's encoder, so that matrices of different rows agree.
        """
        columns = clf.encoder_.columns
        is_category = np.array([isinstance(column, CategoryColumn) for column in columns])
        numbers = np.empty(self.codes.shape)
        for i, column in enumerate(columns):
            if is_category[i]:
                is_known = self.codes[:, i] < column.card
                numbers[:, i] = np.where(is_known, self.codes[:, i], np.nan)
            else:
                read = number_reader(self.frame.levels[i], self.frame.label(i))
                numbers[:, i] = read(self.frame.columns[i])
        return numbers, is_category

    def examples(self) -> dict[str, list[int]]:
        """Numbers of rows to show, by what they are examples of; worst errors first."""
        highest = self.probabilities.max(axis=1)
        random = np.random.default_rng(0).permutation(self.n_rows)[:_N_OTHERS]
        found = {"least certain": np.argsort(highest, kind="stable")[:_N_OTHERS], "at random": np.sort(random)}
        if self.truth is not None:
            own = np.where(self.truth >= 0, self.probabilities[np.arange(self.n_rows), self.truth], np.inf)
            order = np.argsort(own, kind="stable")
            is_wrong = (self.probabilities.argmax(axis=1) != self.truth) & (self.truth >= 0)
            found = {"worst errors": order[is_wrong[order]][:_N_WORST], **found}
        return {name: numbers.tolist() for name, numbers in found.items()}
