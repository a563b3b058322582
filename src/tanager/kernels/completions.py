"""Values for what was not observed in a row: the most probable ones together, or random ones."""

from __future__ import annotations

import math

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray
from tanager.kernels.messages import Forest, collect, read_row, table_of, weigh_classes


@kernel
def complete_most_probably(
    lo: int,
    hi: int,
    forest: Forest,
    codes: IntArray,
    classes: IntArray,
    full_codes: IntArray,
    full_classes: IntArray,
    log_probability: FloatArray,
) -> None:
    """Fill rows lo to hi with the most probable completion and its log-probability; the smallest of equal values."""
    n_classes = forest.prior.shape[0]
    cards, start = forest.tables.cards, forest.start
    value = np.empty(codes.shape[1] + 1, np.int64)
    beliefs, score = np.empty((start[-1], n_classes)), np.empty(n_classes)
    for n in range(lo, hi):
        read_row(codes[n], value)
        collect(forest, value, True, beliefs, score)
        score += forest.prior
        best = classes[n] if classes[n] >= 0 else np.argmax(score)
        for i in forest.order:
            if value[i] == cards[i]:
                line, belief = table_of(forest, i)[value[forest.tables.parent[i]]], beliefs[start[i] : start[i + 1]]
                value[i] = 0
                for x in range(1, cards[i]):
                    if line[x, best] + belief[x, best] > line[value[i], best] + belief[value[i], best]:
                        value[i] = x
            full_codes[n, i] = value[i]
        full_classes[n] = best
        log_probability[n] = score[best]


@kernel
def _pick(weight: FloatArray, uniform: float) -> int:
    """The place where the running sum of the weights first exceeds a share of their total; never one of weight 0."""
    goal = uniform * weight.sum()
    total, last = 0.0, 0
    for k in range(weight.shape[0]):
        if weight[k] > 0.0:
            total += weight[k]
            last = k
            if total > goal:
                break
    return last


@kernel
def draw_completions(
    lo: int,
    hi: int,
    forest: Forest,
    codes: IntArray,
    classes: IntArray,
    uniform: FloatArray,
    drawn_codes: IntArray,
    drawn_classes: IntArray,
) -> None:
    """Fill rows lo to hi with draws given what was observed, from uniform numbers ``[n, D + 1]``, the last the class's.

    What was observed is one row, which all draws share, or as many rows as there are draws.
    """
    n_classes, n_features = forest.prior.shape[0], codes.shape[1]
    cards, start = forest.tables.cards, forest.start
    observed, value = np.empty(n_features + 1, np.int64), np.empty(n_features + 1, np.int64)
    beliefs, log_joint, weight = np.empty((start[-1], n_classes)), np.empty(n_classes), np.empty(n_classes)
    share = np.empty(cards.max())
    for n in range(lo, hi):
        if n == lo or codes.shape[0] > 1:
            row = n if codes.shape[0] > 1 else 0
            read_row(codes[row], observed)
            collect(forest, observed, False, beliefs, log_joint)
            log_joint += forest.prior
            weigh_classes(log_joint, classes[row], weight)
        value[:] = observed
        c = _pick(weight, uniform[n, n_features])
        for i in forest.order:
            if value[i] == cards[i]:
                line, own = table_of(forest, i)[value[forest.tables.parent[i]]], share[: cards[i]]
                for x in range(cards[i]):
                    own[x] = line[x, c] + beliefs[start[i] + x, c]
                highest = own.max()
                for x in range(cards[i]):
                    own[x] = math.exp(own[x] - highest)
                value[i] = _pick(own, uniform[n, i])
            drawn_codes[n, i] = value[i]
        drawn_classes[n] = c
