"""A random sample of rows that come in pieces.

Which rows are in it depends on their position alone, so that nothing depends on how rows are cut into pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import MISSING, object_array
from tanager.data.columns import Frame

SAMPLE_ROWS = 1 << 17

_Numbers = NDArray[np.float64]
_Classes = NDArray[np.int64]


@dataclass
class RowSample:
    """A random sample of rows, in which a row is or is not by its position alone.

    Attributes
    ----------
    n_rows : int
        Size of the sample; all rows while there are no more.
    parts : list
        Hash of the position, frame, classes and weights of some rows.
    """

    n_rows: int = SAMPLE_ROWS
    parts: list[tuple[NDArray[np.uint64], Frame, _Classes, _Numbers | None]] = field(default_factory=list)
    limit: int = 2**64 - 1  # rows with a larger hash are not in the sample

    def add(self, frame: Frame, y: _Classes, weight: _Numbers | None, position: int) -> None:
        """Add rows, of which the first has this position among all rows; a weight of zero leaves a row out."""
        hashes = hash_positions(position, frame.n_rows)
        is_kept = hashes <= np.uint64(self.limit)
        if weight is not None:
            is_kept &= weight > 0
        kept = np.flatnonzero(is_kept)
        if kept.size:
            self.parts.append((hashes[kept], *_take(frame, y, weight, kept)))
        if sum(len(part[0]) for part in self.parts) > 2 * self.n_rows:
            self._shrink()

    def merge(self, other: RowSample) -> None:
        """Add the rows of another sample, whose positions are different."""
        self.parts += other.parts
        self._shrink()

    def rows(self) -> tuple[Frame, _Classes, _Numbers | None]:
        """The sample in the order of positions of its parts."""
        self._shrink()
        frames = [part[1] for part in self.parts]
        weights = [part[3] for part in self.parts]
        weight = None if weights[0] is None else np.concatenate([each for each in weights if each is not None])
        return join_frames(frames), np.concatenate([part[2] for part in self.parts]), weight

    def _shrink(self) -> None:
        hashes = np.concatenate([part[0] for part in self.parts]) if self.parts else np.empty(0, np.uint64)
        if len(hashes) <= self.n_rows:
            return
        self.limit = int(np.partition(hashes, self.n_rows - 1)[self.n_rows - 1])
        parts = []
        for own, frame, y, weight in self.parts:
            kept = np.flatnonzero(own <= np.uint64(self.limit))
            if kept.size:
                parts.append((own[kept], *_take(frame, y, weight, kept)))
        self.parts = parts


def hash_positions(first: int, n_rows: int) -> NDArray[np.uint64]:
    """A random number for each position, by the steps of splitmix64."""
    hashes = (np.arange(n_rows, dtype=np.uint64) + np.uint64(first + 1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _take(
    frame: Frame, y: _Classes, weight: _Numbers | None, rows: NDArray[np.intp]
) -> tuple[Frame, _Classes, _Numbers | None]:
    """Some rows, with no more levels than they have."""
    columns, levels = [], []
    for column, of_column in zip(frame.columns, frame.levels, strict=True):
        cells = column[rows]
        if of_column is not None:
            used = np.unique(cells[cells != MISSING])
            place = np.full(len(of_column) + 1, MISSING, np.int64)
            place[used] = np.arange(len(used))
            cells, of_column = place[cells], of_column[used]
        columns.append(np.array(cells))
        levels.append(of_column)
    part = Frame(frame.names, columns, levels, frame.is_categorical)
    return part, y[rows], None if weight is None else weight[rows]


def join_frames(frames: list[Frame]) -> Frame:
    """The rows of frames with the same columns in one."""
    columns: list[NDArray[Any]] = []
    levels: list[NDArray[Any] | None] = []
    for index in range(frames[0].n_columns):
        parts = [(frame.columns[index], frame.levels[index]) for frame in frames]
        if all(of_part is None for _, of_part in parts):
            columns.append(np.concatenate([cells for cells, _ in parts]))
            levels.append(None)
            continue
        place: dict[Any, int] = {}
        coded = [_code(cells, of_part, place) for cells, of_part in parts]
        columns.append(np.concatenate(coded))
        levels.append(object_array(list(place)))
    is_categorical = np.logical_or.reduce([frame.is_categorical for frame in frames])
    return Frame(frames[0].names, columns, levels, is_categorical)


def _code(cells: NDArray[Any], levels: NDArray[Any] | None, place: dict[Any, int]) -> NDArray[np.int64]:
    """Places of cells among levels that several parts share, and that grow."""
    if levels is None:
        levels, codes = np.unique(cells, return_inverse=True)
        codes[cells != cells] = MISSING
        levels = levels[levels == levels]
    else:
        codes = cells
    numbers = [place.setdefault(level, len(place)) for level in levels.tolist()]
    return np.append(np.array(numbers, np.int64), MISSING)[codes]
