"""Prediction of one classifier: from tables to classes and their probabilities."""

from __future__ import annotations

from typing import Any

from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._types import FloatArray, IntArray
from tanager.data import TableEncoder
from tanager.estimators.inputs import read_table
from tanager.estimators.probabilities import log_softmax_rows, softmax_rows
from tanager.model import Network


class PredictingMixin:
    """Adds the methods that predict, by ``network_`` and ``encoder_``."""

    network_: Network
    encoder_: TableEncoder
    classes_: NDArray[Any]
    n_jobs: int | None

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Log-probability of each row together with each class, shape (N, C)."""
        codes = self._encode(X)
        return self.network_.log_joint(codes, self._n_threads())

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Log-probability of each class given each row, shape (N, C)."""
        return log_softmax_rows(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class given each row, shape (N, C)."""
        return softmax_rows(self.predict_joint_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row, shape (N,)."""
        codes = self._encode(X)
        return self.classes_[self.network_.predict(codes, self._n_threads())]

    def _encode(self, X: Any) -> IntArray:
        check_is_fitted(self)
        return self.encoder_.encode(read_table(self, X, reset=False), n_threads=self._n_threads())

    def _n_threads(self) -> int:
        return effective_n_jobs(self.n_jobs)
