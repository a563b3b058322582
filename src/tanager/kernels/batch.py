"""Rows of a table of codes, brought into the form that the kernels of a training step read."""

from __future__ import annotations

from tanager._jit import kernel
from tanager._types import IntArray, Tables

_BLOCK = 16  # rows that are turned at a time: a line of the cache for each feature


@kernel
def gather_batch(lo: int, hi: int, codes: IntArray, rows: IntArray, batch: IntArray) -> None:
    """Copy rows of ``codes[N, D]``, those that ``rows[lo:hi]`` tells, into columns lo to hi of ``batch[D + 1, B]``.

    The last line of ``batch`` belongs to the virtual feature that stands for "no parent"; it is left as it is, and so
    are columns beyond the rows, which fill the batch up.
    """
    for start in range(lo, hi, _BLOCK):
        chosen = rows[start : min(start + _BLOCK, hi)]
        for i in range(codes.shape[1]):
            out = batch[i, start : start + chosen.shape[0]]
            for b in range(chosen.shape[0]):
                out[b] = codes[chosen[b], i]


@kernel
def table_places(batch: IntArray, tables: Tables, slot: int, candidate: int, n_classes: int, places: IntArray) -> None:
    """Fill ``places[B]`` with the place in the arena that each row of the batch reads of the candidate's table.

    A table ``[x_parent, x_child, c]`` has a line of C numbers for each pair of values; the place is where it starts.
    If one of the values is unknown, the row reads the zeros behind the last table instead: the term is left out.
    """
    i, j = tables.child[slot], tables.parent[candidate]
    card, card_parent = tables.cards[i], tables.cards[j]
    first, nowhere = tables.offset[candidate], tables.offset[-1]
    x_child, x_parent = batch[i], batch[j]
    for n in range(places.shape[0]):
        is_known = (x_child[n] < card) & (x_parent[n] < card_parent)
        places[n] = first + (x_parent[n] * card + x_child[n]) * n_classes if is_known else nowhere
