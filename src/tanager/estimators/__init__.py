"""Estimators in scikit-learn's form."""

from tanager.estimators.tan import TANClassifier

__all__ = ["TANClassifier"]
