"""The encoder of one column: from cells to codes.

Code `card` means *unknown*: a category that training did not show, or a missing cell. Cells come as numbers, or as
codes into an array of levels (see `tanager.data.arrays`); either may meet an encoder that was fitted on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import MISSING

# Up to this many cuts, comparing a block with each cut in turn beats a binary search for each value.
_FEW_CUTS = 128

_Coder = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """A numeric column: the code of x is the number of `cuts` <= x.

    Attributes
    ----------
    cuts : ndarray of float64, strictly increasing
    """

    cuts: NDArray[np.float64]

    @property
    def card(self) -> int:
        """Number of codes."""
        return self.cuts.size + 1

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins: code k holds the values in [edges[k], edges[k + 1])."""
        return np.concatenate([[-np.inf], self.cuts, [np.inf]])

    def coder(self, levels: NDArray[Any] | None, label: str, allow_missing: bool) -> _Coder:
        """Return the function from cells to codes, for cells that are numbers or codes into `levels`."""
        numbers = None if levels is None else np.append(level_numbers(levels, label), np.nan)

        def code(cells: NDArray[Any]) -> NDArray[Any]:
            x = np.ascontiguousarray(cells if numbers is None else numbers[cells], dtype=np.float64)
            codes = _count_reached(x, self.cuts)
            is_finite = np.isfinite(x)
            if not is_finite.all():
                check_finite(x, label)
                if not allow_missing:
                    raise missing_error(label)
                codes[~is_finite] = self.card
            return codes

        return code


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A category: the code of a value is its position in `categories`.

    Attributes
    ----------
    categories : ndarray
        Distinct values, sorted (see `sort_categories`). Numbers and booleans keep their dtype; text, alone or mixed
        with numbers, is an array of Python objects.
    """

    categories: NDArray[Any]

    @property
    def card(self) -> int:
        """Number of codes."""
        return self.categories.size

    def coder(self, levels: NDArray[Any] | None, label: str, allow_missing: bool) -> _Coder:
        """Return the function from cells to codes, for cells that are numbers or codes into `levels`."""
        if levels is None:
            return self._number_coder(label, allow_missing)
        return self._level_coder(levels, label, allow_missing)

    def _level_coder(self, levels: NDArray[Any], label: str, allow_missing: bool) -> _Coder:
        position = {category: code for code, category in enumerate(self.categories.tolist())}
        # The last entry is the one that the code -1 of a missing cell picks.
        known = [position.get(level, self.card) for level in levels.tolist()]
        level_codes = np.array([*known, self.card], dtype=code_dtype(self.card))

        def code(cells: NDArray[Any]) -> NDArray[Any]:
            if not allow_missing and (cells == MISSING).any():
                raise missing_error(label)
            return np.take(level_codes, cells, mode="wrap")

        return code

    def _number_coder(self, label: str, allow_missing: bool) -> _Coder:
        numbers = _leading_numbers(self.categories)

        def code(cells: NDArray[Any]) -> NDArray[Any]:
            if not allow_missing and (cells != cells).any():
                raise missing_error(label)
            check_finite(cells, label)
            if numbers.size == 0:
                return np.full(cells.shape, self.card)
            codes = np.searchsorted(numbers, cells).clip(max=numbers.size - 1)
            codes[numbers[codes] != cells] = self.card
            return codes

        return code


def code_dtype(card: int) -> np.dtype[Any]:
    """Smallest unsigned integer type that holds the codes 0 .. card, the last being "unknown"."""
    return np.min_scalar_type(card)


def check_finite(values: NDArray[Any], label: str) -> None:
    """Refuse infinite numbers."""
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(f"{label} has infinite values (inf); replace them by a large number or treat them as missing")


def missing_error(label: str) -> ValueError:
    """The error for missing cells where there may be none."""
    return ValueError(f"{label} has missing values (NaN or None), which are not allowed here; fill them first")


def sort_categories(values: Iterable[Any], label: str) -> list[Any]:
    """Sort distinct values: numbers first by value, then text by code point, then other types by type name.

    Values that compare equal (1, 1.0 and True) are one category. Values of a type without an order are an error.

    Examples
    --------
    >>> sort_categories(["b", 10, "a", 2.5, "10"], "column 0")
    [2.5, 10, '10', 'a', 'b']
    """

    def key(value: Any) -> tuple[int, str, Any]:
        if _is_number(value):
            return 0, "", value
        if isinstance(value, str):
            return 1, "", value
        return 2, type(value).__qualname__, value

    try:
        return sorted(dict.fromkeys(values), key=key)
    except TypeError as error:
        raise TypeError(f"{label} has values that cannot be sorted ({error}); turn them into text or numbers") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, (Real, Decimal, np.bool_))


def _leading_numbers(categories: NDArray[Any]) -> NDArray[Any]:
    """The categories that are numbers, which come first."""
    if categories.dtype.kind != "O":
        return categories
    return np.array([float(value) for value in categories.tolist() if _is_number(value)])


def level_numbers(levels: NDArray[Any], label: str) -> NDArray[np.float64]:
    """Levels of a coded column as numbers, or an error where they are text."""
    if levels.size and levels.dtype.kind not in "biuf":
        text = next(level for level in levels.tolist() if not _is_number(level))
        raise ValueError(
            f"{label} is numeric, but it holds {text!r}; make its values numbers, or name the column in "
            "categorical_features when fitting"
        )
    return levels.astype(np.float64)


def _count_reached(x: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[Any]:
    """Number of cuts <= x, as `np.searchsorted(cuts, x, side="right")`; any code for NaN."""
    if cuts.size > _FEW_CUTS:
        return np.searchsorted(cuts, x, side="right")
    codes = np.zeros(x.shape, dtype=np.uint8)
    is_reached = np.empty(x.shape, dtype=np.bool_)
    for cut in cuts:
        np.greater_equal(x, cut, out=is_reached)
        codes += is_reached.view(np.uint8)
    return codes
