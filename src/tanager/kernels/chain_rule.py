"""The log-joint of a row split over its features by the chain rule: log p(x_i | what came before, c).

Features come in an order in which everything below a feature follows it at once (depth first). Where feature and
parent are known the term is a table entry. A known feature below an unknown one gets what it adds to what the features
before it told of its parent. An unknown feature adds nothing: its terms are zero up to the rounding of the tables.
"""

from __future__ import annotations

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray
from tanager.kernels.messages import Forest, log_sum, read_row, send, table_of


@kernel
def _enter(forest: Forest, i: int, above: FloatArray, ahead: FloatArray) -> None:
    """Fill ``ahead[x, c]``, the log-probability of x_i with what came before, from that of the parent's values."""
    table = table_of(forest, i)
    terms = np.empty(table.shape[0])
    for x in range(table.shape[1]):
        for c in range(table.shape[2]):
            for x_parent in range(table.shape[0]):
                terms[x_parent] = above[x_parent, c] + table[x_parent, x, c]
            ahead[x, c] = log_sum(terms)


@kernel
def _leave(forest: Forest, i: int, below: FloatArray, total: FloatArray, value: IntArray) -> None:
    """Tell the parent of an unknown feature, if it is unknown too, what was observed below the feature."""
    cards, start, j = forest.tables.cards, forest.start, forest.tables.parent[i]
    if value[j] < cards[j]:
        return
    table = table_of(forest, i)
    for x in range(cards[j]):
        send(table[x], below[start[i] : start[i + 1]], False, below[start[j] + x])
    total[j] = total[i]


@kernel
def _sum_values(ahead: FloatArray, below: FloatArray, total: FloatArray) -> None:
    """Fill ``total[c]`` with the log-sum over x of ``ahead[x, c] + below[x, c]``."""
    total[:] = 0.0
    send(ahead, below, False, total)


@kernel
def _split_row(forest: Forest, value: IntArray, ahead: FloatArray, below: FloatArray, terms: FloatArray) -> None:
    """Fill ``terms[D, C]`` where a value or its parent's is unknown; ``forest.order`` is depth first."""
    tables, start = forest.tables, forest.start
    cards, n_classes = tables.cards, terms.shape[1]
    total = np.zeros(terms.shape)
    stack = np.empty(terms.shape[0], np.int64)
    depth = 0
    for i in forest.order:
        j = tables.parent[i]
        is_known, is_parent_known = value[i] < cards[i], value[j] < cards[j]
        if is_known and is_parent_known:
            continue
        while not is_parent_known and stack[depth - 1] != j:
            depth -= 1
            _leave(forest, stack[depth], below, total, value)
        if is_known:
            before = total[j].copy()
            for x in range(cards[j]):
                for c in range(n_classes):
                    below[start[j] + x, c] += table_of(forest, i)[x, value[i], c]
            _sum_values(ahead[start[j] : start[j + 1]], below[start[j] : start[j + 1]], total[j])
            terms[i] = total[j] - before
            continue
        own = slice(start[i], start[i + 1])
        below[own] = 0.0
        if is_parent_known:
            ahead[own] = table_of(forest, i)[value[j]]
        else:
            above = ahead[start[j] : start[j + 1]] + below[start[j] : start[j + 1]]
            _enter(forest, i, above, ahead[own])
        _sum_values(ahead[own], below[own], total[i])
        terms[i] = total[i] if is_parent_known else total[i] - total[j]
        stack[depth] = i
        depth += 1


@kernel
def fill_chain_terms(lo: int, hi: int, forest: Forest, codes: IntArray, terms: FloatArray) -> None:
    """Fill rows lo to hi of ``terms[N, D, C]``; with the log prior they sum up to the log-joint.

    If ``forest.order`` is empty, terms that need an unknown value are zero.
    """
    tables, n_classes = forest.tables, forest.prior.shape[0]
    cards, n_features = tables.cards, codes.shape[1]
    value = np.empty(n_features + 1, np.int64)
    ahead, below = np.zeros((forest.start[-1], n_classes)), np.zeros((forest.start[-1], n_classes))
    for n in range(lo, hi):
        read_row(codes[n], value)
        terms[n] = 0.0
        is_complete = True
        for i in range(n_features):
            j = tables.parent[i]
            if value[i] < cards[i] and value[j] < cards[j]:
                first = tables.offset[i] + (value[j] * cards[i] + value[i]) * n_classes
                terms[n, i] = forest.theta[first : first + n_classes]
            else:
                is_complete = False
        if not is_complete:
            _split_row(forest, value, ahead, below, terms[n])
