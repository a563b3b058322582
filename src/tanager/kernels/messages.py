"""Messages along the forest of a network: up from the leaves to sum values out, down to find their probabilities.

``beliefs[start[i] + x_i, c]`` gathers the log-probability of what was observed below feature i. An unknown feature
sends the log-sum (or the maximum) over its values of its table plus its belief: into the belief of its parent if that
is unknown too, else into the result. On the way down, table plus belief, normalised over x_i, is the probability of x_i
given its parent, its class and what was observed. Both ways stay in log space until they are normalised, so that no
number of small factors underflows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray, Tables


class Forest(NamedTuple):
    """A network without cycles as kernels read it."""

    theta: FloatArray  # float32: log-probabilities of all tables
    prior: FloatArray  # float64[C]
    tables: Tables  # one candidate for each feature
    order: IntArray  # int64[D]: parents before their children; empty if nothing can be summed out
    start: IntArray  # int64[D + 1]: place of each feature's first value in a list of all features' values


@kernel
def log_sum(values: FloatArray) -> float:
    """Log of the sum of exponentials."""
    highest = values.max()
    total = 0.0
    for k in range(values.shape[0]):
        total += math.exp(values[k] - highest)
    return highest + math.log(total)


@kernel
def table_of(forest: Forest, i: int) -> FloatArray:
    """Table of feature i, ``[x_parent, x_i, c]``."""
    tables = forest.tables
    shape = (tables.cards[tables.parent[i]], tables.cards[i], forest.prior.shape[0])
    return forest.theta[tables.offset[i] : tables.offset[i + 1]].reshape(shape)


@kernel
def send(table: FloatArray, belief: FloatArray, is_max: bool, message: FloatArray) -> None:
    """Add to ``message[c]`` the log-sum, or the maximum, over x of ``table[x, c] + belief[x, c]``."""
    n_values, n_classes = table.shape
    for c in range(n_classes):
        highest = -np.inf
        for x in range(n_values):
            highest = max(highest, table[x, c] + belief[x, c])
        message[c] += highest
        if not is_max:
            total = 0.0
            for x in range(n_values):
                total += math.exp(table[x, c] + belief[x, c] - highest)
            message[c] += math.log(total)


@kernel
def collect(forest: Forest, value: IntArray, is_max: bool, beliefs: FloatArray, out: FloatArray) -> None:
    """Pass messages up for one row: fill ``beliefs[S, C]``, and ``out[C]`` with its log-joint without the prior.

    ``value[D + 1]`` has the row's codes, a feature's number of values where it is unknown, and 0 for the feature "no
    parent". With ``is_max`` unknown values are set to the most probable ones instead of summed out.
    """
    tables, start = forest.tables, forest.start
    cards = tables.cards
    n_classes = forest.prior.shape[0]
    beliefs[:] = 0.0
    out[:] = 0.0
    for i in range(value.shape[0] - 1):
        j = tables.parent[i]
        if value[i] < cards[i] and value[j] < cards[j]:
            first = tables.offset[i] + (value[j] * cards[i] + value[i]) * n_classes
            for c in range(n_classes):
                out[c] += forest.theta[first + c]
    for position in range(forest.order.shape[0] - 1, -1, -1):
        i = forest.order[position]
        j = tables.parent[i]
        is_known, is_parent_known = value[i] < cards[i], value[j] < cards[j]
        if is_known and is_parent_known:
            continue
        table = table_of(forest, i)
        if is_known:
            for x in range(cards[j]):
                for c in range(n_classes):
                    beliefs[start[j] + x, c] += table[x, value[i], c]
            continue
        belief = beliefs[start[i] : start[i + 1]]
        if is_parent_known:
            send(table[value[j]], belief, is_max, out)
        else:
            for x in range(cards[j]):
                send(table[x], belief, is_max, beliefs[start[j] + x])


@kernel
def read_row(x: IntArray, value: IntArray) -> None:
    """Copy a row's codes to ``value[D + 1]``; the virtual feature "no parent" has its one value."""
    value[: x.shape[0]] = x
    value[x.shape[0]] = 0


@kernel
def weigh_classes(log_joint: FloatArray, observed: int, weight: FloatArray) -> None:
    """Fill ``weight[C]`` with the probability of each class; ``observed`` is the class if it is known, else -1."""
    if observed >= 0:
        weight[:] = 0.0
        weight[observed] = 1.0
        return
    highest = log_joint.max()
    for c in range(weight.shape[0]):
        weight[c] = math.exp(log_joint[c] - highest)
    weight /= weight.sum()


@kernel
def condition(table: FloatArray, belief: FloatArray, line: FloatArray) -> None:
    """Fill ``line[x, c]`` with the softmax over x of ``table[x, c] + belief[x, c]``."""
    n_values, n_classes = table.shape
    for c in range(n_classes):
        highest = -np.inf
        for x in range(n_values):
            line[x, c] = table[x, c] + belief[x, c]
            highest = max(highest, line[x, c])
        total = 0.0
        for x in range(n_values):
            line[x, c] = math.exp(line[x, c] - highest)
            total += line[x, c]
        for x in range(n_values):
            line[x, c] /= total


@kernel
def distribute(forest: Forest, value: IntArray, beliefs: FloatArray, weight: FloatArray, joint: FloatArray) -> None:
    """Pass probabilities down for one row: fill ``joint[S, C]`` with p(x_i, c | what was observed) of each feature."""
    tables, start = forest.tables, forest.start
    cards = tables.cards
    n_classes = weight.shape[0]
    lines = np.empty((cards.max(), n_classes))
    joint[:] = 0.0
    for i in forest.order:
        j = tables.parent[i]
        own = joint[start[i] : start[i + 1]]
        if value[i] < cards[i]:
            own[value[i]] = weight
            continue
        table, belief, line = table_of(forest, i), beliefs[start[i] : start[i + 1]], lines[: cards[i]]
        is_parent_known = value[j] < cards[j]
        for x_parent in range(cards[j]):
            if is_parent_known and x_parent != value[j]:
                continue
            above = weight if is_parent_known else joint[start[j] + x_parent]
            condition(table[x_parent], belief, line)
            for x in range(cards[i]):
                for c in range(n_classes):
                    own[x, c] += above[c] * line[x, c]
