"""Columns of pandas, polars and Arrow frames, read one at a time.

The libraries are recognised by their attributes and are never imported unless a frame of theirs is at hand. Columns
that a library keeps as a dictionary (pandas category, polars Categorical and Enum, Arrow dictionary) keep their codes;
text columns are coded by the library that owns them, which is many times faster than a loop over cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import (
    MISSING,
    Column,
    coded_column,
    column_label,
    dates_error,
    nested_error,
    read_array_column,
    read_cells,
    read_integers,
)


def refuse_unread(data: Any, what: str) -> None:
    """Refuse data that are not in memory yet, or not in columns; say how they get there."""
    if hasattr(data, "npartitions") and hasattr(data, "to_dask_array"):
        raise TypeError(f"{what} is a Dask frame or series; use tanager.dask, or call {what}.compute() first")
    if hasattr(data, "read_all") and hasattr(data, "schema"):
        raise TypeError(f"{what} is a stream of Arrow record batches; call {what}.read_all() first")
    if str(getattr(data, "type", "")).startswith("struct<"):
        raise TypeError(f"{what} is an Arrow array of structs; use pyarrow.Table.from_struct_array({what})")


def read_frame(frame: Any) -> tuple[list[str] | None, list[Column]] | None:
    """Names and columns of a frame, or None when `frame` is not one."""
    refuse_unread(frame, "X")
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        return _read_columns(frame.columns, lambda index: frame.iloc[:, index], _read_pandas)
    if hasattr(frame, "get_columns") and hasattr(frame, "columns"):
        return _read_columns(frame.columns, frame.get_columns().__getitem__, _read_polars)
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        raise TypeError("X is a lazy frame; call X.collect() first")
    is_arrow = hasattr(frame, "__arrow_c_stream__") and len(getattr(frame, "shape", (0, 0))) == 2
    if is_arrow or hasattr(frame, "column_names"):
        frame = _as_arrow(frame)
        return _read_columns(frame.column_names, frame.column, _read_arrow)
    return None


def _as_arrow(frame: Any) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError("reading this frame needs pyarrow; pip install 'tanager[frames]'") from None
    return frame if isinstance(frame, pyarrow.Table) else pyarrow.table(frame)


def _read_columns(
    raw_names: Sequence[Any], column_at: Callable[[int], Any], read: Callable[[Any, str], Column]
) -> tuple[list[str] | None, list[Column]]:
    names = _check_names(raw_names)
    return names, [read(column_at(index), column_label(names, index)) for index in range(len(raw_names))]


def _check_names(raw_names: Sequence[Any]) -> list[str] | None:
    """Names as strings; None when no name is a string, as scikit-learn does."""
    repeated = [name for name, count in Counter(raw_names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"X has more than one column named {', '.join(map(repr, repeated))}; rename or drop the copies"
        )
    is_text = [isinstance(name, str) for name in raw_names]
    if all(is_text):
        return [str(name) for name in raw_names]
    if any(is_text):
        other = raw_names[is_text.index(False)]
        raise TypeError(
            f"X has column names of several types, for instance {other!r} ({type(other).__name__}) beside text; "
            "make them all text: X.columns = X.columns.astype(str)"
        )
    return None


def _read_pandas(series: Any, label: str) -> Column:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return read_array_column(series.to_numpy(), label)
    if dtype.name == "category":
        column = coded_column(series.cat.codes.to_numpy(), series.cat.categories.to_numpy(), label)
        return column._replace(is_ordered=bool(dtype.ordered))
    if dtype.name.startswith(("str", "large_string")):
        return _read_pandas(series.astype("category"), label)
    if dtype.kind in "mM" or dtype.name.startswith("period"):
        raise dates_error(label, dtype.name)
    has_missing = bool(series.isna().any())
    if dtype.kind in "iuf":
        own = getattr(dtype, "numpy_dtype", np.float64)
        if has_missing and dtype.kind in "iu":
            return read_integers(series.to_numpy(dtype=own, na_value=0), series.isna().to_numpy())
        return read_array_column(series.to_numpy(dtype=np.float64 if has_missing else own, na_value=np.nan), label)
    if dtype.kind == "b" and not has_missing:
        return read_array_column(series.to_numpy(dtype=np.bool_), label)
    return read_cells(series.to_numpy(dtype=object).tolist(), label)


def _read_polars(series: Any, label: str) -> Column:
    import polars

    dtype = series.dtype
    if dtype.is_temporal():
        raise dates_error(label, str(dtype))
    if dtype.is_nested():
        raise nested_error(label, str(dtype))
    if dtype == polars.String:
        levels = series.unique().drop_nulls()
        codes = series.cast(polars.Enum(levels)).to_physical().cast(polars.Int32).fill_null(MISSING)
        return coded_column(codes.to_numpy(), levels.to_numpy(), label)
    if dtype in (polars.Categorical, polars.Enum):
        levels = series.unique().drop_nulls()
        # Physical numbers may be shared between columns, so they are renumbered among the values of this one.
        physical = levels.to_physical().cast(polars.Int64).to_numpy()
        position = np.full(int(physical.max(initial=-1)) + 2, MISSING, dtype=np.int32)
        position[physical] = np.arange(physical.size, dtype=np.int32)
        codes = series.to_physical().cast(polars.Int64).fill_null(MISSING)
        return coded_column(position[codes.to_numpy()], levels.cast(polars.String).to_numpy(), label)
    if dtype == polars.Boolean and series.null_count():
        codes = series.cast(polars.Int8).fill_null(MISSING)
        return coded_column(codes.to_numpy(), np.array([False, True]), label)
    if dtype == polars.Decimal:
        series = series.cast(polars.Float64)
    if dtype.is_integer() and str(dtype).endswith("128"):
        return read_cells(series.to_list(), label)
    if dtype.is_integer() and series.null_count():
        return read_integers(series.fill_null(0).to_numpy(), series.is_null().to_numpy())
    if dtype.is_numeric() or dtype == polars.Boolean:
        return read_array_column(series.to_numpy(), label)
    return read_cells(series.to_list(), label)


def _read_arrow(chunks: Any, label: str) -> Column:
    import pyarrow
    from pyarrow import types

    kind = chunks.type
    if types.is_temporal(kind):
        raise dates_error(label, str(kind))
    if types.is_nested(kind):
        raise nested_error(label, str(kind))
    if types.is_string(kind) or types.is_large_string(kind):
        chunks = chunks.dictionary_encode()
    if types.is_dictionary(kind) and types.is_null(kind.value_type):
        return read_cells([None] * len(chunks), label)
    if types.is_dictionary(chunks.type):
        array = chunks.unify_dictionaries().combine_chunks()
        codes = array.indices.cast(pyarrow.int32()).fill_null(MISSING)
        return coded_column(codes.to_numpy(), array.dictionary.to_numpy(zero_copy_only=False), label)
    if types.is_boolean(kind) and chunks.null_count:
        codes = chunks.cast(pyarrow.int8()).fill_null(MISSING)
        return coded_column(codes.to_numpy(), np.array([False, True]), label)
    if types.is_decimal(kind):
        return read_array_column(chunks.cast(pyarrow.float64()).to_numpy(), label)
    if types.is_integer(kind) and chunks.null_count:
        return read_integers(chunks.fill_null(0).to_numpy(), chunks.is_null().to_numpy())
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return read_array_column(chunks.to_numpy(), label)
    return read_cells(chunks.to_pylist(), label)


def has_pandas() -> bool:
    """Whether pandas can be imported."""
    try:
        import_module("pandas")
    except ImportError:
        return False
    return True


def to_pandas(columns: dict[str, NDArray[Any]]) -> Any:
    """Columns as a pandas frame, or as they are without pandas."""
    return import_module("pandas").DataFrame(columns) if has_pandas() else columns


def to_series(values: dict[Any, float], names: list[str]) -> Any:
    """Numbers by key as a pandas series; keys that are tuples make an index of several levels, with these names."""
    pandas = import_module("pandas")
    if len(names) == 1:
        return pandas.Series(list(values.values()), index=pandas.Index(list(values), name=names[0]))
    return pandas.Series(list(values.values()), index=pandas.MultiIndex.from_tuples(list(values), names=names))
