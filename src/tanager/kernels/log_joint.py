"""The log-joint of rows under one structure: the log prior and one table row for each feature, summed (equation 9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray, Tables
from tanager.kernels.batch import table_places
from tanager.kernels.lanes import (
    LANES,
    MANY_LANES,
    add,
    add_wide,
    load,
    load_wide,
    n_lanes,
    prefetch,
    store,
    store_wide,
    zeros,
)

_CHUNK = 8  # slots whose lines are added before the sums are put down


@kernel
def _add_slots(like, theta: FloatArray, places: IntArray, ahead: IntArray, out: FloatArray) -> None:  # type: ignore[no-untyped-def]
    """Add to ``out[B, P]`` the lines at ``places[K, B]``.

    Meanwhile the tables that will be read next, which start at ``ahead[K]``, are asked for.
    """
    flat, (n_rows, width) = out.reshape(-1), out.shape
    for n in range(n_rows):
        for k in range(places.shape[0]):
            prefetch(theta, ahead[k] + 8 * n)
        for c in range(0, width, n_lanes(like)):
            total = load(flat, n * width + c, like)
            for k in range(places.shape[0]):
                total = add(total, load(theta, places[k, n] + c, like))
            store(flat, n * width + c, total)


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
    n_classes, n_slots = prior.shape[0], selected.shape[0]
    for n in range(lo, hi):
        for c in range(n_classes):
            log_joint[n, c] = prior[c]
    places = np.empty((_CHUNK, hi - lo), np.int64)
    ahead = np.empty(_CHUNK, np.int64)
    part, out = batch[:, lo:hi], log_joint[lo:hi]
    for first in range(0, n_slots, _CHUNK):
        n_chunk = min(_CHUNK, n_slots - first)
        for k in range(n_chunk):
            table_places(part, tables, first + k, selected[first + k], n_classes, places[k])
            ahead[k] = tables.offset[selected[min(first + _CHUNK + k, n_slots - 1)]]
        if out.shape[1] % MANY_LANES == 0:
            _add_slots(zeros(MANY_LANES), theta, places[:n_chunk], ahead, out)
        else:
            _add_slots(zeros(LANES), theta, places[:n_chunk], ahead, out)


@kernel
def _row_places(x: IntArray, tables: Tables, n_classes: int, places: IntArray) -> bool:
    """Fill the places in the arena that a row reads, one for each slot; returns whether all values are known.

    Each slot has one candidate, and each feature is the child of a slot.
    """
    n_features = x.shape[0]
    is_complete = True
    for s in range(places.shape[0]):
        i, j = tables.child[s], tables.parent[s]
        value, card = np.int64(x[i]), tables.cards[i]
        x_parent = np.int64(0) if j == n_features else np.int64(x[j])
        is_complete &= value < card
        places[s] = tables.offset[s] + (x_parent * card + value) * n_classes
    return is_complete


@kernel
def _sum_lines(theta: FloatArray, prior: FloatArray, places: IntArray, sums: FloatArray) -> None:
    """Fill ``sums[P]`` with the log prior and the lines at the given places.

    Eight lines are added in single precision, and their sums in double precision: the result is good to about 1e-6
    however many features there are, at half the time that double precision throughout takes.
    """
    like = zeros(LANES)
    n_whole = places.shape[0] // 8 * 8
    for c in range(0, sums.shape[0], LANES):
        total = load_wide(prior, c)
        for i in range(0, n_whole, 8):
            pair0 = add(load(theta, places[i] + c, like), load(theta, places[i + 1] + c, like))
            pair1 = add(load(theta, places[i + 2] + c, like), load(theta, places[i + 3] + c, like))
            pair2 = add(load(theta, places[i + 4] + c, like), load(theta, places[i + 5] + c, like))
            pair3 = add(load(theta, places[i + 6] + c, like), load(theta, places[i + 7] + c, like))
            total = add_wide(total, add(add(pair0, pair1), add(pair2, pair3)))
        for i in range(n_whole, places.shape[0]):
            total = add_wide(total, load(theta, places[i] + c, like))
        store_wide(sums, c, total)


@kernel
def _whole_lanes(prior: FloatArray) -> FloatArray:
    """The prior, filled up with zeros to whole lanes."""
    filled = np.zeros((prior.shape[0] + LANES - 1) // LANES * LANES)
    filled[: prior.shape[0]] = prior
    return filled


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
    """Fill rows lo to hi of ``log_joint[N, C]`` for slots with one table each; ``codes`` is row-major.

    Rows with an unknown value (a code equal to the feature's number of values) are marked as not complete and left.
    """
    filled = _whole_lanes(prior)
    sums = np.empty_like(filled)
    places = np.empty(tables.child.shape[0], np.int64)
    for n in range(lo, hi):
        is_complete[n] = _row_places(codes[n], tables, prior.shape[0], places)
        if is_complete[n]:
            _sum_lines(theta, filled, places, sums)
            for c in range(prior.shape[0]):
                log_joint[n, c] = sums[c]
