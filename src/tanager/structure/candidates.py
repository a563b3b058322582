"""Search spaces: which parents each feature may choose from (sections 3.1, 3.2, 4.2, 4.4 and 4.5 of the paper).

In every space with a choice, "no parent" is the first candidate of each feature. Ties in phi go to the first candidate,
so they go to no parent. A feature without predecessors has no other candidate.

Random draws of parents refer to *positions* in the order, not to features, so that one draw serves any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.structure.forest import topological_order
from tanager.structure.orderings import (
    Rng,
    check_count,
    check_int_vector,
    check_max_parents,
    check_order,
    natural_order,
)
from tanager.structure.parent_sets import NO_PARENT, ParentSets


def naive_bayes(n_features: int) -> ParentSets:
    """Return the structure in which no feature has a parent besides the class.

    Parameters
    ----------
    n_features : int
        Number of features, D.

    Returns
    -------
    ParentSets
        Fixed, in the natural order.

    Examples
    --------
    >>> naive_bayes(3).to_lists()
    [[-1], [-1], [-1]]
    """
    order = natural_order(n_features)
    return ParentSets(np.arange(order.size + 1), np.full(order.size, NO_PARENT, np.int32), order)


def fixed_parents(parents: ArrayLike) -> ParentSets:
    """Return one given structure.

    Parameters
    ----------
    parents : int array of shape (D,)
        The parent of each feature, -1 for none.

    Returns
    -------
    ParentSets
        Fixed, in the order of :func:`topological_order`.

    Raises
    ------
    ValueError
        If there is a cycle; the message names it.

    Examples
    --------
    >>> sets = fixed_parents([1, -1, 0])
    >>> sets.to_lists(), sets.order
    ([[1], [-1], [0]], array([1, 0, 2]))
    """
    order = topological_order(parents)
    return ParentSets(np.arange(order.size + 1), check_int_vector(parents, "parents").astype(np.int32), order)


def random_parents(order: ArrayLike, rng: Rng) -> ParentSets:
    """Return one random structure, TAN Random: every feature but the first has a random predecessor as its parent.

    Parameters
    ----------
    order : int array of shape (D,)
        ``order[p]`` is the feature at position ``p``.
    rng : numpy Generator or RandomState
        Used for :func:`draw_permutations`; the first entries are the parents. For the same state of ``rng``, these are
        the parents that :func:`subset_candidates` has as candidates with ``k=1``.

    Returns
    -------
    ParentSets
        Fixed.

    Examples
    --------
    >>> import numpy as np
    >>> random_parents([2, 0, 1], np.random.default_rng(0)).to_lists()
    [[2], [2], [-1]]
    """
    features = check_order(order)
    parents = np.full(features.size, NO_PARENT)
    for feature, permutation in zip(features[1:], draw_permutations(features.size, rng)[1:], strict=True):
        parents[feature] = features[permutation[0]]
    return ParentSets.from_lists(parents.reshape(-1, 1).tolist(), features)


def draw_permutations(n_features: int, rng: Rng) -> list[NDArray[np.int64]]:
    """Draw the input of :func:`candidates_from_permutations`: for each position, a permutation of those before it.

    Parameters
    ----------
    n_features : int
        Number of features, D.
    rng : numpy Generator or RandomState
        Used for ``rng.permutation(p)`` with p = 0, 1, ..., D - 1, always in full and in this order, which reproduces
        the draws of the paper.

    Returns
    -------
    list of D int64 arrays
        The array at ``p`` has shape (p,).

    Examples
    --------
    >>> import numpy as np
    >>> draw_permutations(4, np.random.RandomState(0))
    [array([], dtype=int64), array([0]), array([1, 0]), array([2, 0, 1])]
    """
    n_features = check_count(n_features, "n_features")
    return [rng.permutation(position).astype(np.int64) for position in range(n_features)]


def subset_candidates(order: ArrayLike, k: int, rng: Rng) -> ParentSets:
    """Return TAN Subset: no parent, or one of at most ``k`` random predecessors.

    Parameters
    ----------
    order : int array of shape (D,)
        ``order[p]`` is the feature at position ``p``.
    k : int
        Number of predecessors among the candidates of a feature, or all if there are fewer. At least 1 and at most
        D - 1.
    rng : numpy Generator or RandomState
        Used for :func:`draw_permutations`, which does not depend on ``k``: from the same state, the candidates for a
        smaller ``k`` are a subset of those for a larger one.

    Returns
    -------
    ParentSets
        Ordered.

    Examples
    --------
    >>> import numpy as np
    >>> subset_candidates([0, 1, 2, 3], 2, np.random.RandomState(0)).to_lists()
    [[-1], [-1, 0], [-1, 1, 0], [-1, 2, 0]]
    """
    features = check_order(order)
    return candidates_from_permutations(features, draw_permutations(features.size, rng), k)


def candidates_from_permutations(
    order: ArrayLike, permutations: Sequence[ArrayLike] | NDArray[np.integer[Any]], k: int
) -> ParentSets:
    """Return TAN Subset from existing draws.

    Parameters
    ----------
    order : int array of shape (D,)
        ``order[p]`` is the feature at position ``p``.
    permutations : sequence of D int arrays
        The first ``min(k, p)`` entries of the array at ``p`` are the positions of the candidates of the feature at
        position ``p``. Further entries are ignored, so rows of a padded array are allowed.
    k : int
        As in :func:`subset_candidates`.

    Returns
    -------
    ParentSets
        Ordered.

    Examples
    --------
    >>> candidates_from_permutations([2, 0, 1], [[], [0], [1, 0]], 1).to_lists()
    [[-1, 2], [-1, 0], [-1]]
    """
    features = check_order(order)
    k = check_max_parents(k, features.size)
    if len(permutations) != features.size:
        raise ValueError(f"there must be a permutation for each of {features.size} positions, got {len(permutations)}")
    chosen = []
    for position, permutation in enumerate(permutations):
        taken = check_int_vector(permutation, f"permutations[{position}]")[: min(k, position)]
        if taken.size < min(k, position) or np.any((taken < 0) | (taken >= position)):
            rule = f"must start with {min(k, position)} positions below {position}"
            raise ValueError(f"permutations[{position}] {rule}, got {taken.tolist()}")
        chosen.append(features[taken])
    return _with_no_parent(features, chosen)


def all_candidates(order: ArrayLike) -> ParentSets:
    """Return TAN All: no parent, or any predecessor, those earlier in the order first.

    Parameters
    ----------
    order : int array of shape (D,)
        ``order[p]`` is the feature at position ``p``.

    Returns
    -------
    ParentSets
        Ordered.

    Examples
    --------
    >>> all_candidates([2, 0, 1]).to_lists()
    [[-1, 2], [-1, 2, 0], [-1]]
    """
    features = check_order(order)
    return _with_no_parent(features, (features[:position] for position in range(features.size)))


def nearest_candidates(order: ArrayLike, positions: ArrayLike, k: int) -> ParentSets:
    """Return TAN Heuristic: no parent, or one of the ``k`` nearest predecessors.

    Candidates are sorted by distance. Ties go to the predecessor that comes earlier in the order.

    Parameters
    ----------
    order : int array of shape (D,)
        ``order[p]`` is the feature at position ``p`` of the order.
    positions : float array of shape (D, 2)
        Position of each feature in the plane, such as :func:`pixel_positions`. Distances are Euclidean.
    k : int
        As in :func:`subset_candidates`.

    Returns
    -------
    ParentSets
        Ordered.

    Examples
    --------
    >>> nearest_candidates([0, 1, 2], [[0, 0], [0, 5], [0, 4]], 1).to_lists()
    [[-1], [-1, 0], [-1, 1]]
    """
    features = check_order(order)
    k = check_max_parents(k, features.size)
    points = np.asarray(positions, dtype=np.float64)
    if points.shape != (features.size, 2):
        raise ValueError(f"positions must have shape ({features.size}, 2), got {points.shape}")
    lost = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if lost.size:
        raise ValueError(f"feature {lost[0]}: its position must be finite, got {points[lost[0]].tolist()}")
    points = points[features]
    chosen = []
    for rank, feature_point in enumerate(points):
        # Squared, so that ties between whole pixels are exact.
        distance = ((points[:rank] - feature_point) ** 2).sum(axis=1)
        chosen.append(features[np.argsort(distance, kind="stable")[:k]])
    return _with_no_parent(features, chosen)


def pseudo_candidates(n_features: int, k: int | None = None, rng: Rng | None = None) -> ParentSets:
    """Return pseudo-TAN: no parent, or any of ``k`` random other features.

    There is no order, so structures may have cycles and are then not Bayesian networks.

    Parameters
    ----------
    n_features : int
        Number of features, D.
    k : int, optional
        Number of other features among the candidates of a feature, from 1 to D - 1. None means all, in ascending order.
    rng : numpy Generator or RandomState, optional
        Required unless ``k`` is None. Used for one ``rng.permutation(D - 1)`` per feature: from the same state, the
        candidates for a smaller ``k`` are a subset of those for a larger one.

    Returns
    -------
    ParentSets
        Without an order.

    Examples
    --------
    >>> pseudo_candidates(3).to_lists()
    [[-1, 1, 2], [-1, 0, 2], [-1, 0, 1]]
    """
    features = natural_order(n_features)
    others: list[NDArray[np.int64]] = [np.delete(features, i) for i in features]
    if k is not None:
        k = check_max_parents(k, features.size)
        if rng is None:
            raise ValueError("random candidates require rng; give it, or use k=None")
        others = [other[rng.permutation(other.size)[:k]] for other in others]
    return ParentSets.from_lists([[NO_PARENT, *other.tolist()] for other in others])


def _with_no_parent(order: NDArray[np.int64], chosen: Iterable[NDArray[np.int64]]) -> ParentSets:
    """Sort candidates ``chosen`` by position into a list by feature, with no parent as the first of each."""
    candidates: list[list[int]] = [[] for _ in order]
    for feature, parents in zip(order, chosen, strict=True):
        candidates[feature] = [NO_PARENT, *parents.tolist()]
    return ParentSets.from_lists(candidates, order)
