"""The best forest among free candidates: a maximum arborescence by Chu, Liu and Edmonds.

A search without an order may end in cycles. The forest of largest summed score has one candidate for each feature and
no cycle; "no parent" is an edge from a virtual root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.structure.parent_sets import NO_PARENT, ParentSets


class _Edges(NamedTuple):
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    weight: NDArray[np.float64]


def maximum_arborescence(parent_sets: ParentSets, scores: ArrayLike) -> NDArray[np.int64]:
    """Choose one candidate for each feature, without cycles, so that the scores add up to the most.

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
    weight = np.asarray(scores, np.float64)
    if weight.shape != (parent_sets.n_candidates,):
        raise ValueError(f"scores must have one entry for each of {parent_sets.n_candidates} candidates")
    n_features = parent_sets.n_features
    source = parent_sets.parents.astype(np.int64)
    source[source == NO_PARENT] = n_features
    target = np.repeat(np.arange(n_features), np.diff(parent_sets.ptr))
    chosen = _solve(_Edges(source, target, weight), n_features)
    if (chosen < 0).any():
        feature = int(np.flatnonzero(chosen < 0)[0])
        raise ValueError(f"feature {feature}: no forest is possible; add -1, no parent, to the candidates")
    return chosen


def _solve(edges: _Edges, root: int) -> NDArray[np.int64]:
    """Best incoming edge of the nodes 0 to root - 1 in the best arborescence; -1 where there is none."""
    best = _best_incoming(edges, root)
    cycle = _find_cycle(best, edges.source, root)
    if cycle is None:
        return best
    # Shrink the cycle to one node, the last before the root; an edge into it replaces the edge it breaks.
    is_inside = np.zeros(root + 1, np.bool_)
    is_inside[cycle] = True
    name = np.cumsum(~is_inside) - 1
    name[cycle] = root - len(cycle)
    name[root] = root - len(cycle) + 1
    into = is_inside[edges.target]
    kept = np.flatnonzero(~(is_inside[edges.source] & into))
    broken = np.where(into, edges.weight[best[edges.target]], 0.0)
    smaller = _Edges(name[edges.source[kept]], name[edges.target[kept]], (edges.weight - broken)[kept])
    inner = _solve(smaller, root - len(cycle) + 1)
    chosen = best.copy()
    for edge in kept[inner[inner >= 0]]:
        chosen[edges.target[edge]] = edge
    if (inner < 0).any():
        chosen[np.isin(name[:root], np.flatnonzero(inner < 0))] = -1
    return chosen


def _best_incoming(edges: _Edges, root: int) -> NDArray[np.int64]:
    """The heaviest edge into each node, the first of equal ones; -1 where there is none."""
    best = np.full(root, -1)
    order = np.lexsort((np.arange(len(edges.weight)), -edges.weight, edges.target))
    targets = edges.target[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = targets[1:] != targets[:-1]
    is_first &= targets != root
    best[targets[is_first]] = order[is_first]
    return best


def _find_cycle(best: NDArray[np.int64], source: NDArray[np.int64], root: int) -> list[int] | None:
    """Nodes of a cycle of best edges, or None."""
    seen_from = np.full(root + 1, -1)
    for start in range(root):
        node, path = start, []
        while node != root and seen_from[node] < 0 and best[node] >= 0:
            seen_from[node] = start
            path.append(node)
            node = int(source[best[node]])
        if node != root and seen_from[node] == start and best[node] >= 0:
            return path[path.index(node) :]
    return None
