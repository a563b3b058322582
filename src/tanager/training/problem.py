"""The rows that training sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray

_MOST_MERGED_STEPS = 50


@dataclass(frozen=True)
class Problem:
    """Encoded rows with classes and weights, cut into mini-batches.

    Attributes
    ----------
    codes : unsigned int array of shape (N, D)
    y : int64 array of shape (N,)
    weight : float32 array of shape (N,), or None if all are equal
    n_steps : int
        Steps of an epoch.
    batch_size : int
        Rows of a step.
    """

    codes: IntArray
    y: IntArray
    weight: FloatArray | None
    n_steps: int
    batch_size: int

    def batch_rows(self, order: NDArray[np.int64] | None, step: int) -> NDArray[np.int64]:
        """Rows of one step of an epoch; without an order they are all rows, as they lie."""
        if order is None:
            return np.arange(len(self.y))
        return order[step * self.batch_size : (step + 1) * self.batch_size]

    @property
    def is_full_batch(self) -> bool:
        """Whether each step sees all rows."""
        return self.batch_size >= len(self.y)


def make_problem(
    codes: IntArray, y: IntArray, weight: FloatArray | None, batch_size: int, *, may_merge: bool = True
) -> Problem:
    """Prepare rows for training.

    If the distinct rows fit into one batch, equal rows are merged and their weights added, in sorted order. Every step
    then has the exact gradient of all rows, and an integer weight gives the very result of a repeated row. An epoch
    keeps the number of steps that its rows, counted with their weights if those are whole numbers, would have had, up
    to 50.

    Parameters
    ----------
    codes, y, weight
        See `Problem`; rows of weight zero are left out.
    batch_size : int
    may_merge : bool
        False if the loss cannot use weights.
    """
    if weight is not None:
        is_kept = weight > 0
        codes, y, weight = codes[is_kept], y[is_kept], weight[is_kept]
    if may_merge and _may_fit(codes, y, batch_size):
        table = np.column_stack([y.astype(np.int64), codes])
        rows, inverse = np.unique(table, axis=0, return_inverse=True)
        if len(rows) <= batch_size:
            merged = np.bincount(inverse.ravel(), weights=weight).astype(np.float64)
            n_steps = _n_merged_steps(merged, len(y), batch_size)
            merged_codes = np.ascontiguousarray(rows[:, 1:].astype(codes.dtype))
            return Problem(merged_codes, rows[:, 0].copy(), merged.astype(np.float32), n_steps, len(rows))
    size = min(batch_size, len(y))
    single = None if weight is None else weight.astype(np.float32)
    return Problem(np.ascontiguousarray(codes), y.astype(np.int64), single, len(y) // size, size)


def _n_merged_steps(merged: FloatArray, n_rows: int, batch_size: int) -> int:
    """Steps of an epoch on merged rows; more than 50 equal batches would take time and teach little."""
    is_count = bool((merged == np.floor(merged)).all())
    n_counted = float(merged.sum()) if is_count else n_rows
    return int(min(max(1, n_counted // batch_size), _MOST_MERGED_STEPS))


def _may_fit(codes: IntArray, y: IntArray, batch_size: int) -> bool:
    """Whether the first rows leave it open that the distinct rows fit into one batch; cheap for large tables."""
    first = slice(0, 4 * batch_size)
    return len(np.unique(np.column_stack([y[first].astype(np.int64), codes[first]]), axis=0)) <= batch_size
