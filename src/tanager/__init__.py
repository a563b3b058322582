"""Bayesian network classifiers whose structure is learned by gradient descent.

>>> from tanager import TANClassifier
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "MDLPDiscretizer": "tanager.estimators",
    "ParentSets": "tanager.structure",
    "TANClassifier": "tanager.estimators",
    "TANEnsembleClassifier": "tanager.estimators",
    "load": "tanager.estimators",
    "paper_settings": "tanager.experiments",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tanager' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
