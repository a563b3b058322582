"""Structures as option values: which parents a feature may have, from one fixed tree to a free search.

A structure gives a search space; training chooses in it. Searches by a score of counted CPTs narrow the space down to
one structure first (`tanager.learning.score_searches`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager._options import Options, ShortNames, check_choice, check_count, check_number
from tanager._types import FloatArray
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
    natural_order,
    nearest_candidates,
    pixel_positions,
    pseudo_candidates,
    random_order,
    random_parents,
    row_wise,
    screened_candidates,
    subset_candidates,
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


class RandomCandidates(Options):
    """Candidate parents drawn at random."""

    def choose(
        self, context: Context, k: int, rng: np.random.Generator, order: NDArray[np.int64] | None = None
    ) -> ParentSets:
        """Up to ``k`` candidates of each feature: of all others, or of its predecessors in an order."""
        # With rules, all are drawn, since some may have to be left out.
        most = k if context.rules is None else context.n_features - 1
        drawn = (
            pseudo_candidates(context.n_features, most, rng) if order is None else subset_candidates(order, most, rng)
        )
        return drawn if context.rules is None else context.rules.thin(drawn, k)

    def scores(self, context: Context) -> FloatArray | None:
        """No scores."""
        return None

    def n_random(self, k: int) -> int:
        """How many of k pairs of candidates are random beside those of highest score."""
        return 0


class Screened(Options):
    """Candidate parents that a score of pairs of features puts first, or some of them and some random ones.

    Parameters
    ----------
    score : {"information", "explaining-away", "conditional", "margin"}, default="information"
        Conditional mutual information given the class; the same less the mutual information without the class; or what
        the pair adds to the conditional likelihood, or to the margin, of naive Bayes.
    random_share : float from 0 to 1, default=0.0
        The share of candidates drawn at random instead. A score sees pairs alone, and 0.5 makes up for what it misses.

    Examples
    --------
    >>> Screened("margin", random_share=0.5)
    Screened(score='margin', random_share=0.5)
    """

    score: Literal["information", "explaining-away", "conditional", "margin"] = "information"
    random_share: float = 0.0

    def __post_init__(self) -> None:
        check_choice("score", self.score, PAIR_SCORES)
        check_number("random_share", self.random_share, least=0)
        if self.random_share > 1:
            raise ValueError(f"random_share must be at most 1, got {self.random_share!r}")

    def choose(
        self, context: Context, k: int, rng: np.random.Generator, order: NDArray[np.int64] | None = None
    ) -> ParentSets:
        """Up to ``k`` candidates of each feature: of all others, or of its predecessors in an order."""
        rules = context.rules
        some: dict[str, Any] = {"n_random": self.n_random(k), "rng": rng, "order": order}
        if rules is None:
            return screened_candidates(context.scores(self.score), k, **some)
        found = screened_candidates(context.scores(self.score), k, is_allowed=~rules.is_forbidden, **some)
        return rules.thin(found, k)

    def scores(self, context: Context) -> FloatArray | None:
        """Scores of all pairs of features."""
        return context.scores(self.score)

    def n_random(self, k: int) -> int:
        """How many of k candidates are random."""
        return int(self.random_share * k)


CANDIDATES = ShortNames(
    "candidates",
    {"random": RandomCandidates, "screened": Screened, "mixed": lambda: Screened(random_share=0.5)},
    "choose",
    others="Screened(...)",
    renamed={"all": "max_parents=None, which takes all other features"},
)
"""Ways to choose candidates, by the words that structures take for them."""


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
        if isinstance(self.ordering, str) and self.ordering in _IMAGE_ORDERINGS:
            order = _checked_order(_IMAGE_ORDERINGS[self.ordering](shape), context)
        else:
            order = make_order(self.ordering, context, rng)
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


def other_features(structure: Any, context: Context, rng: np.random.Generator) -> ParentSets:
    """Candidates from all other features, by the ``max_parents`` and ``candidates`` of a structure."""
    if structure.max_parents is None:
        return pseudo_candidates(context.n_features)
    chosen: ParentSets = structure.resolved("candidates").choose(context, clip(structure.max_parents, context), rng)
    return chosen


def check_candidates(structure: Any) -> None:
    """Check the ``max_parents`` and ``candidates`` of a structure without an ordering."""
    structure.resolved("candidates")
    if structure.max_parents is not None:
        check_count("max_parents", structure.max_parents)
    elif structure.candidates != "random":
        raise ValueError(
            f"candidates={structure.candidates!r} has no effect with max_parents=None, which takes all other features "
            "as candidates: give max_parents too, or leave candidates out"
        )


def check_ordering(ordering: Any, words: tuple[str, ...] = ("random", "natural")) -> None:
    """Require a known word or a permutation."""
    if isinstance(ordering, str):
        check_choice("ordering", ordering, words)
        return
    order = np.asarray(ordering)
    if order.ndim != 1 or order.dtype.kind not in "iu" or not np.array_equal(np.sort(order), np.arange(order.size)):
        raise ValueError(
            f"ordering must be {', '.join(map(repr, words))} or a permutation that holds each feature, counted from 0, "
            f"once, got {ordering!r}"
        )


def make_order(ordering: Any, context: Context, rng: np.random.Generator) -> NDArray[np.int64]:
    """The order of the features that a word or a permutation stands for; required parents come before children."""
    n_features, rules = context.n_features, context.rules
    if isinstance(ordering, str) and ordering == "random":
        drawn = random_order(n_features, rng)
        return drawn if rules is None else rules.arrange(drawn)
    order = natural_order(n_features) if isinstance(ordering, str) else np.asarray(ordering).astype(np.int64)
    if order.size != n_features:
        raise ValueError(f"ordering lists {order.size} features, but X has {n_features}")
    return _checked_order(order, context)


def _checked_order(order: NDArray[np.int64], context: Context) -> NDArray[np.int64]:
    if context.rules is not None:
        context.rules.check_order(order)
    return order


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


def clip(max_parents: int, context: Context) -> int:
    """As many candidates as there can be: few features are not an error."""
    return max(1, min(int(max_parents), context.n_features - 1))
