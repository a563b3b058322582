"""The log-joint of rows under one structure: the log prior and one table row for each feature, summed (equation 9)."""

from __future__ import annotations

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray, Tables


@kernel
def batch_log_joint(
    lo: int,
    hi: int,
    theta: FloatArray,
    prior: FloatArray,
    tables: Tables,
    selected: IntArray,
    batch: IntArray,
    log_joint: FloatArray,
) -> None:
    """Fill rows lo to hi of ``log_joint[B, C]`` from the selected tables; ``batch`` is feature-major."""
    n_classes = prior.shape[0]
    for n in range(lo, hi):
        for c in range(n_classes):
            log_joint[n, c] = prior[c]
    for i in range(selected.shape[0]):
        e = selected[i]
        table = theta[tables.offset[e] : tables.offset[e + 1]].reshape(-1, n_classes)
        card = tables.cards[i]
        x_child = batch[i]
        x_parent = batch[tables.parent[e]]
        for n in range(lo, hi):
            row = table[x_parent[n] * card + x_child[n]]
            out = log_joint[n]
            for c in range(n_classes):
                out[c] += row[c]


@kernel
def table_log_joint(
    lo: int,
    hi: int,
    theta: FloatArray,
    prior: FloatArray,
    tables: Tables,
    codes: IntArray,
    log_joint: FloatArray,
) -> None:
    """Fill rows lo to hi of ``log_joint[N, C]`` for a network of one table per feature; ``codes`` is row-major."""
    n_classes = prior.shape[0]
    n_features = codes.shape[1]
    for n in range(lo, hi):
        x = codes[n]
        out = log_joint[n]
        for c in range(n_classes):
            out[c] = prior[c]
        for i in range(n_features):
            j = tables.parent[i]
            line = x[i] if j == n_features else x[j] * tables.cards[i] + x[i]
            start = tables.offset[i] + line * n_classes
            row = theta[start : start + n_classes]
            for c in range(n_classes):
                out[c] += row[c]
