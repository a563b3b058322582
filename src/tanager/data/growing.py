"""Encoders that grow with new rows: values that were not there before get codes of their own.

Bins of numbers stay as they are. New categories are sorted in among the old ones, so that an encoder does not depend on
the order in which they came; the codes of old values change, and maps say how.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import IntArray
from tanager.data.arrays import is_missing, object_array
from tanager.data.categories import RowIndex, observed_values, ordinal_values
from tanager.data.coders import CategoryColumn, NumericColumn, sort_categories
from tanager.data.columns import Frame
from tanager.data.encoding import FrameEncoder, Missing


def grow(
    encoder: FrameEncoder,
    frame: Frame,
    missing: Missing,
    max_categories: int | None,
    rows: RowIndex = slice(None),
) -> tuple[FrameEncoder, list[IntArray] | None]:
    """An encoder that also knows the values of a frame.

    Parameters
    ----------
    encoder : FrameEncoder
    frame : Frame
        With the columns that the encoder was fitted to.
    missing : {"value", "ignore"}
        Whether missing cells get a code where there were none before.
    max_categories : int or None
        Once a category has as many values, further ones share one code behind them.
    rows : slice or int array
        Rows of the frame that count; all by default.

    Returns
    -------
    encoder : FrameEncoder
    maps : list of int64 arrays or None
        The new code of each old code of every column; None if nothing is new.

    Examples
    --------
    >>> from tanager.data import QuantileBinning, as_frame
    >>> first, second = (as_frame(np.array([cells], dtype=object).T) for cells in (["b", "d"], ["c", None]))
    >>> encoder = FrameEncoder.fit(first, first.is_categorical, None, QuantileBinning(2))
    >>> wider, maps = grow(encoder, second, "value", None)
    >>> wider.value_labels(0), maps
    (['b', 'c', 'd', 'missing'], [array([0, 2])])
    """
    encoder.check_columns(frame)
    columns, maps = [], []
    for index, column in enumerate(encoder.columns):
        has_missing = column.has_missing or (missing == "value" and _has_missing_cells(frame, index, rows))
        grown: NumericColumn | CategoryColumn
        of_values: IntArray
        if isinstance(column, NumericColumn):
            grown = NumericColumn(column.cuts, has_missing, column.contents)
            of_values = np.arange(column.cuts.size + 1)
        else:
            new = _new_values(column, frame, index, rows)
            grown, of_values = _grow_category(column, new, has_missing, max_categories)
        columns.append(grown)
        maps.append(np.append(of_values, grown.card - 1) if column.has_missing else of_values)
    is_same = all(old.card == new.card for old, new in zip(encoder.columns, columns, strict=True))
    if is_same and not any(map(_pools_more, encoder.columns, columns)):
        return encoder, None
    return FrameEncoder(tuple(columns), encoder.names, encoder.dtypes), maps


def _has_missing_cells(frame: Frame, index: int, rows: RowIndex) -> bool:
    """Whether any cell of a column is missing in these rows."""
    return bool(is_missing(frame.columns[index][rows], frame.levels[index]).any())


def _new_values(column: CategoryColumn, frame: Frame, index: int, rows: RowIndex) -> NDArray[Any]:
    """Values of a frame that a category does not know."""
    seen = observed_values(frame, index, rows)
    if seen.size and not column.categories.size and not frame.is_categorical[index]:
        raise ValueError(
            f"{frame.label(index)} had only missing cells in the first rows, so that it has no bins; begin with rows "
            "that have values there, or give binning= an encoder that was fitted to such rows"
        )
    if column.is_ordinal:
        ordinal_values(seen, column.categories.tolist(), frame.label(index))
    known = {*column.categories.tolist(), *column.pooled.tolist()}
    return seen[[value not in known for value in seen.tolist()]]


def _grow_category(
    column: CategoryColumn, new: NDArray[Any], has_missing: bool, most: int | None
) -> tuple[CategoryColumn, IntArray]:
    """The category with new values, and the new codes of its old values and of the one that rare values share."""
    room = len(new) if most is None else max(0, most - column.categories.size)
    if column.pooled.size:
        room = 0
    categories = _sorted_in(column.categories, new[:room])
    pooled = _sorted_in(column.pooled, new[room:])
    place = {value: code for code, value in enumerate(categories.tolist())}
    codes = [place[value] for value in column.categories.tolist()]
    if column.pooled.size:
        codes.append(categories.size)
    return CategoryColumn(categories, pooled, has_missing, column.is_ordinal), np.array(codes, np.int64)


def _sorted_in(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Distinct values of both, sorted as categories are."""
    if not new.size or not old.size:
        return new.copy() if new.size else old
    if old.dtype.kind in "biuf" and new.dtype.kind in "biuf":
        return np.sort(np.concatenate([old, new]))
    return object_array(sort_categories([*old.tolist(), *new.tolist()], "the column"))


def _pools_more(old: Any, new: Any) -> bool:
    return isinstance(old, CategoryColumn) and old.pooled.size < new.pooled.size
