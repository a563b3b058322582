"""The categories of a column: which values its training rows have, in what order, and which rare ones share a code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import is_missing, object_array
from tanager.data.coders import CategoryColumn, sort_categories
from tanager.data.columns import Frame

RowIndex = slice | NDArray[np.intp]


def observed_values(frame: Frame, index: int, rows: RowIndex = slice(None)) -> NDArray[Any]:
    """Sorted distinct values of the training rows of a category."""
    levels = frame.levels[index]
    seen = _distinct(frame.columns[index][rows])
    seen = seen[~is_missing(seen, levels)]
    if levels is None:
        return seen
    if levels.dtype.kind != "O":
        return np.unique(levels[seen])
    return object_array(sort_categories(levels[seen].tolist(), frame.label(index)))


def _distinct(cells: NDArray[Any]) -> NDArray[Any]:
    """Sorted distinct cells; bytes, of which frames of codes often are, are counted, which takes less than sorting."""
    if cells.dtype != np.uint8:
        return np.unique(cells)
    return np.flatnonzero(np.bincount(cells)).astype(np.uint8)


def pool_rare(
    frame: Frame, index: int, rows: RowIndex, weight: NDArray[np.float64] | None, max_categories: int | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Categories that keep a code of their own, and those that share one."""
    categories = observed_values(frame, index, rows)
    if max_categories is None or categories.size <= max_categories:
        return categories, categories[:0]
    code = CategoryColumn(categories).coder(frame.levels[index], frame.label(index))
    # Missing cells have the code behind the categories.
    totals = _totals(code(frame.columns[index][rows]), None if weight is None else weight[rows])[: categories.size]
    is_kept = np.zeros(categories.size, dtype=np.bool_)
    is_kept[np.argsort(-totals, kind="stable")[: max_categories - 1]] = True
    return categories[is_kept], categories[~is_kept]


def ordinal_values(seen: NDArray[Any], order: Sequence[Any], label: str) -> NDArray[Any]:
    """The values of an ordinal column in their order; every value of the training rows must be among them."""
    values = list(order)
    strays = [value for value in seen.tolist() if value not in values]
    if strays:
        raise ValueError(
            f"{label} has the value {strays[0]!r}, which its order {values!r} does not have: add it "
            "there, or correct the cells"
        )
    is_number = seen.dtype.kind in "iuf" and all(type(value) in (int, float) for value in values)
    return np.array(values, np.result_type(seen.dtype, *values)) if is_number else object_array(values)


def _totals(codes: NDArray[Any], weight: NDArray[np.float64] | None) -> NDArray[Any]:
    """Weight of every code, summed in order of weight so that rounding does not depend on the order of rows."""
    if weight is None:
        return np.bincount(codes)
    order = np.argsort(weight)
    return np.bincount(codes[order], weight[order])
