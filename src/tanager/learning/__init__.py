"""Learning: structures and parameters as values, recipes of both, the choice among recipes, and ensembles' members."""

from tanager._options import Options
from tanager.learning.best_recipe import Trials
from tanager.learning.candidates import RandomCandidates, Screened
from tanager.learning.choosing import NO_CHOICE, Choice, calibrated, choose
from tanager.learning.companions import Companion
from tanager.learning.context import Context
from tanager.learning.edges import Edges, Findings, describe_edges, held_out_gains, mean_contributions
from tanager.learning.editing import Editable, SetLine, SetParent
from tanager.learning.ensembles import ENSEMBLE_PRESETS, TREE_PARAMETERS, EnsembleRecipe, ensemble_recipes_for
from tanager.learning.gradient_descent import GradientDescent, NaiveBayesStart, RandomStart
from tanager.learning.limits import Epoch, Limits
from tanager.learning.members import (
    MEMBERS,
    CoveringPaths,
    DisjointTrees,
    IndependentSearches,
    Members,
    SampledStructures,
    derived_seed,
)
from tanager.learning.parameters import Counts, Fitted, Parameters
from tanager.learning.penalised import PenalisedLikelihood
from tanager.learning.recipes import (
    AUTO,
    PARAMETERS,
    PRESETS,
    STRUCTURES,
    Recipe,
    able_to_be_monotone,
    able_to_have_edges,
    as_parameters,
    as_structure,
    bins_of,
    recipes_for,
    worth_trying,
)
from tanager.learning.rows import Part, Rows, hold_out
from tanager.learning.score_searches import AnnealedSearch, ConditionalScore, GreedySearch, MarginScore
from tanager.learning.structures import (
    AllPredecessors,
    ChowLiu,
    FixedParents,
    Free,
    GivenSpace,
    KDependence,
    Nearest,
    NoParents,
    Pseudo,
    RandomTree,
    Structure,
    Subset,
)
from tanager.losses import ConditionalLikelihood, Hybrid, Margin, NegativeLogLikelihood
from tanager.training.regularisers import ParentDropout, Ridge, Shrinkage, SizePenalty, Smoothness

VALUES: dict[str, type[Options]] = {
    kind.__name__: kind
    for kind in (
        *(NoParents, RandomTree, ChowLiu, Subset, AllPredecessors, Nearest, Free, Pseudo, KDependence, FixedParents),
        *(GivenSpace, GreedySearch, AnnealedSearch, ConditionalScore, MarginScore, RandomCandidates, Screened),
        *(Counts, GradientDescent, RandomStart, NaiveBayesStart, ParentDropout, Ridge, Shrinkage, SizePenalty),
        *(PenalisedLikelihood, Smoothness, ConditionalLikelihood, Hybrid, Margin, NegativeLogLikelihood),
        *(IndependentSearches, SampledStructures, DisjointTrees, CoveringPaths, SetLine, SetParent),
        Companion,
    )
}
"""All option values by the names of their classes; model files hold these."""

__all__ = [
    "AUTO",
    "ENSEMBLE_PRESETS",
    "MEMBERS",
    "NO_CHOICE",
    "PARAMETERS",
    "PRESETS",
    "STRUCTURES",
    "TREE_PARAMETERS",
    "VALUES",
    "AllPredecessors",
    "AnnealedSearch",
    "Choice",
    "ChowLiu",
    "Companion",
    "ConditionalScore",
    "Context",
    "Counts",
    "CoveringPaths",
    "DisjointTrees",
    "Edges",
    "Editable",
    "EnsembleRecipe",
    "Epoch",
    "Findings",
    "Fitted",
    "FixedParents",
    "Free",
    "GivenSpace",
    "GradientDescent",
    "GreedySearch",
    "IndependentSearches",
    "KDependence",
    "Limits",
    "MarginScore",
    "Members",
    "NaiveBayesStart",
    "Nearest",
    "NoParents",
    "Parameters",
    "Part",
    "PenalisedLikelihood",
    "Pseudo",
    "RandomCandidates",
    "RandomStart",
    "RandomTree",
    "Recipe",
    "Rows",
    "SampledStructures",
    "Screened",
    "SetLine",
    "SetParent",
    "Structure",
    "Subset",
    "Trials",
    "able_to_be_monotone",
    "able_to_have_edges",
    "as_parameters",
    "as_structure",
    "bins_of",
    "calibrated",
    "choose",
    "derived_seed",
    "describe_edges",
    "ensemble_recipes_for",
    "held_out_gains",
    "hold_out",
    "mean_contributions",
    "recipes_for",
    "worth_trying",
]
