"""Probabilities of classes, of features and of pairs of features given what was observed in each row."""

from __future__ import annotations

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray
from tanager.kernels.messages import Forest, collect, condition, distribute, read_row, table_of, weigh_classes


@kernel
def _pass_both_ways(
    forest: Forest,
    x: IntArray,
    observed: int,
    value: IntArray,
    beliefs: FloatArray,
    weight: FloatArray,
    joint: FloatArray,
) -> None:
    """Fill value, beliefs, class weights and joints of one row."""
    log_joint = np.empty(weight.shape[0])
    read_row(x, value)
    collect(forest, value, False, beliefs, log_joint)
    log_joint += forest.prior
    weigh_classes(log_joint, observed, weight)
    distribute(forest, value, beliefs, weight, joint)


@kernel
def fill_marginals(
    lo: int,
    hi: int,
    forest: Forest,
    codes: IntArray,
    classes: IntArray,
    class_probabilities: FloatArray,
    feature_probabilities: FloatArray,
) -> None:
    """Fill rows lo to hi of p(c | observed), ``[N, C]``, and of all p(x_i | observed) side by side, ``[N, S]``."""
    n_values, n_classes = forest.start[-1], forest.prior.shape[0]
    value = np.empty(codes.shape[1] + 1, np.int64)
    beliefs, joint = np.empty((n_values, n_classes)), np.empty((n_values, n_classes))
    for n in range(lo, hi):
        _pass_both_ways(forest, codes[n], classes[n], value, beliefs, class_probabilities[n], joint)
        for k in range(n_values):
            total = 0.0
            for c in range(n_classes):
                total += joint[k, c]
            feature_probabilities[n, k] = total


@kernel
def fill_class_joint(
    lo: int, hi: int, forest: Forest, codes: IntArray, classes: IntArray, feature: int, out: FloatArray
) -> None:
    """Fill rows lo to hi of ``out[N, R, C]`` with p(x_feature, c | observed)."""
    n_values, n_classes = forest.start[-1], forest.prior.shape[0]
    value, weight = np.empty(codes.shape[1] + 1, np.int64), np.empty(n_classes)
    beliefs, joint = np.empty((n_values, n_classes)), np.empty((n_values, n_classes))
    for n in range(lo, hi):
        _pass_both_ways(forest, codes[n], classes[n], value, beliefs, weight, joint)
        out[n] = joint[forest.start[feature] : forest.start[feature + 1]]


@kernel
def _descent(forest: Forest, value: IntArray, beliefs: FloatArray, path: IntArray) -> FloatArray:
    """``[x_top, x_bottom, c]``: p(x_bottom | x_top, c, observed), for a path upwards from bottom to top.

    A known value has probability one whatever the value above it, so that nothing passes through it.
    """
    cards = forest.tables.cards
    bottom = cards[path[0]]
    n_classes = forest.prior.shape[0]
    chain = np.zeros((bottom, bottom, n_classes))
    for x in range(bottom):
        chain[x, x] = 1.0
    for step in range(path.shape[0] - 1):
        i, j = path[step], path[step + 1]
        table, belief = table_of(forest, i), beliefs[forest.start[i] : forest.start[i + 1]]
        longer = np.zeros((cards[j], bottom, n_classes))
        line = np.zeros((cards[i], n_classes))
        for above in range(cards[j]):
            if value[i] < cards[i]:
                longer[above] = chain[value[i]]
                continue
            condition(table[above], belief, line)
            for x in range(cards[i]):
                for below in range(bottom):
                    for c in range(n_classes):
                        longer[above, below, c] += line[x, c] * chain[x, below, c]
        chain = longer
    return chain


@kernel
def fill_pair_joint(
    lo: int,
    hi: int,
    forest: Forest,
    codes: IntArray,
    classes: IntArray,
    first_path: IntArray,
    second_path: IntArray,
    out: FloatArray,
) -> None:
    """Fill rows lo to hi of ``out[N, R_a, R_b, C]`` with p(x_a, x_b, c | observed).

    The paths lead from each feature of the pair up to the feature where they meet. In different trees, where they do
    not meet, the features are independent given the class.
    """
    start, n_classes = forest.start, forest.prior.shape[0]
    value, weight = np.empty(codes.shape[1] + 1, np.int64), np.empty(n_classes)
    beliefs, joint = np.empty((start[-1], n_classes)), np.empty((start[-1], n_classes))
    a, b, top = first_path[0], second_path[0], first_path[-1]
    for n in range(lo, hi):
        _pass_both_ways(forest, codes[n], classes[n], value, beliefs, weight, joint)
        out[n] = 0.0
        if top != second_path[-1]:
            for x_a in range(out.shape[1]):
                for x_b in range(out.shape[2]):
                    for c in range(n_classes):
                        if weight[c] > 0.0:
                            out[n, x_a, x_b, c] = joint[start[a] + x_a, c] * (joint[start[b] + x_b, c] / weight[c])
            continue
        to_a = _descent(forest, value, beliefs, first_path)
        to_b = _descent(forest, value, beliefs, second_path)
        for x in range(start[top + 1] - start[top]):
            for x_a in range(out.shape[1]):
                for x_b in range(out.shape[2]):
                    for c in range(n_classes):
                        out[n, x_a, x_b, c] += joint[start[top] + x, c] * to_a[x, x_a, c] * to_b[x, x_b, c]
