"""The rows that training reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.model import count_rows
from tanager.training.noise import Noise

_MOST_MERGED_STEPS = 50

MOST_EPOCH_ROWS = 10_000_000
"""Rows of an epoch, at most, where they are read from files: several epochs then make one pass."""

_WINDOW_STREAM = 1 << 32  # positions of the shuffles within windows, beyond those of epochs
_SHUFFLED_ROWS = 4096  # that are read as they follow each other


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
    n_counted : float
        Number of rows before equal ones were merged; see `count_rows`.
    n_ordered : int64 array of shape (D,), or None
        How many of the first values of each feature are in order, for ``smoothness``; None if no feature has any.
    """

    codes: IntArray
    y: IntArray
    weight: FloatArray | None
    n_steps: int
    batch_size: int
    n_counted: float
    n_ordered: NDArray[np.int64] | None = None

    def epoch_rows(self, noise: Noise, epoch: int) -> NDArray[np.int64]:
        """Rows of the batches of an epoch, one batch after the other; an incomplete last batch is left out."""
        if self.is_full_batch:
            return np.tile(np.arange(len(self.y)), self.n_steps)
        return noise.permutation(epoch, len(self.y))[: self.n_steps * self.batch_size]

    def windows(self, noise: Noise, epoch: int) -> Iterator[tuple[Problem, NDArray[np.int64]]]:
        """Rows in memory, of which one part after the other is trained on in an epoch, and those of its batches."""
        yield self, self.epoch_rows(noise, epoch)

    def callbacks(self, state: Any, layout: Any, loss: Any) -> dict[str, Callable[..., Any]]:
        """What the compiled step calls because of where rows are: nothing if they are in memory."""
        return {}

    @property
    def is_full_batch(self) -> bool:
        """Whether each step sees all rows."""
        return self.batch_size >= len(self.y)


@dataclass(frozen=True)
class StoredProblem(Problem):
    """Rows in files, cut into mini-batches. ``codes``, ``y`` and ``weight`` are a sample of them.

    Short runs of rows are read in random order until a window is full, and then shuffled among each other. Each window
    is read while the one before is trained on.

    Attributes
    ----------
    store : RowStore
    window_rows : int
        Rows of a window, at most.
    """

    store: Any = None
    window_rows: int = 1 << 17

    def windows(self, noise: Noise, epoch: int) -> Iterator[tuple[Problem, NDArray[np.int64]]]:
        """Windows of shuffled rows, an epoch's share of a pass."""
        n_rows, per_run = self.store.n_rows, min(_SHUFFLED_ROWS, self.window_rows)
        n_runs, n_parts = -(-n_rows // per_run), -(-n_rows // MOST_EPOCH_ROWS)
        run, part = divmod(epoch, n_parts)
        order = np.array_split(noise.permutation(run, n_runs), n_parts)[part].tolist()
        per_window = max(1, self.window_rows // per_run)
        spans = [
            [(k * per_run, min((k + 1) * per_run, n_rows)) for k in order[lo : lo + per_window]]
            for lo in range(0, len(order), per_window)
        ]
        for number, block in enumerate(self.store.read_ahead(spans)):
            size = min(self.batch_size, len(block.y))
            rows = noise.permutation(_WINDOW_STREAM + (epoch << 20) + number, len(block.y))
            weight = None if block.weight is None else block.weight.astype(np.float32)
            n_steps = len(rows) // size
            yield Problem(block.codes, block.y, weight, n_steps, size, self.n_counted), rows[: n_steps * size]


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
    # Weights become single numbers, and a batch of zeros has no mean.
    if weight is not None and not (is_kept := weight >= np.finfo(np.float32).tiny).all():
        codes, y, weight = codes[is_kept], y[is_kept], weight[is_kept]
    n_counted = float(len(y)) if weight is None else count_rows(weight)
    numbers = _number_rows(codes, y, batch_size) if may_merge else None
    if numbers is not None:
        merged = np.bincount(numbers, weights=weight).astype(np.float64)
        # More than 50 equal batches would take time and teach little.
        n_steps = int(min(max(1, n_counted // batch_size), _MOST_MERGED_STEPS))
        row = np.empty(len(merged), np.int64)
        row[numbers] = np.arange(len(y))  # any of the equal rows serves
        merged_codes = np.ascontiguousarray(codes[row])
        return Problem(merged_codes, y[row].astype(np.int64), merged.astype(np.float32), n_steps, len(row), n_counted)
    size = min(batch_size, len(y))
    single = None if weight is None else weight.astype(np.float32)
    codes, y = np.ascontiguousarray(codes), np.ascontiguousarray(y, np.int64)
    return Problem(codes, y, single, len(y) // size, size, n_counted)


def _number_rows(codes: IntArray, y: IntArray, most: int) -> NDArray[np.int64] | None:
    """Number the distinct rows in the order of class and codes, int64[N]; None if there are more than ``most``.

    The rows are numbered by their first column and then by one more column at a time, so that a few columns decide for
    most data sets. The first rows are tried alone before.
    """
    if len(y) > 4 * most and _number_rows(codes[: 4 * most], y[: 4 * most], most) is None:
        return None
    numbers, n_distinct = _renumber(y.astype(np.int64))
    for column in codes.T:
        if n_distinct > most:
            return None
        numbers *= int(column.max()) + 1
        numbers += column
        numbers, n_distinct = _renumber(numbers)
    return numbers if n_distinct <= most else None


def _renumber(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Put 0, 1, 2 ... for the numbers that occur, in their order, and count them."""
    size = int(numbers.max()) + 1
    if size > 4 * len(numbers):
        distinct, ranks = np.unique(numbers, return_inverse=True)
        return ranks, len(distinct)
    occurs = np.zeros(size, np.bool_)
    occurs[numbers] = True
    rank = np.cumsum(occurs) - 1
    return rank[numbers], int(rank[-1]) + 1
