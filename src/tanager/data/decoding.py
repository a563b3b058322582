"""From codes back to cells: a value that each code of a column stands for."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import object_array
from tanager.data.coders import CategoryColumn, NumericColumn
from tanager.data.labels import value_labels

Bins = Literal["label", "middle"]


def decode_column(column: NumericColumn | CategoryColumn, codes: NDArray[Any], bins: Bins = "label") -> NDArray[Any]:
    """Turn the codes of one column into cells.

    Parameters
    ----------
    column : NumericColumn or CategoryColumn
    codes : int array of shape (N,)
    bins : {"label", "middle"}
        What stands for a bin of numbers: its label, or the number in its middle (see `bin_middles`).

    Returns
    -------
    ndarray of shape (N,)
        A code of missing cells and the code "unknown" become NaN among numbers and None among other values. The code
        that rare values share becomes the first of them.

    Examples
    --------
    >>> decode_column(CategoryColumn(np.array(["blue", "red"], dtype=object)), np.array([1, 0, 2]))
    array(['red', 'blue', None], dtype=object)
    >>> decode_column(NumericColumn(np.array([2.0, 4.0])), np.array([0, 1, 2, 3]), bins="middle")
    array([ 1.,  3.,  5., nan])
    """
    if bins not in ("label", "middle"):
        raise ValueError(f"bins must be 'label' or 'middle', got {bins!r}")
    if isinstance(column, CategoryColumn):
        values = column.categories.tolist() + column.pooled.tolist()[:1]
        kind = column.categories.dtype
    elif bins == "middle":
        values, kind = bin_middles(column.cuts).tolist(), np.dtype(np.float64)
    else:
        values, kind = value_labels(column)[: column.cuts.size + 1], np.dtype(object)
    is_missing = codes >= len(values)
    if is_missing.any() and kind.kind in "iuf":
        kind = np.dtype(np.float64)
    elif is_missing.any():
        kind = np.dtype(object)
    missing = np.nan if kind.kind == "f" else None
    cells: NDArray[Any] = object_array([*values, missing])[np.minimum(codes, len(values))]
    return cells.astype(kind)


def bin_middles(cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """A number inside each bin: its middle; in the outer ones, half the width of their neighbour beyond the cut.

    With a single cut the distance is half the size of the cut, at least a half; without a cut the one number is 0.

    >>> bin_middles(np.array([10.0]))
    array([ 5., 15.])
    """
    if not cuts.size:
        return np.zeros(1)
    lower, upper = cuts[:-1], cuts[1:]
    middle = np.maximum(lower / 2 + upper / 2, lower)
    # Between neighbouring numbers there is no third; a number on a cut belongs to the bin above.
    middle = np.where(middle < upper, middle, lower)
    half = (upper / 2 - lower / 2) if lower.size else np.maximum(np.abs(cuts), 1.0) / 2
    limit = np.finfo(np.float64).max
    # Python's numbers, unlike NumPy's, become infinite without a warning, and are then brought back.
    first = min(max(float(cuts[0]) - float(half[0]), -limit), float(np.nextafter(cuts[0], -np.inf)))
    last = min(float(cuts[-1]) + float(half[-1]), limit)
    return np.concatenate([[first], middle, [last]])
