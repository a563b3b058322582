"""Bins and categories as codes, for methods that want discrete values: so that they differ in what they learn alone."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tanager import TANClassifier
from tanager.data import as_table

CODING: dict[str, Any] = {"binning": "mdlp", "max_bins": None, "max_categories": 64, "missing": "value"}
"""Spelled out, so that what is compared with does not move when a default does."""


class Codes(TransformerMixin, BaseEstimator):
    """Numbers cut by MDLP, categories numbered; a value that training did not show has the code behind the others."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the codes of all columns."""
        classifier = TANClassifier("none", parameters="ml", **CODING)
        classifier.encode_training(X, y, None)
        self.encoder_ = classifier.encoder_
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Codes, shape (N, D)."""
        return self.encoder_.encode(as_table(X))
