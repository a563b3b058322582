"""The log-joint of rows with unknown values, which are summed out exactly by messages from the leaves to the roots.

For an unknown feature i with value x_i, ``belief[x_i, c]`` gathers the log-probability of everything below it. Its
message, the log-sum over x_i of its table plus the belief, goes into the belief of its parent if that is unknown too,
else into the result. A row costs ``C * R_i`` for each unknown feature, times the parent's number of values where both
are unknown.
"""

from __future__ import annotations

import math

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray, Tables


@kernel
def _log_sum(values: FloatArray) -> float:
    highest = values.max()
    total = 0.0
    for k in range(values.shape[0]):
        total += math.exp(values[k] - highest)
    return highest + math.log(total)


@kernel
def _send(table: FloatArray, belief: FloatArray, message: FloatArray) -> None:
    """Add to ``message[c]`` the log-sum over x of ``table[x, c] + belief[x, c]``."""
    n_children, n_classes = table.shape
    terms = np.empty(n_children)
    for c in range(n_classes):
        for x in range(n_children):
            terms[x] = table[x, c] + belief[x, c]
        message[c] += _log_sum(terms)


@kernel
def marginal_log_joint(
    rows: IntArray,
    theta: FloatArray,
    prior: FloatArray,
    tables: Tables,
    order: IntArray,
    codes: IntArray,
    log_joint: FloatArray,
) -> None:
    """Fill the given rows of ``log_joint[N, C]``; a code equal to the feature's number of values is unknown.

    ``order`` has parents before children. If it is empty the graph may have cycles, nothing can be summed out, and
    terms that need an unknown value are left out.
    """
    n_classes = prior.shape[0]
    n_features = codes.shape[1]
    cards = tables.cards
    start = np.zeros(n_features + 1, np.int64)
    start[1:] = np.cumsum(cards[:n_features])
    beliefs = np.empty((start[n_features], n_classes))
    is_known = np.ones(n_features + 1, np.bool_)
    value = np.zeros(n_features + 1, np.int64)
    for n in rows:
        out = np.zeros(n_classes)
        beliefs[:] = 0.0
        for i in range(n_features):
            value[i] = codes[n, i]
            is_known[i] = value[i] < cards[i]
        for i in range(n_features):
            j = tables.parent[i]
            if is_known[i] and is_known[j]:
                first = tables.offset[i] + (value[j] * cards[i] + value[i]) * n_classes
                for c in range(n_classes):
                    out[c] += theta[first + c]
        for position in range(order.shape[0] - 1, -1, -1):
            i = order[position]
            j = tables.parent[i]
            if is_known[i] and is_known[j]:
                continue
            table = theta[tables.offset[i] : tables.offset[i + 1]].reshape(cards[j], cards[i], n_classes)
            if is_known[i]:
                for x in range(cards[j]):
                    for c in range(n_classes):
                        beliefs[start[j] + x, c] += table[x, value[i], c]
                continue
            belief = beliefs[start[i] : start[i + 1]]
            if is_known[j]:
                _send(table[value[j]], belief, out)
            else:
                for x in range(cards[j]):
                    _send(table[x], belief, beliefs[start[j] + x])
        for c in range(n_classes):
            log_joint[n, c] = prior[c] + out[c]
