"""From the estimator's words for a structure to a search space."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tanager.estimators.defaults import AUTO
from tanager.estimators.evidence import Evidence
from tanager.estimators.options import check_image_shape
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
from tanager.training import AnnealedSearch, GreedySearch, StructureSearch

if TYPE_CHECKING:
    from tanager.estimators.tan import TANClassifier

SEARCHES = ("greedy-conditional", "greedy-margin", "greedy-left-out", "annealed-margin")
STRUCTURES = (
    *(AUTO, "none", "random", "chow-liu", "tree", "subset", "all", "nearest", "k-dependence", "free", "pseudo"),
    *SEARCHES,
)

_IMAGE_ORDERINGS: dict[str, Callable[[tuple[int, int]], NDArray[np.int64]]] = {
    "A": row_wise,
    "B": along_diagonal,
    "C": centre_outwards,
}


def make_parent_sets(estimator: TANClassifier, evidence: Evidence, rng: np.random.Generator) -> ParentSets:
    """Make the search space that the estimator's parameters describe; "auto" has become another word by now.

    Searches by closed-form tables are run here; what they find is the one structure of the space.
    """
    structure, n_features = estimator.structure, len(evidence.cards)
    if isinstance(structure, ParentSets):
        return structure
    search = _closed_form_search(structure, estimator.get_params(deep=False)["gamma"])
    if search is None and not isinstance(structure, str):
        return _explicit_parents(structure, n_features)
    if search is None and structure not in STRUCTURES:
        raise ValueError(
            f"structure must be one of {', '.join(map(repr, STRUCTURES))}, a list of parents, a ParentSets, a "
            f"GreedySearch or an AnnealedSearch, got {structure!r}"
        )
    if structure == "nearest":
        check_image_shape(estimator.image_shape, n_features, "structure='nearest'")
    if n_features == 1 or structure == "none":
        return naive_bayes(n_features)
    if search is not None:
        sets = _free_candidates(estimator, evidence, rng, default="all")
        return fixed_parents(evidence.search(search, sets, rng))
    if structure in ("chow-liu", "tree"):
        score = "information" if structure == "chow-liu" else estimator.screening
        return fixed_parents(maximum_spanning_tree(evidence.scores(score)))
    if structure in ("free", "pseudo"):
        return _free_candidates(estimator, evidence, rng, default="random")
    sets = _ordered_candidates(estimator, evidence, rng)
    return _add_pairs(sets, estimator, evidence, rng) if structure == "k-dependence" else sets


def check_fixed(parent_sets: ParentSets, structure: Any) -> None:
    """Refuse a search where parameters are to be set in closed form."""
    if not parent_sets.is_fixed:
        raise ValueError(
            f"parameters='ml' needs one fixed structure, but structure={structure!r} is a search: use 'none', "
            "'random', 'chow-liu' or a list of parents, or parameters='gradient'"
        )


def _closed_form_search(structure: Any, gamma: float) -> StructureSearch | None:
    """The search that was given or that a word stands for; None if there is none."""
    if isinstance(structure, (GreedySearch, AnnealedSearch)):
        return structure
    if not isinstance(structure, str) or structure not in SEARCHES:
        return None
    if structure == "annealed-margin":
        return AnnealedSearch("margin", gamma=gamma)
    if structure == "greedy-conditional":
        return GreedySearch("conditional", gamma=gamma)
    return GreedySearch("margin", gamma=gamma, leaves_out=structure == "greedy-left-out")


def _free_candidates(
    estimator: TANClassifier, evidence: Evidence, rng: np.random.Generator, default: str
) -> ParentSets:
    """Candidates from all other features."""
    n_features = len(evidence.cards)
    k, candidates = _clip_max_parents(estimator.max_parents, n_features), estimator.candidates or default
    if candidates == "all":
        return pseudo_candidates(n_features)
    if candidates == "random":
        return pseudo_candidates(n_features, k, rng)
    return screened_candidates(evidence.scores(estimator.screening), k, n_random=_n_random(candidates, k), rng=rng)


def _ordered_candidates(estimator: TANClassifier, evidence: Evidence, rng: np.random.Generator) -> ParentSets:
    """Candidates from the features before, in an ordering."""
    structure, n_features = estimator.structure, len(evidence.cards)
    k, candidates = _clip_max_parents(estimator.max_parents, n_features), estimator.candidates or "random"
    ordering = "C" if estimator.ordering is None and structure == "nearest" else estimator.ordering
    order = _make_order(ordering, n_features, estimator.image_shape, rng)
    if structure == "random":
        return random_parents(order, rng)
    if structure == "nearest":
        shape = check_image_shape(estimator.image_shape, n_features, "structure='nearest'")
        return nearest_candidates(order, pixel_positions(shape), k)
    if structure == "all" or candidates == "all":
        return all_candidates(order)
    if candidates == "random":
        return subset_candidates(order, k, rng)
    scores, n_random = evidence.scores(estimator.screening), _n_random(candidates, k)
    return screened_candidates(scores, k, n_random=n_random, rng=rng, order=order)


def _add_pairs(
    parent_sets: ParentSets, estimator: TANClassifier, evidence: Evidence, rng: np.random.Generator
) -> ParentSets:
    """Pairs of each feature's candidates beside them, ``max_parents`` of a feature at most."""
    k, candidates = int(estimator.max_parents), estimator.candidates or "random"
    rule = PairRule(k, int(estimator.max_table_size) // evidence.n_classes, _n_random(candidates, k))
    scores = evidence.scores(estimator.screening) if candidates in ("screened", "mixed") else None
    return with_pairs(parent_sets, evidence.cards, rule, rng, scores)


def _n_random(candidates: str, k: int) -> int:
    """How many of k candidates are random."""
    return k // 2 if candidates == "mixed" else 0


def _clip_max_parents(max_parents: int, n_features: int) -> int:
    """As many candidates as there can be: a table of few features is no error."""
    return max(1, min(int(max_parents), n_features - 1))


def _explicit_parents(structure: Any, n_features: int) -> ParentSets:
    parents = np.asarray(structure)
    if parents.ndim != 1 or parents.dtype.kind not in "iu":
        raise ValueError(
            "structure as a list must hold one integer for each feature: its parent, or -1 for none; got "
            f"an array of shape {parents.shape} and type {parents.dtype}"
        )
    if len(parents) != n_features:
        raise ValueError(f"structure lists the parents of {len(parents)} features, but X has {n_features}")
    return fixed_parents(parents)


def _make_order(
    ordering: Any, n_features: int, image_shape: tuple[int, int] | None, rng: np.random.Generator
) -> NDArray[np.int64]:
    if ordering is None or (isinstance(ordering, str) and ordering == "random"):
        return random_order(n_features, rng)
    if not isinstance(ordering, str):
        order = np.asarray(ordering)
        if order.shape != (n_features,) or not np.array_equal(np.sort(order), np.arange(n_features)):
            raise ValueError(f"ordering as a list must hold each of the features 0 to {n_features - 1} once")
        return order.astype(np.int64)
    if ordering == "natural":
        return natural_order(n_features)
    if ordering in _IMAGE_ORDERINGS:
        return _IMAGE_ORDERINGS[ordering](check_image_shape(image_shape, n_features, f"ordering={ordering!r}"))
    raise ValueError(f"ordering must be None, 'random', 'natural', 'A', 'B', 'C' or a permutation, got {ordering!r}")
