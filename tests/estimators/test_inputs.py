"""What data sets, classes and weights the classifiers take, and that the kind of frame makes no difference."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris

from tanager import GradientDescent, TANClassifier
from tanager.data import CategoryColumn

QUICK = {"parameters": GradientDescent(epochs=4, batch_size=100), "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def make_columns():
    """Columns of every type as lists of Python values, None where a cell is missing, and classes."""
    rng = np.random.default_rng(0)
    n_rows = 240
    y = rng.integers(0, 3, n_rows)

    def pick(values, noise):
        return [values[k] for k in (y + (rng.random(n_rows) < noise)) % len(values)]

    def with_holes(values):
        return [None if hole else value for value, hole in zip(values, rng.random(n_rows) < 0.1, strict=True)]

    columns = {
        "length": with_holes((rng.normal(size=n_rows) + y).round(3).tolist()),
        "weight": (rng.normal(size=n_rows) - y).round(3).tolist(),
        "count": (2 * y + rng.integers(0, 4, n_rows)).tolist(),
        "votes": with_holes((y + rng.integers(0, 3, n_rows)).tolist()),
        "colour": with_holes(pick(["red", "green", "blue", "black"], 0.3)),
        "grade": pick(["low", "mid", "high"], 0.5),
        "is_new": pick([True, False], 0.2),
        "is_paid": with_holes(pick([False, True], 0.2)),
    }
    return columns, y


COLUMNS, Y = make_columns()
HAS_HOLES = [None in column for column in COLUMNS.values()]


def numpy_objects(columns):
    array = np.empty((len(columns["count"]), len(columns)), dtype=object)
    for index, column in enumerate(columns.values()):
        array[:, index] = column
    return array


def list_of_rows(columns):
    return [list(row) for row in zip(*columns.values(), strict=True)]


def pandas_numpy(columns):
    """The dtypes that pandas had at first: numbers with NaN, objects for text and for booleans with holes."""
    dtypes = dict.fromkeys(columns, object)
    dtypes |= {"length": "f8", "weight": "f4", "count": "i2", "votes": "f4", "is_new": "bool", "grade": "category"}
    return pd.DataFrame({name: pd.Series(column, dtype=dtypes[name]) for name, column in columns.items()})


def pandas_nullable(columns):
    dtypes = ["Float64", "Float32", "UInt8", "Int64", "string", "category", "boolean", "boolean"]
    return pd.DataFrame(
        {name: pd.Series(column, dtype=dtype) for (name, column), dtype in zip(columns.items(), dtypes, strict=True)}
    )


def pandas_arrow(columns):
    return arrow(columns).to_pandas(types_mapper=pd.ArrowDtype)


def polars_categorical(columns):
    return polars(columns).with_columns(pl.col("colour").cast(pl.Categorical), pl.col("count").cast(pl.UInt8))


def polars_enum(columns):
    grades = pl.Enum(["high", "low", "mid", "never"])
    return polars(columns).with_columns(pl.col("grade").cast(grades), pl.col("votes").cast(pl.Float32))


def polars(columns):
    return pl.DataFrame(columns)


def arrow(columns):
    return pa.table(columns)


def arrow_dictionary(columns):
    table = pa.table(columns)
    for name in ("colour", "grade"):
        table = table.set_column(table.column_names.index(name), name, table[name].dictionary_encode())
    return table


def arrow_large_string(columns):
    table = pa.table(columns)
    types = [pa.large_string() if kind == pa.string() else kind for kind in table.schema.types]
    return table.cast(pa.schema(zip(table.column_names, types, strict=True)))


def arrow_chunks(columns):
    table = arrow_dictionary(columns)
    return pa.concat_tables([table[:70], table[70:71], table[71:]])


FRAMES = [
    pd.DataFrame,
    pandas_numpy,
    pandas_nullable,
    pandas_arrow,
    polars,
    polars_categorical,
    polars_enum,
    arrow,
    arrow_dictionary,
    arrow_large_string,
    arrow_chunks,
]
ARRAYS = [numpy_objects, list_of_rows]


MISSING = ["value", "ignore"]


def names_of(kinds):
    return [kind.__name__ for kind in kinds]


@pytest.fixture(scope="module")
def expected():
    """Probabilities of a model that was fitted to an array of objects, with and without a value for missing cells."""
    X = numpy_objects(COLUMNS)
    return {
        missing: TANClassifier("subset", missing=missing, **QUICK).fit(X, Y).predict_proba(X) for missing in MISSING
    }


# Kinds of data sets.


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("kind", FRAMES + ARRAYS, ids=names_of(FRAMES + ARRAYS))
def test_every_kind_of_data_set_gives_the_same_predictions(expected, kind, missing):
    X = kind(COLUMNS)
    classifier = TANClassifier("subset", missing=missing, **QUICK).fit(X, Y)
    np.testing.assert_array_equal(classifier.predict_proba(X), expected[missing])
    columns = classifier.encoder_.columns
    assert [isinstance(column, CategoryColumn) for column in columns] == [False] * 4 + [True] * 4
    assert [column.categories.size for column in columns[4:]] == [4, 3, 2, 2]
    assert [column.has_missing for column in columns] == (HAS_HOLES if missing == "value" else [False] * 8)
    assert classifier.n_features_in_ == 8
    assert hasattr(classifier, "feature_names_in_") == (kind in FRAMES)
    if kind in FRAMES:
        assert classifier.feature_names_in_.tolist() == list(COLUMNS)


@pytest.mark.parametrize("kind", FRAMES + ARRAYS, ids=names_of(FRAMES + ARRAYS))
def test_every_kind_of_data_set_has_the_same_quantiles(kind):
    X = kind(COLUMNS)
    classifier = TANClassifier("subset", binning="quantile", **QUICK).fit(X, Y)
    # Ten bins, eight counts, five votes and the categories, with one more value where cells are missing.
    assert classifier.encoder_.cards.tolist() == [11, 10, 8, 6, 5, 3, 2, 3]
    plain = TANClassifier("subset", binning="quantile", **QUICK).fit(numpy_objects(COLUMNS), Y)
    np.testing.assert_array_equal(classifier.predict_proba(X), plain.predict_proba(numpy_objects(COLUMNS)))


@pytest.mark.parametrize("applied_to", FRAMES, ids=names_of(FRAMES))
@pytest.mark.parametrize("trained_on", [pandas_nullable, polars_enum, arrow_dictionary], ids=lambda kind: kind.__name__)
def test_a_model_predicts_on_every_other_kind_of_frame(expected, trained_on, applied_to):
    classifier = TANClassifier("subset", **QUICK).fit(trained_on(COLUMNS), Y)
    np.testing.assert_array_equal(classifier.predict_proba(applied_to(COLUMNS)), expected["value"])


@pytest.mark.parametrize("kind", FRAMES, ids=names_of(FRAMES))
def test_a_few_rows_are_read_as_in_the_whole_frame(expected, kind):
    """Few rows may lack some categories, or all values of a column that has holes."""
    classifier = TANClassifier("subset", **QUICK).fit(pandas_nullable(COLUMNS), Y)
    hole = COLUMNS["is_paid"].index(None)
    for rows in (slice(0, 3), slice(17, 18), slice(hole, hole + 1)):
        few = kind({name: column[rows] for name, column in COLUMNS.items()} if kind is not arrow_chunks else COLUMNS)
        few = few[rows] if kind is arrow_chunks else few
        np.testing.assert_array_equal(classifier.predict_proba(few), expected["value"][rows])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "u1", "u2"])
def test_arrays_of_numbers(dtype):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.integers(0, 4, (200, 5)) + y[:, None]
    expected = TANClassifier("subset", **QUICK).fit(X, y).predict_proba(X)
    for array in (X.astype(dtype), np.asfortranarray(X.astype(dtype)), np.repeat(X.astype(dtype), 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(TANClassifier("subset", **QUICK).fit(array, y).predict_proba(array), expected)


def test_an_array_of_booleans_is_one_of_categories():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = (rng.random((100, 3)) < 0.3) ^ (y == 1)[:, None]
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    assert [column.categories.tolist() for column in classifier.encoder_.columns] == [[False, True]] * 3
    assert classifier.score(X, y) > 0.7


def test_an_array_of_text_is_one_of_categories():
    X = np.array([["a", "1.5"], ["b", "2.5"]] * 10)
    classifier = TANClassifier("subset", **QUICK).fit(X, [0, 1] * 10)
    assert [column.categories.tolist() for column in classifier.encoder_.columns] == [["a", "b"], ["1.5", "2.5"]]


def test_column_names_that_are_no_text_are_no_names():
    X = pandas_nullable(COLUMNS)
    classifier = TANClassifier("subset", **QUICK).fit(X.set_axis(range(8), axis=1), Y)
    assert not hasattr(classifier, "feature_names_in_")
    np.testing.assert_array_equal(classifier.predict_proba(X.set_axis(range(8), axis=1)).shape, (240, 3))


def test_the_index_of_a_frame_does_not_matter(expected):
    X = pandas_nullable(COLUMNS).set_index(np.arange(240)[::-1] * 3)
    y = pd.Series(Y, index=np.arange(240) + 1000)
    np.testing.assert_array_equal(TANClassifier("subset", **QUICK).fit(X, y).predict_proba(X), expected["value"])


def test_the_frame_is_not_changed():
    X = pandas_numpy(COLUMNS)
    before = X.copy()
    TANClassifier("subset", **QUICK).fit(X, Y).predict(X)
    pd.testing.assert_frame_equal(X, before)


# Classes.


@pytest.mark.parametrize(
    "labels",
    [["no", "yes", "perhaps"], [False, True, True], [-3, 0, 40], [1.0, 2.0, 3.0]],
    ids=["text", "bool", "int", "float"],
)
def test_classes_of_any_type(iris, labels):
    X, y = iris
    y = np.array(labels)[y]
    classifier = TANClassifier("subset", GradientDescent(epochs=30), random_state=0).fit(X, y)
    np.testing.assert_array_equal(classifier.classes_, np.unique(y))
    assert classifier.predict(X).dtype == y.dtype
    assert classifier.score(X, y) > 0.9


def test_classes_as_series():
    X, labels = pandas_nullable(COLUMNS), np.array(["a", "b", "c"])[Y]
    expected = TANClassifier("subset", **QUICK).fit(X, labels).predict_proba(X)
    for series in (pd.Series(labels), pl.Series(labels), pa.array(labels), labels.tolist()):
        other = TANClassifier("subset", **QUICK).fit(X, series)
        assert other.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(other.predict_proba(X), expected)


def test_text_classes_come_back_from_predict(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = TANClassifier("subset", **QUICK).fit(X, names.astype(object))
    assert classifier.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(classifier.predict(X)) == set(names)
    numbered = TANClassifier("subset", **QUICK).fit(X, y)
    np.testing.assert_array_equal(classifier.predict_proba(X), numbered.predict_proba(X))


# Weights.


def test_rows_without_weight_are_absent(iris):
    X, y = iris
    X = X.copy()
    X[y == 0] = 1e6
    weight = (y != 0).astype(float)
    weighted = TANClassifier("chow-liu", parameters="ml").fit(X, y, sample_weight=weight)
    absent = TANClassifier("chow-liu", parameters="ml").fit(X[y != 0], y[y != 0])
    assert weighted.classes_.tolist() == [1, 2]
    np.testing.assert_array_equal(weighted.predict_proba(X), absent.predict_proba(X))


def test_integer_weights_equal_repeated_rows_in_closed_form(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = TANClassifier("chow-liu", "ml").fit(X, y, sample_weight=weight)
    repeated = TANClassifier("chow-liu", "ml").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.parents_, repeated.parents_)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))
