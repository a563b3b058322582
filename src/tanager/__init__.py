"""Bayesian network classifiers whose structure is learned by gradient descent.

>>> from tanager import TANClassifier
"""

from typing import TYPE_CHECKING

from tanager._lazy import lazy_names

if TYPE_CHECKING:
    from tanager.estimators import MDLPDiscretizer, TANClassifier, TANEnsembleClassifier, load
    from tanager.experiments import paper_settings
    from tanager.structure import ParentSets

__version__ = "0.1.0"

__all__ = [
    "MDLPDiscretizer",
    "ParentSets",
    "TANClassifier",
    "TANEnsembleClassifier",
    "__version__",
    "load",
    "paper_settings",
]

# Names are imported when they are asked for, so that `tanager --help` waits neither for scikit-learn nor for numba.
_HOMES = {
    "MDLPDiscretizer": "estimators",
    "ParentSets": "structure",
    "TANClassifier": "estimators",
    "TANEnsembleClassifier": "estimators",
    "load": "estimators",
    "paper_settings": "experiments",
}

__getattr__ = lazy_names("tanager", _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
