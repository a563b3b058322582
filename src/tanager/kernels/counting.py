"""Counts of values, alone and in pairs, within each class: all that maximum likelihood and Chow-Liu need.

Tables of counts have the layout of the CPTs, ``[x_parent, x_child, c]`` with the class axis contiguous.
"""

from __future__ import annotations

import math

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray, Tables


@kernel
def count_tables(
    lo: int, hi: int, codes: IntArray, y: IntArray, weight: FloatArray, tables: Tables, counts: FloatArray
) -> None:
    """Add the rows' weights into the count table of every candidate of slots lo to hi; unknown values do not count.

    ``counts`` is an arena laid out like theta, with the classes counted by ``y``.
    """
    n_features = codes.shape[1]
    for s in range(lo, hi):
        i = tables.child[s]
        card = tables.cards[i]
        for e in range(tables.ptr[s], tables.ptr[s + 1]):
            j = tables.parent[e]
            table = counts[tables.offset[e] : tables.offset[e + 1]].reshape(tables.cards[j], card, -1)
            for n in range(codes.shape[0]):
                x_parent = 0 if j == n_features else np.int64(codes[n, j])
                if codes[n, i] < card and x_parent < tables.cards[j]:
                    table[x_parent, codes[n, i], y[n]] += weight[n]


@kernel
def pair_information(
    lo: int, hi: int, columns: IntArray, y: IntArray, weight: FloatArray, cards: IntArray, information: FloatArray
) -> None:
    """Fill rows lo to hi of the conditional mutual information ``I(X_i; X_j | C)``, in nats, for j < i.

    ``columns`` is feature-major. The information is the sum over x_i, x_j and c of
    ``p(x_i, x_j, c) log(p(x_i, x_j, c) p(c) / (p(x_i, c) p(x_j, c)))``, from unsmoothed weighted counts. Rows in which
    one of the two is unknown add nothing, so a pair that is seldom seen together counts for little.
    """
    n_classes = int(y.max()) + 1
    largest = cards.max()
    pairs = np.empty(largest * largest * n_classes, np.float64)
    total = weight.sum()
    for i in range(lo, hi):
        for j in range(i):
            counts = pairs[: cards[i] * cards[j] * n_classes].reshape(cards[j], cards[i], n_classes)
            counts[:] = 0.0
            for n in range(y.shape[0]):
                if columns[i, n] < cards[i] and columns[j, n] < cards[j]:
                    counts[columns[j, n], columns[i, n], y[n]] += weight[n]
            information[i, j] = _information_of_counts(counts) / total
            information[j, i] = information[i, j]


@kernel
def _information_of_counts(counts: FloatArray) -> float:
    """Conditional mutual information of one count table ``[x_j, x_i, c]``, times the total count."""
    n_parents, n_children, n_classes = counts.shape
    information = 0.0
    for c in range(n_classes):
        of_parent = np.zeros(n_parents)
        of_child = np.zeros(n_children)
        of_class = 0.0
        for j in range(n_parents):
            for i in range(n_children):
                of_parent[j] += counts[j, i, c]
                of_child[i] += counts[j, i, c]
                of_class += counts[j, i, c]
        for j in range(n_parents):
            for i in range(n_children):
                if counts[j, i, c] > 0.0:
                    information += counts[j, i, c] * math.log(counts[j, i, c] * of_class / (of_parent[j] * of_child[i]))
    return information
