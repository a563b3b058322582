"""Forests of features: orderings, cycle detection, the maximum spanning tree and the maximum arborescence.

Chow-Liu structures are maximum spanning trees (section 2.2 of the paper): with conditional mutual information as
weights, the tree is the maximum likelihood TAN.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.core import best_forest, grow_tree
from tanager.structure.orderings import check_count, check_int_vector
from tanager.structure.parent_sets import NO_PARENT, ParentSets

# Larger asymmetries are not rounding but a mistake of the caller.
_SYMMETRY_TOLERANCE = 1e-8
_BLOCK = 256  # rows and columns that are compared at a time


def topological_order(parents: ArrayLike) -> NDArray[np.int64]:
    """Return an order in which every parent comes before its children.

    Among the features whose parent is already placed, the one with the smallest number comes next.

    Parameters
    ----------
    parents : int array of shape (D,)
        The parent of each feature, -1 for none.

    Returns
    -------
    int64 array of shape (D,)
        ``order[p]`` is the feature at position ``p``.

    Raises
    ------
    ValueError
        If there is a cycle; the message names it.

    Examples
    --------
    >>> topological_order([2, -1, 1, -1])
    array([1, 2, 0, 3])
    """
    _refuse_cycle(parents)
    parent_of = _check_parents(parents)
    children: list[list[int]] = [[] for _ in parent_of]
    for i, parent in enumerate(parent_of):
        if parent != NO_PARENT:
            children[parent].append(i)
    ready = [i for i, parent in enumerate(parent_of) if parent == NO_PARENT]
    order = []
    while ready:
        order.append(heapq.heappop(ready))
        for i in children[order[-1]]:
            heapq.heappush(ready, i)
    return np.array(order, dtype=np.int64)


def depth_first_order(parents: ArrayLike) -> NDArray[np.int64]:
    """Return a depth-first order: each feature is directly followed by its descendants.

    Parameters
    ----------
    parents : int array of shape (D,)
        The parent of each feature, -1 for none; without a cycle.

    Returns
    -------
    int64 array of shape (D,)
        ``order[p]`` is the feature at position ``p``. Roots, and the children of one parent, are in
        ascending order.

    Examples
    --------
    >>> depth_first_order([-1, 0, 0, 1, -1])
    array([0, 1, 3, 2, 4])
    """
    _refuse_cycle(parents)
    parent_of = _check_parents(parents)
    children: list[list[int]] = [[] for _ in parent_of]
    stack: list[int] = []
    # A stack is last in, first out, so the largest is pushed first.
    for i in reversed(range(len(parent_of))):
        (stack if parent_of[i] == NO_PARENT else children[parent_of[i]]).append(i)
    order = []
    while stack:
        order.append(stack.pop())
        stack.extend(children[order[-1]])
    return np.array(order, dtype=np.int64)


def find_cycle(parents: ArrayLike) -> list[int] | None:
    """Return the features of a cycle, or None if there is no cycle.

    Parameters
    ----------
    parents : int array of shape (D,)
        The parent of each feature, -1 for none. A feature that is its own parent is a cycle of one.

    Returns
    -------
    list of int, or None
        Each feature is the parent of the next, and the last is the parent of the first. The smallest comes first. If
        there are several cycles, the one reached first from feature 0, then 1 and so on, going from child to parent.

    Examples
    --------
    >>> find_cycle([3, 0, -1, 1])
    [0, 1, 3]
    >>> find_cycle([-1, 0, 0]) is None
    True
    """
    parent_of = _check_parents(parents)
    walk_of: list[int | None] = [None] * len(parent_of)
    for start in range(len(parent_of)):
        i = start
        while i != NO_PARENT and walk_of[i] is None:
            walk_of[i] = start
            i = parent_of[i]
        if i != NO_PARENT and walk_of[i] == start:
            return _cycle_through(i, parent_of)
    return None


def maximum_spanning_tree(weights: ArrayLike, root: int = 0) -> NDArray[np.int64]:
    """Return the maximum spanning tree of all features, directed away from ``root``.

    The tree always has D - 1 edges, even if weights are zero or negative. Prim's algorithm, O(D^2). Ties go to the
    feature with the smallest number, and to the parent with the smallest number.

    Parameters
    ----------
    weights : float array of shape (D, D)
        Symmetric; the diagonal is ignored. If two entries differ by rounding, the larger is used.
    root : int, default=0
        The feature without a parent.

    Returns
    -------
    int64 array of shape (D,)
        The parent of each feature, -1 for the root.

    Examples
    --------
    >>> import numpy as np
    >>> maximum_spanning_tree(np.array([[0, 1, 5], [1, 0, 2], [5, 2, 0]]))
    array([-1,  2,  0])
    """
    heavy = _check_weights(weights)
    n_features = len(heavy)
    if not 0 <= root < n_features:
        raise ValueError(f"root={root} is not a feature; features are numbered 0 to {n_features - 1}")
    parents = np.empty(n_features, np.int64)
    grow_tree(heavy, root, parents)
    return parents


def _refuse_cycle(parents: ArrayLike) -> None:
    """Raise a ValueError that names the cycle, if there is one."""
    cycle = find_cycle(parents)
    if cycle is not None:
        raise ValueError("the parents form a cycle: features " + " -> ".join(map(str, [*cycle, cycle[0]])))


def _cycle_through(feature: int, parent_of: list[int]) -> list[int]:
    """List the cycle that ``feature`` is on from parent to child, smallest feature first."""
    cycle = [feature]
    while parent_of[cycle[-1]] != feature:
        cycle.append(parent_of[cycle[-1]])
    cycle.reverse()
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def _check_parents(parents: ArrayLike) -> list[int]:
    """Return ``parents`` as a list with one entry, a feature or none, for each feature."""
    vector = check_int_vector(parents, "parents")
    n_features = check_count(vector.size, "the number of features in parents")
    outside = np.flatnonzero((vector < NO_PARENT) | (vector >= n_features))
    if outside.size:
        i, rule = outside[0], f"features are numbered 0 to {n_features - 1}, and {NO_PARENT} is no parent"
        raise ValueError(f"feature {i}: parent {vector[i]} does not exist; {rule}")
    return [int(parent) for parent in vector]


def _check_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """Return ``weights`` as a symmetric matrix; its diagonal is whatever it was."""
    matrix = np.ascontiguousarray(weights, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"weights must be a square matrix, got shape {np.shape(weights)}")
    if _is_symmetric(matrix) and np.isfinite(matrix).all():
        return matrix
    matrix = matrix.copy()
    np.fill_diagonal(matrix, 0.0)
    is_finite = np.isfinite(matrix)
    if not is_finite.all():
        i, j = np.argwhere(~is_finite)[0]
        raise ValueError(f"weights[{i}, {j}] is {matrix[i, j]}, but weights must be finite")
    uneven = np.argwhere(np.abs(matrix - matrix.T) > _SYMMETRY_TOLERANCE * np.abs(matrix).max())
    if uneven.size:
        i, j = uneven[0]
        sides = f"weights[{i}, {j}] is {matrix[i, j]} and weights[{j}, {i}] is {matrix[j, i]}"
        raise ValueError(f"weights must be symmetric, but {sides}")
    return np.maximum(matrix, matrix.T)


def _is_symmetric(matrix: NDArray[np.float64]) -> bool:
    """Compare a matrix with its transpose, block by block, so that both stay in the cache."""
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(matrix), _BLOCK)]
    return all(np.array_equal(matrix[a, b], matrix[b, a].T) for k, a in enumerate(blocks) for b in blocks[k:])


def maximum_arborescence(parent_sets: ParentSets, scores: ArrayLike) -> NDArray[np.int64]:
    """Choose one candidate for each feature, without cycles, that maximise the sum of the scores.

    Parameters
    ----------
    parent_sets : ParentSets
        Of D features; each must be reachable from one that has "no parent" among its candidates.
    scores : float array of shape (E,)
        Score of each candidate, for instance its log-probability.

    Returns
    -------
    int64 array of shape (D,)
        Index of the chosen candidate of each feature.

    Examples
    --------
    >>> sets = ParentSets.from_lists([[-1, 1], [-1, 0]])
    >>> chosen = maximum_arborescence(sets, [0.0, 3.0, 0.0, 2.0])
    >>> sets.select(chosen)
    array([ 1, -1])
    """
    weight = np.array(scores, np.float64)
    if weight.shape != (parent_sets.n_candidates,):
        raise ValueError(f"scores must have one entry for each of {parent_sets.n_candidates} candidates")
    n_features = parent_sets.n_features
    parent = parent_sets.parents.astype(np.int64)
    parent[parent == NO_PARENT] = n_features
    chosen = np.empty(n_features, np.int64)
    lost = best_forest(weight, parent_sets.ptr.astype(np.int64), parent, chosen)
    if lost >= 0:
        raise ValueError(f"feature {lost}: no forest is possible; add -1, no parent, to the candidates")
    return chosen
