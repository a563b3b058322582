"""The distribution over parents: sampling by Gumbel-max, and its gradient by the straight-through softmax.

Paper: equations 11 to 13. One structure is drawn for a whole batch. The temperature never changes which structure is
drawn, since dividing by it keeps the order; it only shapes the gradient.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tanager._jit import kernel
from tanager._types import Adam, FloatArray, IntArray, Moments, Tables


@kernel
def sample_parents(
    phi: FloatArray, noise: FloatArray, ptr: IntArray, tau: float, selected: IntArray, soft: FloatArray
) -> None:
    """Fill, from perturbed logits, the selected candidate of each feature and the soft weights of all candidates.

    The first of equal candidates wins.
    """
    for i in range(ptr.shape[0] - 1):
        best = ptr[i]
        for e in range(ptr[i], ptr[i + 1]):
            soft[e] = phi[e] + noise[e]
            if soft[e] > soft[best]:
                best = e
        selected[i] = best
        highest = soft[best]
        total = 0.0
        for e in range(ptr[i], ptr[i + 1]):
            soft[e] = math.exp((soft[e] - highest) / tau)
            total += soft[e]
        for e in range(ptr[i], ptr[i + 1]):
            soft[e] /= total


@kernel
def drop_parents(
    is_dropped: NDArray[np.bool_], tables: Tables, n_features: int, selected: IntArray, soft: FloatArray
) -> None:
    """Let slots whose parent is dropped read the table without a parent; their phi gets no gradient in this step.

    A slot that has no such table keeps its parent.
    """
    for s in range(selected.shape[0]):
        if not is_dropped[s]:
            continue
        for e in range(tables.ptr[s], tables.ptr[s + 1]):
            if tables.parent[e] == n_features:
                selected[s] = e
                soft[tables.ptr[s] : tables.ptr[s + 1]] = 0.0


@kernel
def phi_gradient(
    weight_gradient: FloatArray, soft: FloatArray, ptr: IntArray, tau: float, gradient: FloatArray
) -> None:
    """Pass the gradient of the candidates' weights through the softmax to phi."""
    for i in range(ptr.shape[0] - 1):
        mean = 0.0
        for e in range(ptr[i], ptr[i + 1]):
            mean += soft[e] * weight_gradient[e]
        for e in range(ptr[i], ptr[i + 1]):
            gradient[e] = soft[e] * (weight_gradient[e] - mean) / tau


@kernel
def descend_phi(phi: Moments, gradient: FloatArray, step: int, rate: float, adam: Adam) -> None:
    """One step of Adam on phi."""
    corrected = rate * math.sqrt(1.0 - adam.beta2**step) / (1.0 - adam.beta1**step)
    for e in range(gradient.shape[0]):
        phi.mean[e] = adam.beta1 * phi.mean[e] + (1.0 - adam.beta1) * gradient[e]
        phi.square[e] = adam.beta2 * phi.square[e] + (1.0 - adam.beta2) * gradient[e] * gradient[e]
        phi.value[e] -= corrected * phi.mean[e] / (math.sqrt(phi.square[e]) + adam.epsilon)


@kernel
def parent_probabilities(phi: FloatArray, ptr: IntArray, probabilities: FloatArray) -> None:
    """Softmax of phi over the candidates of each feature."""
    for i in range(ptr.shape[0] - 1):
        highest = -np.inf
        for e in range(ptr[i], ptr[i + 1]):
            highest = max(highest, phi[e])
        total = 0.0
        for e in range(ptr[i], ptr[i + 1]):
            probabilities[e] = math.exp(phi[e] - highest)
            total += probabilities[e]
        for e in range(ptr[i], ptr[i + 1]):
            probabilities[e] /= total
