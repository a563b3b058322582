"""Gradients of the tables and one step of Adam on them, fused table by table.

For candidate e with child i and parent j, let ``A[x_j, x_i, c]`` be the sum of the loss gradient over the rows with
these values, and ``S[x_j, c]`` its sum over x_i. Then

* the gradient of the table is ``A - exp(theta) * S`` if e is selected, else zero (equation 9 through log-softmax);
* the gradient of the candidate's weight s_e is the sum of ``A * theta``, selected or not (equation 12).

Tables are stored normalised: ``exp(theta)`` sums to one over x_i. A shift along x_i changes neither the model nor any
gradient, so subtracting the log-normaliser after each step leaves the trajectory of the paper's parameters as it is.
"""

from __future__ import annotations

import math

import numpy as np

from tanager._jit import inlined, kernel
from tanager._types import Adam, Descent, FloatArray, IntArray, Moments, Tables
from tanager.kernels.batch import table_lines
from tanager.kernels.elementary import exp, log
from tanager.kernels.normalise import normalise

_ZERO = np.float32(0.0)

# Below these sizes a moment moves nothing (epsilon is 1e-7 and is added to the root of the second one); set to zero,
# it cannot decay into the denormal numbers, which are slow.
_LEAST_MEAN = np.float32(1e-20)
_LEAST_SQUARE = np.float32(1e-30)
_LEAST_PROBABILITY = np.float32(1e-19)

# After this many steps without a gradient the first moment has shrunk by 0.9**200 = 7e-10 and no longer moves a
# single-precision parameter: the table can rest until it is selected again.
REST_AFTER = 200


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


@kernel
def _table_gradient(
    theta: FloatArray, lines: IntArray, grad: FloatArray, n_children: int, gradient: FloatArray
) -> None:
    """Fill ``gradient`` with ``A - exp(theta) * S`` of one table."""
    n_classes = grad.shape[1]
    n_parents = theta.shape[0] // (n_children * n_classes)
    gradient[:] = _ZERO
    scatter = gradient.reshape(n_parents * n_children, n_classes)
    sums = np.zeros((n_parents, n_classes), np.float32)
    is_touched = np.zeros(n_parents, np.bool_)
    for n in range(lines.shape[0]):
        line = scatter[lines[n]]
        j = lines[n] // n_children
        total = sums[j]
        is_touched[j] = True
        for c in range(n_classes):
            line[c] += grad[n, c]
            total[c] += grad[n, c]
    slab = n_children * n_classes
    share = np.empty((n_children, n_classes), np.float32)
    flat_share = share.reshape(-1)
    for j in range(n_parents):
        if not is_touched[j]:
            continue
        values = theta[j * slab : (j + 1) * slab]
        for k in range(slab):
            flat_share[k] = _flush(exp(values[k]), _LEAST_PROBABILITY)
        out = scatter[j * n_children : (j + 1) * n_children]
        total = sums[j]
        for i in range(n_children):
            for c in range(n_classes):
                out[i, c] -= share[i, c] * total[c]


@kernel
def _weight_gradient(theta: FloatArray, lines: IntArray, grad: FloatArray, sums: FloatArray) -> float:
    """Sum of ``grad[n, c] * theta[x_j, x_i, c]`` over the batch: the gradient of a candidate's weight."""
    n_classes = grad.shape[1]
    table = theta.reshape(-1, n_classes)
    sums[:] = _ZERO
    for n in range(lines.shape[0]):
        line = table[lines[n]]
        for c in range(n_classes):
            sums[c] += grad[n, c] * line[c]
    total = 0.0
    for c in range(n_classes):
        total += sums[c]
    return total


@inlined
def _corrected_rate(rate, steps, adam):  # type: ignore[no-untyped-def]
    """Learning rate with the bias corrections after so many steps."""
    return rate * math.sqrt(1.0 - adam.beta2**steps) / (1.0 - adam.beta1**steps)


@kernel
def _slice(moments: Moments, start: int, stop: int) -> Moments:
    return Moments(moments.value[start:stop], moments.mean[start:stop], moments.square[start:stop])


@kernel
def update_tables(
    lo: int,
    hi: int,
    theta: Moments,
    tables: Tables,
    selected: IntArray,
    batch: IntArray,
    grad: FloatArray,
    descent: Descent,
    weight_gradient: FloatArray,
) -> None:
    """Update the tables of slots lo to hi in place and fill the gradient of their candidates' weights.

    All weight gradients are of the tables before the update. If the descent is dense, unselected tables go on moving
    on their momentum, as published, and the number of the step corrects the bias; else they stay as they are, and
    each table has its own count for the correction.
    """
    step, last, updates, rate, adam, is_dense = descent
    n_classes = grad.shape[1]
    sums = np.empty(n_classes, np.float32)
    lines = np.empty(grad.shape[0], np.int64)
    largest = 0
    for e in range(tables.ptr[lo], tables.ptr[hi]):
        largest = max(largest, tables.offset[e + 1] - tables.offset[e])
    scratch = np.empty(largest, np.float32)
    gradient = np.empty(largest, np.float32)
    for s in range(lo, hi):
        card = tables.cards[tables.child[s]]
        is_choice = tables.ptr[s + 1] - tables.ptr[s] > 1
        for e in range(tables.ptr[s], tables.ptr[s + 1]):
            table = _slice(theta, tables.offset[e], tables.offset[e + 1])
            table_lines(batch, tables, s, e, lines)
            if is_choice:
                weight_gradient[e] = _weight_gradient(table.value, lines, grad, sums)
            if e == selected[s]:
                slope = gradient[: table.value.shape[0]]
                _table_gradient(table.value, lines, grad, card, slope)
                missed = step - last[e] - 1 - REST_AFTER
                if is_dense and missed > 0:
                    _wake(table, missed, adam)
                updates[e] += 1
                last[e] = step
                _descend(table, slope, _corrected_rate(rate, step if is_dense else updates[e], adam), adam)
                normalise(table.value, card, n_classes, scratch)
            elif is_dense and updates[e] > 0 and step - last[e] <= REST_AFTER:
                _coast(table, _corrected_rate(rate, step, adam), adam)
                normalise(table.value, card, n_classes, scratch)


@kernel
def _wake(table: Moments, missed: int, adam: Adam) -> None:
    """Let the moments of a rested table decay by the steps it missed."""
    decay1, decay2 = np.float32(adam.beta1**missed), np.float32(adam.beta2**missed)
    for k in range(table.mean.shape[0]):
        table.mean[k] = _flush(table.mean[k] * decay1, _LEAST_MEAN)
        table.square[k] = _flush(table.square[k] * decay2, _LEAST_SQUARE)


@kernel
def update_prior(prior: Moments, grad: FloatArray, step: int, rate: float, adam: Adam) -> None:
    """One step of Adam on the class prior, which is kept normalised over the classes like the tables over x_i."""
    n_classes = grad.shape[1]
    slope = np.zeros(n_classes, np.float32)
    for n in range(grad.shape[0]):
        for c in range(n_classes):
            slope[c] += grad[n, c]
    total = _ZERO
    for c in range(n_classes):
        total += slope[c]
    for c in range(n_classes):
        slope[c] -= exp(prior.value[c]) * total
    _descend(prior, slope, _corrected_rate(rate, step, adam), adam)
    normaliser = _ZERO
    for c in range(n_classes):
        normaliser += exp(prior.value[c])
    for c in range(n_classes):
        prior.value[c] -= log(normaliser)
