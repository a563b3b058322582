"""Bayesian network classifiers whose structure is learned by gradient descent.

>>> from tanager import TANClassifier
"""

from tanager.estimators import MDLPDiscretizer, TANClassifier, TANEnsembleClassifier
from tanager.experiments import paper_settings
from tanager.structure import ParentSets

__version__ = "0.1.0"

__all__ = ["MDLPDiscretizer", "ParentSets", "TANClassifier", "TANEnsembleClassifier", "__version__", "paper_settings"]
