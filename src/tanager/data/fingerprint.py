"""A fingerprint of the training rows, by which rows that were trained on can be told when they come again.

Every row has a hash of its numbers, the codes of its categories, and its class. Kept are 16 bits of the hashes of a few
hundred rows, those with the smallest hashes. A row that comes again has one of them if its hash is small enough. From
16 bits no row can be told: among the rows that one might guess, hundreds have the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager._types import IntArray
from tanager.data.coders import NumericColumn, number_reader
from tanager.data.columns import Frame
from tanager.data.encoding import FrameEncoder

N_MARKS = 512
_ENOUGH = 64 * N_MARKS  # smallest hashes, in which so many different ones are found unless rows repeat very often
_FEWEST = 8  # rows with small hashes that an estimate requires
_BLOCK_ROWS = 32768  # that are read column by column while they stay in the cache


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Marks of some of the training rows.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    limit : int
        Rows with larger hashes have no mark.
    marks : uint16 array, sorted
        The last 16 bits of the hashes up to the limit.
    repeated : float
        Share of the training rows that are equal to another one. Rows that were not trained on are equal to a training
        row about as often.

    Examples
    --------
    >>> hashes = np.random.default_rng(0).integers(0, 2**64, 2000, dtype=np.uint64)
    >>> taken = Fingerprint.take(hashes[:1000])
    >>> taken.share_of(hashes[:500]), taken.share_of(hashes[1000:])
    (1.0, 0.0)
    """

    n_rows: int
    limit: int
    marks: NDArray[np.uint16]
    repeated: float

    @classmethod
    def take(cls, row_hashes: NDArray[np.uint64]) -> Fingerprint:
        """The fingerprint of rows with the given hashes, uint64[N], as of `hash_rows`."""
        hashes, counts = _smallest(row_hashes)
        repeated = float(counts[counts > 1].sum() / counts.sum())
        return cls(len(row_hashes), int(hashes[-1]), np.unique(hashes.astype(np.uint16)), repeated)

    def share_of(self, row_hashes: NDArray[np.uint64]) -> float | None:
        """Estimate of the share of rows that were trained on, None if it cannot be told.

        It cannot if hardly any of the rows has a small hash, or if most training rows are equal to another one, so that
        fresh rows would be equal to a training row, too.
        """
        small = row_hashes[row_hashes <= np.uint64(self.limit)].astype(np.uint16)
        if len(small) < _FEWEST or self.repeated > 0.5:
            return None
        found = float(np.isin(small, self.marks).mean())
        by_chance = self.repeated + (1.0 - self.repeated) * len(self.marks) / 2**16
        return max(0.0, round((found - by_chance) / (1.0 - by_chance), 2))


def _smallest(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The smallest distinct hashes, and how many rows have each."""
    if len(hashes) > _ENOUGH:
        found, counts = np.unique(np.partition(hashes, _ENOUGH)[:_ENOUGH], return_counts=True)
        if len(found) > N_MARKS:  # those of the last hash may not all be among them
            return found[:N_MARKS], counts[:N_MARKS]
    found, counts = np.unique(hashes, return_counts=True)
    return found[:N_MARKS], counts[:N_MARKS]


def hash_cells(encoder: FrameEncoder, frame: Frame, codes: IntArray) -> NDArray[np.uint64]:
    """A sum of the cells of each row as whole numbers with random weights, uint64[N].

    Parameters
    ----------
    encoder : FrameEncoder
    frame : Frame
        The rows as they were given, of which the numbers are taken.
    codes : int array of shape (N, D)
        Their codes, of which those of categories are taken.
    """
    weights = np.random.default_rng(0).integers(0, 2**64, (codes.shape[1],), dtype=np.uint64)
    readers = [
        number_reader(levels, frame.label(i)) if isinstance(column, NumericColumn) else None
        for i, (column, levels) in enumerate(zip(encoder.columns, frame.levels, strict=True))
    ]
    total: NDArray[np.uint64] = np.zeros(len(codes), np.uint64)
    for start in range(0, len(codes), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        for i, read in enumerate(readers):
            if read is None:
                cells = codes[rows, i].astype(np.uint64) + np.uint64(1)
            else:
                numbers = read(frame.columns[i][rows]).astype(np.float64) + 0.0  # minus zero becomes zero
                np.copyto(numbers, np.nan, where=np.isnan(numbers))
                cells = numbers.view(np.uint64)
            total[rows] += cells * weights[i]
    return total


def hash_rows(cells: NDArray[np.uint64], y: IntArray) -> NDArray[np.uint64]:
    """A hash of each row from that of its cells and the number of its class, uint64[N]."""
    total = cells + y.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    # The last steps of splitmix64, in which every bit depends on all others.
    total ^= total >> np.uint64(30)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(27)
    total *= np.uint64(0x94D049BB133111EB)
    return total ^ (total >> np.uint64(31))
