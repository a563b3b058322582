"""Estimators in scikit-learn's form."""

from tanager.estimators.cleaner import TableCleaner
from tanager.estimators.discretizer import MDLPDiscretizer
from tanager.estimators.ensemble import TANEnsembleClassifier
from tanager.estimators.loading import load
from tanager.estimators.tan import TANClassifier

__all__ = ["MDLPDiscretizer", "TANClassifier", "TANEnsembleClassifier", "TableCleaner", "load"]
