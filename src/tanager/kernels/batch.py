"""Rows of a table of codes, brought into the form that the kernels of a training step read."""

from __future__ import annotations

from tanager._jit import kernel
from tanager._types import IntArray, Tables


@kernel
def gather_batch(codes: IntArray, rows: IntArray, batch: IntArray) -> None:
    """Copy rows of ``codes[N, D]`` into the first columns of ``batch[D + 1, B]``, feature by feature.

    The last line of ``batch`` belongs to the virtual feature that stands for "no parent"; it is left as it is, and so
    are columns beyond the rows, which fill the batch up.
    """
    n_features = codes.shape[1]
    for b in range(rows.shape[0]):
        row = codes[rows[b]]
        for i in range(n_features):
            batch[i, b] = row[i]


@kernel
def table_lines(batch: IntArray, tables: Tables, slot: int, candidate: int, lines: IntArray) -> None:
    """Fill ``lines[B]`` with the line of the candidate's table that each row of the batch reads.

    A table ``[x_parent, x_child, c]`` has a line of C numbers for each pair of values.
    """
    i = tables.child[slot]
    card = tables.cards[i]
    x_child = batch[i]
    x_parent = batch[tables.parent[candidate]]
    for n in range(lines.shape[0]):
        lines[n] = x_parent[n] * card + x_child[n]
