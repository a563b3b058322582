"""Bins and categories as codes for methods that need discrete values, so that they differ only in what they learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tanager import TANClassifier
from tanager.data import as_frame
from tanager.estimators.inputs import TrainingData

CODING: dict[str, Any] = {"binning": "mdlp", "max_bins": None, "max_categories": 64, "missing": "value"}
"""Named in full, so that the rivals do not change when a default does."""


class Codes(TransformerMixin, BaseEstimator):
    """Numbers binned by MDLP, and categories; a value that was not in training gets the code after the others."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the codes of all columns."""
        classifier = TANClassifier("none", parameters="ml", **CODING)
        self.encoder_ = TrainingData(classifier, X, y, None, n_threads=1).encoded("auto").encoder
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Codes, shape (N, D)."""
        return self.encoder_.encode(as_frame(X))
