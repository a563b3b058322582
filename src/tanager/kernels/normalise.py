"""Log-softmax of tables over the child's values, in place."""

from __future__ import annotations

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, Tables
from tanager.kernels.elementary import exp, log


@kernel
def normalise(theta: FloatArray, n_children: int, n_classes: int, scratch: FloatArray) -> None:
    """Subtract from one table ``theta[x_j, x_i, c]`` its log-normaliser over x_i."""
    n_parents = theta.shape[0] // (n_children * n_classes)
    part = scratch[: theta.shape[0]]
    for k in range(theta.shape[0]):
        part[k] = exp(theta[k])
    table = theta.reshape(n_parents, n_children, n_classes)
    parts = part.reshape(n_parents, n_children, n_classes)
    flat_total = np.zeros(n_parents * n_classes, np.float32)
    total = flat_total.reshape(n_parents, n_classes)
    for j in range(n_parents):
        for i in range(n_children):
            for c in range(n_classes):
                total[j, c] += parts[j, i, c]
    for k in range(flat_total.shape[0]):
        flat_total[k] = log(flat_total[k])
    for j in range(n_parents):
        for i in range(n_children):
            for c in range(n_classes):
                table[j, i, c] -= total[j, c]


@kernel
def normalise_tables(theta: FloatArray, tables: Tables, n_classes: int) -> None:
    """Normalise every table of the arena."""
    scratch = np.empty(np.diff(tables.offset).max(), np.float32)
    for s in range(tables.child.shape[0]):
        card = tables.cards[tables.child[s]]
        for e in range(tables.ptr[s], tables.ptr[s + 1]):
            normalise(theta[tables.offset[e] : tables.offset[e + 1]], card, n_classes, scratch)
