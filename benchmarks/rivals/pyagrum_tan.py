"""pyAgrum's TAN as a classifier of frames.

pyAgrum learns structure and parameters, with its default prior, and predicts. It gets labels, since it would bin whole
numbers of many values again. Two things differ from its defaults. It does not accept values that were not in training;
the most frequent value replaces them. With two classes it moves the threshold to where its ROC curve is best, which
does not minimise the error; here the class with the higher probability is predicted, as with more classes.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from benchmarks.rivals.codes import Codes


class PyAgrumTAN(ClassifierMixin, BaseEstimator):
    """``BNClassifier(learningMethod="TAN")`` on codes."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn codes, structure and parameters, on one thread."""
        import pyagrum
        from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
        from pyagrum.skbn import BNClassifier

        pyagrum.setNumberOfThreads(1)
        self.classes_, numbers = np.unique(np.asarray(y), return_inverse=True)
        self.codes_ = Codes().fit(X, y)
        codes = self.codes_.transform(X)
        self.most_frequent_ = np.array([np.bincount(column).argmax() for column in codes.T])
        self.model_ = BNClassifier(type_processor=DiscreteTypeProcessor(), learningMethod="TAN")
        # Labels of equal length, so that their order is that of the numbers.
        self.model_.fit(_labels(codes), _labels(numbers))
        self.model_.threshold_ = 0.5
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, shape (N, C); zeros where its product of probabilities is too small."""
        codes = self.codes_.transform(X)
        is_unknown = codes >= self.codes_.encoder_.cards
        known = np.where(is_unknown, self.most_frequent_, codes)
        return np.nan_to_num(self.model_.predict_proba(_labels(known)))

    @property
    def n_parameters(self) -> int:
        """Entries of all CPTs."""
        network = self.model_.bn_
        return sum(network.cpt(node).domainSize() for node in network.nodes())


def _labels(numbers: np.ndarray) -> np.ndarray:
    names = np.array([f"v{number:05d}" for number in range(int(numbers.max()) + 1)], dtype=object)
    return names[numbers]
