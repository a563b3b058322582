"""Plans for all columns of a pandas, polars or Arrow frame (see `tanager.data.cleaning`), and the frame they make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import MISSING
from tanager.data.cleaning import AS_IS, NUMBER, ColumnPlan, leak_note, plan_numbers, plan_text, spelling_note
from tanager.data.columns import as_frame

_MOST_VALUES_OF_A_LEAK = 200


class _Library(NamedTuple):
    """How to take columns out of a frame, show times as text, and make a frame of columns."""

    column: Callable[[Any, str], Any]
    is_time: Callable[[Any], bool]
    as_text: Callable[[Any], Any]
    make: Callable[[dict[str, Any], Any], Any]


def plan_frame(
    X: Any,
    y: Any = None,
    *,
    decimal: str | None = None,
    day_first: bool | None = None,
    as_is: Collection[str] = (),
) -> tuple[list[ColumnPlan], list[str]]:
    """Find a plan for each column of a frame, and what is worth saying about the columns and the classes.

    Parameters
    ----------
    X : pandas, polars or Arrow frame
        With names of columns.
    y : array-like of shape (N,), optional
        Classes; with them, columns that give the class away are found.
    decimal : {".", ","}, optional
        Sign before the decimals of numbers in text; found for each column if it is not given.
    day_first : bool, optional
        Whether the day comes before the month where the year comes last; found for each column if it is not given.
    as_is : collection of str
        Columns to leave alone.

    Returns
    -------
    plans : list of ColumnPlan
    notes : list of str
        One sentence for each column that is not taken as it is, then those about classes.
    """
    frame = as_frame(_as_texts(X))
    if frame.names is None:
        raise TypeError("the columns must have names: pass a frame whose column names are text")
    unknown = [name for name in as_is if name not in frame.names]
    if unknown:
        raise ValueError(f"as_is names the column {unknown[0]!r}, which X does not have; its columns are {frame.names}")
    plans = []
    for name, values, levels in zip(frame.names, frame.columns, frame.levels, strict=True):
        if name in as_is or values.dtype.kind == "b":
            plans.append(ColumnPlan(name))
        elif levels is None:
            plans.append(plan_numbers(name, values))
        elif all(isinstance(level, str) for level in levels.tolist()):
            plans.append(plan_text(name, values, levels.tolist(), decimal=decimal, day_first=day_first))
        else:
            plans.append(ColumnPlan(name))
    notes = [f"column {plan.name!r} {plan.note}" for plan in plans if plan.note]
    if y is not None:
        notes += _class_notes(plans, frame.columns, np.asarray(y))
    return plans, notes


def tidy_frame(X: Any, plans: Sequence[ColumnPlan]) -> Any:
    """The frame that plans make of a frame with these columns, of the same library."""
    library, texts = _library(X), _as_texts(X)
    made: dict[str, Any] = {}
    changed = [plan for plan in plans if plan.kind != AS_IS and plan.made]
    read = as_frame(_chosen(library, texts, [plan.name for plan in changed])) if changed else None
    by_name = {plan.name: k for k, plan in enumerate(changed)}
    for plan in plans:
        if plan.kind == AS_IS:
            made[plan.name] = library.column(X, plan.name)
        elif plan.name in by_name and read is not None:
            values, levels = read.columns[by_name[plan.name]], read.levels[by_name[plan.name]]
            if levels is None and plan.kind == NUMBER:
                made[plan.name] = library.column(X, plan.name)  # already numbers in this frame
            else:
                made |= plan.apply(*_coded(values, levels))
    return library.make({name: _whole(column) for name, column in made.items()}, X)


def _class_notes(plans: Sequence[ColumnPlan], columns: Sequence[NDArray[Any]], y: NDArray[Any]) -> list[str]:
    labels, numbers = np.unique(y.astype(str), return_inverse=True)
    found = [spelling_note(labels.tolist())]
    for plan, values in zip(plans, columns, strict=True):
        distinct, codes = np.unique(values, return_inverse=True)
        if plan.made and len(distinct) <= min(_MOST_VALUES_OF_A_LEAK, len(y) // 2):
            found.append(leak_note(plan.name, codes, numbers))
    return [note for note in found if note is not None]


def _coded(values: NDArray[Any], levels: NDArray[Any] | None) -> tuple[NDArray[Any], list[str]]:
    """Cells as codes into text."""
    if levels is not None:
        return values, [str(level) for level in levels.tolist()]
    distinct, codes = np.unique(values, return_inverse=True)
    return np.where(values != values, MISSING, codes), [f"{value:.15g}" for value in distinct.tolist()]


def _whole(column: Any) -> Any:
    """Floats that are all whole numbers as such."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and bool(np.isfinite(column).all()):
        is_whole = (column == np.floor(column)).all() and (np.abs(column) < 2**53).all()
        return column.astype(np.int64) if is_whole else column
    return column


def _as_texts(X: Any) -> Any:
    """The frame with dates and times as text."""
    library = _library(X)
    columns = {name: library.column(X, name) for name in _names(X)}
    if not any(map(library.is_time, columns.values())):
        return X
    return library.make(
        {name: library.as_text(column) if library.is_time(column) else column for name, column in columns.items()}, X
    )


def _chosen(library: _Library, X: Any, names: list[str]) -> Any:
    return library.make({name: library.column(X, name) for name in names}, X)


def _names(X: Any) -> list[Any]:
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _library(X: Any) -> _Library:
    if hasattr(X, "iloc"):
        return _Library(
            lambda frame, name: frame[name],
            lambda series: getattr(series.dtype, "kind", "") == "M",
            lambda series: series.dt.strftime("%Y-%m-%d %H:%M:%S").astype(object),
            lambda columns, like: type(like)(columns, index=like.index),
        )
    if hasattr(X, "get_columns"):
        import polars

        return _Library(
            lambda frame, name: frame[name],
            lambda series: series.dtype in (polars.Date, polars.Datetime),
            lambda series: series.cast(polars.Datetime).dt.strftime("%Y-%m-%d %H:%M:%S"),
            lambda columns, like: polars.DataFrame(
                {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in columns.items()}
            ).fill_nan(None),
        )
    if hasattr(X, "column_names"):
        import pyarrow
        from pyarrow import compute, types

        return _Library(
            lambda frame, name: frame.column(name),
            lambda cells: types.is_date(cells.type) or types.is_timestamp(cells.type),
            lambda cells: compute.strftime(cells.cast(pyarrow.timestamp("s")), "%Y-%m-%d %H:%M:%S"),
            lambda columns, like: pyarrow.table(
                {
                    name: pyarrow.array(each, from_pandas=True) if isinstance(each, np.ndarray) else each
                    for name, each in columns.items()
                }
            ),
        )
    raise TypeError(f"a pandas, polars or Arrow frame is required, not a {type(X).__name__}; put it into one first")
