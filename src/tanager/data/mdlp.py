"""Cuts of numeric columns by the MDL method of Fayyad and Irani (1993), which the paper discretises with.

A range of N rows with k classes and class entropy E is cut in two where the class information gained is largest, at
the midpoint of neighbouring distinct values, if::

    N gain > log2(N - 1) + log2(3^k - 2) - (k E - k1 E1 - k2 E2)

and then each part in its turn. This is the rule "textbook". The rule "best-passing" was found in the discretised data
that the paper's authors published: where the cut of largest gain fails the test, the cut of largest gain among those
that pass it is taken.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._types import IntArray
from tanager.data.binning import check_max_bins, check_sample_weight, midpoints
from tanager.kernels.mdlp import (
    DIGIT_BITS,
    N_DIGITS,
    Groups,
    Logs,
    Ranges,
    Tally,
    fill_logs,
    group_values,
    sort_keys,
    split_groups,
)

Rule = Literal["textbook", "best-passing"]

_RULES = ("textbook", "best-passing")
# Weights and logarithms are whole numbers below 2^52, so that float64 computes them without loss.
_BITS = 52
_LARGEST_TABLE = 1 << 24
# Integer classes up to here are used as they are.
_LARGEST_CLASS = 255
_ALL_BUT_SIGN = np.int64(2**63 - 1)
_UNLIMITED = np.iinfo(np.int64).max


class _Rows(NamedTuple):
    """What all columns share: which rows are used, their classes and whole-number weights."""

    used: NDArray[np.intp] | slice
    y: IntArray
    weight: IntArray
    is_weighted: bool
    n_classes: int
    logs: Logs


@dataclass(frozen=True, eq=False)
class MDLPBinning:
    """Cuts by the MDL method, for `TableEncoder.fit` (see `mdlp_column_cuts`)."""

    y: NDArray[Any]
    rule: Rule = "textbook"
    max_bins: int | None = None
    n_threads: int = 1

    def __call__(
        self, columns: Sequence[NDArray[Any]], sample_weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        """Return the cuts of every column."""
        return mdlp_column_cuts(columns, self.y, sample_weight, self.rule, self.max_bins, self.n_threads)


def mdlp_cuts(
    values: NDArray[Any],
    y: NDArray[Any],
    sample_weight: NDArray[np.float64] | None = None,
    rule: Rule = "textbook",
    max_bins: int | None = None,
) -> NDArray[np.float64]:
    """Cut one numeric column; see `mdlp_column_cuts`.

    Examples
    --------
    >>> import numpy as np
    >>> values, y = np.arange(100), np.repeat([0, 1, 0], [40, 20, 40])
    >>> mdlp_cuts(values, y)
    array([39.5, 59.5])
    """
    return mdlp_column_cuts([values], y, sample_weight, rule, max_bins)[0]


def mdlp_column_cuts(
    columns: Sequence[NDArray[Any]],
    y: NDArray[Any],
    sample_weight: NDArray[np.float64] | None = None,
    rule: Rule = "textbook",
    max_bins: int | None = None,
    n_threads: int = 1,
) -> list[NDArray[np.float64]]:
    """Cut numeric columns where the classes change.

    The time is O(N log N + N depth) a column, with depth the depth of the tree of cuts.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (N,)
        NaN cells are left out.
    y : ndarray of shape (N,)
        Class labels of any type that sorts.
    sample_weight : ndarray of shape (N,) or None
        A weight counts as a number of rows, also in the MDL test: weights much below one leave too little evidence
        for any cut, and rows that weigh less than two together are never cut.
    rule : {"textbook", "best-passing"}
    max_bins : int or None
        Largest number of bins; cuts are then taken in order of the information they gain.
    n_threads : int
        Threads over columns. The result does not depend on it.

    Returns
    -------
    list of ndarray of float64
        Strictly increasing cuts of each column; the code of x is the number of cuts <= x.
    """
    if rule not in _RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, _RULES))}, got {rule!r}")
    if max_bins is not None:
        check_max_bins(max_bins)
    n_rows = len(y)
    for index, values in enumerate(columns):
        if values.shape != (n_rows,):
            raise ValueError(f"column {index} has shape {values.shape}, but y has {n_rows} rows")
    rows = _prepare_rows(y, check_sample_weight(sample_weight, n_rows))
    cut = partial(_cut_column, rows=rows, best_passing=rule == "best-passing", max_bins=max_bins or _UNLIMITED)
    if n_threads == 1 or len(columns) <= 1:
        return [cut(values) for values in columns]
    with ThreadPoolExecutor(min(n_threads, len(columns), os.cpu_count() or 1)) as pool:
        return list(pool.map(cut, columns))


def _cut_column(values: NDArray[Any], rows: _Rows, best_passing: bool, max_bins: int) -> NDArray[np.float64]:
    # Adding zero turns -0.0 into 0.0, which are equal but differ in their bits.
    numbers = np.add(values[rows.used], 0.0, dtype=np.float64)
    y, weight = rows.y, rows.weight
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        if np.isinf(numbers).any():
            raise ValueError("values must be finite or NaN, but some are infinite (inf)")
        numbers, y, weight = numbers[is_finite], y[is_finite], weight[is_finite]
    if rows.is_weighted:
        keys, order = _sort(numbers, np.arange(numbers.size, dtype=np.int32))
        y, weight = y[order], weight[order]
    else:
        # Carrying the classes along is faster than fetching them by row number, and the weights are all one.
        keys, y = _sort(numbers, y.copy())
    groups = Groups(
        ptr=np.empty(numbers.size + 1, dtype=np.int64),
        cls=np.empty(numbers.size, dtype=np.int32),
        weight=np.empty(numbers.size, dtype=np.int64),
        first=np.empty(numbers.size, dtype=np.int64),
        last=np.empty(numbers.size, dtype=np.int64),
    )
    n_groups = group_values(keys, y, weight, np.full(rows.n_classes, -1), groups)
    if n_groups < 2:
        return np.empty(0)
    is_cut = np.zeros(n_groups, dtype=np.bool_)
    tally = Tally(*np.empty((4, rows.n_classes), dtype=np.int64))
    ranges = Ranges(*np.empty((4, min(max_bins, n_groups)), dtype=np.int64))
    split_groups(groups, n_groups, tally, rows.logs, best_passing, ranges, is_cut)
    gaps = np.flatnonzero(is_cut)
    below, above = _order_keys(groups.last[gaps]), _order_keys(groups.first[gaps + 1])
    return midpoints(below.view(np.float64), above.view(np.float64))


def _sort(numbers: NDArray[np.float64], load: IntArray) -> tuple[IntArray, IntArray]:
    """Sorted keys of the numbers, and the load in the same order."""
    counts = np.zeros((N_DIGITS, 2**DIGIT_BITS), dtype=np.int64)
    keys = _order_keys(numbers.view(np.int64))
    return sort_keys(keys, load, np.empty_like(keys), np.empty_like(load), counts)


def _order_keys(bits: IntArray) -> IntArray:
    """Turn the bits of floats into integers of the same order, or back."""
    return bits ^ ((bits >> 63) & _ALL_BUT_SIGN)


def _prepare_rows(y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> _Rows:
    """Number the classes, turn weights into whole numbers of a unit that is a power of two, and tabulate logarithms."""
    codes, n_classes = _number_classes(np.asarray(y))
    used: NDArray[np.intp] | slice = slice(None)
    unit = 1.0
    if sample_weight is None:
        weight = np.ones(codes.size, dtype=np.int64)
    else:
        total = float(np.sum(np.sort(sample_weight)))  # sorted, so that the order of rows cannot change the unit
        if total >= 2.0**_BITS or (sample_weight != np.floor(sample_weight)).any():
            unit = 2.0 ** (math.frexp(total)[1] - _BITS)
        weight = np.rint(sample_weight / unit).astype(np.int64)
        if not weight.all():
            used = np.flatnonzero(weight)
            weight, codes = weight[used], codes[used]
    largest = int(weight.sum())
    n_rows = max(largest * unit, 2.0)
    scale = 2.0 ** (_BITS - math.frexp(n_rows * math.log2(n_rows))[1])
    n_logs = largest + 1 if unit == 1.0 else 1
    logs = Logs(np.zeros(min(n_logs, _LARGEST_TABLE), dtype=np.int64), unit, scale)
    fill_logs(logs)
    return _Rows(used, codes, weight, sample_weight is not None, n_classes, logs)


def _number_classes(y: NDArray[Any]) -> tuple[NDArray[np.int32], int]:
    """Classes as small non-negative integers, and how many numbers there are; some of them may be unused."""
    if y.dtype.kind in "iu" and y.size and y.min() >= 0 and y.max() <= _LARGEST_CLASS:
        return y.astype(np.int32), int(y.max()) + 1
    classes, codes = np.unique(y, return_inverse=True)
    return codes.astype(np.int32), classes.size
