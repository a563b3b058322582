"""The log-joint of rows under one structure: the log prior and one table row for each feature, summed (equation 9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray, Tables
from tanager.kernels.batch import table_places
from tanager.kernels.lanes import LANES, add, load, store


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
    """Fill rows lo to hi of ``log_joint[B, P]`` from the selected tables; ``batch`` is feature-major.

    P is the number of classes padded to whole lanes; the entries beyond the classes have no meaning.
    """
    n_classes = prior.shape[0]
    width = log_joint.shape[1]
    for n in range(lo, hi):
        for c in range(n_classes):
            log_joint[n, c] = prior[c]
    places = np.empty(hi - lo, np.int64)
    part = batch[:, lo:hi]
    out = log_joint[lo:hi].reshape(-1)
    for s in range(selected.shape[0]):
        table_places(part, tables, s, selected[s], n_classes, places)
        for n in range(places.shape[0]):
            for c in range(0, width, LANES):
                place = n * width + c
                store(out, place, add(load(out, place), load(theta, places[n] + c)))


@kernel
def network_log_joint(
    lo: int,
    hi: int,
    theta: FloatArray,
    prior: FloatArray,
    tables: Tables,
    codes: IntArray,
    log_joint: FloatArray,
    is_complete: NDArray[np.bool_],
) -> None:
    """Fill rows lo to hi of ``log_joint[N, C]`` for a network of one table per feature; ``codes`` is row-major.

    Rows with an unknown value (a code equal to the feature's number of values) are marked as not complete and left.
    """
    n_classes = prior.shape[0]
    n_features = codes.shape[1]
    for n in range(lo, hi):
        x = codes[n]
        out = log_joint[n]
        is_complete[n] = True
        for i in range(n_features):
            is_complete[n] &= x[i] < tables.cards[i]
        if not is_complete[n]:
            continue
        for c in range(n_classes):
            out[c] = prior[c]
        for i in range(n_features):
            j = tables.parent[i]
            line = np.int64(x[i]) if j == n_features else x[j] * tables.cards[i] + x[i]
            start = tables.offset[i] + line * n_classes
            row = theta[start : start + n_classes]
            for c in range(n_classes):
                out[c] += row[c]
