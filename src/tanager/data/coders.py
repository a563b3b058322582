"""The encoder of one column: from cells to codes.

Code `card` means *unknown*: a category that training did not show, or a missing cell of a column that had none in
training. Cells come as numbers, or as codes into an array of levels (see `tanager.data.arrays`); either may meet an
encoder that was fitted on the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager.data.arrays import LARGEST_EXACT
from tanager.data.contents import BinContents

# With up to so many cuts and from so many values on, comparing a block with each cut in turn beats a binary search for
# each value. A single value is found among 64 cuts 100 times as fast by a search.
_FEW_CUTS, _MANY_VALUES = 128, 1000

_INFINITE = frozenset({math.inf, -math.inf})

_Coder = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """A numeric column: the code of x is the number of `cuts` <= x.

    Attributes
    ----------
    cuts : ndarray of float64, strictly increasing
    has_missing : bool
        Whether missing cells have a code of their own, the last one.
    contents : BinContents
        The numbers in the bins, as far as they are kept; without numbers, the middles of the bins.
    """

    cuts: NDArray[np.float64]
    has_missing: bool = False
    contents: BinContents = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.contents is None:
            object.__setattr__(self, "contents", BinContents.between(self.cuts))

    @property
    def card(self) -> int:
        """Number of codes."""
        return self.cuts.size + 1 + self.has_missing

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins: code k holds the values in [edges[k], edges[k + 1])."""
        return np.concatenate([[-np.inf], self.cuts, [np.inf]])

    def coder(self, levels: NDArray[Any] | None, label: str) -> _Coder:
        """Return the function from cells to codes, for cells that are numbers or codes into `levels`."""
        read = number_reader(levels, label)
        missing = self.card - self.has_missing

        def code(cells: NDArray[Any]) -> NDArray[Any]:
            x = np.ascontiguousarray(read(cells), dtype=np.float64)
            codes = _count_reached(x, self.cuts)
            is_finite = np.isfinite(x)
            if not is_finite.all():
                check_finite(x, label)
                codes[~is_finite] = missing
            return codes

        return code


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A category: the code of a value is its position in `categories`.

    Attributes
    ----------
    categories : ndarray
        Distinct values, sorted (see `sort_categories`) or, if ordinal, in the order that they mean. Numbers and
        booleans keep their dtype; text, alone or mixed with numbers, is an array of Python objects.
    pooled : ndarray
        Rare values that share the code behind the categories.
    has_missing : bool
        Whether missing cells have a code of their own, the last one.
    is_ordinal : bool
        Whether the order of the categories means something.
    """

    categories: NDArray[Any]
    pooled: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    has_missing: bool = False
    is_ordinal: bool = False

    @property
    def card(self) -> int:
        """Number of codes."""
        return self.categories.size + (self.pooled.size > 0) + self.has_missing

    def coder(self, levels: NDArray[Any] | None, label: str) -> _Coder:
        """Return the function from cells to codes, for cells that are numbers or codes into `levels`."""
        return self._number_coder(label) if levels is None else self._level_coder(levels, label)

    def _level_coder(self, levels: NDArray[Any], label: str) -> _Coder:
        position = {category: code for code, category in enumerate(self.categories.tolist())}
        position |= dict.fromkeys(self.pooled.tolist(), self.categories.size)
        # The last entry is the one that the code -1 of a missing cell picks.
        known = [position.get(level, self.card) for level in levels.tolist()]
        level_codes = np.array([*known, self.card - self.has_missing], dtype=code_dtype(self.card))
        infinite = infinite_levels(levels)

        def code(cells: NDArray[Any]) -> NDArray[Any]:
            if infinite and np.isin(cells, infinite).any():
                raise infinite_error(label)
            return np.take(level_codes, cells, mode="wrap")

        return code

    def _number_coder(self, label: str) -> _Coder:
        numbers, codes_of = self._numbers

        def code(cells: NDArray[Any]) -> NDArray[Any]:
            if cells.dtype.kind in "bu" and cells.dtype.itemsize == 1:
                return np.take(self._byte_codes, cells.view(np.uint8))
            check_finite(cells, label)
            codes = np.full(cells.shape, self.card)
            if not self._compares_exactly(cells):
                distinct, levels_of = np.unique(cells, return_inverse=True)
                codes = self._level_coder(distinct, label)(levels_of)
            elif numbers.size:
                place = np.searchsorted(numbers, cells).clip(max=numbers.size - 1)
                is_known = numbers[place] == cells
                codes[is_known] = codes_of[place[is_known]]
            codes[cells != cells] = self.card - self.has_missing
            return codes

        return code

    @cached_property
    def _numbers(self) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Categories and pooled values that are numbers, sorted, and the code of each."""
        (kept, codes), (rare, _) = _numbers_among(self.categories), _numbers_among(self.pooled)
        numbers = np.concatenate([kept, rare]) if rare.size else kept
        codes = np.concatenate([codes, np.full(rare.size, self.categories.size)])
        order = np.argsort(numbers, kind="stable")
        return numbers[order], codes[order]

    def _compares_exactly(self, cells: NDArray[Any]) -> bool:
        """Whether numbers of these types are compared without rounding; NumPy compares unlike ones as floats."""
        numbers, _ = self._numbers
        if self.categories.dtype.kind != "O" and numbers.dtype.kind == cells.dtype.kind:
            return True
        return bool(numbers.size == 0 or max(abs(float(numbers[0])), abs(float(numbers[-1]))) < LARGEST_EXACT)

    @cached_property
    def _byte_codes(self) -> NDArray[Any]:
        """Code of every byte: frames of codes often come as bytes, and a look-up is faster than a search."""
        numbers, codes_of = self._numbers
        frame = np.full(256, self.card, dtype=code_dtype(self.card))
        is_byte = (numbers >= 0) & (numbers < 256) & (numbers == np.floor(numbers.astype(np.float64)))
        frame[numbers[is_byte].astype(np.intp)] = codes_of[is_byte]
        return frame


def code_dtype(card: int) -> np.dtype[Any]:
    """Smallest unsigned integer type that holds the codes 0 .. card, the last being "unknown"."""
    return np.min_scalar_type(card)


def check_finite(values: NDArray[Any], label: str) -> None:
    """Refuse infinite numbers."""
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise infinite_error(label)


def infinite_levels(levels: NDArray[Any]) -> list[int]:
    """Codes of the levels that are infinite numbers."""
    return [code for code, level in enumerate(levels.tolist()) if level in _INFINITE]


def infinite_error(label: str) -> ValueError:
    """The error for infinite numbers."""
    return ValueError(f"{label} has infinite values (inf); replace them by a large number or make them missing")


def sort_categories(values: Iterable[Any], label: str) -> list[Any]:
    """Sort distinct values: numbers first by value, then text by code point, then other types by type name.

    Values that compare equal (1, 1.0 and True) are one category. Values of a type without an order are an error.

    Examples
    --------
    >>> sort_categories(["b", 10, "a", 2.5, "10"], "column 0")
    [2.5, 10, '10', 'a', 'b']
    """

    def key(value: Any) -> tuple[int, str, Any]:
        if is_number(value):
            return 0, "", value
        if isinstance(value, str):
            return 1, "", value
        return 2, type(value).__qualname__, value

    try:
        return sorted(dict.fromkeys(values), key=key)
    except TypeError as error:
        raise TypeError(f"{label} has values that cannot be sorted ({error}); turn them into text or numbers") from None


def is_number(value: Any) -> bool:
    """Whether a value can be read as a number; truth values can."""
    return isinstance(value, (Real, Decimal, np.bool_))


def _numbers_among(categories: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The categories that are numbers, and the places where they are."""
    if categories.dtype.kind != "O":
        return categories, np.arange(categories.size)
    places = [place for place, value in enumerate(categories.tolist()) if is_number(value)]
    return np.array([_as_float(categories[place]) for place in places]), np.array(places, np.intp)


def _as_float(value: Any) -> float:
    """A number as a float; an integer beyond the range of floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number_reader(levels: NDArray[Any] | None, label: str) -> _Coder:
    """Return the function from cells to numbers, NaN where missing; it refuses cells, not unused levels, with text."""
    if levels is None:
        return lambda cells: cells
    # The last entries are the ones that the code -1 of a missing cell picks.
    is_text = np.array([*(not is_number(level) for level in levels.tolist()), False])
    numbers = np.array([*(_as_float(level) if is_number(level) else np.nan for level in levels.tolist()), np.nan])

    def read(cells: NDArray[Any]) -> NDArray[Any]:
        is_refused = is_text[cells]
        if is_refused.any():
            text = levels[cells[is_refused.argmax()]]
            raise ValueError(
                f"{label} is numeric, but it holds {text!r}; make its values numbers, or name the column in "
                "categorical_features when fitting"
            )
        return numbers[cells]

    return read


def _count_reached(x: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[Any]:
    """Number of cuts <= x, as `np.searchsorted(cuts, x, side="right")`; any code for NaN."""
    if cuts.size > _FEW_CUTS or x.size < _MANY_VALUES:
        return np.searchsorted(cuts, x, side="right")
    codes = np.zeros(x.shape, dtype=np.uint8)
    is_reached = np.empty(x.shape, dtype=np.bool_)
    for cut in cuts:
        np.greater_equal(x, cut, out=is_reached)
        codes += is_reached.view(np.uint8)
    return codes


# Entries that are compared at a time: few enough to share out among threads, and many to a call (with a quarter of them
# 100,000 rows of 16 columns take twice the time).
_BLOCK_ENTRIES = 262_144
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
