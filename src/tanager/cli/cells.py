"""Types of columns: inferred from all cells of a column when fitting, and taken from the model when predicting.

A text column becomes numeric if every cell is a number; otherwise all of it stays text. When predicting, the model's
column decides, so that the category "1" matches whether a file has it as text or as a number.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute, types

from tanager.cli.errors import InputError
from tanager.data.coders import CategoryColumn, NumericColumn

_LEADING_ZERO = r"^[+-]?0[0-9]+$"
_TRUE, _FALSE = ("true", "1", "1.0", "yes", "t", "y"), ("false", "0", "0.0", "no", "f", "n")


def typed(cells: Any, *, is_category: bool = False) -> Any:
    """Convert a column to the type that fits all its cells.

    Parameters
    ----------
    cells : pyarrow ChunkedArray
        Text becomes integers, floats or a dictionary of text; other types do not change.
    is_category : bool
        Keep text as text even if all cells are numbers.

    Examples
    --------
    >>> typed(pyarrow.chunked_array([["1", None], ["2"]])).type
    DataType(int64)
    >>> typed(pyarrow.chunked_array([["1", "2"], ["x"]])).to_pylist()
    ['1', '2', 'x']
    >>> typed(pyarrow.chunked_array([["01234", "99999"]])).to_pylist()
    ['01234', '99999']
    """
    if types.is_null(cells.type):
        return cells.cast(pyarrow.float64())
    if not types.is_string(cells.type):
        return cells
    numbers = None if is_category else _as_numbers(cells)
    return cells.dictionary_encode().unify_dictionaries() if numbers is None else numbers


def _as_numbers(cells: Any) -> Any | None:
    """Integers or floats, or None if some cell is not a number or has a leading zero, as codes do."""
    kind = number_kind(cells, pyarrow.int64())
    return None if kind is None else cells.cast(kind)


def number_kind(cells: Any, before: Any) -> Any | None:
    """The type of numbers that holds cells of text as well as ``before``, that of others; None if there is none."""
    if compute.any(compute.match_substring_regex(cells, f"{_LEADING_ZERO}|[xX]")).as_py():
        return None
    for kind in dict.fromkeys((before, pyarrow.float64())):
        try:
            cells.cast(kind)
        except pyarrow.ArrowInvalid:
            continue
        return kind
    return None


def words_among_numbers(cells: Any) -> tuple[list[str], int] | None:
    """The few words in a text column of numbers, and how many cells have them; None for any other column."""
    counted = compute.value_counts(cells.drop_null()).to_pylist()
    if len(counted) < 5:
        return None
    words = {entry["values"]: entry["counts"] for entry in counted if not _is_number(entry["values"])}
    if not words or len(words) > 3 or len(words) * 4 > len(counted):
        return None
    return sorted(words), sum(words.values())


def as_fitted(cells: Any, column: NumericColumn | CategoryColumn, name: str, first_row: int = 0) -> Any:
    """Convert cells to the type of a model's column.

    Parameters
    ----------
    cells : pyarrow Array
    column : NumericColumn or CategoryColumn
        The column of the model.
    name : str
    first_row : int
        Number of rows before these, for error messages.

    Examples
    --------
    >>> ages = NumericColumn(np.array([18.0]))
    >>> as_fitted(pyarrow.array(["17", None]), ages, "age").to_pylist()
    [17.0, None]
    >>> sizes = CategoryColumn(np.array([1, 2]))
    >>> as_fitted(pyarrow.array(["2", "many"]), sizes, "size").to_pylist()
    [2.0, 3.0]
    >>> codes = CategoryColumn(np.array(["1", "2"], dtype=object))
    >>> as_fitted(pyarrow.array([2.0, None]), codes, "code").to_pylist()
    ['2', None]
    """
    if types.is_null(cells.type):
        cells = cells.cast(pyarrow.string())
    if isinstance(column, NumericColumn):
        return _as_floats(cells, name, first_row) if types.is_string(cells.type) else cells
    known = [*column.categories.tolist(), *column.pooled.tolist()]
    if all(isinstance(value, str) for value in known):
        return cells if types.is_string(cells.type) else _as_text(cells, known)
    if not types.is_string(cells.type):
        return cells
    if any(isinstance(value, str) for value in known):
        raise InputError(
            f"column {name!r} of the model mixes numbers and words, which look the same in a file; "
            "predict from Python, or fit again with the column as text"
        )
    return _mapped(cells, _number_of if column.categories.dtype.kind != "b" else _truth_of, _unseen(known))


def _as_floats(cells: Any, name: str, first_row: int) -> Any:
    try:
        return cells.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        for row, cell in enumerate(cells.to_pylist()):
            if cell is not None and not _is_number(cell):
                raise InputError(
                    f"column {name!r} is numeric in the model, but row {first_row + row + 1} has {cell!r}; "
                    f"if that means missing, add --missing {cell!r}"
                ) from None
        raise


def _as_text(cells: Any, known: list[Any]) -> Any:
    """Numbers and booleans as a text file would spell them."""
    if types.is_boolean(cells.type):
        spelled = ("True", "False") if {"True", "False"} & set(known) else ("true", "false")
        return compute.if_else(cells, *map(pyarrow.scalar, spelled))
    if types.is_floating(cells.type):
        # Integers with missing cells arrive as floats; spell each as the integer that it is.
        cells = compute.if_else(compute.is_nan(cells), pyarrow.scalar(None, cells.type), cells)
        is_whole = compute.equal(cells, compute.floor(cells))
        return compute.if_else(is_whole, _as_whole(cells).cast(pyarrow.string()), cells.cast(pyarrow.string()))
    return cells.cast(pyarrow.string())


def _as_whole(cells: Any) -> Any:
    """Truncate floats to integers; those too large for an exact integer become null."""
    is_small = compute.less(compute.abs(cells), float(2**53))
    return compute.if_else(is_small, cells, pyarrow.scalar(None, cells.type)).cast(pyarrow.int64(), safe=False)


def _mapped(cells: Any, read: Any, unseen: float) -> Any:
    """Text as numbers; a word becomes a number that is unknown to the model."""
    coded = cells.dictionary_encode()
    values = [read(text) for text in coded.dictionary.to_pylist()]
    numbers = pyarrow.array([unseen if value is None else value for value in values], pyarrow.float64())
    return numbers.take(coded.indices)


def _unseen(known: list[Any]) -> float:
    """A number that is not one of these."""
    return float(max((float(value) for value in known), default=0.0)) + 1.0


def _number_of(text: str) -> float | None:
    return float(text) if _is_number(text) else None


def _truth_of(text: str) -> float | None:
    lower = text.lower()
    return 1.0 if lower in _TRUE else 0.0 if lower in _FALSE else None


def _is_number(text: str) -> bool:
    """Whether Arrow reads the text as a number; unlike Python, it does not allow underscores."""
    if "_" in text or re.search("[xX]", text):
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def class_labels(cells: Any) -> NDArray[Any]:
    """Class labels of a column without missing cells: integers or text; other numbers become text."""
    if types.is_dictionary(cells.type):
        cells = cells.cast(pyarrow.string())
    if types.is_floating(cells.type):
        whole = compute.all(compute.equal(cells, compute.floor(cells))).as_py()
        cells = cells.cast(pyarrow.int64() if whole else pyarrow.string())
    return np.asarray(cells.to_numpy())


def as_classes(cells: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """The index of each cell's class; -1 for a class that is not one of these, -2 for a missing cell."""
    column = CategoryColumn(classes)
    read = as_fitted(cells, column, "the target")
    levels = read.dictionary_encode() if not types.is_dictionary(read.type) else read
    position = {value: number for number, value in enumerate(classes.tolist())}
    numbers = np.array([*(position.get(value, -1) for value in levels.dictionary.to_pylist()), -2])
    return numbers[levels.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)]
