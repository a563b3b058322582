"""The search space of a run (sections 4.2, 4.4, 4.5 and 4.6 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray
from tanager.datasets import Dataset
from tanager.experiments.published import PublishedDraws, published_draws
from tanager.experiments.spec import RunSpec
from tanager.model import conditional_mutual_information
from tanager.structure import (
    NO_PARENT,
    ParentSets,
    all_candidates,
    along_diagonal,
    centre_outwards,
    fixed_parents,
    maximum_spanning_tree,
    naive_bayes,
    nearest_candidates,
    pixel_positions,
    pseudo_candidates,
    row_wise,
    topological_order,
)

_IMAGE_ORDERINGS: dict[str, Callable[[tuple[int, int]], NDArray[np.int64]]] = {
    "A": row_wise,
    "B": along_diagonal,
    "C": centre_outwards,
}

# The candidates of the published pseudo-TAN are not known; these draws are ours.
_PSEUDO_SEED = 361273804


def search_space(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    """Return the search space of a run.

    Parameters
    ----------
    spec : RunSpec
    data : Dataset
    information : callable
        Returns the conditional mutual information of all pairs of features, (D, D), for methods with a Chow-Liu
        tree.
    """
    make = _SPACES[spec.method]
    return make(spec, data, information)


def tree_information(X: NDArray[np.uint8], y: NDArray[np.int64], cards: NDArray[np.int64]) -> FloatArray:
    """Conditional mutual information of all pairs of features, (D, D)."""
    return conditional_mutual_information(X, y, np.ones(len(y)), cards)


def count_recovered(parents: NDArray[np.int64], information: FloatArray) -> tuple[int, int]:
    """How many edges of the Chow-Liu tree a structure has, and how many the tree has.

    Edges without information, such as those of a feature with a single value, are arbitrary and are not counted.
    """
    tree = maximum_spanning_tree(information)
    features = np.arange(len(tree))
    counts = (tree != NO_PARENT) & (information[features, tree] > 1e-12)
    return int((counts & (parents == tree)).sum()), int(counts.sum())


@lru_cache(maxsize=4)
def _draws(n_features: int) -> PublishedDraws:
    return published_draws(n_features)


def _naive_bayes(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    return naive_bayes(data.n_features)


def _chow_liu(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    return fixed_parents(maximum_spanning_tree(information()))


def _random(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    ordering, draw = _numbers(spec.ordering, spec.draw)
    return _draws(data.n_features).random(ordering, draw)


def _subset(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    ordering, draw, max_parents = _numbers(spec.ordering, spec.draw, spec.max_parents)
    return _draws(data.n_features).subset(ordering, draw, max_parents)


def _all(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    (ordering,) = _numbers(spec.ordering)
    return all_candidates(_draws(data.n_features).orderings[ordering])


def _heuristic(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    (max_parents,) = _numbers(spec.max_parents)
    shape = data.image_shape or (1, data.n_features)
    order = _IMAGE_ORDERINGS[str(spec.ordering)](shape)
    return nearest_candidates(order, pixel_positions(shape), max_parents)


def _pseudo(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    draw, max_parents = _numbers(spec.draw, spec.max_parents)
    return pseudo_candidates(data.n_features, max_parents, np.random.RandomState([_PSEUDO_SEED, draw]))


def _recover(spec: RunSpec, data: Dataset, information: Callable[[], FloatArray]) -> ParentSets:
    """No parent, the parent in the Chow-Liu tree, and random predecessors in an order of that tree."""
    draw, max_parents = _numbers(spec.draw, spec.max_parents)
    tree = maximum_spanning_tree(information())
    order = topological_order(tree)
    candidates: list[list[int]] = [[] for _ in order]
    for feature, positions in zip(order, _draws(data.n_features).subsets[draw], strict=True):
        others = [int(parent) for parent in order[positions] if parent != tree[feature]]
        own = [] if tree[feature] == NO_PARENT else [int(tree[feature])]
        candidates[feature] = [NO_PARENT, *(own + others)[:max_parents]]
    return ParentSets.from_lists(candidates, order)


def _numbers(*choices: int | str | None) -> list[int]:
    """Choices as integers; the spec has checked that none is missing."""
    return [int(choice) for choice in choices if choice is not None]


_SPACES: dict[str, Callable[[RunSpec, Dataset, Callable[[], FloatArray]], ParentSets]] = {
    "nb-ml": _naive_bayes,
    "chow-liu-ml": _chow_liu,
    "nb": _naive_bayes,
    "random": _random,
    "chow-liu": _chow_liu,
    "subset": _subset,
    "all": _all,
    "heuristic": _heuristic,
    "pseudo": _pseudo,
    "recover": _recover,
}
