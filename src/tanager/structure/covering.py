"""Trees for ensembles that share no pair of features: together they contain as many distinct pairs as trees can.

With few features, a cover contains all pairs. With many features it would be large, and trees of the highest-scoring
pairs are the better choice.

The edges of the complete graph over an even number n of nodes decompose into n / 2 Hamiltonian paths: the zigzag
0, n-1, 1, n-2, 2 ... and its rotations (Walecki; Lucas, 1892). So D / 2 TANs contain every pair of D features once, and
their average, like AODE, is a model of all pairs. For an odd number of features, one more node is added and then
removed.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.structure.forest import maximum_spanning_tree
from tanager.structure.parent_sets import NO_PARENT


def covering_paths(n_features: int, n_paths: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Parents of up to (D + 1) // 2 TANs that share no pair of features; that many contain all pairs.

    Parameters
    ----------
    n_features : int
    n_paths : int
        Maximum number of paths.
    rng : numpy Generator
        Shuffles the features and reverses some paths.

    Returns
    -------
    list of int64 arrays of shape (D,)
        Parent of each feature, -1 for the first of a path.

    Examples
    --------
    >>> for parents in covering_paths(4, 2, np.random.default_rng(0)):
    ...     print(parents)
    [ 1 -1  3  0]
    [ 2  3  1 -1]
    """
    n_nodes = n_features + n_features % 2
    numbers = rng.permutation(n_features)
    structures = []
    for turn in range(min(n_paths, max(n_nodes // 2, 1))):
        path = (_zigzag(n_nodes) + turn) % n_nodes
        if rng.random() < 0.5:
            path = path[::-1]
        parents = np.full(n_features, NO_PARENT, np.int64)
        for before, after in pairwise(path):
            if max(before, after) < n_features:
                parents[numbers[after]] = numbers[before]
        structures.append(parents)
    return structures


def disjoint_trees(scores: ArrayLike, n_trees: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Parents of the tree with the largest summed score, then of the best tree of the remaining pairs, and so on.

    Parameters
    ----------
    scores : float array of shape (D, D)
        Symmetric; the diagonal is ignored.
    n_trees : int
        Maximum number of trees; fewer are returned if no pair is left.
    rng : numpy Generator
        Draws the roots.

    Returns
    -------
    list of int64 arrays of shape (D,)
        Parent of each feature, -1 for none. If the remaining pairs do not connect all features, this is a forest.

    Examples
    --------
    >>> scores = [[0, 6, 5, 4], [6, 0, 3, 2], [5, 3, 0, 1], [4, 2, 1, 0]]
    >>> for parents in disjoint_trees(scores, 9, np.random.default_rng(0)):
    ...     print(parents)
    [ 3  0  0 -1]
    [-1  2 -1  1]
    [-1 -1 -1  2]
    """
    weights = np.array(scores, np.float64)
    np.fill_diagonal(weights, 0.0)
    n_features = len(weights)
    # Used pairs weigh so little that a tree includes one only if it must; it is then removed.
    used = 2.0 * weights.min() - weights.max() - 1.0
    is_left = ~np.eye(n_features, dtype=bool)
    structures: list[NDArray[np.int64]] = []
    while len(structures) < n_trees and (is_left.any() or not structures):
        tree = maximum_spanning_tree(np.where(is_left, weights, used), int(rng.integers(n_features)))
        children = np.flatnonzero(tree != NO_PARENT)
        parents = np.full(n_features, NO_PARENT, np.int64)
        new = children[is_left[children, tree[children]]]
        parents[new] = tree[new]
        is_left[new, tree[new]] = is_left[tree[new], new] = False
        structures.append(parents)
    return structures


def _zigzag(n_nodes: int) -> NDArray[np.int64]:
    """The path 0, n - 1, 1, n - 2, 2 and so on."""
    path = np.empty(n_nodes, np.int64)
    path[::2] = np.arange((n_nodes + 1) // 2)
    path[1::2] = np.arange(n_nodes - 1, (n_nodes + 1) // 2 - 1, -1)
    return path
