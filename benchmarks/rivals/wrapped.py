"""Classifiers of others that need their rows in another form."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from benchmarks.rivals.codes import Codes


class Wrapped:
    """A classifier with its rows turned into what it takes."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def classes_(self) -> np.ndarray:
        """Classes in the order of the probabilities."""
        return np.asarray(self.model.classes_)


class OnText(Wrapped):
    """CatBoost, which wants words as text and to be told which columns they are."""

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Self:
        """Fit with a missing word as a word of its own."""
        self.words_ = [name for name in X if X[name].dtype.kind not in "biuf"]
        self.model.fit(self._as_text(X), y, cat_features=self.words_)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Probabilities of the classes."""
        return self.model.predict_proba(self._as_text(X))

    def _as_text(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.assign(**{name: X[name].astype(object).fillna("missing").astype(str) for name in self.words_})


class OnCodes(Wrapped):
    """A classifier of scikit-bayes, on MDLP bins and categories, all of which are categories to it."""

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Self:
        """Learn the codes, and fit to them."""
        self.codes_ = Codes().fit(X, y)
        self.model.set_params(categorical_features=list(range(X.shape[1]))).fit(self.codes_.transform(X), y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Probabilities of the classes."""
        return self.model.predict_proba(self.codes_.transform(X))


class OnNumbers(Wrapped):
    """Explainable boosting, which turns classes that are floating-point numbers into text."""

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Self:
        """Fit to the numbers of the classes."""
        self.names_, numbers = np.unique(y.to_numpy(), return_inverse=True)
        self.model.fit(X, numbers)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Probabilities of the classes."""
        return self.model.predict_proba(X)

    @property
    def classes_(self) -> np.ndarray:
        """Classes in the order of the probabilities."""
        return self.names_
