"""The most probable class of rows, in sums of 16-bit integers.

To find the class, the line of a table can be shifted as a whole and need not be exact. Here every line is stored as
steps below its highest entry, in 16 bits each: a quarter of what double precision has to move. The lines of 16 slots
are added in 16 bits and these sums in 32. A sum that reaches the bottom stays there, since no entry is above zero; it
is then too high, so a class with such a sum cannot be told to be the best.

Each of the D + 1 terms is wrong by at most half a step. So where the second best class is more than D + 1 steps behind,
the best is the one that exact sums would give. The other rows, and those with unknown values, are left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._jit import inlined, kernel
from tanager._types import FloatArray, IntArray, Tables
from tanager.kernels.lanes import (
    add_long,
    add_short,
    highest,
    lengthen,
    load,
    lower,
    lowest_bit,
    n_lanes,
    reaching,
    short_zeros,
    store,
)
from tanager.kernels.words import load_word, store_word

BOTTOM = -32768  # of a sum of 16 bits
IMPOSSIBLE = -(2**26)  # start of a sum of 32 bits that no other class can fall below

# Steps to a difference of one in log-probability. The most probable class is, in each slot, somewhat less probable than
# the best one of that slot: over 16 slots it was at most 86 below on the paper's data sets, where 96 is the bottom.
STEPS_PER_UNIT = 341.0

_BLOCK = 64  # rows that are worked on at a time
_CHUNK = 16  # slots whose lines are added before the sums are put down


def short_width(n_classes: int) -> int:
    """Entries that a line of so many classes takes: 8, 16 or a multiple of 32.

    >>> short_width(3), short_width(10), short_width(26), short_width(33)
    (8, 16, 32, 64)
    """
    return 8 if n_classes <= 8 else 16 if n_classes <= 16 else -(-n_classes // 32) * 32


@kernel
def shorten_lines(lines: FloatArray, shortened: IntArray) -> None:
    """Fill ``shortened[L, P]`` with the steps of each of ``lines[L, C]`` below its highest entry."""
    n_classes = lines.shape[1]
    bottom, factor, half = np.float32(BOTTOM), np.float32(STEPS_PER_UNIT), np.float32(0.5)
    for k in range(lines.shape[0]):
        line, out = lines[k], shortened[k]
        top = line[0]
        for c in range(1, n_classes):
            top = max(top, line[c])
        if top == -np.inf:  # no class is possible; all at the bottom, the row will be left
            out[:n_classes] = BOTTOM
            continue
        for c in range(n_classes):
            out[c] = np.int16(max((line[c] - top) * factor - half, bottom))


@inlined
def _swap(a, b, mask, shift):  # type: ignore[no-untyped-def]
    """Exchange the upper part of a with the lower part of b, within every group of bytes that the mask tells."""
    changed = ((a >> shift) ^ b) & mask
    return a ^ (changed << shift), b ^ changed


_ONES, _TWOS, _FOURS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00000000FFFFFFFF)
_BYTE, _TWO_BYTES, _FOUR_BYTES = np.uint64(8), np.uint64(16), np.uint64(32)


@inlined
def _turn_bytes(codes: IntArray, start: int, n_columns: int, turned: IntArray, place: int) -> None:
    """Turn eight rows of bytes by eight columns, ``codes`` from ``start`` on, into lines of ``turned``, flat both."""
    w0, w1 = load_word(codes, start), load_word(codes, start + n_columns)
    w2, w3 = load_word(codes, start + 2 * n_columns), load_word(codes, start + 3 * n_columns)
    w4, w5 = load_word(codes, start + 4 * n_columns), load_word(codes, start + 5 * n_columns)
    w6, w7 = load_word(codes, start + 6 * n_columns), load_word(codes, start + 7 * n_columns)
    w0, w1 = _swap(w0, w1, _ONES, _BYTE)
    w2, w3 = _swap(w2, w3, _ONES, _BYTE)
    w4, w5 = _swap(w4, w5, _ONES, _BYTE)
    w6, w7 = _swap(w6, w7, _ONES, _BYTE)
    w0, w2 = _swap(w0, w2, _TWOS, _TWO_BYTES)
    w1, w3 = _swap(w1, w3, _TWOS, _TWO_BYTES)
    w4, w6 = _swap(w4, w6, _TWOS, _TWO_BYTES)
    w5, w7 = _swap(w5, w7, _TWOS, _TWO_BYTES)
    w0, w4 = _swap(w0, w4, _FOURS, _FOUR_BYTES)
    w1, w5 = _swap(w1, w5, _FOURS, _FOUR_BYTES)
    w2, w6 = _swap(w2, w6, _FOURS, _FOUR_BYTES)
    w3, w7 = _swap(w3, w7, _FOURS, _FOUR_BYTES)
    store_word(turned, place, w0)
    store_word(turned, place + _BLOCK, w1)
    store_word(turned, place + 2 * _BLOCK, w2)
    store_word(turned, place + 3 * _BLOCK, w3)
    store_word(turned, place + 4 * _BLOCK, w4)
    store_word(turned, place + 5 * _BLOCK, w5)
    store_word(turned, place + 6 * _BLOCK, w6)
    store_word(turned, place + 7 * _BLOCK, w7)


@kernel
def _turn_block(codes: IntArray, turned: IntArray) -> None:
    """Copy up to 64 rows of ``codes`` into the columns of ``turned[D + 1, 64]``."""
    n_rows, n_columns = codes.shape
    if codes.itemsize > 1 or n_columns < 8 or n_rows < _BLOCK:
        for n in range(n_rows):
            for i in range(n_columns):
                turned[i, n] = codes[n, i]
        return
    flat, flat_turned = codes.reshape(-1), turned.reshape(-1)
    for n in range(0, _BLOCK, 8):
        for first in range(0, n_columns, 8):
            i = min(first, n_columns - 8)  # the last eight columns are whole, some of them turned once more
            _turn_bytes(flat, n * n_columns + i, n_columns, flat_turned, i * _BLOCK + n)


@inlined
def _take_out_unknown(turned: IntArray, cards: IntArray, is_unknown: IntArray, is_settled: NDArray[np.bool_]) -> None:
    """Mark rows with an unknown value as not settled, and let them read the first line of every table."""
    is_unknown[:] = 0
    for i in range(turned.shape[0] - 1):
        line, card = turned[i], turned.dtype.type(cards[i])
        for n in range(_BLOCK):
            is_unknown[n] |= np.uint8(line[n] >= card)
    for n in range(is_settled.shape[0]):
        is_settled[n] = is_unknown[n] == 0
        if not is_settled[n]:
            turned[:, n] = 0


@inlined
def _fill_places(turned: IntArray, tables: Tables, first: int, width: int, n_classes: int, places: IntArray) -> None:
    """Fill ``places[K, 64]`` with where the rows' lines start, for K slots from ``first`` on."""
    for k in range(places.shape[0]):
        i, j = tables.child[first + k], tables.parent[first + k]
        start = np.int32(tables.offset[first + k] // n_classes * width)
        by_child, by_parent = np.int32(width), np.int32(tables.cards[i] * width)
        x_child, x_parent, out = turned[i], turned[j], places[k]
        for n in range(_BLOCK):
            out[n] = start + np.int32(x_parent[n]) * by_parent + np.int32(x_child[n]) * by_child


class _Sums(NamedTuple):
    """Sums of a block of rows."""

    totals: IntArray  # int32[64, P]
    lowest: IntArray  # int16[64, P]: the lowest of the sums of 16 bits that make up a total


@inlined
def _add_chunk(like, long, is_first: bool, prior, lines, places: IntArray, sums: _Sums) -> None:  # type: ignore[no-untyped-def]
    """Add to the sums, or to the prior if they are the first, the lines at the places of some slots."""
    totals, lowest, width = sums.totals.reshape(-1), sums.lowest.reshape(-1), sums.totals.shape[1]
    for n in range(_BLOCK):
        for c in range(0, width, n_lanes(like)):
            part = like
            for k in range(places.shape[0]):
                part = add_short(part, load(lines, np.int64(places[k, n]) + c, like))
            place = n * width + c
            if is_first:
                store(totals, place, add_long(load(prior, c, long), lengthen(part)))
                store(lowest, place, part)
            else:
                store(totals, place, add_long(load(totals, place, long), lengthen(part)))
                store(lowest, place, lower(load(lowest, place, like), part))


@inlined
def _settle(long, sums: _Sums, slack: int, classes: IntArray, is_settled: NDArray[np.bool_]) -> None:  # type: ignore[no-untyped-def]
    """Fill in the class of rows where no other is within the slack of the best; the others are not settled."""
    totals, width = sums.totals.reshape(-1), sums.totals.shape[1]
    for n in range(classes.shape[0]):
        top = highest(load(totals, n * width, long))
        for c in range(n_lanes(long), width, n_lanes(long)):
            top = max(top, highest(load(totals, n * width + c, long)))
        near = reaching(load(totals, n * width, long), top - slack)
        best, is_alone = lowest_bit(near), near & (near - 1) == 0
        for c in range(n_lanes(long), width, n_lanes(long)):
            more = reaching(load(totals, n * width + c, long), top - slack)
            if more != 0:
                best, is_alone = c + lowest_bit(more), near == 0 and more & (more - 1) == 0
                near = more
        classes[n] = best
        is_settled[n] &= is_alone and sums.lowest[n, best] > BOTTOM


@inlined
def _network_classes(like, lo, hi, lines, prior, tables, n_classes, codes, classes, is_settled):  # type: ignore[no-untyped-def]
    """Fill rows lo to hi of ``classes[N]`` with the most probable class, where that is settled.

    ``lines[L, P]`` is shortened, filled up with zeros, and flat; ``prior[P]`` is in the same steps, int32, and filled
    up with what is impossible. Each slot has one table. ``codes`` is row-major.
    """
    n_slots, width, long = tables.child.shape[0], prior.shape[0], lengthen(like)
    turned = np.zeros((codes.shape[1] + 1, _BLOCK), codes.dtype)
    is_unknown = np.empty(_BLOCK, np.uint8)
    places = np.empty((_CHUNK, _BLOCK), np.int32)
    sums = _Sums(np.empty((_BLOCK, width), np.int32), np.empty((_BLOCK, width), np.int16))
    slack = n_slots + n_slots // 32 + 3
    for start in range(lo, hi, _BLOCK):
        stop = min(start + _BLOCK, hi)
        _turn_block(codes[start:stop], turned)
        _take_out_unknown(turned, tables.cards, is_unknown, is_settled[start:stop])
        for first in range(0, n_slots, _CHUNK):
            part = places[: min(_CHUNK, n_slots - first)]
            _fill_places(turned, tables, first, width, n_classes, part)
            _add_chunk(like, long, first == 0, prior, lines, part, sums)
        _settle(long, sums, slack, classes[start:stop], is_settled[start:stop])


@kernel
def _classes_by_8(lo, hi, lines, prior, tables, n_classes, codes, classes, is_settled):  # type: ignore[no-untyped-def]
    _network_classes(short_zeros(8), lo, hi, lines, prior, tables, n_classes, codes, classes, is_settled)


@kernel
def _classes_by_16(lo, hi, lines, prior, tables, n_classes, codes, classes, is_settled):  # type: ignore[no-untyped-def]
    _network_classes(short_zeros(16), lo, hi, lines, prior, tables, n_classes, codes, classes, is_settled)


@kernel
def _classes_by_32(lo, hi, lines, prior, tables, n_classes, codes, classes, is_settled):  # type: ignore[no-untyped-def]
    _network_classes(short_zeros(32), lo, hi, lines, prior, tables, n_classes, codes, classes, is_settled)


def network_classes(width: int) -> Callable[..., None]:
    """The kernel for lines of so many entries; one for each number of lanes, so that only what is used is compiled.

    Its arguments are lo, hi, lines, prior, tables, n_classes, codes, classes and is_settled, see above.
    """
    return {8: _classes_by_8, 16: _classes_by_16}.get(width, _classes_by_32)
