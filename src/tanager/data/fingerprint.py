"""A fingerprint of the training rows, by which rows that were trained on can be told when they come again.

Every row of codes and class has a hash. Kept are 16 bits of the hashes of a few hundred rows, those with the smallest
hashes. A row that comes again has one of them if its hash is small enough. From 16 bits no row can be told: among the
rows that one might guess, hundreds have the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager._types import IntArray

N_MARKS = 512
_FEWEST = 8  # rows with small hashes that an estimate requires


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
    >>> codes = np.random.default_rng(0).integers(0, 9, (2000, 8))
    >>> taken = Fingerprint.take(codes[:1000], np.zeros(1000, np.int64))
    >>> taken.share_of(codes[:500], np.zeros(500, np.int64)), taken.share_of(codes[1000:], np.zeros(1000, np.int64))
    (1.0, 0.0)
    """

    n_rows: int
    limit: int
    marks: NDArray[np.uint16]
    repeated: float

    @classmethod
    def take(cls, codes: IntArray, y: IntArray) -> Fingerprint:
        """The fingerprint of rows of codes, int[N, D], with the numbers of their classes, int[N]."""
        hashes, counts = np.unique(_hash_rows(codes, y), return_counts=True)
        hashes, counts = hashes[:N_MARKS], counts[:N_MARKS]
        repeated = float(counts[counts > 1].sum() / counts.sum())
        return cls(len(codes), int(hashes[-1]), np.unique(hashes.astype(np.uint16)), repeated)

    def share_of(self, codes: IntArray, y: IntArray) -> float | None:
        """Estimate of the share of rows that were trained on, None if it cannot be told.

        It cannot if hardly any of the rows has a small hash, or if most training rows are equal to another one, so that
        fresh rows would be equal to a training row, too.
        """
        hashes = _hash_rows(codes, y)
        small = hashes[hashes <= np.uint64(self.limit)].astype(np.uint16)
        if len(small) < _FEWEST or self.repeated > 0.5:
            return None
        found = float(np.isin(small, self.marks).mean())
        by_chance = self.repeated + (1.0 - self.repeated) * len(self.marks) / 2**16
        return max(0.0, round((found - by_chance) / (1.0 - by_chance), 2))


def _hash_rows(codes: IntArray, y: IntArray) -> NDArray[np.uint64]:
    """A hash of each row, uint64[N]: a sum of the codes with random weights, whose bits are then mixed."""
    weights = np.random.default_rng(0).integers(0, 2**64, codes.shape[1] + 1, dtype=np.uint64)
    total = (np.asarray(y).astype(np.uint64) + np.uint64(1)) * weights[-1]
    for column, weight in zip(codes.T, weights[:-1], strict=True):
        total += (column.astype(np.uint64) + np.uint64(1)) * weight
    # The last steps of splitmix64, in which every bit depends on all others.
    total ^= total >> np.uint64(30)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(27)
    total *= np.uint64(0x94D049BB133111EB)
    return total ^ (total >> np.uint64(31))
