"""Bayesian network classifiers whose structure is learned by gradient descent.

>>> from tanager import TANClassifier
"""

from typing import TYPE_CHECKING

from tanager._lazy import lazy_names

if TYPE_CHECKING:
    from tanager.data import FileSource, Piece
    from tanager.estimators import MDLPDiscretizer, TableCleaner, TANClassifier, TANEnsembleClassifier, load
    from tanager.experiments import paper_settings
    from tanager.learning import (
        AllPredecessors,
        AnnealedSearch,
        ChowLiu,
        Companion,
        Counts,
        CoveringPaths,
        DisjointTrees,
        Free,
        GradientDescent,
        GreedySearch,
        IndependentSearches,
        KDependence,
        MarginScore,
        NaiveBayesStart,
        Nearest,
        NoParents,
        PenalisedLikelihood,
        Pseudo,
        RandomTree,
        SampledStructures,
        Screened,
        SetLine,
        SetParent,
        Subset,
    )
    from tanager.losses import ConditionalLikelihood, Hybrid, Margin, NegativeLogLikelihood
    from tanager.structure import ParentSets

__version__ = "0.1.0"

# Names are imported when they are asked for, so that `tanager --help` does not wait for scikit-learn.
_HOMES = {
    **dict.fromkeys(
        ("MDLPDiscretizer", "TANClassifier", "TANEnsembleClassifier", "TableCleaner", "load"), "estimators"
    ),
    **dict.fromkeys(
        [
            *("AllPredecessors", "AnnealedSearch", "ChowLiu", "Companion", "Counts", "CoveringPaths", "DisjointTrees"),
            *("Free", "GradientDescent", "GreedySearch", "IndependentSearches", "KDependence", "MarginScore"),
            *("NaiveBayesStart", "Nearest", "NoParents", "PenalisedLikelihood", "Pseudo", "RandomTree"),
            *("SampledStructures", "Screened", "SetLine", "SetParent", "Subset"),
        ],
        "learning",
    ),
    **dict.fromkeys(("ConditionalLikelihood", "Hybrid", "Margin", "NegativeLogLikelihood"), "losses"),
    **dict.fromkeys(("FileSource", "Piece"), "data"),
    "ParentSets": "structure",
    "paper_settings": "experiments",
}

__all__ = [
    "AllPredecessors",
    "AnnealedSearch",
    "ChowLiu",
    "Companion",
    "ConditionalLikelihood",
    "Counts",
    "CoveringPaths",
    "DisjointTrees",
    "FileSource",
    "Free",
    "GradientDescent",
    "GreedySearch",
    "Hybrid",
    "IndependentSearches",
    "KDependence",
    "MDLPDiscretizer",
    "Margin",
    "MarginScore",
    "NaiveBayesStart",
    "Nearest",
    "NegativeLogLikelihood",
    "NoParents",
    "ParentSets",
    "PenalisedLikelihood",
    "Piece",
    "Pseudo",
    "RandomTree",
    "SampledStructures",
    "Screened",
    "SetLine",
    "SetParent",
    "Subset",
    "TANClassifier",
    "TANEnsembleClassifier",
    "TableCleaner",
    "__version__",
    "load",
    "paper_settings",
]

__getattr__ = lazy_names("tanager", _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
