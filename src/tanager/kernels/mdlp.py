"""Entropy splits of one numeric column with the MDL stop (Fayyad and Irani, 1993).

A column is sorted once and reduced to *groups*: distinct values with the weight of each class, neighbours that hold
one and the same class merged, because the best cut never lies between them. What is between two groups is a *gap*, and
a set of rows is a range of groups.

Weights are whole numbers (of some small unit) and ``x log2 x`` is kept in fixed point. All sums are then exact: they
do not depend on the order of rows, and one class at a time can be moved across a cut without any drift.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._jit import kernel
from tanager._types import IntArray

BoolArray = NDArray[np.bool_]

DIGIT_BITS = 11
N_DIGITS = 6
_UNKNOWN = -1


class Logs(NamedTuple):
    """How ``x log2 x`` of a weight is found: in a table up to some weight, computed beyond."""

    table: IntArray  # int64[L], L > 0: scale * x log2 x, rounded, for the weights 0 .. L - 1
    unit: float  # rows that one unit of weight stands for
    scale: float  # fixed-point units in one bit


class Groups(NamedTuple):
    """Groups of a sorted column; group g holds the cells ``ptr[g]:ptr[g + 1]``, one for each of its classes."""

    ptr: IntArray  # int64[G + 1]
    cls: IntArray  # int32[cells]
    weight: IntArray  # int64[cells]
    first: IntArray  # int64[G]: key of the group's smallest value
    last: IntArray  # int64[G]: key of its largest


class Tally(NamedTuple):
    """Scratch arrays over the classes, for a scan from left to right."""

    total: IntArray  # int64[C]: weight of each class in the range
    left: IntArray  # int64[C]: weight to the left of the gap
    left_term: IntArray  # int64[C]: x log2 x of the above
    right_term: IntArray  # int64[C]: and of the weight to the right


class Ranges(NamedTuple):
    """Ranges of groups that the cuts so far leave, one for each bin."""

    lo: IntArray  # int64[bins]
    hi: IntArray  # int64[bins]
    gap: IntArray  # int64[bins]: where to split the range
    gain: IntArray  # int64[bins]: what that gains; 0 if the range cannot be split, -1 if not known yet


@kernel
def fill_logs(logs: Logs) -> None:
    """Fill the table of ``x log2 x``."""
    for x in range(1, logs.table.shape[0]):
        logs.table[x] = _compute_term(x, logs)


@kernel
def _compute_term(x: int, logs: Logs) -> int:
    rows = x * logs.unit
    return np.int64(math.floor(rows * math.log2(rows) * logs.scale + 0.5))


@kernel
def _term(x: int, logs: Logs) -> int:
    """Fixed-point ``x log2 x``."""
    if x < logs.table.shape[0]:
        return logs.table[x]
    return _compute_term(x, logs)


@kernel
def sort_keys(
    keys: IntArray, load: IntArray, spare_keys: IntArray, spare_load: IntArray, counts: IntArray
) -> tuple[IntArray, IntArray]:
    """Radix sort from the lowest digit, carrying a load; returns those of the given arrays that hold the result.

    ``counts`` is zero, of shape (N_DIGITS, 2 ** DIGIT_BITS). Digits that all keys share are skipped.
    """
    n_keys = keys.shape[0]
    for n in range(n_keys):
        for d in range(N_DIGITS):
            counts[d, _digit(keys[n], d)] += 1
    for d in range(N_DIGITS):
        if n_keys == 0 or counts[d, _digit(keys[0], d)] == n_keys:
            continue
        total = 0
        for b in range(counts.shape[1]):
            total += counts[d, b]
            counts[d, b] = total - counts[d, b]
        for n in range(n_keys):
            b = _digit(keys[n], d)
            place = counts[d, b]
            counts[d, b] += 1
            spare_keys[place] = keys[n]
            spare_load[place] = load[n]
        keys, spare_keys = spare_keys, keys
        load, spare_load = spare_load, load
    return keys, load


@kernel
def _digit(key: int, d: int) -> int:
    """Digit d of a signed key; the highest one has its sign bit flipped, so that negative keys come first."""
    digit = (key >> (DIGIT_BITS * d)) & ((1 << DIGIT_BITS) - 1)
    if d == N_DIGITS - 1:
        digit ^= 1 << (DIGIT_BITS - 1)
    return digit


@kernel
def group_values(keys: IntArray, y: IntArray, weight: IntArray, place: IntArray, groups: Groups) -> int:
    """Fill the groups of rows that are sorted by key, and return how many there are.

    ``place`` is a scratch array over the classes, filled with -1.
    """
    n_groups = 0
    n_cells = 0
    n = 0
    groups.ptr[0] = 0
    while n < keys.shape[0]:
        key = keys[n]
        start = n_cells
        while n < keys.shape[0] and keys[n] == key:
            c = y[n]
            if place[c] < start:
                place[c] = n_cells
                groups.cls[n_cells] = c
                groups.weight[n_cells] = 0
                n_cells += 1
            groups.weight[place[c]] += weight[n]
            n += 1
        is_pure = n_cells == start + 1
        was_pure = n_groups > 0 and groups.ptr[n_groups - 1] == start - 1
        if is_pure and was_pure and groups.cls[start] == groups.cls[start - 1]:
            groups.weight[start - 1] += groups.weight[start]
            n_cells = start
            place[groups.cls[start]] = start - 1
        else:
            groups.first[n_groups] = key
            n_groups += 1
            groups.ptr[n_groups] = n_cells
        groups.last[n_groups - 1] = key
    return n_groups


@kernel
def split_groups(
    groups: Groups, n_groups: int, tally: Tally, logs: Logs, best_passing: bool, ranges: Ranges, is_cut: BoolArray
) -> None:
    """Mark the gaps to cut at: split ranges, the one that gains most first, until none can be or ``ranges`` is full.

    There is at least one group. The lower of two ranges whose gains differ by no more than rounding goes first.
    """
    rounding = _rounding(tally)
    ranges.lo[0] = 0
    ranges.hi[0] = n_groups
    ranges.gain[0] = _UNKNOWN
    for n_bins in range(1, ranges.lo.shape[0]):
        best = 0
        for r in range(n_bins):
            if ranges.gain[r] == _UNKNOWN:
                ranges.gap[r], ranges.gain[r] = _find_gap(groups, ranges.lo[r], ranges.hi[r], tally, logs, best_passing)
            ahead = ranges.gain[r] - ranges.gain[best]
            if ahead > rounding or (ahead >= -rounding and ranges.lo[r] < ranges.lo[best]):
                best = r
        if ranges.gain[best] == 0:
            return
        gap = ranges.gap[best]
        is_cut[gap] = True
        ranges.lo[n_bins] = gap + 1
        ranges.hi[n_bins] = ranges.hi[best]
        ranges.gain[n_bins] = _UNKNOWN
        ranges.hi[best] = gap + 1
        ranges.gain[best] = _UNKNOWN


@kernel
def _find_gap(groups: Groups, lo: int, hi: int, tally: Tally, logs: Logs, best_passing: bool) -> tuple[int, int]:
    """Where to split groups lo to hi and what that gains, which is 0 if they are not to be split."""
    for c in range(tally.total.shape[0]):
        tally.total[c] = 0
    for cell in range(groups.ptr[lo], groups.ptr[hi]):
        tally.total[groups.cls[cell]] += groups.weight[cell]
    for attempt in range(2 if best_passing else 1):
        gap, gain, passes = _best_gap(groups, lo, hi, tally, logs, attempt == 1)
        if passes:
            return gap, gain
    return 0, 0


@kernel
def _best_gap(groups: Groups, lo: int, hi: int, tally: Tally, logs: Logs, only_passing: bool) -> tuple[int, int, bool]:
    """The gap of largest gain, of all gaps or of those that pass the MDL test; its gain, and whether it passes.

    A gain is the information in all rows of the range, in fixed point: ``N E - N1 E1 - N2 E2``. The lower of two gaps
    whose gains differ by no more than rounding wins.
    """
    n_total, k, sum_left, sum_right = 0, 0, 0, 0
    for c in range(tally.total.shape[0]):
        n_total += tally.total[c]
        k += tally.total[c] > 0
        tally.left[c] = 0
        tally.left_term[c] = 0
        tally.right_term[c] = _term(tally.total[c], logs)
        sum_right += tally.right_term[c]
    best_gap, best_gain, best_passes = 0, 0, False
    if k < 2 or n_total * logs.unit < 2.0:
        return best_gap, best_gain, best_passes
    information = _term(n_total, logs) - sum_right
    length = _description_length(n_total * logs.unit, k) * logs.scale
    rounding = _rounding(tally)
    n_left, k_left, k_right = 0, 0, k
    for g in range(lo, hi - 1):
        for cell in range(groups.ptr[g], groups.ptr[g + 1]):
            c = groups.cls[cell]
            k_left += tally.left[c] == 0
            n_left += groups.weight[cell]
            tally.left[c] += groups.weight[cell]
            rest = tally.total[c] - tally.left[c]
            k_right -= rest == 0
            left_term, right_term = _term(tally.left[c], logs), _term(rest, logs)
            sum_left += left_term - tally.left_term[c]
            sum_right += right_term - tally.right_term[c]
            tally.left_term[c], tally.right_term[c] = left_term, right_term
        n_right = n_total - n_left
        left = _term(n_left, logs) - sum_left
        right = _term(n_right, logs) - sum_right
        gain = information - left - right
        if gain > best_gain + rounding:
            # k E - k1 E1 - k2 E2, where information is N E in fixed point, left is N1 E1 and right is N2 E2
            change = (k * (information / n_total) - k_left * (left / n_left) - k_right * (right / n_right)) / logs.unit
            passes = gain > length - change
            if passes or not only_passing:
                best_gap, best_gain, best_passes = g, gain, passes
    return best_gap, best_gain, best_passes


@kernel
def _rounding(tally: Tally) -> int:
    """By how many fixed-point units two equal gains may differ: each is a sum of 2 C + 3 terms."""
    return 8 * (tally.total.shape[0] + 1)


@kernel
def _description_length(n_rows: float, k: int) -> float:
    """Bits that a cut costs apart from the change of entropies: ``log2(N - 1) + log2(3^k - 2)``."""
    return math.log2(n_rows - 1.0) + k * math.log2(3.0) + math.log2(1.0 - 2.0 * 3.0 ** (-float(k)))
