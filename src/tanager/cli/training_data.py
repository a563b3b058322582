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
from tanager.data.cleaning import AS_IS, ColumnPlan
from tanager.data.tidying import plan_frame, tidy_frame
from tanager.data.written import MISSING_WORDS

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
    plans : list of ColumnPlan
        What was done with each column of the file.
    """

    X: Any
    y: NDArray[Any]
    target: str
    categorical: list[str]
    summaries: list[ColumnSummary]
    notes: list[str] = field(default_factory=list)
    plans: list[ColumnPlan] = field(default_factory=list)


@dataclass(frozen=True)
class Columns:
    """What the user says about the columns.

    Attributes
    ----------
    categorical, drop, as_is : tuple of str
        Columns to take as categories, to ignore, and to take as they are.
    decimal : str or None
    day_first : bool or None
        As in `tanager.data.tidying.plan_frame`.
    """

    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    as_is: tuple[str, ...] = ()
    decimal: str | None = None
    day_first: bool | None = None


def read_training_data(path: Path, reading: Reading, target: str, said: Columns | None = None) -> TrainingData:
    """Read a whole data file, give its columns types, and split off the target.

    Rows without a class are dropped, and a note says how many. Text is read as numbers, dates and answers where it is
    written so (see `tanager.data.cleaning`), and a note says what was done with each such column.

    Raises
    ------
    InputError
        If the file cannot be read, a column does not exist, there are no rows, or the target does not hold classes.
    """
    said = said or Columns()
    categorical, drop = said.categorical, said.drop
    file = open_data(path, reading)
    if target not in file.names and len(file.notes) and not reading.missing and "--no-header" in file.notes[-1]:
        raise InputError(f"{path} has no column {target!r}; {file.notes[-1]}, and use the names x0, x1, ...")
    check_columns([target, *categorical, *drop, *said.as_is], file)
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
    columns = {name: typed(frame.column(name), is_category=name in categorical) for name in features}
    X = pyarrow.table(columns)
    del frame
    as_is = [name for name in features if name in (*categorical, *said.as_is)]
    plans, found = plan_frame(X, y, decimal=said.decimal, day_first=said.day_first, as_is=as_is)
    notes += [*found, *_category_notes(plans, columns, len(y), categorical)]
    if not any(plan.made for plan in plans):
        raise InputError(f"{path} has no column to learn from: {'; '.join(found)}. --as-is NAME keeps a column")
    X = tidy_frame(X, plans)
    summaries = []
    for name in X.column_names:
        is_category = name in categorical or not _is_numeric(X.column(name).type)
        summaries.append(_summarise(name, X.column(name), "category" if is_category else "number"))
    notes += _marker_notes(X)
    summaries.append(_summarise(target, pyarrow.chunked_array([pyarrow.array(y)]), "target"))
    chosen = [summary.name for summary in summaries if summary.kind == "category"]
    return TrainingData(X, y, target, chosen, summaries, notes, plans)


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


def _category_notes(
    plans: Sequence[ColumnPlan], columns: dict[str, Any], n_rows: int, given: Sequence[str]
) -> list[str]:
    """Hints about columns of words that may not be what the user thinks."""
    notes = []
    for plan in plans:
        cells = columns[plan.name]
        if plan.kind != AS_IS or plan.name in given or not types.is_dictionary(cells.type):
            continue
        words, n_values = words_among_numbers(cells.cast(pyarrow.string())), len(cells.unique())
        if words is not None:
            shown = " ".join(f"--missing {word!r}" for word in words[0])
            notes.append(
                f"column {plan.name!r} is text because {words[1]} of {n_rows} cells are not numbers; "
                f"if they mean missing, add {shown}"
            )
        elif n_values * 2 > n_rows > 20:
            notes.append(
                f"column {plan.name!r} has {n_values} distinct values in {n_rows} rows, which says little about the "
                f"class; --drop {plan.name!r} removes it"
            )
    return notes


def _marker_notes(X: Any) -> list[str]:
    """Hints that words like ? may mark missing cells."""
    holders: dict[str, list[str]] = {}
    for name, cells in zip(X.column_names, X.columns, strict=True):
        if types.is_dictionary(cells.type):
            for word in cells.unique().dictionary.to_pylist():
                if word.lower() in MISSING_WORDS:
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
