"""Recipes of ensembles: members, their parameters, and how the members are learned.

They are learned one by one, or together on the loss of their mean log-joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tanager._options import Options, is_auto
from tanager.learning.context import RESIDUAL, Context
from tanager.learning.gradient_descent import GradientDescent
from tanager.learning.members import LARGEST_SEED, MEMBERS, DisjointTrees, GivenMembers, derived_seed
from tanager.learning.parameters import Fitted
from tanager.learning.penalised import PenalisedLikelihood
from tanager.learning.recipes import AUTO, GIVEN, Recipe, as_parameters, as_structure, recipes_for
from tanager.losses import Hybrid
from tanager.model import Layout
from tanager.structure import naive_bayes


class Learned(NamedTuple):
    """A member: what it was learned by, and what came out."""

    recipe: Recipe
    seed: int
    fitted: Fitted
    is_companion: bool = False


class EnsembleRecipe(Options):
    """Members, their parameters, and whether they are learned together.

    Parameters
    ----------
    members : Members
    parameters : Parameters or str
    is_joint : bool
        Whether all members are trained on the loss of their mean log-joint.
    companion : Companion, optional
        Trees of another kind beside them (see `tanager.learning.companions`).
    """

    members: Any
    parameters: Any
    is_joint: bool
    companion: Any = None

    def __post_init__(self) -> None:
        if self.is_joint and not as_parameters(self.parameters).can_join:
            raise ValueError(
                f"training='joint' requires GradientDescent or PenalisedLikelihood, got parameters={self.parameters!r}"
            )
        if self.companion is not None and not self.is_joint:
            raise ValueError(
                "companion requires members that are trained together: use training='joint' with GradientDescent or "
                "PenalisedLikelihood"
            )
        structure = getattr(self.members, "structure", None)
        if structure is not None:
            Recipe(structure, self.parameters)

    def learn(self, context: Context, seed: int) -> list[Learned]:
        """Learn all members, some at the same time."""
        tuned = self.tuned(context, seed)
        if self.companion is not None:
            context = context.with_options(watch=None)
        recipes, member_seeds = tuned._plan(context, seed)
        seeds = list(map(derived_seed, member_seeds))
        if self.is_joint:
            forest = as_structure(recipes[0].structure).forest
            layouts = tuned._lay_out(context, seed)
            fitted = as_parameters(tuned.parameters).learn(layouts, context, seeds[0], forest)
            if context.rules is not None:
                for each in fitted:
                    context.rules.check(each.network.extra_parents)
        else:
            alone = context.with_options(n_threads=1, watch=None)
            recipes = context.map(lambda plan: plan[0].tuned(alone, plan[1]), zip(recipes, seeds, strict=True))
            fitted = context.map(lambda plan: plan[0].learn(alone, plan[1]), zip(recipes, seeds, strict=True))
        learned = [Learned(*each) for each in zip(recipes, member_seeds, fitted, strict=True)]
        return learned if tuned.companion is None else tuned.companion.join(learned, context, seed)

    def tuned(self, context: Context, seed: int) -> EnsembleRecipe:
        """The recipe with all that is chosen on held-out rows decided; separate members choose for themselves."""
        if not self.is_joint:
            return self
        tuned = as_parameters(self.parameters).tuned(lambda part: self._lay_out(part, seed), context, seed)
        companion = None if self.companion is None else self.companion.tuned(context, seed)
        return self.set_params(parameters=tuned, companion=companion)

    def _plan(self, context: Context, seed: int) -> tuple[list[Recipe], list[int]]:
        """The recipe and the seed of each member."""
        drawn = np.random.default_rng(seed).integers(LARGEST_SEED, size=self.members.count(context.n_features))
        member_seeds = drawn.tolist()
        structures = self.members.structures(self.parameters, context, member_seeds)
        return [Recipe(structure, self.parameters) for structure in structures], member_seeds[: len(structures)]

    def _lay_out(self, context: Context, seed: int) -> list[Layout]:
        """Find the structures of all members, some at the same time, and lay out their CPTs."""
        recipes, seeds = self._plan(context, seed)
        alone = context.with_options(n_threads=1)
        planned = zip(recipes, map(derived_seed, seeds), strict=True)
        return context.map(lambda plan: plan[0].lay_out(alone, plan[1]), planned)

    def used(self, context: Context) -> EnsembleRecipe:
        """The recipe with all that depends on the number of rows decided."""
        companion = None if self.companion is None else self.companion.used(context)
        return self.set_params(parameters=context.sized(as_parameters(self.parameters)), companion=companion)

    def without_parents(self, n_features: int) -> EnsembleRecipe:
        """The same recipe for one member without edges, and a companion of one such tree."""
        alone = GivenMembers([naive_bayes(n_features)])
        companion = None if self.companion is None else self.companion.set_params(members=alone)
        return self.set_params(members=alone, companion=companion)

    def with_structures_of(self, learned: Sequence[Learned]) -> EnsembleRecipe:
        """The same recipe for the structures that its members have found."""

        def given(*, is_companion: bool) -> GivenMembers:
            own = [each.fitted for each in learned if each.is_companion == is_companion]
            return GivenMembers([each.network.layout.parent_sets for each in own])

        companion = None if self.companion is None else self.companion.set_params(members=given(is_companion=True))
        return self.set_params(members=given(is_companion=False), companion=companion)


_JOINT_MARGIN: dict[str, Any] = {"learning_rate": 0.3, "learning_rate_decay": 0.03, "parent_dropout": 0.2}

TREE_PARAMETERS: Mapping[str, Any] = {
    "penalised": PenalisedLikelihood(),
    "margin": GradientDescent(Hybrid(lam=100.0, gamma=10.0, eta=1.0), smoothness=0.01, **_JOINT_MARGIN),
    "wide margin": GradientDescent(Hybrid(lam=100.0, gamma=30.0, eta=1.0), smoothness=0.03, **_JOINT_MARGIN),
}
"""Parameters that are tried for given members; docs/defaults.md has what each is for."""

_SMOOTH_MARGIN = GradientDescent(Hybrid(lam=100.0, gamma=10.0, eta=1.0), smoothness=0.03, **_JOINT_MARGIN)

ENSEMBLE_PRESETS: Mapping[str, EnsembleRecipe] = {
    "trees": EnsembleRecipe(DisjointTrees(3, RESIDUAL), PenalisedLikelihood(least_gain="auto"), is_joint=True),
    "margin": EnsembleRecipe(DisjointTrees(), TREE_PARAMETERS["margin"], is_joint=True),
    "wide margin": EnsembleRecipe(DisjointTrees(), TREE_PARAMETERS["wide margin"], is_joint=True),
    "smooth margin": EnsembleRecipe(DisjointTrees(5), _SMOOTH_MARGIN, is_joint=True),
}
"""Recipes that are tried where nothing is given."""


def ensemble_recipes_for(members: Any, parameters: Any, training: str) -> dict[str, EnsembleRecipe]:
    """Recipes to choose among, by name, for options of an ensemble, each of which may be "auto"."""
    is_given = not is_auto(parameters)
    is_open = is_auto(members)
    if is_open and not is_given:
        return {name: each.set_params(is_joint=training != "separate") for name, each in ENSEMBLE_PRESETS.items()}
    source = DisjointTrees() if is_open else MEMBERS.resolve(members)
    if hasattr(source, "structure"):
        recipes = recipes_for(source.structure, parameters)
        return {
            name: EnsembleRecipe(
                source.set_params(structure=recipe.structure), recipe.parameters, is_joint=training == "joint"
            )
            for name, recipe in recipes.items()
        }
    tried = {GIVEN: parameters} if is_given else TREE_PARAMETERS
    return {
        name: EnsembleRecipe(
            source, each, is_joint=training == "joint" or (training == AUTO and as_parameters(each).can_join)
        )
        for name, each in tried.items()
    }
