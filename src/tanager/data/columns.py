"""From what a user passes (NumPy, pandas, polars, Arrow) to a `Frame` of columns, and which of them are categories.

The rule by dtype: category, text, boolean, and object columns that are not all numbers are categories; numbers are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import (
    Column,
    column_label,
    exact_array,
    is_missing,
    object_array,
    read_array_column,
    read_masked_column,
)
from tanager.data.coders import is_number
from tanager.data.frames import read_frame


class Frame(NamedTuple):
    """Columns of equal length, none of them copied where that can be helped.

    Attributes
    ----------
    names : list of str or None
        Column names of a frame whose names are text, None for an array.
    columns : list of ndarray, each of shape (N,)
        Numbers or booleans, or, where `levels` has an entry, integer codes into it with -1 for a missing cell.
    levels : list of (ndarray or None)
        Distinct values of a coded column, in no particular order and perhaps with some that no row has.
    is_categorical : ndarray of bool, shape (D,)
        Which columns are categories judging by their dtype.
    array : ndarray of shape (N, D) or None
        The one array that the columns are views of, if there is one.
    ordered : frozenset of int
        Columns whose levels are in an order that means something, judging by their dtype.
    dtypes : tuple of str or None
        Names of the types of the columns, as NumPy or pandas call them.
    """

    names: list[str] | None
    columns: list[NDArray[Any]]
    levels: list[NDArray[Any] | None]
    is_categorical: NDArray[np.bool_]
    array: NDArray[Any] | None = None
    ordered: frozenset[int] = frozenset()
    dtypes: tuple[str, ...] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.columns[0].shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def label(self, index: int) -> str:
        """Name of a column for an error message."""
        return f"column {index}" if self.names is None else f"column {self.names[index]!r}"

    def cells(self, index: int) -> NDArray[Any]:
        """The cells of a column as values, None where a coded one has none."""
        levels, column = self.levels[index], self.columns[index]
        return column if levels is None else object_array([*levels.tolist(), None])[column]

    def is_missing(self, index: int) -> NDArray[np.bool_]:
        """Which cells of a column are missing, bool[N]."""
        return is_missing(self.columns[index], self.levels[index])

    def is_text(self, index: int) -> bool:
        """Whether a column has values that cannot be read as numbers."""
        levels = self.levels[index]
        if levels is None or levels.dtype.kind in "biuf":
            return False
        return not all(is_number(level) for level in levels.tolist())


def as_frame(X: Any) -> Frame:
    """Read a frame column by column.

    Parameters
    ----------
    X : array-like of shape (N, D), or a pandas, polars or Arrow frame

    Returns
    -------
    Frame

    Raises
    ------
    ValueError, TypeError
        For anything but a frame of numbers, text and booleans: dates, nested objects, complex numbers, sparse matrices,
        duplicate column names. The message names the column.

    Examples
    --------
    >>> import numpy as np
    >>> frame = as_frame(np.array([["red", 1.5], ["blue", 2], ["red", None]], dtype=object))
    >>> frame.is_categorical
    array([ True, False])
    >>> frame.levels[0][frame.columns[0]], frame.columns[1]
    (array(['red', 'blue', 'red'], dtype=object), array([1.5, 2. , nan]))
    """
    if hasattr(X, "tocsr") or hasattr(X, "todense"):
        raise TypeError("sparse input is not supported; pass a dense array, for instance X.toarray()")
    frame = None if isinstance(X, np.ndarray) else read_frame(X)
    names: list[str] | None
    array: NDArray[Any] | None
    if frame is not None:
        (names, columns), array = frame, None
    else:
        names, array = None, _as_array(X)
        if np.ma.is_masked(X):
            return _read_masked(array, np.ma.getmaskarray(X))
        if array.dtype.kind in "iuf" and array.shape[1]:
            # Nothing to find out column by column, which would take most of the time of a single row.
            n_columns = array.shape[1]
            dtypes = (str(array.dtype),) * n_columns
            return Frame(None, list(array.T), [None] * n_columns, np.zeros(n_columns, np.bool_), array, dtypes=dtypes)
        columns = [read_array_column(array[:, index], column_label(None, index)) for index in range(array.shape[1])]
    if not columns:
        shape = getattr(X, "shape", (0, 0))
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    return Frame(
        names=names,
        columns=[column.values for column in columns],
        levels=[column.levels for column in columns],
        is_categorical=np.array([column.is_categorical for column in columns]),
        array=array,
        ordered=frozenset(index for index, column in enumerate(columns) if column.is_ordered),
        dtypes=_dtypes(X, array, columns),
    )


def _read_masked(array: NDArray[Any], mask: NDArray[np.bool_]) -> Frame:
    """A frame whose masked cells are missing."""
    positions = range(array.shape[1])
    columns = [read_masked_column(array[:, each], mask[:, each], column_label(None, each)) for each in positions]
    is_categorical = np.array([column.is_categorical for column in columns])
    return Frame(
        None,
        [column.values for column in columns],
        [column.levels for column in columns],
        is_categorical,
        dtypes=(str(array.dtype),) * len(columns),
    )


def _dtypes(X: Any, array: NDArray[Any] | None, columns: Sequence[Column]) -> tuple[str, ...]:
    """Names of the types of the columns: those of an array or of a pandas frame; else those that were read."""
    if array is not None:
        return (str(array.dtype),) * len(columns)
    if hasattr(X, "dtypes") and hasattr(X, "iloc"):
        return tuple(str(each) for each in X.dtypes)
    return tuple("object" if column.levels is not None else str(column.values.dtype) for column in columns)


def check_categorical(categorical_features: Any) -> None:
    """Refuse what is wrong whatever the columns are."""
    if isinstance(categorical_features, str) and categorical_features != "from_dtype":
        raise ValueError(
            f"categorical_features={categorical_features!r} is not understood; use None, 'from_dtype', a boolean mask, "
            f"positions or a list of column names such as [{categorical_features!r}]"
        )
    shape = np.shape(categorical_features)
    if categorical_features is not None and not isinstance(categorical_features, str) and len(shape) != 1:
        raise ValueError(f"categorical_features must have one dimension, but its shape is {shape}")


def resolve_categorical(
    frame: Frame, categorical_features: str | Sequence[Any] | NDArray[Any] | None
) -> NDArray[np.bool_]:
    """Which columns to treat as categories, by the convention of scikit-learn's histogram gradient boosting.

    A column with text in it is a category whatever the option says, since it cannot be read as numbers.

    Parameters
    ----------
    frame : Frame
    categorical_features : None, "from_dtype", or array-like of bool, int or str
        None makes every other column numeric; "from_dtype" follows the dtypes; otherwise a mask of length D, positions,
        or column names.

    Returns
    -------
    ndarray of bool, shape (D,)

    Examples
    --------
    >>> import numpy as np
    >>> resolve_categorical(as_frame(np.zeros((2, 3))), [0, 2])
    array([ True, False,  True])
    """
    n_columns = frame.n_columns
    is_text: NDArray[np.bool_] = np.array([frame.is_text(index) for index in range(n_columns)])
    if categorical_features is None:
        return is_text
    check_categorical(categorical_features)
    if isinstance(categorical_features, str):
        return np.logical_or(frame.is_categorical, is_text)
    chosen = np.asarray(categorical_features)
    if chosen.size == 0:
        return is_text
    if chosen.dtype.kind == "b":
        if chosen.size != n_columns:
            raise ValueError(
                f"categorical_features as a boolean mask must have one entry for each of the {n_columns} columns, "
                f"but it has {chosen.size}"
            )
        return np.logical_or(is_text, chosen)
    mask = is_text.copy()
    mask[_positions(frame, chosen)] = True
    return mask


def _positions(frame: Frame, chosen: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of the columns that `categorical_features` lists by number or by name."""
    if chosen.dtype.kind in "iu":
        outside = chosen[(chosen < 0) | (chosen >= frame.n_columns)]
        if outside.size:
            raise ValueError(
                f"categorical_features lists column {outside[0]}, but X has {frame.n_columns} columns; "
                f"positions go from 0 to {frame.n_columns - 1}"
            )
        return chosen.astype(np.intp)
    wanted = chosen.tolist()
    if not all(isinstance(name, str) for name in wanted):
        raise TypeError(
            f"categorical_features must hold booleans, integers or column names, but it holds {chosen.dtype} values"
        )
    if frame.names is None:
        raise ValueError(
            f"categorical_features lists the column name {wanted[0]!r}, but X has no column names; "
            "pass a frame, or give positions"
        )
    position = {name: index for index, name in enumerate(frame.names)}
    unknown = [name for name in wanted if name not in position]
    if unknown:
        raise ValueError(
            f"categorical_features lists {', '.join(map(repr, unknown))}, which X does not have; its columns are "
            f"{', '.join(map(repr, frame.names))}"
        )
    return np.array([position[name] for name in wanted], dtype=np.intp)


def _as_array(X: Any) -> NDArray[Any]:
    """A 2-d array; a list of rows that mix text and numbers keeps the type of every cell."""
    array = np.asarray(X) if isinstance(X, np.ndarray) else exact_array(X)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: array.reshape(-1, 1) if it has "
            "one feature, array.reshape(1, -1) if it is one row."
        )
    return array
