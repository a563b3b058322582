"""From codes back to cells: a value that each code of a column stands for, or one drawn from those it stands for."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import object_array
from tanager.data.coders import CategoryColumn, NumericColumn
from tanager.data.labels import value_labels

Bins = Literal["label", "median"]


def decode_column(column: NumericColumn | CategoryColumn, codes: NDArray[Any], bins: Bins = "label") -> NDArray[Any]:
    """Turn the codes of one column into cells.

    Parameters
    ----------
    column : NumericColumn or CategoryColumn
    codes : int array of shape (N,)
    bins : {"label", "median"}
        What stands for a bin of numbers: its label, or the median of the numbers that training showed in it.

    Returns
    -------
    ndarray of shape (N,)
        A code of missing cells and the code "unknown" become NaN among numbers and None among other values. The code
        that rare values share becomes the first of them.

    Examples
    --------
    >>> decode_column(CategoryColumn(np.array(["blue", "red"], dtype=object)), np.array([1, 0, 2]))
    array(['red', 'blue', None], dtype=object)
    >>> decode_column(NumericColumn(np.array([2.0, 4.0])), np.array([0, 1, 2, 3]), bins="median")
    array([ 1.,  3.,  5., nan])
    """
    if bins not in ("label", "median"):
        raise ValueError(f"bins must be 'label' or 'median', got {bins!r}")
    if isinstance(column, CategoryColumn):
        values = column.categories.tolist() + column.pooled.tolist()[:1]
        kind = column.categories.dtype
    elif bins == "median":
        values, kind = column.contents.medians().tolist(), np.dtype(np.float64)
    else:
        values, kind = value_labels(column)[: column.cuts.size + 1], np.dtype(object)
    return _take(values, codes, kind)


def draw_column(
    column: NumericColumn | CategoryColumn, codes: NDArray[Any], uniform: NDArray[np.float64]
) -> NDArray[Any]:
    """Cells that are drawn from what the codes of one column stand for.

    Numbers have the distribution that training showed inside their bin, and of rare values that share a code each is
    equally probable.

    Parameters
    ----------
    column : NumericColumn or CategoryColumn
    codes : int array of shape (N,)
    uniform : float array of shape (N,)
        Numbers in [0, 1) that decide.

    Examples
    --------
    >>> column = CategoryColumn(np.array(["red"], dtype=object), np.array(["blue", "green"], dtype=object))
    >>> draw_column(column, np.array([0, 1, 1]), np.array([0.1, 0.2, 0.7])).tolist()
    ['red', 'blue', 'green']
    """
    if isinstance(column, NumericColumn):
        n_bins = column.cuts.size + 1
        drawn = column.contents.draw(np.minimum(codes, n_bins - 1), uniform)
        return np.where(codes < n_bins, drawn, np.nan)
    n_kept, n_pooled = column.categories.size, column.pooled.size
    is_pooled = (codes == n_kept) & (n_pooled > 0)
    behind = np.where(codes > n_kept, codes - (n_pooled > 0) + n_pooled, codes)
    places = np.where(is_pooled, n_kept + (uniform * n_pooled).astype(np.int64), behind)
    return _take(column.categories.tolist() + column.pooled.tolist(), places, column.categories.dtype)


def _take(values: list[Any], places: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Values by their places; places behind the last are missing."""
    is_missing = places >= len(values)
    if is_missing.any() and kind.kind in "iuf":
        kind = np.dtype(np.float64)
    elif is_missing.any():
        kind = np.dtype(object)
    missing = np.nan if kind.kind == "f" else None
    cells: NDArray[Any] = object_array([*values, missing])[np.minimum(places, len(values))]
    return cells.astype(kind)
