"""One column of a frame from a NumPy array: what its cells are, and dictionary codes for cells that are not numbers.

A column is either an array of numbers or booleans, or *coded*: integer codes into an array of distinct `levels`, with
-1 for a missing cell. Text is coded once, when the frame is read, so nothing downstream touches single cells again.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MISSING = -1
"""Code of a missing cell in a coded column."""

LARGEST_EXACT = 2**53
"""Whole numbers from here on may become the same float64 as their neighbours."""

# Containers that can be hashed; lists, dictionaries, sets and arrays are known by not being hashable.
_HASHABLE_NESTED = (tuple, frozenset)
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_BOOLS = (bool, np.bool_)
# pandas.NA and pandas.NaT, known by the name of their type so that pandas need not be imported.
_MISSING_TYPES = ("NoneType", "NAType", "NaTType")


class Column(NamedTuple):
    """A column as it was read.

    `values` are numbers or booleans when `levels` is None, otherwise codes into `levels` (-1 is missing). `is_ordered`
    says whether the order of the levels means something.
    """

    values: NDArray[Any]
    levels: NDArray[Any] | None
    is_categorical: bool
    is_ordered: bool = False


def column_label(names: Sequence[str] | None, index: int) -> str:
    """How error messages name a column: by its name where it has one, otherwise by its position."""
    return f"column {index}" if names is None else f"column {names[index]!r}"


def is_missing(cells: NDArray[Any], levels: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Which cells of a column are missing."""
    if levels is None and cells.dtype.kind != "f":
        return np.zeros(cells.shape, np.bool_)
    result: NDArray[np.bool_] = cells != cells if levels is None else cells == MISSING
    return result


def read_array_column(values: NDArray[Any], label: str) -> Column:
    """Read a 1-d array of any dtype; numbers and booleans are not copied."""
    kind = values.dtype.kind
    if kind in "iuf":
        return Column(values, None, False)
    if kind == "b":
        return Column(values, None, True)
    if kind in "US":
        return Column(*_dictionary(values.tolist()), True)
    if kind in "OT":
        return read_cells(values.tolist(), label)
    if kind in "mM":
        raise dates_error(label, str(values.dtype))
    if kind == "c":
        raise complex_error(label)
    raise nested_error(label, str(values.dtype))


def read_masked_column(values: NDArray[Any], is_missing: NDArray[np.bool_], label: str) -> Column:
    """Read a 1-d array of any dtype with a mask of the cells that are missing."""
    if values.dtype.kind in "iu":
        return read_integers(values, is_missing)
    if values.dtype.kind == "f":
        return Column(np.where(is_missing, np.nan, values), None, False)
    if values.dtype.kind not in "bOUST":
        return read_array_column(values, label)  # which refuses it
    pairs = zip(values.tolist(), is_missing.tolist(), strict=True)
    return read_cells([None if is_gone else cell for cell, is_gone in pairs], label)


def read_cells(cells: list[Any], label: str) -> Column:
    """Read a list of Python objects: all numbers give a numeric column, anything else a category."""
    all_types = set(map(type, cells))
    types = {kind for kind in all_types if kind.__name__ not in _MISSING_TYPES}
    for kind in sorted(types, key=lambda kind: kind.__name__):
        _check_cell_type(kind, label)
    cells = _missing_as_none(cells, all_types)
    if types and all(_is_number_type(kind) for kind in types):
        return _read_numbers(cells, types, label)
    return Column(*_dictionary(cells), True)


def read_integers(values: NDArray[Any], is_missing: NDArray[np.bool_]) -> Column:
    """Whole numbers of which some are missing: floats if those are exact, else codes into the distinct numbers."""
    present = values[~is_missing]
    if are_exact_floats(present):
        floats = values.astype(np.float64)
        floats[is_missing] = np.nan
        return Column(floats, None, False)
    levels, present_codes = np.unique(present, return_inverse=True)
    codes = np.full(values.shape, MISSING, dtype=np.int32)
    codes[~is_missing] = present_codes
    return Column(codes, levels, False)


def coded_column(codes: NDArray[Any], levels: Iterable[Any], label: str) -> Column:
    """Wrap codes that a frame already has, after checking its levels; a missing level becomes -1."""
    read = read_array_column(levels if isinstance(levels, np.ndarray) else object_array(list(levels)), label)
    identity = np.arange(read.values.size)
    if read.levels is None:
        levels = read.values
        position = np.where(levels == levels, identity, MISSING)
    else:
        # The levels were coded in their turn, which merges equal ones and gives -1 to missing ones.
        levels, position = read.levels, read.values
    if not np.array_equal(position, identity):
        codes = np.append(position, MISSING).astype(np.int32)[codes]
    return Column(codes, levels, True)


def dates_error(label: str, kind: str) -> TypeError:
    """The error for dates and durations."""
    return TypeError(
        f"{label} holds dates or durations ({kind}), which have no fixed set of values; turn them into numbers or text "
        "first, for instance the year, the weekday or the number of days; TableCleaner splits dates in this way"
    )


def nested_error(label: str, kind: str) -> TypeError:
    """The error for lists, dictionaries and the like inside cells."""
    return TypeError(
        f"{label} holds values of type {kind}, but each cell given as an argument must be a string or a number; "
        "spread nested values over columns of their own"
    )


def complex_error(label: str) -> ValueError:
    """The error for complex numbers."""
    return ValueError(
        f"Complex data not supported: {label} holds complex numbers; split them into real and imaginary columns"
    )


def _check_cell_type(kind: type, label: str) -> None:
    """Refuse the types of Python object that cannot be a category."""
    if issubclass(kind, _DATES) or kind.__name__ == "Period":
        raise dates_error(label, kind.__name__)
    if issubclass(kind, _HASHABLE_NESTED) or kind.__hash__ is None:
        raise nested_error(label, kind.__name__)
    if issubclass(kind, Complex) and not issubclass(kind, Real):
        raise complex_error(label)


def _is_number_type(kind: type) -> bool:
    return issubclass(kind, (Real, Decimal)) and not issubclass(kind, _BOOLS)


def _missing_as_none(cells: list[Any], types: set[type]) -> list[Any]:
    """Replace NaN and the missing markers of frames by None; looks at cells only where a type allows one."""
    if not any(issubclass(kind, (float, np.floating, Decimal)) or kind.__name__ in _MISSING_TYPES for kind in types):
        return cells
    return [None if type(cell).__name__ in _MISSING_TYPES or cell != cell else cell for cell in cells]


def _read_numbers(cells: list[Any], types: set[type], label: str) -> Column:
    """Integers stay integers when none is missing, other numbers become float64; no two integers become one."""
    are_integers = [issubclass(kind, (int, np.integer)) for kind in types]
    if all(are_integers):
        is_missing: NDArray[np.bool_] = np.array([cell is None for cell in cells])
        integers = as_integers([0 if cell is None else cell for cell in cells])
        if integers is not None:
            return read_integers(integers, is_missing) if is_missing.any() else Column(integers, None, False)
    try:
        floats = np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{label} holds an integer too large for a floating-point number") from None
    if any(are_integers) and not are_exact_floats(floats):
        return Column(*_dictionary(cells), False)
    return Column(floats, None, False)


def exact_array(cells: Any) -> NDArray[Any]:
    """An array; of objects where NumPy would turn numbers in lists into text, or large integers into floats."""
    array = np.asarray(cells)
    if hasattr(cells, "dtype"):
        return array
    is_changed = array.dtype.kind in "US" or (array.dtype.kind == "f" and not are_exact_floats(array))
    return np.asarray(cells, dtype=object) if is_changed else array


def as_integers(cells: list[int]) -> NDArray[Any] | None:
    """Whole numbers as an array, if there is a type of up to 64 bits that holds them all."""
    for dtype in (np.int64, np.uint64):
        try:
            return np.array(cells, dtype=dtype)
        except OverflowError:
            continue
    return None


def are_exact_floats(numbers: NDArray[Any]) -> bool:
    """Whether all numbers are below 2^53, up to which no two whole numbers are the same float."""
    present = numbers[numbers == numbers]
    return bool(present.size == 0 or (present.max() < LARGEST_EXACT and present.min() > -LARGEST_EXACT))


def _dictionary(cells: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes and distinct values in order of appearance. Values that compare equal (1, 1.0 and True) are one."""
    position: dict[Any, int] = {}
    for cell in dict.fromkeys(cells):
        if cell is not None:
            position[cell] = len(position)
    levels = list(position)
    position[None] = MISSING
    codes = np.fromiter(map(position.__getitem__, cells), dtype=np.int32, count=len(cells))
    if levels and all(isinstance(level, _BOOLS) for level in levels):
        return codes, np.array(levels, dtype=np.bool_)
    return codes, object_array(levels)


def object_array(cells: list[Any]) -> NDArray[Any]:
    """A 1-d object array, also when the cells are sequences."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
