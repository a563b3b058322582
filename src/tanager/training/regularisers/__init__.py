"""Regularisers: what keeps CPTs and structures from fitting the training rows too closely, one file each.

A regulariser is an option value with one strength. It says what it does to a step of training through the hooks of
`tanager.training.regularisers.contract`; the step knows none of them by name.
"""

from tanager.training.regularisers.contract import FeatureCpts, Hooks, Regulariser, Run
from tanager.training.regularisers.parent_dropout import ParentDropout
from tanager.training.regularisers.ridge import Ridge
from tanager.training.regularisers.shrinkage import Shrinkage
from tanager.training.regularisers.size_penalty import SizePenalty
from tanager.training.regularisers.smoothness import Smoothness

__all__ = [
    "FeatureCpts",
    "Hooks",
    "ParentDropout",
    "Regulariser",
    "Ridge",
    "Run",
    "Shrinkage",
    "SizePenalty",
    "Smoothness",
]
