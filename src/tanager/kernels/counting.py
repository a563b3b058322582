"""Counts of values, alone and in pairs, within each class: all that maximum likelihood and Chow-Liu need.

Tables of counts have the layout of the CPTs, ``[x_parent, x_child, c]`` with the class axis contiguous.
"""

from __future__ import annotations

import math

import numpy as np

from tanager._jit import inlined, kernel
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
    pairs = np.empty((2, largest * largest * n_classes), np.float64)
    with_class = np.empty(y.shape[0], np.int64)
    is_complete = np.empty(hi, np.bool_)
    for j in range(hi):
        is_complete[j] = columns[j].max() < cards[j]
    total = weight.sum()
    for i in range(lo, hi):
        for n in range(y.shape[0]):
            with_class[n] = columns[i, n] * n_classes + y[n]
        for j in range(i):
            size = cards[i] * cards[j] * n_classes
            counts = pairs[:, :size]
            counts[:] = 0.0
            if is_complete[i] and is_complete[j]:
                _count_pairs(columns[j], with_class, cards[i] * n_classes, weight, counts)
            else:
                for n in range(y.shape[0]):
                    if columns[i, n] < cards[i] and columns[j, n] < cards[j]:
                        counts[0, columns[j, n] * cards[i] * n_classes + with_class[n]] += weight[n]
            for k in range(size):
                counts[0, k] += counts[1, k]
            table = pairs[0, :size].reshape(cards[j], cards[i], n_classes)
            information[i, j] = _information_of_counts(table) / total
            information[j, i] = information[i, j]


@kernel
def _count_pairs(x: IntArray, with_class: IntArray, stride: int, weight: FloatArray, counts: FloatArray) -> None:
    """Add weights into ``counts[0]`` and ``counts[1]`` by turns, so that one addition need not wait for the other."""
    even, odd = counts[0], counts[1]
    n_pairs = x.shape[0] // 2 * 2
    for n in range(0, n_pairs, 2):
        even[x[n] * stride + with_class[n]] += weight[n]
        odd[x[n + 1] * stride + with_class[n + 1]] += weight[n + 1]
    if n_pairs < x.shape[0]:
        even[x[n_pairs] * stride + with_class[n_pairs]] += weight[n_pairs]


@inlined
def _x_log_x(x):  # type: ignore[no-untyped-def]
    return x * math.log(x) if x > 0.0 else 0.0


@kernel
def _information_of_counts(counts: FloatArray) -> float:
    """Conditional mutual information of one count table ``[x_j, x_i, c]``, times the total count.

    With H the sum of n log n: H(x_j, x_i, c) + H(c) - H(x_j, c) - H(x_i, c).
    """
    n_parents, n_children, n_classes = counts.shape
    of_parent = np.zeros((n_parents, n_classes))
    of_child = np.zeros((n_children, n_classes))
    of_class = np.zeros(n_classes)
    information = 0.0
    for j in range(n_parents):
        for i in range(n_children):
            for c in range(n_classes):
                information += _x_log_x(counts[j, i, c])
                of_parent[j, c] += counts[j, i, c]
                of_child[i, c] += counts[j, i, c]
                of_class[c] += counts[j, i, c]
    for c in range(n_classes):
        information += _x_log_x(of_class[c])
        for j in range(n_parents):
            information -= _x_log_x(of_parent[j, c])
        for i in range(n_children):
            information -= _x_log_x(of_child[i, c])
    return max(information, 0.0)
