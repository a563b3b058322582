"""Whole frames, of every library."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tanager.data.tidying import plan_frame, tidy_frame
from tests.messy_table import make_tables

LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def as_lists(frame):
    if hasattr(frame, "iloc"):
        return {name: frame[name].tolist() for name in frame.columns}
    return {
        name: frame[name].to_pylist() if hasattr(frame, "column_names") else frame[name].to_list()
        for name in names(frame)
    }


def names(frame):
    return frame.column_names if hasattr(frame, "column_names") else frame.columns


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_messy_table_becomes_the_clean_one(library):
    clean, messy, y = make_tables(300)
    frame = LIBRARIES[library](messy)
    plans, notes = plan_frame(frame, y)
    tidy = as_lists(tidy_frame(frame, plans))
    assert list(tidy) == [
        *("income", "rate", "fee", "weight"),
        *("due: days", "due: month", "due: weekday", "member", "town"),
    ]
    for name in ("income", "rate", "fee"):
        assert tidy[name] == clean[name].tolist()
    for column, name in (("weekday", "due: weekday"), ("member", "member"), ("town", "town")):
        assert [str(cell).strip().lower() for cell in tidy[name]] == clean[column].str.lower().tolist()
    assert (np.diff(sorted(tidy["due: days"])) >= 0).all()
    assert len(set(tidy["town"])) == 3
    assert len(notes) == sum(bool(plan.note) for plan in plans)
    assert len(notes) == messy.shape[1]  # one line for each column


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_dates(library):
    times = [datetime.datetime(2026, 1, 5, 10), datetime.datetime(2026, 2, 10, 12), None]
    frame = LIBRARIES[library](pd.DataFrame({"at": pd.to_datetime(pd.Series(times)), "x": [1.5, 2.5, 3.5]}))
    plans, _ = plan_frame(frame)
    tidy = as_lists(tidy_frame(frame, plans))
    assert [cell for cell in tidy["at: weekday"] if isinstance(cell, str)] == ["Monday", "Tuesday"]
    assert tidy["at: hour"][:2] == [10, 12]
    assert tidy["x"] == [1.5, 2.5, 3.5]


def test_columns_that_are_left_alone():
    frame = pd.DataFrame({"a": ["1,5", "2,5"], "b": ["1,5", "2,5"]})
    plans, notes = plan_frame(frame, as_is=["a"])
    assert tidy_frame(frame, plans)["a"].tolist() == ["1,5", "2,5"]
    assert [note.split("'")[1] for note in notes] == ["b"]
    with pytest.raises(ValueError, match="as_is names the column 'c'"):
        plan_frame(frame, as_is=["c"])


def test_what_gives_the_class_away():
    y = np.array(["yes", "no"] * 50)
    frame = pd.DataFrame({"answer": np.where(y == "yes", "late", "in time"), "x": np.arange(100) // 3})
    _, notes = plan_frame(frame, y)
    assert any("'answer' alone tells the class of 100.0%" in note for note in notes)
    assert not any("'x'" in note for note in notes)


def test_a_frame_without_names_is_refused():
    with pytest.raises(TypeError, match="must have names"):
        plan_frame(pd.DataFrame([[1, 2]]))
    with pytest.raises(TypeError, match="a pandas, polars or Arrow frame is required, not a ndarray"):
        plan_frame(np.ones((2, 2)))
