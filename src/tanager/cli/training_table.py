"""The table that ``tanager fit`` learns from: features, classes, and what each column was understood to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute, types

from tanager.cli.cells import class_labels, typed, words_among_numbers
from tanager.cli.errors import InputError, check_names
from tanager.cli.tables import Reading, open_table

# Words that often stand for a missing cell, in lower case.
_LIKELY_MISSING = ("?", "-", "na", "n/a", "nan", "null", "none", "missing")
# More values than this in a numeric target are taken for a quantity, not for classes.
_MAX_NUMERIC_CLASSES = 100


@dataclass(frozen=True)
class ColumnSummary:
    """What a column holds.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "target"}
    n_values : int
        Distinct values, missing not among them.
    n_missing : int
    values : str
        A range, or the most frequent values.
    """

    name: str
    kind: str
    n_values: int
    n_missing: int
    values: str

    def to_dict(self) -> dict[str, Any]:
        """For the metadata of a model file."""
        return asdict(self)


@dataclass(frozen=True)
class TrainingTable:
    """Features, classes, and what was found while reading.

    Attributes
    ----------
    X : pyarrow.Table of shape (N, D)
    y : ndarray of shape (N,)
    target : str
    categorical : list of str
        Columns that are categories.
    summaries : list of ColumnSummary
        The features in their order, then the target.
    notes : list of str
    """

    X: Any
    y: NDArray[Any]
    target: str
    categorical: list[str]
    summaries: list[ColumnSummary]
    notes: list[str] = field(default_factory=list)


def read_training_table(
    path: Path, reading: Reading, target: str, categorical: Sequence[str] = (), drop: Sequence[str] = ()
) -> TrainingTable:
    """Read a whole table, give its columns types, and set the target apart.

    Rows without a class are left out, and a note says how many.

    Raises
    ------
    InputError
        If the file is no table, a column does not exist, there are no rows, or the target is no class.
    """
    file = open_table(path, reading)
    if target not in file.names and len(file.notes) and not reading.missing and "--no-header" in file.notes[-1]:
        raise InputError(f"{path} has no column {target!r}; {file.notes[-1]}, and the columns are x0, x1, ...")
    check_names([target, *categorical, *drop], file.names, path)
    if target in drop:
        raise InputError(f"{target!r} is the target and cannot be dropped")
    features = [name for name in file.names if name != target and name not in drop]
    if not features:
        raise InputError(f"{path} has no column besides the target {target!r}: there is nothing to learn from")
    pieces = list(file.pieces([*features, target]))
    if not sum(piece.num_rows for piece in pieces):
        raise InputError(f"{path} has a header but no rows")
    table, notes = pyarrow.Table.from_batches(pieces), list(file.notes)
    del pieces
    has_class = compute.invert(compute.is_null(typed(table.column(target)), nan_is_null=True))
    n_without = table.num_rows - compute.sum(has_class).as_py()
    if n_without:
        table = table.filter(has_class)
        notes.append(f"{n_without} rows without a value in {target!r} are left out")
    y = _read_target(path, target, table.column(target), n_rows=table.num_rows)
    columns, summaries = {}, []
    for name in features:
        raw = table.column(name)
        cells = typed(raw, is_category=name in categorical)
        columns[name] = cells
        is_category = name in categorical or not _is_numeric(cells.type)
        summaries.append(_summarise(name, cells, "category" if is_category else "number"))
        notes += _column_notes(summaries[-1], raw, len(y), is_asked=name in categorical)
        table = table.drop_columns([name])
    notes += _marker_notes(columns)
    summaries.append(_summarise(target, pyarrow.chunked_array([pyarrow.array(y)]), "target"))
    chosen = [summary.name for summary in summaries if summary.kind == "category"]
    return TrainingTable(pyarrow.table(columns), y, target, chosen, summaries, notes)


def _read_target(path: Path, target: str, cells: Any, n_rows: int) -> NDArray[Any]:
    """Classes of the rows; refuses what is none."""
    if not n_rows:
        raise InputError(f"{path} has no row with a value in the target {target!r}")
    cells = typed(cells)
    if types.is_temporal(cells.type) or types.is_nested(cells.type):
        raise InputError(f"the target {target!r} holds values of type {cells.type}, which are no classes")
    n_values = len(cells.unique())
    if n_values == 1:
        raise InputError(
            f"the target {target!r} has one value, {cells[0].as_py()!r}, in all {n_rows} rows; "
            "a classifier needs at least two"
        )
    if _is_numeric(cells.type) and n_values > _MAX_NUMERIC_CLASSES:
        raise InputError(
            f"the target {target!r} is a number with {n_values} different values; a classifier needs classes: "
            "cut it into ranges first, or name another target"
        )
    if n_values * 2 > n_rows > 20:
        raise InputError(
            f"the target {target!r} has {n_values} different values in {n_rows} rows; a classifier needs classes with "
            "several rows each: is it another column?"
        )
    return class_labels(cells)


def _summarise(name: str, cells: Any, kind: str) -> ColumnSummary:
    n_missing = compute.sum(compute.is_null(cells, nan_is_null=True)).as_py() or 0
    present = cells.filter(compute.is_valid(cells))
    if kind == "number" and len(cells) > n_missing:
        n_values = compute.count_distinct(present).as_py()
        extremes = compute.min_max(present).as_py()
        values = f"{_short(extremes['min'])} to {_short(extremes['max'])}"
    else:
        if types.is_dictionary(present.type):
            present = present.cast(pyarrow.string())
        counted = sorted(compute.value_counts(present).to_pylist(), key=lambda entry: -entry["counts"])
        n_values = len(counted)
        values = ", ".join(str(entry["values"]) for entry in counted[:4]) + (", ..." if n_values > 4 else "")
    return ColumnSummary(name, kind, n_values, n_missing, values)


def _column_notes(summary: ColumnSummary, raw: Any, n_rows: int, is_asked: bool) -> list[str]:
    """Hints for columns that are likely not what they were meant to be."""
    name = summary.name
    if summary.n_missing == n_rows:
        return [f"column {name!r} has no values; it tells nothing"]
    if summary.kind != "category" or is_asked or not types.is_string(raw.type):
        return []
    found = words_among_numbers(raw)
    if found is not None:
        words, n_cells = found
        shown = " ".join(f"--missing {word!r}" for word in words)
        return [
            f"column {name!r} is text because {n_cells} of {n_rows} cells are no numbers; if they are missing: {shown}"
        ]
    if summary.n_values * 2 > n_rows > 20:
        return [
            f"column {name!r} has {summary.n_values} different values in {n_rows} rows and tells little; "
            f"--drop {name!r} leaves it out"
        ]
    return []


def _marker_notes(columns: dict[str, Any]) -> list[str]:
    """Hints that words like ? may stand for missing cells."""
    holders: dict[str, list[str]] = {}
    for name, cells in columns.items():
        if types.is_dictionary(cells.type):
            for word in cells.unique().dictionary.to_pylist():
                if word.lower() in _LIKELY_MISSING:
                    holders.setdefault(word, []).append(name)
    return [
        f"{word!r} is a value of {', '.join(map(repr, names))}; if it means missing: --missing {word!r}"
        for word, names in holders.items()
    ]


def _short(number: Any) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


def _is_numeric(kind: Any) -> bool:
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def rows_of(table: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of an Arrow table."""
    return table.take(pyarrow.array(rows))
