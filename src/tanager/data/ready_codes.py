"""Arrays of whole numbers that are the codes already, which tables of codes often are: a check and a copy suffice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager.data.coders import CategoryColumn, NumericColumn

# Entries that are compared at a time: few enough to stay in the cache, and many to a call.
_BLOCK_ENTRIES = 65536
_STRIPE_ENTRIES = 1024


def are_ready(columns: tuple[NumericColumn | CategoryColumn, ...]) -> bool:
    """Whether the code of every known value is the value itself, and every other number is unknown."""
    return all(
        isinstance(column, CategoryColumn)
        and column.categories.dtype.kind in "biu"
        and column.card == column.categories.size
        and np.array_equal(column.categories, np.arange(column.card))
        for column in columns
    )


def may_hold(array: NDArray[Any], cards: NDArray[np.int32]) -> bool:
    """Whether `copy_codes` can read an array: whole numbers or booleans, row by row, as wide as the cards."""
    is_whole = array.dtype.kind in "biu" and array.dtype.isnative and array.flags.c_contiguous
    return is_whole and int(cards.max()) < 256**array.dtype.itemsize


def copy_codes(array: NDArray[Any], cards: NDArray[np.int32], codes: NDArray[Any], crew: Crew) -> None:
    """Fill ``codes[N, D]`` from an array of codes; what is not from 0 to cards[j] - 1 becomes cards[j], "unknown"."""
    n_rows, n_columns = array.shape
    # A negative number read without its sign is larger than any card.
    numbers = array.view(f"u{array.dtype.itemsize}")
    # Rows are short, so several are compared at a time.
    stripe = max(1, _STRIPE_ENTRIES // n_columns)
    limits = np.tile(cards.astype(numbers.dtype), stripe)
    block = stripe * max(1, _BLOCK_ENTRIES // (stripe * n_columns))

    def copy_blocks(lo: int, hi: int) -> None:
        for start in range(lo * block, min(hi * block, n_rows), block):
            stop = min(start + block, n_rows)
            whole = start + (stop - start) // stripe * stripe
            for rows, width in ((slice(start, whole), stripe * n_columns), (slice(whole, stop), n_columns)):
                part, out = numbers[rows].reshape(-1, width), codes[rows].reshape(-1, width)
                if part.dtype == out.dtype:
                    np.minimum(part, limits[:width], out=out)
                else:
                    out[...] = np.minimum(part, limits[:width])

    crew.run(copy_blocks, crew.split(-(-n_rows // block)))
