import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tanager.data import as_frame, resolve_categorical


def cells(table, index):
    """The cells of a column as Python values, None where missing."""
    column, levels = table.columns[index].tolist(), table.levels[index]
    if levels is None:
        return [None if value != value else value for value in column]
    return [None if code < 0 else levels.tolist()[code] for code in column]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.uint64])
def test_numbers_are_views_of_the_array(dtype):
    X = np.arange(6).reshape(3, 2).astype(dtype)
    table = as_frame(X)
    assert table.names is None
    assert table.is_categorical.tolist() == [False, False]
    assert all(np.shares_memory(column, X) for column in table.columns)
    assert (table.n_rows, table.n_columns) == (3, 2)


def test_booleans_are_categories_and_views():
    X = np.array([[True], [False]])
    table = as_frame(X)
    assert table.is_categorical.tolist() == [True]
    assert np.shares_memory(table.columns[0], X)


@pytest.mark.parametrize(
    "dtype", ["U", "S", object, *([np.dtypes.StringDType()] if hasattr(np.dtypes, "StringDType") else [])]
)
def test_text_arrays_are_categories(dtype):
    table = as_frame(np.array([["red"], ["blue"], ["red"]]).astype(dtype))
    assert table.is_categorical.tolist() == [True]
    expected = ["red", "blue", "red"]
    assert cells(table, 0) == ([word.encode() for word in expected] if dtype == "S" else expected)


@pytest.mark.parametrize(
    ("values", "expected", "is_categorical"),
    [
        ([1, 2, 3], [1, 2, 3], False),
        ([1, 2.5, None], [1.0, 2.5, None], False),
        ([2**70, 1], [2**70, 1], False),
        ([Decimal("1.5"), Fraction(1, 2), np.float32(2)], [1.5, 0.5, 2.0], False),
        ([np.int64(3), 4], [3, 4], False),
        ([True, False, None], [True, False, None], True),
        (["a", None, float("nan")], ["a", None, None], True),
        (["a", pd.NA, pd.NaT], ["a", None, None], True),
        (["a", 1, 2.5], ["a", 1, 2.5], True),
        ([b"a", "a"], [b"a", "a"], True),
        ([None, None], [None, None], True),
    ],
)
def test_object_columns_are_judged_by_their_cells(values, expected, is_categorical):
    X = np.empty((len(values), 1), dtype=object)
    X[:, 0] = values
    table = as_frame(X)
    assert cells(table, 0) == expected
    assert [type(value) for value in cells(table, 0)] == [type(value) for value in expected]
    assert table.is_categorical.tolist() == [is_categorical]


def test_a_list_of_rows_keeps_the_types_of_its_cells():
    table = as_frame([["red", 1], ["blue", 2]])
    assert table.is_categorical.tolist() == [True, False]
    assert table.columns[1].tolist() == [1, 2]


def object_column(value):
    X = np.empty((3, 2), dtype=object)
    X[:, 0] = 1
    X[:, 1] = ["a", None, "b"]
    X[2, 1] = value
    return X


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([1, 2], TypeError, "column 1 holds values of type list, .* must be a string or a number"),
        ({"foo": "bar"}, TypeError, "column 1 holds values of type dict, .*argument must be a string or a number"),
        ((1, 2), TypeError, "column 1 holds values of type tuple"),
        ({1}, TypeError, "column 1 holds values of type set"),
        (np.zeros(2), TypeError, "column 1 holds values of type ndarray"),
        (datetime.date(2020, 1, 1), TypeError, "column 1 holds dates or durations .date."),
        (datetime.timedelta(1), TypeError, "column 1 holds dates or durations"),
        (pd.Timestamp("2020"), TypeError, "column 1 holds dates or durations .Timestamp."),
        (pd.Period("2020"), TypeError, "column 1 holds dates or durations .Period."),
        (1j, ValueError, "Complex data not supported: column 1 holds complex numbers"),
    ],
)
def test_cells_that_cannot_be_categories_are_refused(value, error, message):
    with pytest.raises(error, match=message):
        as_frame(object_column(value))


def test_an_integer_too_large_for_a_float_is_refused():
    with pytest.raises(ValueError, match="column 0 holds an integer too large"):
        as_frame(np.array([[10**400]], dtype=object))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros((2, 1), dtype="M8[s]"), TypeError, r"column 0 holds dates or durations \(datetime64\[s\]\).*weekday"),
        (np.zeros((2, 1), dtype="m8[s]"), TypeError, "column 0 holds dates or durations"),
        (np.zeros((2, 1), dtype=complex), ValueError, "Complex data not supported: column 0"),
        (np.zeros((2, 1), dtype=[("a", int)]), TypeError, "column 0 holds values of type"),
        (np.zeros(3), ValueError, "Expected 2D array, got 1D array instead. Reshape your data"),
        (np.zeros((2, 2, 2)), ValueError, "Expected 2D array, got 3D array"),
        (np.float64(3), ValueError, "Expected 2D array, got 0D array"),
        (np.zeros((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required."),
        (sparse.csr_array(np.eye(2)), TypeError, "sparse input is not supported"),
    ],
)
def test_what_is_not_a_table_of_values_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        as_frame(X)


def mixed_frame():
    return pd.DataFrame(
        {
            "age": [1.5, 2.5],
            "job": ["a", "b"],
            "is_new": [True, False],
            "grade": pd.Categorical([3, 4]),
            "level": pd.Categorical(["x", "y"]),
        }
    )


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (None, "job level"),
        ("from_dtype", "job is_new grade level"),
        ([True, False, False, False, False], "age job level"),
        (np.zeros(5, dtype=bool), "job level"),
        ([0, 2], "age job is_new level"),
        (["age", "grade"], "age job grade level"),
        (np.array(["grade"], dtype=object), "job grade level"),
        ([], "job level"),
    ],
)
def test_categorical_features_follow_the_convention(option, expected):
    table = as_frame(mixed_frame())
    mask = resolve_categorical(table, option)
    assert mask.dtype == np.bool_
    assert [name for name, chosen in zip(table.names, mask, strict=True) if chosen] == expected.split()


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ("age", ValueError, r"categorical_features='age' is not understood.*\['age'\]"),
        ([True, False], ValueError, "mask must have one entry for each of the 5 columns, but it has 2"),
        ([0, 5], ValueError, "categorical_features lists column 5, but X has 5 columns; positions go from 0 to 4"),
        ([-1], ValueError, "categorical_features lists column -1"),
        (
            ["age", "wage"],
            ValueError,
            "categorical_features lists 'wage', which X does not have; its columns are 'age'",
        ),
        ([1.5], TypeError, "categorical_features must hold booleans, integers or column names, .* float64"),
        ([["age"]], ValueError, r"categorical_features must have one dimension, but its shape is \(1, 1\)"),
    ],
)
def test_categorical_features_that_make_no_sense_are_refused(option, error, message):
    with pytest.raises(error, match=message):
        resolve_categorical(as_frame(mixed_frame()), option)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match="categorical_features lists the column name 'age', but X has no column names"):
        resolve_categorical(as_frame(np.zeros((2, 2))), ["age"])
