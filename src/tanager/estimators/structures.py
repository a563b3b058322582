"""From the estimator's words for a structure to a search space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray
from tanager.estimators.options import check_image_shape
from tanager.structure import (
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
    subset_candidates,
)

STRUCTURES = ("none", "random", "chow-liu", "subset", "all", "nearest", "free", "pseudo")

_IMAGE_ORDERINGS: dict[str, Callable[[tuple[int, int]], NDArray[np.int64]]] = {
    "A": row_wise,
    "B": along_diagonal,
    "C": centre_outwards,
}


def make_parent_sets(
    structure: Any,
    n_features: int,
    *,
    max_parents: int,
    ordering: Any,
    image_shape: tuple[int, int] | None,
    rng: np.random.Generator,
    information: Callable[[], FloatArray],
) -> ParentSets:
    """Make the search space that the estimator's parameters describe.

    Parameters
    ----------
    structure, max_parents, ordering, image_shape
        As in `tanager.TANClassifier`.
    n_features : int
    rng : numpy Generator
    information : callable
        Gives the conditional mutual information of all pairs, which only Chow-Liu needs.
    """
    if isinstance(structure, ParentSets):
        return structure
    if not isinstance(structure, str):
        return _explicit_parents(structure, n_features)
    if structure not in STRUCTURES:
        raise ValueError(
            f"structure must be one of {', '.join(map(repr, STRUCTURES))}, a list of parents or a ParentSets, "
            f"got {structure!r}"
        )
    k = _clip_max_parents(max_parents, n_features)
    if structure == "nearest":
        shape = check_image_shape(image_shape, n_features, "structure='nearest'")
    if structure == "none" or n_features == 1:
        return naive_bayes(n_features)
    if structure == "chow-liu":
        return fixed_parents(maximum_spanning_tree(information()))
    if structure in ("free", "pseudo"):
        return pseudo_candidates(n_features, k, rng)
    order = _make_order("C" if ordering is None and structure == "nearest" else ordering, n_features, image_shape, rng)
    if structure == "random":
        return random_parents(order, rng)
    if structure == "subset":
        return subset_candidates(order, k, rng)
    if structure == "nearest":
        return nearest_candidates(order, pixel_positions(shape), k)
    return all_candidates(order)


def _clip_max_parents(max_parents: int, n_features: int) -> int:
    """As many candidates as there can be: a table of few features is no error."""
    if int(max_parents) != max_parents or max_parents < 1:
        raise ValueError(f"max_parents must be a whole number of at least 1, got {max_parents!r}")
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
