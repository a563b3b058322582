"""The best forest among candidates, and the sampling of forests by perturbed scores.

A maximum arborescence by Chu, Liu and Edmonds, with "no parent" as an edge from a virtual root. Cycles are shrunk to
nodes that keep the list of their features instead of a heap of edges: a perturbed structure of D features has few
cycles, and short ones. Each feature remembers its best edge from outside, so that few candidates are read twice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray

# Scores are kept above this, so that candidates that are never to be drawn (minus infinity) can be subtracted.
_LEAST = -1e30


class _Nodes(NamedTuple):
    """Features are nodes 0 to D - 1; shrunk cycles follow, and hold nodes made before them."""

    around: IntArray  # int64[2D]: the shrunk cycle that a node is part of, -1 for none
    edge: IntArray  # int64[2D]: chosen candidate of a node
    target: IntArray  # int64[2D]: the feature whose candidate it is
    first: IntArray  # int64[2D]: first feature of a node
    last: IntArray  # int64[2D]: last feature of a node
    following: IntArray  # int64[D]: next feature of the same node, -1 after the last
    outermost: IntArray  # int64[D]: outermost node that a feature is in
    deducted: FloatArray  # float64[D]: what edges into a feature have lost to edges that they would replace
    best: IntArray  # int64[D]: best candidate of a feature from outside the node; all lose the same, so it stays best


@kernel
def best_forest(scores: FloatArray, ptr: IntArray, parent: IntArray, selected: IntArray) -> int:
    """Fill the candidate of each feature in the forest of largest summed score.

    Returns -1, or a feature for which no forest is possible because no feature around it may go without a parent.
    """
    n_features = ptr.shape[0] - 1
    nodes = _make_nodes(n_features)
    for i in range(n_features):
        nodes.best[i] = _best_from_outside(i, i, scores, ptr, parent, nodes.outermost)
        nodes.edge[i] = nodes.best[i]
    walk = np.full(2 * n_features, -1)
    n_nodes = n_features
    for start in range(n_features):
        node = nodes.outermost[start]
        while node >= 0 and walk[node] < 0:
            walk[node] = start
            node = _source(node, parent, nodes)
            if node >= 0 and walk[node] == start:
                _shrink(node, n_nodes, scores, parent, nodes)
                _choose_edge(n_nodes, scores, ptr, parent, nodes)
                if nodes.edge[n_nodes] < 0:
                    return nodes.first[n_nodes]
                node = n_nodes
                n_nodes += 1
    # Of the edges of a shrunk cycle, the edge into it replaces one; later nodes are around earlier ones.
    for node in range(n_nodes - 1, n_features - 1, -1):
        inner = nodes.target[node]
        while nodes.around[inner] != node:
            inner = nodes.around[inner]
        nodes.edge[inner] = nodes.edge[node]
        nodes.target[inner] = nodes.target[node]
    selected[:] = nodes.edge[:n_features]
    return -1


@kernel
def sample_forest(
    phi: FloatArray,
    noise: FloatArray,
    ptr: IntArray,
    parent: IntArray,
    tau: float,
    selected: IntArray,
    soft: FloatArray,
) -> None:
    """Fill, from perturbed logits, the candidates of the best forest and the soft weights of all candidates.

    Soft weights are shared among the parents that would keep a forest, which are those that do not descend from the
    feature; the others have none. The selected candidate is the best of these, since any of them could replace it.
    Where no forest is possible the parents are left as they were.
    """
    for e in range(phi.shape[0]):
        soft[e] = phi[e] + noise[e]
    best_forest(soft, ptr, parent, selected)
    n_features = ptr.shape[0] - 1
    enters, leaves = _tour(parent, selected)
    for i in range(n_features):
        highest = soft[selected[i]]
        total = 0.0
        for e in range(ptr[i], ptr[i + 1]):
            j = parent[e]
            if j < n_features and enters[i] <= enters[j] < leaves[i]:
                soft[e] = 0.0
            else:
                soft[e] = math.exp((soft[e] - highest) / tau)
                total += soft[e]
        for e in range(ptr[i], ptr[i + 1]):
            soft[e] /= total


@kernel
def _make_nodes(n_features: int) -> _Nodes:
    """Nodes of which each is one feature."""
    feature = np.arange(2 * n_features)
    return _Nodes(
        np.full(2 * n_features, -1),
        np.full(2 * n_features, -1),
        feature.copy(),
        feature.copy(),
        feature.copy(),
        np.full(n_features, -1),
        feature[:n_features].copy(),
        np.zeros(n_features),
        np.full(n_features, -1),
    )


@kernel
def _source(node: int, parent: IntArray, nodes: _Nodes) -> int:
    """The outermost node that the chosen edge of a node comes from, -1 for the root."""
    j = parent[nodes.edge[node]]
    return -1 if j == nodes.outermost.shape[0] else nodes.outermost[j]


@kernel
def _choose_edge(node: int, scores: FloatArray, ptr: IntArray, parent: IntArray, nodes: _Nodes) -> None:
    """Choose the best edge into a node that comes from outside it, the first of equal ones; -1 if there is none."""
    outermost, edge_of, deducted, following = nodes.outermost, nodes.best, nodes.deducted, nodes.following
    n_features = outermost.shape[0]
    best = -np.inf
    i = nodes.first[node]
    while i >= 0:
        e = edge_of[i]
        if e >= 0 and parent[e] < n_features and outermost[parent[e]] == node:
            e = _best_from_outside(node, i, scores, ptr, parent, outermost)
            edge_of[i] = e
        if e >= 0:
            score = max(scores[e], _LEAST) - deducted[i]
            if score > best:
                best = score
                nodes.edge[node] = e
                nodes.target[node] = i
        i = following[i]


@kernel
def _best_from_outside(
    node: int, i: int, scores: FloatArray, ptr: IntArray, parent: IntArray, outermost: IntArray
) -> int:
    """The best candidate of feature i that is not in the node, the first of equal ones; -1 if there is none."""
    chosen, best = -1, -np.inf
    for e in range(ptr[i], ptr[i + 1]):
        score = max(scores[e], _LEAST)
        if score > best and (parent[e] == outermost.shape[0] or outermost[parent[e]] != node):
            chosen, best = e, score
    return chosen


@kernel
def _shrink(start: int, new: int, scores: FloatArray, parent: IntArray, nodes: _Nodes) -> None:
    """Make the cycle through ``start`` a node: an edge into it is worth its gain over the edge that it replaces."""
    node, last = start, -1
    while nodes.around[node] < 0:
        source = _source(node, parent, nodes)
        target = nodes.target[node]
        worth = max(scores[nodes.edge[node]], _LEAST) - nodes.deducted[target]
        i = nodes.first[node]
        while i >= 0:
            nodes.deducted[i] += worth
            i = nodes.following[i]
        nodes.around[node] = new
        if last < 0:
            nodes.first[new] = nodes.first[node]
        else:
            nodes.following[last] = nodes.first[node]
        last = nodes.last[node]
        node = source
    nodes.last[new] = last
    i = nodes.first[new]
    while i >= 0:
        nodes.outermost[i] = new
        i = nodes.following[i]


@kernel
def _tour(parent: IntArray, selected: IntArray) -> tuple[IntArray, IntArray]:
    """Numbers of a walk through the forest: feature j descends from i if it enters from enters[i] to leaves[i] - 1."""
    n_features = selected.shape[0]
    child, sibling = np.full(n_features + 1, -1), np.full(n_features, -1)
    for i in range(n_features):
        j = parent[selected[i]]
        sibling[i] = child[j]
        child[j] = i
    enters, leaves = np.full(n_features, n_features), np.zeros(n_features, np.int64)
    n_entered = 0
    node = child[n_features]
    while node >= 0:
        enters[node] = n_entered
        n_entered += 1
        if child[node] >= 0:
            node = child[node]
            continue
        while node < n_features:
            leaves[node] = n_entered
            if sibling[node] >= 0:
                node = sibling[node]
                break
            node = parent[selected[node]]
        if node == n_features:
            break
    return enters, leaves
