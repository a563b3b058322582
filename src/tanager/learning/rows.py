"""Encoded rows with their classes and weights, and how some of them are held out.

Rows are held out at random, class by class. A row of weight two is two rows here, too, each of which is held out or not
by its own lot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.model import count_rows

_FEW_ROWS, _MOST_ROWS = 2_500, 20_000
_N_PARTS = 3
_EVERY = 4  # the held-out fraction of many rows is one in this many
_MOST_DEALT = 10_000_000  # copies of rows that are dealt out one by one


class Rows(NamedTuple):
    """Encoded rows with their classes and weights."""

    codes: IntArray  # unsigned int[N, D]
    y: IntArray  # int64[N]
    weight: FloatArray | None  # float64[N]
    cards: NDArray[np.int64]  # int64[D]: number of values of each feature
    n_classes: int
    n_ordered: NDArray[np.int64] | None = None  # int64[D]: how many of the first values of each feature are in order
    class_copies: float = 1.0  # number of classes that any but a row's own stands for, where only some were drawn

    def full_weight(self) -> FloatArray:
        """Weights of all rows, 1 where none were given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def n_counted(self) -> float:
        """Number of rows, counted with their weights if these are whole numbers."""
        return count_rows(self.full_weight())

    @property
    def n_all_classes(self) -> float:
        """Number of classes before some were drawn."""
        return 1.0 + (self.n_classes - 1) * self.class_copies

    @property
    def n_bytes(self) -> int:
        """Memory of the rows while they are trained on, with their order."""
        return self.codes.nbytes + 2 * self.y.nbytes + (0 if self.weight is None else self.weight.nbytes)

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return self._replace(codes=self.codes[index], y=self.y[index], weight=weight)

    def take_part(self, part: Part) -> Rows:
        """The rows of a part, with their weights in it."""
        rows = self.take(part.rows)
        return rows if part.weight is None else rows._replace(weight=part.weight)

    def take_classes(self, classes: IntArray) -> Rows:
        """The rows of classes that were drawn at random, which are in ascending order and numbered from 0 on."""
        rows = self.take(np.flatnonzero(np.isin(self.y, classes)))
        copies = (self.n_classes - 1) / (len(classes) - 1)
        return rows._replace(y=np.searchsorted(classes, rows.y), n_classes=len(classes), class_copies=copies)

    def merged(self) -> Rows:
        """The distinct rows with the sums of their weights, in an order of their own.

        Whoever learns from these learns the very same, in all bits, from a row of weight two and from two equal rows,
        in whatever order rows are.
        """
        order = np.lexsort((_hash_rows(self.codes, 0), self.y))
        codes, y = self.codes[order], self.y[order]
        is_first = np.ones(len(y), np.bool_)
        is_first[1:] = (y[1:] != y[:-1]) | (codes[1:] != codes[:-1]).any(axis=1)
        weight = np.bincount(np.cumsum(is_first) - 1, self.full_weight()[order]).astype(np.float64)
        return self._replace(codes=codes[is_first], y=y[is_first], weight=weight)


class Part(NamedTuple):
    """Some of the rows."""

    rows: NDArray[np.int64]  # their numbers
    weight: FloatArray | None  # float64: how many copies of each are in the part; None if all of it is


def hold_out(rows: Rows, seed: int, n_parts: int | None = None, most_rows: int = _MOST_ROWS) -> list[tuple[Part, Part]]:
    """Pairs of the rows to train on and the rows to hold out.

    Every row is dealt to one of several parts at random, so that each part has its share of every class. A row of
    weight w, if weights are whole numbers, is dealt out w times.

    Parameters
    ----------
    rows : Rows
    seed : int
    n_parts : int, optional
        Each of so many parts is held out once. By default three of up to 2,500 rows; of more a quarter is held out.
    most_rows : int
        No more rows than these take part.
    """
    # In an order that depends on the rows alone, so that a row of weight two is dealt out as two equal rows are.
    order = np.lexsort((_hash_rows(rows.codes, seed), rows.y))
    weight = None if rows.weight is None else rows.weight[order]
    is_count = weight is not None and bool((weight == np.floor(weight)).all()) and weight.sum() <= _MOST_DEALT
    times = weight.astype(np.int64) if weight is not None and is_count else np.ones(len(order), np.int64)
    n_dealt = int(times.sum())
    n_turns = n_parts or (_N_PARTS if n_dealt < _FEW_ROWS else _EVERY)
    # Lots are dealt class by class: the shuffled copies of a class get the turns in sequence.
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(order)), times)
    shuffled = rng.permutation(n_dealt)
    by_class = shuffled[np.argsort(rows.y[order][owner][shuffled], kind="stable")]
    turn = np.empty(n_dealt, np.int64)
    turn[by_class] = np.arange(n_dealt) % n_turns
    if n_dealt > most_rows:
        rounds = np.linspace(0, n_dealt // n_turns, most_rows // n_turns, endpoint=False).astype(np.int64)
        turn[by_class[~np.isin(np.arange(n_dealt) // n_turns, rounds)]] = -1

    def part(turns: Sequence[int]) -> Part:
        dealt = np.bincount(owner[np.isin(turn, turns)], minlength=len(order))
        index = np.flatnonzero(dealt)
        return Part(order[index], dealt[index].astype(np.float64) if is_count else None)

    held = range(n_turns) if n_parts or n_dealt < _FEW_ROWS else [0]
    return [(part([turn for turn in range(n_turns) if turn != k]), part([k])) for k in held]


def _hash_rows(codes: IntArray, seed: int) -> NDArray[np.uint64]:
    """A number for the values of each row."""
    factors = np.random.default_rng(seed).integers(1, 2**62, size=(codes.shape[1],), dtype=np.uint64)
    hashes = np.zeros(len(codes), np.uint64)
    for j, factor in enumerate(factors.tolist()):
        hashes = (hashes ^ codes[:, j].astype(np.uint64)) * np.uint64(2 * factor + 1)
        hashes ^= hashes >> np.uint64(32)
    return hashes
