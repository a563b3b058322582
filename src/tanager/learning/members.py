"""Members of ensembles as option values: where their structures come from.

Members either search for themselves, or have structures that are drawn from one learned distribution, or are trees that
share no pair of features.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tanager._options import Options, ShortNames, check_choice, check_count, is_auto
from tanager.learning.context import RESIDUAL, Context
from tanager.learning.recipes import AUTO, STRUCTURES, Recipe, as_structure
from tanager.learning.structures import FixedParents, GivenSpace, Structure
from tanager.model import PAIR_SCORES, ParentDistribution
from tanager.structure import EdgeRules, ParentSets, maximum_arborescence
from tanager.structure.covering import covering_paths, disjoint_trees

# Numbers of members, chosen on the data sets of docs/defaults.md: enough for all pairs of features where these are few,
# otherwise so many as long as they do not have more CPTs.
_MEMBERS_AND_CPTS = ((30, 700), (12, 3_000), (4, sys.maxsize))
LARGEST_SEED = np.iinfo(np.int32).max


@runtime_checkable
class Members(Protocol):
    """Where the structures of an ensemble's members come from."""

    def count(self, n_features: int) -> int:
        """How many members are wanted."""

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """A structure for each seed, or fewer where there are no more different ones."""


class SearchedMembers(Options):
    """Base of members that have their structures from searches for one tree."""

    short_names: ClassVar = {"structure": STRUCTURES}

    structure: Any = AUTO
    n_members: int = 10

    def __post_init__(self) -> None:
        if not is_auto(self.structure):
            as_structure(self.structure)
        check_count("n_members", self.n_members)

    def count(self, n_features: int) -> int:
        """As many as were asked for."""
        return int(self.n_members)


class PairsOnce(Options):
    """Base of members that share no pair of features."""

    n_members: int | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if not is_auto(self.n_members):
            check_count("n_members", self.n_members)

    def count(self, n_features: int) -> int:
        """How many members are wanted."""
        return default_members(n_features) if self.n_members == AUTO else int(self.n_members)


class IndependentSearches(SearchedMembers):
    """Each member searches for itself with a seed of its own.

    Parameters
    ----------
    structure : structure of `tanager.TANClassifier`, default="auto"
        ``Subset()`` gives each member another ordering and other candidates. "auto" tries the presets of one tree.
    n_members : int, default=10
    """

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """The same structure for all; their seeds differ."""
        return [as_structure(self.structure)] * len(seeds)


class SampledStructures(SearchedMembers):
    """One search, and each member has a structure that is drawn from the distribution it learned.

    Parameters
    ----------
    structure : structure of `tanager.TANClassifier`, default="auto"
        "auto" tries the presets of one tree.
    n_members : int, default=10
    """

    def structures(self, parameters: Any, context: Context, seeds: Sequence[int]) -> list[Structure]:
        """Learn one network and draw structures from its parent distribution."""
        rng = np.random.default_rng(seeds[0])
        alone = context.with_options(watch=None)
        learned = Recipe(self.structure, parameters).learn(alone, derived_seed(seeds[0])).distribution
        has_forests = as_structure(self.structure).forest is not None
        return [GivenSpace(draw_structure(learned, has_forests, rng)) for _ in seeds]


class DisjointTrees(PairsOnce):
    """The best tree of pairs of features, the best tree of the pairs that are left, and so on.

    Parameters
    ----------
    n_members : int or "auto", default="auto"
        "auto" is (D + 1) // 2, which hold all pairs of features or nearly all. Where D is large, up to 30 members have
        at most 700 CPTs together, up to 12 at most 3,000, and 4 any number.
    score : {"information", "explaining-away", "conditional", "margin", "residual"}, default="information"
        Which pairs come first, as in `tanager.learning.ChowLiu`.
    """

    score: Literal["information", "explaining-away", "conditional", "margin", "residual"] = "information"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("score", self.score, (*PAIR_SCORES, RESIDUAL))

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


class CoveringPaths(PairsOnce):
    """Paths through all features that share no pair of them; nothing is searched.

    Parameters
    ----------
    n_members : int or "auto", default="auto"
        As in `DisjointTrees`. (D + 1) // 2 members hold every pair of features once, and no more are made.
    """

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
    return int(np.random.RandomState(seed).randint(LARGEST_SEED))


def draw_structure(distribution: ParentDistribution, has_forests: bool, rng: np.random.Generator) -> ParentSets:
    """A structure drawn from what a search learned; without cycles if the search was kept to forests."""
    sets, log_probability = distribution.parent_sets, distribution.log_probabilities
    perturbed = log_probability + rng.gumbel(size=len(log_probability))
    if has_forests:
        return sets.keep(maximum_arborescence(sets, perturbed))
    return sets.keep(np.array([lo + perturbed[lo:hi].argmax() for lo, hi in pairwise(sets.ptr)]))
