"""Gradients of the tables and one step of Adam on them, fused table by table.

For candidate e with child i and parent j, let ``A[x_j, x_i, c]`` be the sum of the loss gradient over the rows with
these values, and ``S[x_j, c]`` its sum over x_i. Then

* the gradient of the table is ``A - exp(theta) * S`` if e is selected, else zero (equation 9 through log-softmax);
* the gradient of the candidate's weight s_e is the sum of ``A * theta``, selected or not (equation 12).

A ridge adds its own gradient to that of a selected table.

Tables are stored normalised: ``exp(theta)`` sums to one over x_i. A shift along x_i changes neither the model nor any
gradient, so subtracting the log-normaliser after each step leaves the trajectory of the paper's parameters as it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tanager._jit import inlined, kernel
from tanager._types import Adam, Descent, FloatArray, IntArray, Moments, Pull, Tables
from tanager.kernels.batch import table_places
from tanager.kernels.elementary import exp, log
from tanager.kernels.lanes import LANES, MANY_LANES, add, load, multiply_add, n_lanes, prefetch, store, total, zeros
from tanager.kernels.normalise import normalise, sum_lines, tile_lines

_ZERO = np.float32(0.0)

# Below these sizes a moment moves nothing (epsilon is 1e-7 and is added to the root of the second one); set to zero,
# it cannot decay into the denormal numbers, which are slow.
_LEAST_MEAN = np.float32(1e-20)
_LEAST_SQUARE = np.float32(1e-30)
_LEAST_PROBABILITY = np.float32(1e-19)

# Share of the first moment that no longer moves a single-precision parameter: when it has shrunk to this without a
# gradient, the table can rest until it is selected again.
_DEAD_SHARE = 7.1e-10


def rest_after(beta1: float) -> int:
    """Steps without a gradient after which a table can rest.

    >>> rest_after(0.9)
    200
    """
    return math.ceil(math.log(_DEAD_SHARE) / math.log(beta1)) if beta1 > 0.0 else 1


@inlined
def _flush(value, least):  # type: ignore[no-untyped-def]
    return value if abs(value) > least else _ZERO


@kernel
def _descend(table: Moments, gradient: FloatArray, rate: float, adam: Adam) -> None:
    """One step of Adam with a gradient; ``rate`` holds the bias corrections."""
    beta1, beta2, epsilon = np.float32(adam.beta1), np.float32(adam.beta2), np.float32(adam.epsilon)
    keep1, keep2, rate = np.float32(1.0 - adam.beta1), np.float32(1.0 - adam.beta2), np.float32(rate)
    value, mean, square = table
    for k in range(value.shape[0]):
        m = _flush(beta1 * mean[k] + keep1 * gradient[k], _LEAST_MEAN)
        v = _flush(beta2 * square[k] + keep2 * (gradient[k] * gradient[k]), _LEAST_SQUARE)
        mean[k] = m
        square[k] = v
        value[k] -= rate * m / (math.sqrt(v) + epsilon)


@kernel
def _coast(table: Moments, rate: float, adam: Adam) -> None:
    """One step of Adam on momentum alone: the gradient is zero."""
    beta1, beta2, epsilon = np.float32(adam.beta1), np.float32(adam.beta2), np.float32(adam.epsilon)
    rate = np.float32(rate)
    value, mean, square = table
    for k in range(value.shape[0]):
        m = _flush(beta1 * mean[k], _LEAST_MEAN)
        v = _flush(beta2 * square[k], _LEAST_SQUARE)
        mean[k] = m
        square[k] = v
        value[k] -= rate * m / (math.sqrt(v) + epsilon)


class _Scratch(NamedTuple):
    """Room for one slot's work; every array ends in slack."""

    places: IntArray
    shares: FloatArray
    totals: FloatArray
    gradient: FloatArray


@inlined
def _make_scratch(lo: int, hi: int, tables: Tables, n_rows: int, width: int) -> _Scratch:
    largest = 0
    for s in range(lo, hi):
        largest = max(largest, tables.offset[tables.ptr[s + 1]] - tables.offset[tables.ptr[s]])
    size = largest + width
    return _Scratch(
        np.empty(n_rows, np.int64), np.zeros(size, np.float32), np.zeros(size, np.float32), np.zeros(size, np.float32)
    )


@kernel
def _scatter(like, table: Moments, first: int, places: IntArray, grad: FloatArray, gradient: FloatArray) -> None:  # type: ignore[no-untyped-def]
    """Add each row's gradient to its line of the table that starts at ``first``.

    ``gradient`` is as long as the table and its slack. Rows with an unknown value, whose place is behind the arena,
    are added to the slack and so dropped. Meanwhile the moments, which will be needed next, are asked for.
    """
    n_rows, width = grad.shape
    flat, end = grad.reshape(-1), gradient.shape[0] - width
    for n in range(n_rows):
        prefetch(table.mean, 8 * n)
        prefetch(table.square, 8 * n)
        line = min(places[n] - first, end)
        for c in range(0, width, n_lanes(like)):
            value = load(flat, n * width + c, like)
            store(gradient, line + c, add(load(gradient, line + c, like), value))


@inlined
def _table_gradient(
    table: Moments, first: int, grad: FloatArray, n_children: int, n_classes: int, scratch: _Scratch
) -> FloatArray:
    """Gradient ``A - exp(theta) * S`` of one table, in scratch; ``scratch.places`` are those of the table.

    ``first`` is the table's offset in the arena.
    """
    places, shares, totals, gradient = scratch
    theta, width = table.value, grad.shape[1]
    n_parents = theta.shape[0] // (n_children * n_classes)
    room = gradient[: theta.shape[0] + width]
    room[:] = _ZERO
    if width % MANY_LANES == 0:
        _scatter(zeros(MANY_LANES), table, first, places, grad, room)
    else:
        _scatter(zeros(LANES), table, first, places, grad, room)
    sum_lines(gradient, n_children, n_classes, n_parents, totals)
    tile_lines(totals, n_children, n_classes, n_parents, shares)
    slope = gradient[: theta.shape[0]]
    for k in range(slope.shape[0]):
        slope[k] -= _flush(exp(theta[k]), _LEAST_PROBABILITY) * shares[k]
    return slope


@kernel
def _weight_gradient(like, theta: FloatArray, places: IntArray, grad: FloatArray, ahead: int, end: int) -> float:  # type: ignore[no-untyped-def]
    """Sum of ``grad[n, c] * theta[x_j, x_i, c]`` over the batch: the gradient of a candidate's weight.

    ``theta`` is the whole arena. Four rows are summed apart, so that one addition need not wait for the other. As all
    tables together are more than the caches hold, the next one, between ``ahead`` and ``end``, is asked for meanwhile.
    """
    n_rows, width = grad.shape
    flat = grad.reshape(-1)
    result = _ZERO
    for c in range(0, width, n_lanes(like)):
        sum0, sum1, sum2, sum3 = like, like, like, like
        for n in range(0, n_rows, 4):
            if ahead + 8 * n < end:
                prefetch(theta, ahead + 8 * n)
                prefetch(theta, ahead + 8 * n + 16)
            place = n * width + c
            sum0 = multiply_add(load(flat, place, like), load(theta, places[n] + c, like), sum0)
            sum1 = multiply_add(load(flat, place + width, like), load(theta, places[n + 1] + c, like), sum1)
            sum2 = multiply_add(load(flat, place + 2 * width, like), load(theta, places[n + 2] + c, like), sum2)
            sum3 = multiply_add(load(flat, place + 3 * width, like), load(theta, places[n + 3] + c, like), sum3)
        result += total(add(add(sum0, sum1), add(sum2, sum3)))
        ahead += 8 * n_rows
    return result


@inlined
def _padded_weight_gradient(theta: FloatArray, places: IntArray, grad: FloatArray, ahead: int, end: int) -> float:
    """The weight gradient, by as many lanes as fit."""
    if grad.shape[1] % MANY_LANES == 0:
        return _weight_gradient(zeros(MANY_LANES), theta, places, grad, ahead, end)
    return _weight_gradient(zeros(LANES), theta, places, grad, ahead, end)


@inlined
def _corrected_rate(rate, steps, adam):  # type: ignore[no-untyped-def]
    """Learning rate with the bias corrections after so many steps."""
    return rate * math.sqrt(1.0 - adam.beta2**steps) / (1.0 - adam.beta1**steps)


@kernel
def _slice(moments: Moments, start: int, stop: int) -> Moments:
    return Moments(moments.value[start:stop], moments.mean[start:stop], moments.square[start:stop])


@inlined
def _wake(table: Moments, missed: int, adam: Adam) -> None:
    """Let the moments of a rested table decay by the steps it missed."""
    decay1, decay2 = np.float32(adam.beta1**missed), np.float32(adam.beta2**missed)
    for k in range(table.mean.shape[0]):
        table.mean[k] = _flush(table.mean[k] * decay1, _LEAST_MEAN)
        table.square[k] = _flush(table.square[k] * decay2, _LEAST_SQUARE)


@kernel
def _moves(e: int, chosen: int, descent: Descent) -> bool:
    """Whether the step changes candidate e's table: it is selected, or coasts on momentum that has not died out."""
    if e == chosen:
        return True
    return descent.is_dense and descent.updates[e] > 0 and descent.step - descent.last[e] <= descent.rest_after


@kernel
def _add_pull(slope: FloatArray, theta: FloatArray, goal: FloatArray, n_classes: int, weight: float) -> None:
    """Add ``weight`` times what ``theta - goal`` differs by between the classes; the goal holds for every x_j."""
    share, pull = np.float32(1.0 / n_classes), np.float32(weight)
    for block in range(0, slope.shape[0], goal.shape[0]):
        for line in range(0, goal.shape[0], n_classes):
            mean = _ZERO
            for k in range(line, line + n_classes):
                mean += theta[block + k] - goal[k]
            mean *= share
            for k in range(line, line + n_classes):
                slope[block + k] += pull * (theta[block + k] - goal[k] - mean)


@inlined
def _descend_chosen(e: int, table: Moments, slope: FloatArray, descent: Descent) -> None:
    """One step of Adam on the selected table."""
    missed = descent.step - descent.last[e] - 1 - descent.rest_after
    if descent.is_dense and descent.updates[e] > 0 and missed > 0:
        _wake(table, missed, descent.adam)
    descent.updates[e] += 1
    descent.last[e] = descent.step
    steps = descent.step if descent.is_dense else descent.updates[e]
    _descend(table, slope, _corrected_rate(descent.rate, steps, descent.adam), descent.adam)


@kernel
def update_tables(
    lo: int,
    hi: int,
    theta: Moments,
    tables: Tables,
    selected: IntArray,
    batch: IntArray,
    grad: FloatArray,
    n_classes: int,
    descent: Descent,
    weight_gradient: FloatArray,
    pull: Pull,
) -> None:
    """Update the tables of slots lo to hi in place and fill the gradient of their candidates' weights.

    All weight gradients are of the tables before the update. If the descent is dense, unselected tables go on moving
    on their momentum, as published, and the number of the step corrects the bias; else they stay as they are, and
    each table has its own count for the correction.

    ``grad[B, P]`` is the loss's gradient with respect to the log-joint, filled up with zeros to a multiple of 4 rows
    and of whole lanes. The arenas end in P zeros.
    """
    offset = tables.offset
    scratch = _make_scratch(lo, hi, tables, grad.shape[0], grad.shape[1])
    coasting_rate = _corrected_rate(descent.rate, descent.step, descent.adam)
    for s in range(lo, hi):
        card = tables.cards[tables.child[s]]
        first, stop, chosen = tables.ptr[s], tables.ptr[s + 1], selected[s]
        if stop - first > 1:
            for e in range(first, stop):
                table_places(batch, tables, s, e, n_classes, scratch.places)
                after = offset[min(e + 2, offset.shape[0] - 1)]
                weight_gradient[e] = _padded_weight_gradient(theta.value, scratch.places, grad, offset[e + 1], after)
        table_places(batch, tables, s, chosen, n_classes, scratch.places)
        table = _slice(theta, offset[chosen], offset[chosen + 1])
        slope = _table_gradient(table, offset[chosen], grad, card, n_classes, scratch)
        if pull.weight > 0.0:
            goal = pull.goals[pull.offset[tables.child[s]] : pull.offset[tables.child[s] + 1]]
            _add_pull(slope, table.value, goal, n_classes, pull.weight)
        _descend_chosen(chosen, table, slope, descent)
        # Tables that move and lie side by side are updated as one, since long loops cost less for each entry.
        e = first
        while e < stop:
            if not _moves(e, chosen, descent):
                e += 1
                continue
            start = e
            while e < stop and _moves(e, chosen, descent):
                e += 1
            if start <= chosen < e:
                _coast(_slice(theta, offset[start], offset[chosen]), coasting_rate, descent.adam)
                _coast(_slice(theta, offset[chosen + 1], offset[e]), coasting_rate, descent.adam)
            else:
                _coast(_slice(theta, offset[start], offset[e]), coasting_rate, descent.adam)
            block = theta.value[offset[start] : offset[e]]
            normalise(block, card, n_classes, scratch.shares, scratch.totals)


@kernel
def update_prior(prior: Moments, grad: FloatArray, step: int, rate: float, adam: Adam) -> None:
    """One step of Adam on the class prior, which is kept normalised over the classes like the tables over x_i."""
    n_classes = prior.value.shape[0]
    slope = np.zeros(n_classes, np.float32)
    for n in range(grad.shape[0]):
        for c in range(n_classes):
            slope[c] += grad[n, c]
    slope_sum = _ZERO
    for c in range(n_classes):
        slope_sum += slope[c]
    for c in range(n_classes):
        slope[c] -= exp(prior.value[c]) * slope_sum
    _descend(prior, slope, _corrected_rate(rate, step, adam), adam)
    normaliser = _ZERO
    for c in range(n_classes):
        normaliser += exp(prior.value[c])
    for c in range(n_classes):
        prior.value[c] -= log(normaliser)
