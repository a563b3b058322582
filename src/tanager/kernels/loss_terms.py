"""Losses of a batch and their gradients with respect to the log-joint, row by row.

All are weighted means over the rows: ``sum(w * loss) / sum(w)``.
"""

from __future__ import annotations

import math

import numpy as np

from tanager._jit import inlined, kernel
from tanager._types import FloatArray, IntArray
from tanager.kernels.elementary import exp

_ZERO = np.float32(0.0)

# A share of the softened maximum below this is taken as zero: far below rounding, and safe from denormal numbers.
_LEAST_SHARE = np.float32(1e-19)


@inlined
def _flush(value):  # type: ignore[no-untyped-def]
    return value if value > _LEAST_SHARE else _ZERO


@kernel
def _softmax_into(logits: FloatArray, scale: float, left_out: int, out: FloatArray) -> float:
    """Fill ``out`` with softmax(scale * logits) and return logsumexp(scale * logits); class ``left_out`` counts not.

    With no class left, the result is zero shares and minus infinity.
    """
    highest = -np.inf
    for c in range(logits.shape[0]):
        if c != left_out and logits[c] > highest:
            highest = logits[c]
    if highest == -np.inf:
        out[:] = _ZERO
        return -np.inf
    shift, factor = np.float32(highest), np.float32(scale)
    for c in range(logits.shape[0]):
        out[c] = exp(factor * (logits[c] - shift))
    if left_out >= 0:
        out[left_out] = _ZERO
    total = 0.0
    for c in range(logits.shape[0]):
        total += out[c]
    inverse = np.float32(1.0 / total)
    for c in range(logits.shape[0]):
        out[c] = _flush(out[c] * inverse)
    return scale * highest + math.log(total)


@kernel
def margin_loss(
    log_joint: FloatArray,
    y: IntArray,
    weight: FloatArray,
    shares: tuple[float, float],
    gamma: float,
    eta: float,
    grad: FloatArray,
) -> float:
    """``shares[0]`` times the negative log-likelihood plus ``shares[1]`` times the softened margin loss.

    Equations 5 to 8 of the paper, with the maximum over the other classes softened by eta.
    """
    nll, lam = shares
    scale = 1.0 / weight.sum()
    value = 0.0
    for n in range(y.shape[0]):
        w = weight[n] * scale
        own = log_joint[n, y[n]]
        rival = _softmax_into(log_joint[n], eta, y[n], grad[n]) / eta if lam > 0.0 else -np.inf
        shortfall = gamma - own + rival
        value -= w * nll * own
        if lam > 0.0 and shortfall > 0.0:
            value += w * lam * shortfall
            factor = np.float32(w * lam)
            for c in range(log_joint.shape[1]):
                grad[n, c] *= factor
            grad[n, y[n]] = -np.float32(w * (nll + lam))
        else:
            grad[n, :] = _ZERO
            grad[n, y[n]] = -np.float32(w * nll)
    return value


@kernel
def conditional_loss(log_joint: FloatArray, y: IntArray, weight: FloatArray, grad: FloatArray) -> float:
    """Negative conditional log-likelihood: ``logsumexp(log_joint) - log_joint[y]``."""
    scale = 1.0 / weight.sum()
    value = 0.0
    for n in range(y.shape[0]):
        w = weight[n] * scale
        value += w * (_softmax_into(log_joint[n], 1.0, -1, grad[n]) - log_joint[n, y[n]])
        # The others' sum is 1 - p(y | x) without the cancellation where that is small.
        grad[n, y[n]] = _ZERO
        others, factor = _ZERO, np.float32(w)
        for c in range(log_joint.shape[1]):
            grad[n, c] *= factor
            others += grad[n, c]
        grad[n, y[n]] -= others
    return value


@kernel
def error_share(log_joint: FloatArray, y: IntArray, weight: FloatArray) -> float:
    """Weighted share of rows whose most probable class is not ``y``; the first of equal classes is taken."""
    errors = 0.0
    for n in range(y.shape[0]):
        best = 0
        for c in range(1, log_joint.shape[1]):
            if log_joint[n, c] > log_joint[n, best]:
                best = c
        if best != y[n]:
            errors += weight[n]
    return errors / weight.sum()
