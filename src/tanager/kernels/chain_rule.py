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
def _enter(forest: Forest, i: int, value: IntArray, ahead: FloatArray, below: FloatArray) -> None:
    """Fill the lines of an unknown feature in ``ahead[S, C]``: log-probability of each value with what came before."""
    start, j = forest.start, forest.tables.parent[i]
    table = table_of(forest, i)
    terms = np.empty(table.shape[0])
    is_parent_known = value[j] < table.shape[0]
    for x in range(table.shape[1]):
        for c in range(table.shape[2]):
            below[start[i] + x, c] = 0.0
            if is_parent_known:
                ahead[start[i] + x, c] = table[value[j], x, c]
                continue
            for x_parent in range(table.shape[0]):
                k = start[j] + x_parent
                terms[x_parent] = ahead[k, c] + below[k, c] + table[x_parent, x, c]
            ahead[start[i] + x, c] = log_sum(terms)


@kernel
def _leave(forest: Forest, i: int, below: FloatArray, total: FloatArray, value: IntArray) -> None:
    """Tell the parent of an unknown feature, if it is unknown too, what was observed below the feature."""
    cards, start, j = forest.tables.cards, forest.start, forest.tables.parent[i]
    if value[j] < cards[j]:
        return
    table = table_of(forest, i)
    for x in range(cards[j]):
        send(table[x], below[start[i] : start[i + 1]], False, below[start[j] + x])
    for c in range(total.shape[1]):
        total[j, c] = total[i, c]


@kernel
def _sum_values(ahead: FloatArray, below: FloatArray, before: FloatArray, total: FloatArray, terms: FloatArray) -> None:
    """Fill ``total[c]`` with the log-sum over x of ``ahead[x, c] + below[x, c]``, and ``terms[c]`` with its growth."""
    n_classes = terms.shape[0]
    for c in range(n_classes):
        terms[c] = -before[c]
        total[c] = 0.0
    send(ahead, below, False, total)
    for c in range(n_classes):
        terms[c] += total[c]


@kernel
def _split_row(forest: Forest, value: IntArray, ahead: FloatArray, below: FloatArray, terms: FloatArray) -> None:
    """Fill ``terms[D, C]`` where a value or its parent's is unknown; ``forest.order`` is depth first."""
    tables, start = forest.tables, forest.start
    cards, n_classes = tables.cards, terms.shape[1]
    total, nothing = np.zeros(terms.shape), np.zeros(n_classes)
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
            table = table_of(forest, i)
            for x in range(cards[j]):
                for c in range(n_classes):
                    below[start[j] + x, c] += table[x, value[i], c]
        else:
            _enter(forest, i, value, ahead, below)
            stack[depth] = i
            depth += 1
        # The sums that grow are those of the parent if the feature is known, else those of the feature itself.
        k = j if is_known else i
        _sum_values(
            ahead[start[k] : start[k + 1]],
            below[start[k] : start[k + 1]],
            nothing if is_parent_known else total[j],
            total[k],
            terms[i],
        )


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
                for c in range(n_classes):
                    terms[n, i, c] = forest.theta[first + c]
            else:
                is_complete = False
        if not is_complete:
            _split_row(forest, value, ahead, below, terms[n])
