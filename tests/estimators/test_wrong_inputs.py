"""Data sets that are wrong: an error that names the column, or the result that docs/tables.md states."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.datasets import load_iris

from tanager import GradientDescent, TANClassifier

QUICK = {"parameters": GradientDescent(epochs=3, batch_size=100), "random_state": 0}
N_ROWS = 60
Y = np.arange(N_ROWS) % 2


def good_columns():
    rng = np.random.default_rng(0)
    return {
        "age": (rng.normal(size=N_ROWS) + Y).tolist(),
        "city": np.where(Y ^ (rng.random(N_ROWS) < 0.2), "Graz", "Linz").tolist(),
        "rooms": rng.integers(1, 5, N_ROWS).tolist(),
    }


COLUMNS = good_columns()
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.fixture(params=FRAMES)
def frame(request):
    """A function from a dictionary of columns to a frame."""
    return FRAMES[request.param]


@pytest.fixture(scope="module")
def fitted():
    return TANClassifier("subset", **QUICK).fit(pd.DataFrame(COLUMNS), Y)


def renamed(**names):
    return {names.get(name, name): column for name, column in COLUMNS.items()}


# Other columns at prediction than at fit.

METHODS = ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"]


@pytest.mark.parametrize("method", METHODS)
def test_a_missing_column(fitted, frame, method):
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- city"):
        getattr(fitted, method)(frame({name: COLUMNS[name] for name in ("age", "rooms")}))


@pytest.mark.parametrize("method", METHODS)
def test_an_extra_column(fitted, frame, method):
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- floor"):
        getattr(fitted, method)(frame(COLUMNS | {"floor": [1] * N_ROWS}))


def test_a_renamed_column(fitted, frame):
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- town\n[^-]*yet now missing:\n- city"):
        fitted.predict(frame(renamed(city="town")))


def test_columns_in_another_order(fitted, frame):
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        fitted.predict(frame({name: COLUMNS[name] for name in ("city", "age", "rooms")}))


@pytest.mark.parametrize("n_columns", [2, 4])
def test_another_number_of_columns_without_names(n_columns):
    X = np.zeros((N_ROWS, 3))
    classifier = TANClassifier("subset", **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match=f"X has {n_columns} features, but TANClassifier is expecting 3 features"):
        classifier.predict(np.zeros((5, n_columns)))


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_another_shape(method):
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    predict = getattr(TANClassifier("subset", **QUICK).fit(X, Y), method)
    with pytest.raises(ValueError, match="X has 2 features, but TANClassifier is expecting 3 features"):
        predict(X[:, :2])
    with pytest.raises(ValueError, match="2D array"):
        predict(X[0])


def test_names_on_one_side_only(fitted):
    """Columns are then taken by position, with a warning, as everywhere in scikit-learn."""
    X = pd.DataFrame(COLUMNS)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        by_position = fitted.predict_proba(X.to_numpy())
    np.testing.assert_array_equal(by_position, fitted.predict_proba(X))
    nameless = TANClassifier("subset", **QUICK).fit(X.to_numpy(), Y)
    with pytest.warns(UserWarning, match="X has feature names"):
        nameless.predict(X)


def test_a_column_that_was_numbers_and_is_text(fitted, frame):
    with pytest.raises(ValueError, match="column 'age' is numeric, but it holds 'forty'"):
        fitted.predict(frame(COLUMNS | {"age": ["forty"] * N_ROWS}))
    with pytest.raises(ValueError, match=r"column 'age' is numeric, but it holds '4\.5'"):
        fitted.predict(frame(COLUMNS | {"age": ["4.5"] * N_ROWS}))


def test_one_word_in_a_column_of_numbers(fitted):
    X = pd.DataFrame(COLUMNS).astype({"rooms": object})
    X.loc[7, "rooms"] = "many"
    with pytest.raises(ValueError, match="column 'rooms' is numeric, but it holds 'many'"):
        fitted.predict(X)


def test_a_column_that_was_text_and_is_numbers(fitted, frame):
    """No number was seen there, so that the column is summed out."""
    numbers = fitted.predict_proba(frame(COLUMNS | {"city": [3] * N_ROWS}))
    missing = fitted.predict_proba(frame(COLUMNS | {"city": [None] * N_ROWS}))
    np.testing.assert_array_equal(numbers, missing)


# Names.


def test_two_columns_of_one_name_in_pandas(fitted):
    X = pd.DataFrame(COLUMNS).set_axis(["age", "age", "rooms"], axis=1)
    with pytest.raises(ValueError, match="more than one column named 'age'"):
        TANClassifier("subset", **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="more than one column named 'age'"):
        fitted.predict(X)


def test_two_columns_of_one_name_in_arrow(fitted):
    X = pa.table(list(map(pa.array, COLUMNS.values())), names=["age", "city", "age"])
    with pytest.raises(ValueError, match="more than one column named 'age'"):
        TANClassifier("subset", **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="more than one column named 'age'"):
        fitted.predict(X)


def test_names_of_several_types():
    with pytest.raises(TypeError, match=r"X\.columns = X\.columns\.astype\(str\)"):
        TANClassifier("subset", **QUICK).fit(pd.DataFrame(COLUMNS).rename(columns={"city": 3}), Y)


# Cells that cannot be categories.

DATES = [
    np.datetime64("2020-02-29"),
    np.timedelta64(3, "D"),
    datetime.date(2020, 2, 29),
    datetime.datetime(2020, 2, 29, 12),
    datetime.time(12),
    datetime.timedelta(days=3),
    pd.Timestamp("2020-02-29"),
    pd.Period("2020-02"),
]
NESTED = [[1, 2], (1, 2), {"a": 1}, {1, 2}, frozenset([1]), np.array([1, 2])]


def column_of(cell):
    column = np.empty(N_ROWS, dtype=object)
    for n in range(N_ROWS):
        column[n] = cell
    return column


@pytest.mark.parametrize("cell", DATES, ids=lambda cell: type(cell).__name__)
def test_dates_in_cells(fitted, cell):
    X = pd.DataFrame(COLUMNS).assign(city=pd.Series(column_of(cell), dtype=object))
    with pytest.raises(TypeError, match="column 'city' holds dates or durations"):
        TANClassifier("subset", **QUICK).fit(X, Y)
    with pytest.raises(TypeError, match="column 'city' holds dates or durations"):
        fitted.predict(X)
    with pytest.raises(TypeError, match="column 0 holds dates or durations"):
        TANClassifier("subset", **QUICK).fit(column_of(cell)[:, None], Y)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"day": pd.date_range("2020", periods=N_ROWS)}),
        pd.DataFrame({"day": pd.date_range("2020", periods=N_ROWS, tz="Europe/Vienna")}),
        pd.DataFrame({"day": pd.timedelta_range("1 day", periods=N_ROWS)}),
        pd.DataFrame({"day": pd.period_range("2020-01", periods=N_ROWS, freq="M")}),
        pd.DataFrame({"day": pd.Categorical(pd.date_range("2020", periods=N_ROWS))}),
        pl.DataFrame({"day": [datetime.date(2020, 1, 1)] * N_ROWS}),
        pl.DataFrame({"day": [datetime.datetime(2020, 1, 1)] * N_ROWS}),
        pl.DataFrame({"day": [datetime.timedelta(1)] * N_ROWS}),
        pa.table({"day": [datetime.date(2020, 1, 1)] * N_ROWS}),
        pa.table({"day": [datetime.time(3)] * N_ROWS}),
    ],
    ids=[
        "pandas",
        "pandas time zone",
        "pandas timedelta",
        "pandas period",
        "pandas category",
        "polars date",
        "polars datetime",
        "polars duration",
        "arrow date",
        "arrow time",
    ],
)
def test_columns_of_dates(X):
    with pytest.raises(TypeError, match="column 'day' holds dates or durations") as caught:
        TANClassifier("subset", **QUICK).fit(X, Y)
    assert "for instance the year, the weekday or the number of days" in str(caught.value)


def test_dates_turned_into_words_are_categories():
    days = pd.Series(pd.date_range("2020", periods=N_ROWS))
    X = pd.DataFrame({"weekday": days.dt.day_name(), "month": days.dt.month})
    assert TANClassifier("subset", **QUICK).fit(X, Y).encoder_.cards[0] == 7


@pytest.mark.parametrize("cell", NESTED, ids=lambda cell: type(cell).__name__)
def test_nested_cells(fitted, cell):
    X = pd.DataFrame(COLUMNS).assign(city=pd.Series(column_of(cell), dtype=object))
    message = f"column 'city' holds values of type {type(cell).__name__}"
    with pytest.raises(TypeError, match=message):
        TANClassifier("subset", **QUICK).fit(X, Y)
    with pytest.raises(TypeError, match=message):
        fitted.predict(X)


@pytest.mark.parametrize(
    "X",
    [
        pl.DataFrame({"tags": [["a", "b"]] * N_ROWS}),
        pl.DataFrame({"tags": [{"a": 1}] * N_ROWS}),
        pa.table({"tags": [["a", "b"]] * N_ROWS}),
        pa.table({"tags": [{"a": 1}] * N_ROWS}),
    ],
    ids=["polars list", "polars struct", "arrow list", "arrow struct"],
)
def test_columns_of_nested_values(X):
    with pytest.raises(TypeError, match="column 'tags' holds values of type"):
        TANClassifier("subset", **QUICK).fit(X, Y)


def test_one_nested_cell_among_words(fitted):
    X = pd.DataFrame(COLUMNS)
    X["city"] = X["city"].astype(object)
    X.at[7, "city"] = ["Graz", "Linz"]
    with pytest.raises(TypeError, match="column 'city' holds values of type list"):
        fitted.predict(X)


def test_complex_numbers():
    with pytest.raises(ValueError, match="column 'z' holds complex numbers"):
        TANClassifier("subset", **QUICK).fit(pd.DataFrame({"z": np.arange(N_ROWS) * 1j}), Y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        TANClassifier("subset", **QUICK).fit(np.arange(N_ROWS)[:, None] * 1j, Y)


def test_objects_without_an_order():
    X = pd.DataFrame({"thing": [object() for _ in range(N_ROWS)]})
    with pytest.raises(TypeError, match="column 'thing' has values that cannot be sorted"):
        TANClassifier("subset", **QUICK).fit(X, Y)


# Infinite numbers.


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
@pytest.mark.parametrize("binning", ["mdlp", "quantile", "none"])
def test_infinite_numbers_in_frames(fitted, frame, infinite, binning):
    X = frame(COLUMNS | {"age": [*COLUMNS["age"][:-1], infinite]})
    with pytest.raises(ValueError, match="column 'age' has infinite values"):
        TANClassifier("subset", binning=binning, **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="column 'age' has infinite values"):
        fitted.predict(X)


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_infinite_numbers_in_arrays(infinite, dtype):
    X = np.random.default_rng(0).normal(size=(N_ROWS, 3)).astype(dtype)
    classifier = TANClassifier("subset", **QUICK).fit(X, Y)
    X[7, 1] = infinite
    with pytest.raises(ValueError, match="column 1 has infinite values"):
        TANClassifier("subset", **QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="column 1 has infinite values"):
        classifier.predict(X)


def test_infinite_numbers_are_refused_also_in_rows_without_weight():
    X = np.random.default_rng(0).normal(size=(N_ROWS, 2))
    X[7] = np.inf
    weight = np.ones(N_ROWS)
    weight[7] = 0.0
    with pytest.raises(ValueError, match="column 0 has infinite values"):
        TANClassifier("subset", **QUICK).fit(X, Y, sample_weight=weight)


def test_integers_beyond_floating_point():
    X = pd.DataFrame({"n": pd.Series([10**400, 1] * (N_ROWS // 2), dtype=object)})
    with pytest.raises(ValueError, match="column 'n' holds an integer too large"):
        TANClassifier("subset", **QUICK).fit(X, Y)


# Several types in one column.


def test_numbers_and_words_in_one_column():
    """Then all are categories, numbers first, and a number is not the word that spells it."""
    X = pd.DataFrame({"size": pd.Series([1, "small", 2.5, "1"] * 15, dtype=object)})
    classifier = TANClassifier("subset", **QUICK).fit(X, Y)
    assert classifier.encoder_.columns[0].categories.tolist() == [1, 2.5, "1", "small"]
    cells = pd.DataFrame({"size": pd.Series([1.0, True, np.int8(1), "1"], dtype=object)})
    probabilities = classifier.predict_proba(cells)
    np.testing.assert_array_equal(probabilities[1:3], probabilities[[0, 0]])
    assert not np.array_equal(probabilities[0], probabilities[3])


@pytest.mark.parametrize(
    ("cells", "categories"),
    [
        ([True, "yes"], [True, "yes"]),
        ([True, 0.5], [0.5, True]),
        (["a", None], ["a"]),
        (["a", np.nan], ["a"]),
        ([b"a", "a"], ["a", b"a"]),
    ],
    ids=str,
)
def test_mixed_columns_are_categories(cells, categories):
    X = pd.DataFrame({"size": pd.Series(cells * (N_ROWS // 2), dtype=object)})
    assert TANClassifier("subset", **QUICK).fit(X, Y).encoder_.columns[0].categories.tolist() == categories


@pytest.mark.parametrize(
    "cells", [[1, 2.5], [Decimal("1.5"), 2], [1, None], [1.5, np.nan], [np.float32(1), 2]], ids=str
)
def test_columns_of_different_numbers_are_numbers(cells):
    X = pd.DataFrame({"size": pd.Series(cells * (N_ROWS // 2), dtype=object)})
    assert hasattr(TANClassifier("subset", **QUICK).fit(X, Y).encoder_.columns[0], "cuts")


# Columns without values.

EMPTY = {
    "numbers": pd.Series([np.nan] * N_ROWS),
    "objects": pd.Series([None] * N_ROWS, dtype=object),
    "text": pd.Series([None] * N_ROWS, dtype="string"),
    "nullable": pd.Series([None] * N_ROWS, dtype="Int64"),
    "boolean": pd.Series([None] * N_ROWS, dtype="boolean"),
    "category": pd.Series([None] * N_ROWS, dtype="category"),
}


@pytest.mark.parametrize("binning", ["mdlp", "quantile", "none"])
@pytest.mark.parametrize("kind", EMPTY)
def test_a_column_of_missing_cells_is_constant(kind, binning):
    X = pd.DataFrame(COLUMNS)
    classifier = TANClassifier("none", parameters="ml", binning=binning).fit(X.assign(empty=EMPTY[kind]), Y)
    without = TANClassifier("none", parameters="ml", binning=binning).fit(X, Y)
    assert classifier.encoder_.cards[3] == 1
    expected = without.predict_proba(X)
    np.testing.assert_allclose(classifier.predict_proba(X.assign(empty=EMPTY[kind])), expected, rtol=1e-5)


@pytest.mark.parametrize("kind", EMPTY)
def test_a_column_of_missing_cells_cannot_be_ignored(kind):
    X = pd.DataFrame(COLUMNS).assign(empty=EMPTY[kind])
    with pytest.raises(ValueError, match="column 'empty' has no values in the training rows, only missing ones"):
        TANClassifier("subset", missing="ignore", **QUICK).fit(X, Y)


@pytest.mark.parametrize(
    "X",
    [
        pl.DataFrame({"age": COLUMNS["age"], "empty": [None] * N_ROWS}),
        pa.table({"age": COLUMNS["age"], "empty": pa.nulls(N_ROWS)}),
        np.column_stack([COLUMNS["age"], np.full(N_ROWS, np.nan)]),
    ],
    ids=["polars", "arrow", "array"],
)
def test_a_column_of_missing_cells_in_other_frames(X):
    classifier = TANClassifier("subset", **QUICK).fit(X, Y)
    assert classifier.encoder_.cards[1] == 1
    assert classifier.predict_proba(X).shape == (N_ROWS, 2)
    label = "column 1" if isinstance(X, np.ndarray) else "column 'empty'"
    with pytest.raises(ValueError, match=f"{label} has no values"):
        TANClassifier("subset", missing="ignore", **QUICK).fit(X, Y)


def test_a_column_whose_values_all_have_no_weight():
    X = pd.DataFrame({"age": COLUMNS["age"], "rare": [1.0] * 10 + [np.nan] * (N_ROWS - 10)})
    weight = np.r_[np.zeros(10), np.ones(N_ROWS - 10)]
    with pytest.raises(ValueError, match="column 'rare' has no values in the training rows"):
        TANClassifier("subset", missing="ignore", **QUICK).fit(X, Y, sample_weight=weight)
    # Its values are unseen then, and are summed out.
    classifier = TANClassifier("subset", **QUICK).fit(X, Y, sample_weight=weight)
    assert classifier.encoder_.cards[1] in (1, 2)
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)


def test_a_column_of_empty_text_is_not_missing():
    X = pd.DataFrame({"note": ["", "x"] * (N_ROWS // 2)})
    assert TANClassifier("subset", **QUICK).fit(X, Y).encoder_.columns[0].categories.tolist() == ["", "x"]


# What is not a data set.


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (pl.LazyFrame(COLUMNS), TypeError, re.escape("X is a lazy frame; call X.collect() first")),
        (pd.Series(COLUMNS["age"]), ValueError, "2-dimensional|2D"),
        (pl.Series(COLUMNS["age"]), ValueError, "2D array"),
        (COLUMNS, ValueError, "2D array"),
        ([{"age": 1.0}] * N_ROWS, ValueError, "2D array"),
        (np.zeros((N_ROWS, 2, 2)), ValueError, "dim 3"),
        (None, ValueError, "2D array"),
        ("data.csv", ValueError, "2D array"),
        (np.zeros((N_ROWS, 2), dtype=[("a", "f8")]), TypeError, "column 0 holds values of type"),
    ],
    ids=["lazy", "pandas series", "polars series", "dict", "records", "3-d", "None", "path", "structured"],
)
def test_what_is_not_a_data_set(X, error, message):
    with pytest.raises(error, match=message):
        TANClassifier("subset", **QUICK).fit(X, Y)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_without_rows_or_columns(fitted, kind):
    empty = FRAMES[kind]({"age": [], "city": [], "rooms": []})
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        TANClassifier("subset", **QUICK).fit(empty, [])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        TANClassifier("subset", **QUICK).fit(FRAMES[kind]({}), Y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 3)), [], r"0 sample\(s\)"),
        (np.empty((3, 0)), [0, 1, 2], r"0 feature\(s\)"),
        (pd.DataFrame({"a": [], "b": []}), [], r"0 sample\(s\)"),
        (pd.DataFrame(index=range(3)), [0, 1, 2], r"0 feature\(s\)"),
    ],
    ids=["no rows", "no columns", "frame without rows", "frame without columns"],
)
def test_without_options_rows_and_columns_are_required_too(X, y, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier().fit(X, y)


def test_sparse_matrices():
    with pytest.raises(TypeError, match="dense data is required"):
        TANClassifier("subset", **QUICK).fit(scipy.sparse.csr_matrix(np.eye(N_ROWS)), Y)


# Classes and weights.


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["a", None] * (N_ROWS // 2)),
        pd.Series(["a", None] * (N_ROWS // 2), dtype="category"),
        pd.Series(["a", None] * (N_ROWS // 2), dtype="string"),
        pd.Series([1, None] * (N_ROWS // 2), dtype="Int64"),
        pl.Series(["a", None] * (N_ROWS // 2)),
        pa.array(["a", None] * (N_ROWS // 2)),
        ["a", None] * (N_ROWS // 2),
        [1.0, np.nan] * (N_ROWS // 2),
    ],
    ids=["pandas", "category", "string", "nullable", "polars", "arrow", "list", "floats"],
)
def test_missing_classes(y):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        TANClassifier("subset", **QUICK).fit(pd.DataFrame(COLUMNS), y)


@pytest.mark.parametrize(
    ("make_y", "message"),
    [
        (lambda y: None, "requires y to be passed"),
        (lambda y: y[:9], r"inconsistent numbers of samples: \[150, 9\]"),
        (lambda y: np.where(y == 0, np.nan, y), "Input y contains NaN"),
        (lambda y: y + 0.5, "Unknown label type: continuous"),
        (lambda y: np.column_stack([y, y]), r"1d array, got an array of shape \(150, 2\)"),
    ],
    ids=["none", "short", "nan", "continuous", "two columns"],
)
def test_wrong_targets(iris, make_y, message):
    X, y = iris
    with pytest.raises(ValueError, match=message):
        TANClassifier("subset", **QUICK).fit(X, make_y(y))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[-1.0, np.ones(149)], "sample_weight must not be negative"),
        (np.ones(149), r"sample_weight must be 1D with one weight for each of 150 rows, got shape \(149,\)"),
        (np.ones((150, 1)), r"got shape \(150, 1\)"),
        (np.zeros(150), "sample_weight is zero for every row"),
        (np.r_[np.nan, np.ones(149)], "Input sample_weight contains NaN"),
        (np.r_[np.inf, np.ones(149)], "Input sample_weight contains infinity"),
    ],
    ids=["negative", "short", "two-dimensional", "all zero", "nan", "infinite"],
)
def test_wrong_weights(iris, weight, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier("subset", **QUICK).fit(*iris, sample_weight=weight)
