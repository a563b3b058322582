"""Log-softmax of tables over the child's values, in place."""

from __future__ import annotations

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, Tables
from tanager.kernels.elementary import exp, log
from tanager.kernels.lanes import LANES, add, load, store, zeros


@kernel
def tile_lines(lines: FloatArray, n_children: int, n_classes: int, n_parents: int, out: FloatArray) -> None:
    """Write line j of ``lines[n_parents, C]`` to all lines ``out[j, :, C]``. Both arrays end in slack."""
    like = zeros(LANES)
    for j in range(n_parents):
        for i in range(n_children):
            for c in range(0, n_classes, LANES):
                store(out, (j * n_children + i) * n_classes + c, load(lines, j * n_classes + c, like))


@kernel
def sum_lines(table: FloatArray, n_children: int, n_classes: int, n_parents: int, out: FloatArray) -> None:
    """Write the sum of the lines ``table[j, :, C]`` to line j of ``out[n_parents, C]``. Both arrays end in slack."""
    like = zeros(LANES)
    for j in range(n_parents):
        for c in range(0, n_classes, LANES):
            place = j * n_children * n_classes + c
            total = load(table, place, like)
            for _ in range(1, n_children):
                place += n_classes
                total = add(total, load(table, place, like))
            store(out, j * n_classes + c, total)


@kernel
def normalise(theta: FloatArray, n_children: int, n_classes: int, scratch: FloatArray, totals: FloatArray) -> None:
    """Subtract from tables ``theta[x_j, x_i, c]`` their log-normaliser over x_i.

    Tables that lie side by side and have the same child are normalised as one. ``scratch`` has room for ``theta`` and
    slack, ``totals`` for one line of classes for each x_j and slack.
    """
    if n_children == 1:
        # Exactly, since Adam makes whole steps of what rounding leaves: phi of a constant feature must not move.
        theta[:] = np.float32(0.0)
        return
    n_parents = theta.shape[0] // (n_children * n_classes)
    for k in range(theta.shape[0]):
        scratch[k] = exp(theta[k])
    sum_lines(scratch, n_children, n_classes, n_parents, totals)
    for k in range(n_parents * n_classes):
        totals[k] = log(totals[k])
    tile_lines(totals, n_children, n_classes, n_parents, scratch)
    for k in range(theta.shape[0]):
        theta[k] -= scratch[k]


@kernel
def normalise_tables(theta: FloatArray, tables: Tables, n_classes: int) -> None:
    """Normalise every table of the arena."""
    largest = 0
    for e in range(tables.parent.shape[0]):
        largest = max(largest, tables.offset[e + 1] - tables.offset[e])
    largest += LANES
    scratch = np.zeros(largest, np.float32)
    totals = np.zeros(largest, np.float32)
    for s in range(tables.child.shape[0]):
        card = tables.cards[tables.child[s]]
        for e in range(tables.ptr[s], tables.ptr[s + 1]):
            normalise(theta[tables.offset[e] : tables.offset[e + 1]], card, n_classes, scratch, totals)
