"""Structures as option values: which parents a feature may have, from one fixed tree to a free search.

A structure gives a search space; training chooses in it. Searches by a score of counted CPTs narrow the space down to
one structure first (`tanager.learning.score_searches`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager._options import Options, check_choice, check_count
from tanager.learning.candidates import (
    CANDIDATES,
    RandomCandidates,
    Screened,
    check_candidates,
    check_ordering,
    clip,
    make_order,
    other_features,
)
from tanager.learning.context import RESIDUAL, Context
from tanager.model import PAIR_SCORES
from tanager.structure import (
    PairRule,
    ParentSets,
    all_candidates,
    along_diagonal,
    centre_outwards,
    fixed_parents,
    maximum_spanning_tree,
    naive_bayes,
    nearest_candidates,
    pixel_positions,
    random_parents,
    row_wise,
    with_pairs,
)

Forest = Literal["project", "sample"]

_IMAGE_ORDERINGS: dict[str, Callable[[tuple[int, int]], NDArray[np.int64]]] = {
    "A": row_wise,
    "B": along_diagonal,
    "C": centre_outwards,
}


@runtime_checkable
class Structure(Protocol):
    """What learning asks of a structure. Any object of this form can be given to the estimators.

    Attributes
    ----------
    is_fixed : bool
        Whether one structure is left to train, so that its parameters can be counted.
    forest : {None, "project", "sample"}
        How a search without an ordering is kept to forests: by one projection at the end, or in every step. None is
        not at all.
    may_have_cycles : bool
        Whether the result may be something else than a forest.
    """

    @property
    def is_fixed(self) -> bool: ...

    @property
    def forest(self) -> Forest | None: ...

    @property
    def may_have_cycles(self) -> bool: ...

    def space(self, context: Context, rng: np.random.Generator) -> ParentSets:
        """The candidate parents of each feature. Nothing is searched yet."""

    def search(self, space: ParentSets, context: Context, rng: np.random.Generator) -> ParentSets:
        """What is left of the space before parameters are learned; the space itself where training searches."""


class StructureOptions(Options):
    """Base of the structures here: one feature has no parents, and the space is what training searches."""

    is_fixed: ClassVar[bool] = False
    may_have_cycles: ClassVar[bool] = False
    renamed: ClassVar = {
        "screening": "an option of candidates=Screened(score=...)",
        "free": "an option of Free(forest=...)",
        "is_lazy": "lazy",
        "leaves_out": "leave_one_out",
    }

    @property
    def forest(self) -> Forest | None:
        """Not kept to forests, or in no need of it."""
        return None

    def space(self, context: Context, rng: np.random.Generator) -> ParentSets:
        """The candidate parents of each feature."""
        return naive_bayes(1) if context.n_features == 1 else self._candidates(context, rng)

    def search(self, space: ParentSets, context: Context, rng: np.random.Generator) -> ParentSets:
        """The space itself."""
        return space

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        """The space for two features or more."""
        raise NotImplementedError


class NoParents(StructureOptions):
    """Naive Bayes: no feature has a parent besides the class."""

    is_fixed: ClassVar[bool] = True

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        return naive_bayes(context.n_features)


class RandomTree(StructureOptions):
    """One random tree: every feature but the first has a random predecessor as its parent (TAN Random in the paper).

    Parameters
    ----------
    ordering : {"random", "natural"} or permutation of the features, default="random"
    """

    is_fixed: ClassVar[bool] = True

    ordering: str | ArrayLike = "random"

    def __post_init__(self) -> None:
        check_ordering(self.ordering)

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        order = make_order(self.ordering, context, rng)
        if context.rules is None:
            return random_parents(order, rng)
        return fixed_parents(context.rules.random_tree(order, rng))


class ChowLiu(StructureOptions):
    """The tree of largest summed score of its edges; by default the TAN of Friedman et al. (1997).

    Parameters
    ----------
    score : {"information", "explaining-away", "conditional", "margin", "residual"}, default="information"
        As in `Screened`. The default is that of Chow and Liu, given the class; "residual" is what a pair adds to the
        main effects of all features.
    """

    is_fixed: ClassVar[bool] = True

    score: Literal["information", "explaining-away", "conditional", "margin", "residual"] = "information"

    def __post_init__(self) -> None:
        check_choice("score", self.score, (*PAIR_SCORES, RESIDUAL))

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        scores, rules = context.scores(self.score), context.rules
        return fixed_parents(maximum_spanning_tree(scores) if rules is None else rules.best_tree(scores))


class Subset(StructureOptions):
    """Some predecessors in an ordering, and no parent (TAN Subset in the paper).

    Parameters
    ----------
    max_parents : int, default=8
        Number of candidate parents K of each feature, or all its predecessors where there are fewer. More candidates
        find better trees and take more time and memory.
    candidates : {"random", "screened", "mixed"} or Screened, default="random"
        Which predecessors; "mixed" is half screened, half random.
    ordering : {"random", "natural"} or permutation of the features, default="random"
        For images, `tanager.structure.centre_outwards` and its like make permutations.
    """

    short_names: ClassVar = {"candidates": CANDIDATES}

    max_parents: int = 8
    candidates: str | Screened | RandomCandidates = "random"
    ordering: str | ArrayLike = "random"

    def __post_init__(self) -> None:
        check_count("max_parents", self.max_parents)
        self.resolved("candidates")
        check_ordering(self.ordering)

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        order = make_order(self.ordering, context, rng)
        return self.resolved("candidates").choose(context, clip(self.max_parents, context), rng, order)


class AllPredecessors(StructureOptions):
    """All predecessors in an ordering, and no parent (TAN All in the paper).

    Parameters
    ----------
    ordering : {"random", "natural"} or permutation of the features, default="random"
    """

    ordering: str | ArrayLike = "random"

    def __post_init__(self) -> None:
        check_ordering(self.ordering)

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        return all_candidates(make_order(self.ordering, context, rng))


class Nearest(StructureOptions):
    """The nearest preceding pixels of an image, and no parent (TAN Heuristic in the paper).

    Parameters
    ----------
    image_shape : (int, int)
        Rows and columns of the images whose pixels are the features, numbered row by row.
    max_parents : int, default=8
        Number of candidate parents K of each pixel.
    ordering : {"A", "B", "C", "random", "natural"} or permutation of the features, default="C"
        Row by row, along the diagonal, or from the centre outwards, as in the paper.
    """

    image_shape: tuple[int, int]
    max_parents: int = 8
    ordering: str | ArrayLike = "C"

    def __post_init__(self) -> None:
        check_image_shape(self.image_shape)
        check_count("max_parents", self.max_parents)
        check_ordering(self.ordering, (*_IMAGE_ORDERINGS, "random", "natural"))

    def space(self, context: Context, rng: np.random.Generator) -> ParentSets:
        """The candidate parents of each pixel."""
        check_image_shape(self.image_shape, context.n_features)
        return super().space(context, rng)

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        shape = (int(self.image_shape[0]), int(self.image_shape[1]))
        of_image = _IMAGE_ORDERINGS.get(self.ordering) if isinstance(self.ordering, str) else None
        order = make_order(self.ordering if of_image is None else of_image(shape), context, rng)
        k, rules = clip(self.max_parents, context), context.rules
        if rules is None:
            return nearest_candidates(order, pixel_positions(shape), k)
        return rules.thin(nearest_candidates(order, pixel_positions(shape), context.n_features - 1), k)


class Free(StructureOptions):
    """Any other feature as a parent, without an ordering; the result is always a forest.

    Parameters
    ----------
    max_parents : int or None, default=8
        Number of candidate parents of each feature; None takes all other features.
    candidates : {"random", "screened", "mixed"} or Screened, default="random"
        Which features; "mixed" is half screened, half random.
    forest : {"project", "sample"}, default="project"
        How the search is kept to forests. "project": parents are drawn feature by feature; at the end the most probable
        forest is kept and trained alone for half as many epochs. "sample": every step draws the best forest of its
        perturbed scores.
    """

    short_names: ClassVar = {"candidates": CANDIDATES}

    max_parents: int | None = 8
    candidates: str | Screened | RandomCandidates = "random"
    forest: Forest = "project"

    def __post_init__(self) -> None:
        check_candidates(self)
        check_choice("forest", self.forest, ("project", "sample"))

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        return other_features(self, context, rng)


class Pseudo(StructureOptions):
    """Any other feature as a parent, cycles allowed (pseudo-TAN): it classifies, but may not be a Bayesian network.

    Parameters
    ----------
    max_parents : int or None, default=8
        Number of candidate parents of each feature; None takes all other features.
    candidates : {"random", "screened", "mixed"} or Screened, default="random"
    """

    short_names: ClassVar = {"candidates": CANDIDATES}
    may_have_cycles: ClassVar[bool] = True

    max_parents: int | None = 8
    candidates: str | Screened | RandomCandidates = "random"

    def __post_init__(self) -> None:
        check_candidates(self)

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        return other_features(self, context, rng)


class KDependence(StructureOptions):
    """`Subset` with pairs of the candidates as further ones, so that a feature may have two extra parents.

    Parameters
    ----------
    max_parents : int, default=8
        Number of candidate parents of each feature, and of candidate pairs.
    candidates : {"random", "screened", "mixed"} or Screened, default="random"
    max_table_size : int, default=50000
        Largest number of entries of a CPT with two extra parents, ``R_a * R_b * R_i * C``; larger pairs are left out.
    ordering : {"random", "natural"} or permutation of the features, default="random"
    """

    short_names: ClassVar = {"candidates": CANDIDATES}
    may_have_cycles: ClassVar[bool] = True

    max_parents: int = 8
    candidates: str | Screened | RandomCandidates = "random"
    max_table_size: int = 50_000
    ordering: str | ArrayLike = "random"

    def __post_init__(self) -> None:
        check_count("max_parents", self.max_parents)
        check_count("max_table_size", self.max_table_size, least=0)
        self.resolved("candidates")
        check_ordering(self.ordering)

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        rule, k = self.resolved("candidates"), int(self.max_parents)
        order = make_order(self.ordering, context, rng)
        singles = rule.choose(context, clip(k, context), rng, order)
        pairs = PairRule(k, int(self.max_table_size) // context.rows.n_classes, rule.n_random(k))
        return with_pairs(singles, context.rows.cards, pairs, rng, rule.scores(context))


class FixedParents(StructureOptions):
    """One structure that is given: the extra parent of each feature, -1 for none."""

    is_fixed: ClassVar[bool] = True

    parents: ArrayLike

    def __post_init__(self) -> None:
        parents = np.asarray(self.parents)
        if parents.ndim != 1 or parents.dtype.kind not in "iu":
            raise ValueError(
                "structure as a list must hold one integer for each feature: its parent, or -1 for none; got "
                f"an array of shape {parents.shape} and type {parents.dtype}"
            )
        fixed_parents(parents)

    def space(self, context: Context, rng: np.random.Generator) -> ParentSets:
        """The one structure."""
        parents = np.asarray(self.parents)
        if len(parents) != context.n_features:
            raise ValueError(f"structure lists the parents of {len(parents)} features, but X has {context.n_features}")
        if context.rules is not None:
            context.rules.check(parents)
        return fixed_parents(parents)


class GivenSpace(StructureOptions):
    """A search space that is given as `ParentSets`."""

    parent_sets: ParentSets

    def __post_init__(self) -> None:
        if not isinstance(self.parent_sets, ParentSets):
            raise ValueError(f"parent_sets must be a ParentSets, got {self.parent_sets!r}")

    @property
    def is_fixed(self) -> bool:  # type: ignore[override]
        """Whether every feature has one candidate."""
        return self.parent_sets.is_fixed

    def space(self, context: Context, rng: np.random.Generator) -> ParentSets:
        """The search space as it is."""
        if context.rules is not None and self.parent_sets.n_features == context.n_features:
            context.rules.check_space(self.parent_sets)
        return self.parent_sets


def check_image_shape(image_shape: Any, n_features: int | None = None) -> tuple[int, int]:
    """Require rows and columns of an image, of ``n_features`` pixels if these are known."""
    try:
        rows, columns = image_shape
        check_count("image_shape", rows)
        check_count("image_shape", columns)
    except (TypeError, ValueError):
        raise ValueError(f"image_shape must be (rows, columns), two whole numbers, got {image_shape!r}") from None
    if n_features is not None and rows * columns != n_features:
        raise ValueError(f"image_shape={image_shape!r} does not fit {n_features} features; give (rows, columns)")
    return int(rows), int(columns)
