"""Ensembles: where the structures of the members come from, and how the members are learned.

Members either search for themselves, or have structures that are drawn from one learned distribution, or are trees that
share no pair of features. They are learned one by one, or together on the loss of their mean log-joint.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tanager._options import Options, ShortNames, check_choice, check_count
from tanager.learning.context import RESIDUAL, Context
from tanager.learning.parameters import Fitted, GradientDescent
from tanager.learning.penalised import PenalisedLikelihood
from tanager.learning.recipes import (
    AUTO,
    GIVEN,
    STRUCTURES,
    Recipe,
    as_parameters,
    as_structure,
    recipes_for,
)
from tanager.learning.structures import FixedParents, GivenSpace, Structure
from tanager.losses import Hybrid
from tanager.model import PAIR_SCORES, Layout, ParentDistribution
from tanager.structure import EdgeRules, ParentSets, maximum_arborescence, naive_bayes
from tanager.structure.covering import covering_paths, disjoint_trees

# Numbers of members, chosen on the data sets of docs/defaults.md: enough for all pairs of features where these are few,
# otherwise so many as long as they do not have more CPTs.
_MEMBERS_AND_CPTS = ((30, 700), (12, 3_000), (4, sys.maxsize))
_LARGEST_SEED = np.iinfo(np.int32).max


@runtime_checkable
class Members(Protocol):
    """Where the structures of an ensemble's members come from."""

    def count(self, n_features: int) -> int:
        """How many members are wanted."""

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """A structure for each seed, or fewer where there are no more different ones."""


def check_structure(structure: Any) -> None:
    """Require a structure, or "auto"."""
    if not (isinstance(structure, str) and structure == AUTO):
        as_structure(structure)


def check_n_members(n_members: Any) -> None:
    """Require a number of members, or "auto"."""
    if not (isinstance(n_members, str) and n_members == AUTO):
        check_count("n_members", n_members)


class IndependentSearches(Options):
    """Each member searches for itself with a seed of its own.

    Parameters
    ----------
    structure : structure of `tanager.TANClassifier`, default="auto"
        ``Subset()`` gives each member another ordering and other candidates. "auto" tries the presets of one tree.
    n_members : int, default=10
    """

    short_names: ClassVar = {"structure": STRUCTURES}

    structure: Any = AUTO
    n_members: int = 10

    def __post_init__(self) -> None:
        check_structure(self.structure)
        check_count("n_members", self.n_members)

    def count(self, n_features: int) -> int:
        """As many as were asked for."""
        return int(self.n_members)

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """The same structure for all; their seeds differ."""
        return [as_structure(self.structure)] * len(seeds)


class SampledStructures(Options):
    """One search, and each member has a structure that is drawn from the distribution it learned.

    Parameters
    ----------
    structure : structure of `tanager.TANClassifier`, default="auto"
        "auto" tries the presets of one tree.
    n_members : int, default=10
    """

    short_names: ClassVar = {"structure": STRUCTURES}

    structure: Any = AUTO
    n_members: int = 10

    def __post_init__(self) -> None:
        check_structure(self.structure)
        check_count("n_members", self.n_members)

    def count(self, n_features: int) -> int:
        """As many as were asked for."""
        return int(self.n_members)

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """Learn one network and draw structures from its parent distribution."""
        rng = np.random.default_rng(seeds[0])
        alone = context.with_options(watch=None)
        learned = Recipe(self.structure, parameters).learn(alone, derived_seed(seeds[0])).distribution
        has_forests = as_structure(self.structure).forest is not None
        return [GivenSpace(draw_structure(learned, has_forests, rng)) for _ in seeds]


class DisjointTrees(Options):
    """The best tree of pairs of features, the best tree of the pairs that are left, and so on.

    Parameters
    ----------
    n_members : int or "auto", default="auto"
        "auto" is (D + 1) // 2, which hold all pairs of features or nearly all. Where D is large, up to 30 members have
        at most 700 CPTs together, up to 12 at most 3,000, and 4 any number.
    score : {"information", "explaining-away", "conditional", "margin", "residual"}, default="information"
        Which pairs come first, as in `tanager.learning.ChowLiu`.
    """

    n_members: int | Literal["auto"] = "auto"
    score: Literal["information", "explaining-away", "conditional", "margin", "residual"] = "information"

    def __post_init__(self) -> None:
        check_n_members(self.n_members)
        check_choice("score", self.score, (*PAIR_SCORES, RESIDUAL))

    def count(self, n_features: int) -> int:
        """How many members are wanted."""
        return default_members(n_features) if self.n_members == AUTO else int(self.n_members)

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """Trees that share no pair of features, best pairs first."""
        scores, rules = context.scores(self.score), context.rules
        if rules is not None:
            return [FixedParents(parents.tolist()) for parents in rules.disjoint_trees(scores, len(seeds))]
        trees = disjoint_trees(scores, len(seeds), np.random.default_rng(seeds[0]))
        return [FixedParents(parents.tolist()) for parents in trees]


class GivenMembers(Options):
    """Structures that are given, one for each member.

    Parameters
    ----------
    parent_sets : list of ParentSets
    """

    parent_sets: Any

    def count(self, n_features: int) -> int:
        """As many as there are structures."""
        return len(self.parent_sets)

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """The structures as they are."""
        return [GivenSpace(each) for each in self.parent_sets]


class CoveringPaths(Options):
    """Paths through all features that share no pair of them; nothing is searched.

    Parameters
    ----------
    n_members : int or "auto", default="auto"
        As in `DisjointTrees`. (D + 1) // 2 members hold every pair of features once, and no more are made.
    """

    n_members: int | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        check_n_members(self.n_members)

    def count(self, n_features: int) -> int:
        """How many members are wanted."""
        return default_members(n_features) if self.n_members == AUTO else int(self.n_members)

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """Paths that share no pair of features."""
        paths = covering_paths(context.n_features, len(seeds), np.random.default_rng(seeds[0]))
        if context.rules is not None:
            if context.rules.has_required:
                raise ValueError("require contradicts CoveringPaths, whose paths are fixed: use DisjointTrees")
            paths = [_without_forbidden(parents, context.rules) for parents in paths]
        return [FixedParents(parents.tolist()) for parents in paths]


def _without_forbidden(parents: NDArray[np.int64], rules: EdgeRules) -> NDArray[np.int64]:
    """The path, or the same one turned around, without its forbidden edges, whichever keeps more edges."""
    turned = np.full_like(parents, -1)
    children = np.flatnonzero(parents >= 0)
    turned[parents[children]] = children
    ways = [np.where((way >= 0) & rules.is_forbidden[np.arange(len(way)), way], -1, way) for way in (parents, turned)]
    return max(ways, key=lambda way: int((way >= 0).sum()))


MEMBERS = ShortNames(
    "members",
    {
        "searches": IndependentSearches,
        "sampled": SampledStructures,
        "trees": DisjointTrees,
        "cover": CoveringPaths,
    },
    "structures",
    also=(AUTO,),
    others="a value such as DisjointTrees(...)",
    renamed={
        "search": "'searches' or IndependentSearches(structure=...)",
        "distribution": "'sampled' or SampledStructures(structure=...)",
    },
)
"""Members by the words that ensembles take for them."""


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
        drawn = np.random.default_rng(seed).integers(_LARGEST_SEED, size=self.members.count(context.n_features))
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
    is_given = not (isinstance(parameters, str) and parameters == AUTO)
    is_open = isinstance(members, str) and members == AUTO
    if is_open and not is_given:
        return {name: each.set_params(is_joint=training != "separate") for name, each in ENSEMBLE_PRESETS.items()}
    source = DisjointTrees() if is_open else as_members(members)
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


def as_members(members: Any) -> Any:
    """The members that a word stands for."""
    return MEMBERS.resolve(members)


def default_members(n_features: int) -> int:
    """Number of trees or paths: as many as hold all pairs, if these are not too many CPTs.

    Examples
    --------
    >>> default_members(16), default_members(256), default_members(2000)
    (8, 11, 4)
    """
    wanted = max(min(n_members, most_cpts // n_features) for n_members, most_cpts in _MEMBERS_AND_CPTS)
    return max(1, min((n_features + 1) // 2, wanted))


def derived_seed(seed: int) -> int:
    """The seed that an estimator with this ``random_state`` learns with."""
    return int(np.random.RandomState(seed).randint(_LARGEST_SEED))


def draw_structure(distribution: ParentDistribution, has_forests: bool, rng: np.random.Generator) -> ParentSets:
    """A structure drawn from what a search learned; without cycles if the search was kept to forests."""
    sets, log_probability = distribution.parent_sets, distribution.log_probabilities
    perturbed = log_probability + rng.gumbel(size=len(log_probability))
    if has_forests:
        return sets.keep(maximum_arborescence(sets, perturbed))
    return sets.keep(np.array([lo + perturbed[lo:hi].argmax() for lo, hi in pairwise(sets.ptr)]))
