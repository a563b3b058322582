"""Columns of values put back into the form that the training frame had: its names, and the types of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.coders import CategoryColumn
from tanager.data.columns import Frame
from tanager.data.encoding import FrameEncoder
from tanager.data.frames import has_pandas


def restore_frame(columns: Sequence[NDArray[Any]], encoder: FrameEncoder) -> Any:
    """A pandas frame where the training frame had names and pandas is installed, else an array.

    Columns get the types that they had in training as far as their cells allow it: whole numbers with gaps become
    floats.

    Examples
    --------
    >>> from tanager.data import QuantileBinning, as_frame
    >>> frame = as_frame(np.array([[1], [2], [3]], np.int16))
    >>> encoder = FrameEncoder.fit(frame, frame.is_categorical, None, QuantileBinning(2))
    >>> restore_frame([np.array([1.0, 3.0])], encoder)
    array([[1],
           [3]], dtype=int16)
    """
    dtypes = encoder.dtypes or tuple(str(column.dtype) for column in columns)
    if encoder.names is not None and has_pandas():
        pandas = import_module("pandas")
        series = {
            name: _as_series(pandas, cells, dtype, column)
            for name, cells, dtype, column in zip(encoder.names, columns, dtypes, encoder.columns, strict=True)
        }
        return pandas.DataFrame(series)
    return _as_array(columns, dtypes)


def fill_gaps(
    X: Any, frame: Frame, values: Sequence[NDArray[Any]], is_gap: NDArray[np.bool_], encoder: FrameEncoder
) -> Any:
    """A copy of X with the given values in its gaps, bool[N, D]; a pandas frame or an array, as `restore_frame`."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        filled = X.copy()
        for i in np.flatnonzero(is_gap.any(axis=0)).tolist():
            filled.isetitem(i, _filled_series(X.iloc[:, i], values[i], is_gap[:, i]))
        return filled
    columns = [np.where(is_gap[:, i], values[i], frame.cells(i)) for i in range(frame.n_columns)]
    if encoder.names is not None and has_pandas():
        return restore_frame(columns, encoder)
    return _as_array(columns, frame.dtypes or ("object",) * len(columns))


def _filled_series(series: Any, values: NDArray[Any], is_gap: NDArray[np.bool_]) -> Any:
    """A pandas column with values in its gaps, and of the type it had unless that cannot hold them."""
    cells = series.astype(object).to_numpy(copy=True)
    cells[is_gap] = values[is_gap]
    made = import_module("pandas").Series(cells, index=series.index, name=series.name)
    try:
        return made.astype(series.dtype)
    except (TypeError, ValueError):
        return made.infer_objects()


def _as_series(pandas: Any, cells: NDArray[Any], dtype: str, column: Any) -> Any:
    """A pandas column of a type, or of the nearest one that can hold its cells."""
    kind: Any = dtype
    if dtype == "category":
        known = [*column.categories.tolist(), *column.pooled.tolist()] if isinstance(column, CategoryColumn) else None
        kind = pandas.CategoricalDtype(known)
    try:
        return pandas.Series(cells).astype(kind)
    except (TypeError, ValueError):
        return pandas.Series(cells)


def _as_array(columns: Sequence[NDArray[Any]], dtypes: Sequence[str]) -> NDArray[Any]:
    """An array of the one type of all columns, or of objects."""
    cells = np.empty((len(columns[0]), len(columns)), dtype=object)
    for index, column in enumerate(columns):
        cells[:, index] = column
    if len(set(dtypes)) > 1 or np.dtype(dtypes[0]).kind not in "biuf":
        return cells
    has_gaps = any(column.dtype.kind == "f" and np.isnan(column).any() for column in columns)
    try:
        return cells.astype(np.float64 if has_gaps and np.dtype(dtypes[0]).kind != "f" else dtypes[0])
    except OverflowError:  # a value of the training rows that this type cannot hold
        return cells
