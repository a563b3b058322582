"""The data that ``tanager fit`` learns from: features, classes, and how each column was interpreted."""

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
from tanager.cli.data_files import Reading, check_columns, open_data
from tanager.cli.errors import InputError

# Words that often mark a missing cell, in lower case.
_LIKELY_MISSING = ("?", "-", "na", "n/a", "nan", "null", "none", "missing")
# A numeric target with more distinct values than this is a quantity, not a class.
_MAX_NUMERIC_CLASSES = 100


@dataclass(frozen=True)
class ColumnSummary:
    """What a column contains.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "target"}
    n_values : int
        Number of distinct values; missing is not one of them.
    n_missing : int
    values : str
        Their range, or the most frequent ones.
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
class TrainingData:
    """Features, classes, and notes from reading them.

    Attributes
    ----------
    X : pyarrow.Table of shape (N, D)
    y : ndarray of shape (N,)
    target : str
    categorical : list of str
        Names of the categorical columns.
    summaries : list of ColumnSummary
        The features in order, then the target.
    notes : list of str
    """

    X: Any
    y: NDArray[Any]
    target: str
    categorical: list[str]
    summaries: list[ColumnSummary]
    notes: list[str] = field(default_factory=list)


def read_training_data(
    path: Path, reading: Reading, target: str, categorical: Sequence[str] = (), drop: Sequence[str] = ()
) -> TrainingData:
    """Read a whole data file, give its columns types, and split off the target.

    Rows without a class are dropped, and a note says how many.

    Raises
    ------
    InputError
        If the file cannot be read, a column does not exist, there are no rows, or the target does not hold classes.
    """
    file = open_data(path, reading)
    if target not in file.names and len(file.notes) and not reading.missing and "--no-header" in file.notes[-1]:
        raise InputError(f"{path} has no column {target!r}; {file.notes[-1]}, and use the names x0, x1, ...")
    check_columns([target, *categorical, *drop], file)
    if target in drop:
        raise InputError(f"cannot drop {target!r}: it is the target")
    features = [name for name in file.names if name != target and name not in drop]
    if not features:
        raise InputError(f"{path} has no column besides the target {target!r}, so there is nothing to learn from")
    pieces = list(file.pieces([*features, target]))
    if not sum(piece.num_rows for piece in pieces):
        raise InputError(f"{path} has a header but no rows")
    frame, notes = pyarrow.Table.from_batches(pieces), list(file.notes)
    del pieces
    has_class = compute.invert(compute.is_null(typed(frame.column(target)), nan_is_null=True))
    n_without = frame.num_rows - compute.sum(has_class).as_py()
    if n_without:
        frame = frame.filter(has_class)
        notes.append(f"dropped rows without a value in {target!r}: {n_without}")
    y = _read_target(path, target, frame.column(target), n_rows=frame.num_rows)
    columns, summaries = {}, []
    for name in features:
        raw = frame.column(name)
        cells = typed(raw, is_category=name in categorical)
        columns[name] = cells
        is_category = name in categorical or not _is_numeric(cells.type)
        summaries.append(_summarise(name, cells, "category" if is_category else "number"))
        notes += _column_notes(summaries[-1], raw, len(y), is_given=name in categorical)
        frame = frame.drop_columns([name])
    notes += _marker_notes(columns)
    summaries.append(_summarise(target, pyarrow.chunked_array([pyarrow.array(y)]), "target"))
    chosen = [summary.name for summary in summaries if summary.kind == "category"]
    return TrainingData(pyarrow.table(columns), y, target, chosen, summaries, notes)


def _read_target(path: Path, target: str, cells: Any, n_rows: int) -> NDArray[Any]:
    """The class of each row; a column that does not hold classes is refused."""
    if not n_rows:
        raise InputError(f"{path} has no row with a value in the target {target!r}")
    cells = typed(cells)
    if types.is_temporal(cells.type) or types.is_nested(cells.type):
        raise InputError(f"the target {target!r} has values of type {cells.type}, which cannot be classes")
    n_values = len(cells.unique())
    if n_values == 1:
        raise InputError(
            f"the target {target!r} has one value, {cells[0].as_py()!r}, in all {n_rows} rows; "
            "a classifier requires at least two classes"
        )
    if _is_numeric(cells.type) and n_values > _MAX_NUMERIC_CLASSES:
        raise InputError(
            f"the target {target!r} is a number with {n_values} distinct values; a classifier requires classes: "
            "bin the numbers first, or choose another target"
        )
    if n_values * 2 > n_rows > 20:
        raise InputError(
            f"the target {target!r} has {n_values} distinct values in {n_rows} rows; a classifier requires several "
            "rows of each class: did you mean another column?"
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


def _column_notes(summary: ColumnSummary, raw: Any, n_rows: int, is_given: bool) -> list[str]:
    """Hints about columns that may not be what the user thinks."""
    name = summary.name
    if summary.n_missing == n_rows:
        return [f"column {name!r} is empty"]
    if summary.kind != "category" or is_given or not types.is_string(raw.type):
        return []
    found = words_among_numbers(raw)
    if found is not None:
        words, n_cells = found
        shown = " ".join(f"--missing {word!r}" for word in words)
        return [
            f"column {name!r} is text because {n_cells} of {n_rows} cells are not numbers; "
            f"if they mean missing, add {shown}"
        ]
    if summary.n_values * 2 > n_rows > 20:
        return [
            f"column {name!r} has {summary.n_values} distinct values in {n_rows} rows, which says little about the "
            f"class; --drop {name!r} removes it"
        ]
    return []


def _marker_notes(columns: dict[str, Any]) -> list[str]:
    """Hints that words like ? may mark missing cells."""
    holders: dict[str, list[str]] = {}
    for name, cells in columns.items():
        if types.is_dictionary(cells.type):
            for word in cells.unique().dictionary.to_pylist():
                if word.lower() in _LIKELY_MISSING:
                    holders.setdefault(word, []).append(name)
    return [
        f"{word!r} is a value of {', '.join(map(repr, names))}; if it means missing, add --missing {word!r}"
        for word, names in holders.items()
    ]


def _short(number: Any) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


def _is_numeric(kind: Any) -> bool:
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def take_rows(frame: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of an Arrow frame."""
    return frame.take(pyarrow.array(rows))
