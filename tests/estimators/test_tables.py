"""TANClassifier on tables of mixed columns: kinds of frame and dtype, binning, pooling, and the memory of a fit."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris

from tanager import TANClassifier
from tanager.data import CategoryColumn, NumericColumn
from tanager.model import layout

QUICK = {"epochs": 4, "batch_size": 100, "random_state": 0}


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


def names_of(kinds):
    return [kind.__name__ for kind in kinds]


@pytest.fixture(scope="module")
def expected():
    """Probabilities of a model that was fitted to an array of objects, with and without a value for missing cells."""
    X = numpy_objects(COLUMNS)
    return {
        missing: TANClassifier("subset", missing=missing, **QUICK).fit(X, Y).predict_proba(X) for missing in MISSING
    }


MISSING = ["value", "ignore"]


# Kinds of tables.


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("kind", FRAMES + ARRAYS, ids=names_of(FRAMES + ARRAYS))
def test_every_kind_of_table_gives_the_same_predictions(expected, kind, missing):
    X = kind(COLUMNS)
    classifier = TANClassifier("subset", missing=missing, **QUICK).fit(X, Y)
    np.testing.assert_array_equal(classifier.predict_proba(X), expected[missing])
    columns = classifier.encoder_.columns
    assert [isinstance(column, CategoryColumn) for column in columns] == [False] * 4 + [True] * 4
    assert [column.categories.size for column in columns[4:]] == [4, 3, 2, 2]
    assert [column.has_missing for column in columns] == (HAS_HOLES if missing == "value" else [False] * 8)
    assert classifier.n_features_in_ == 8
    assert hasattr(classifier, "feature_names_in_") == (kind in FRAMES)


@pytest.mark.parametrize("applied_to", FRAMES, ids=names_of(FRAMES))
@pytest.mark.parametrize("trained_on", [pandas_nullable, polars_enum, arrow_dictionary], ids=lambda kind: kind.__name__)
def test_a_model_predicts_on_every_other_kind_of_frame(expected, trained_on, applied_to):
    classifier = TANClassifier("subset", **QUICK).fit(trained_on(COLUMNS), Y)
    np.testing.assert_array_equal(classifier.predict_proba(applied_to(COLUMNS)), expected["value"])


@pytest.mark.parametrize("kind", FRAMES, ids=names_of(FRAMES))
def test_a_few_rows_are_read_as_in_the_whole_table(expected, kind):
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


def test_the_table_is_not_changed():
    X = pandas_numpy(COLUMNS)
    before = X.copy()
    TANClassifier("subset", **QUICK).fit(X, Y).predict(X)
    pd.testing.assert_frame_equal(X, before)


# Which columns are categories.


@pytest.mark.parametrize("choice", [[2, 3], ["count", "votes"], [False, False, True, True] + [False] * 4])
def test_numbers_may_be_categories(choice):
    classifier = TANClassifier("subset", categorical_features=choice, **QUICK).fit(pandas_nullable(COLUMNS), Y)
    kinds = [isinstance(column, CategoryColumn) for column in classifier.encoder_.columns]
    # Text is a category whatever the option says. Booleans are numbers unless they are chosen.
    assert kinds == [False, False, True, True, True, True, False, False]
    assert classifier.encoder_.columns[2].categories.tolist() == sorted(set(COLUMNS["count"]))


def test_none_takes_all_but_text_for_numbers():
    classifier = TANClassifier("subset", categorical_features=None, **QUICK).fit(pandas_nullable(COLUMNS), Y)
    kinds = [isinstance(column, CategoryColumn) for column in classifier.encoder_.columns]
    assert kinds == [False] * 4 + [True, True, False, False]


def test_categories_of_a_dtype_that_no_row_has_are_left_out():
    grades = pd.Categorical(["a", "b"] * 10, categories=["never", "b", "a"])
    classifier = TANClassifier("subset", **QUICK).fit(pd.DataFrame({"grade": grades}), [0, 1] * 10)
    assert classifier.encoder_.columns[0].categories.tolist() == ["a", "b"]


def test_numeric_categories_of_a_dtype_are_categories():
    codes = pd.Categorical([3, 7, 3, 7] * 5)
    classifier = TANClassifier("subset", **QUICK).fit(pd.DataFrame({"code": codes}), [0, 1, 0, 1] * 5)
    assert classifier.encoder_.columns[0].categories.tolist() == [3, 7]
    as_numbers = classifier.predict_proba(pd.DataFrame({"code": [7.0, 3.0]}))
    np.testing.assert_array_equal(as_numbers, classifier.predict_proba(pd.DataFrame({"code": codes[[1, 0]]})))


# Binning.


@pytest.mark.parametrize("binning", ["auto", "mdlp"])
def test_cuts_by_the_classes(iris, binning):
    assert TANClassifier("subset", binning=binning, **QUICK).fit(*iris).encoder_.cards.tolist() == [3, 3, 3, 3]


def test_without_being_told_no_number_is_left_whole(streets):
    """Floors have nothing to do with the classes."""
    X, y = streets
    default, by_classes = (TANClassifier("none", **binning, **QUICK) for binning in ({}, {"binning": "mdlp"}))
    assert default.fit(X[["floor"]], y).encoder_.cards.tolist() == [5]
    assert by_classes.fit(X[["floor"]], y).encoder_.cards.tolist() == [1]


def test_max_bins_limits_mdlp():
    columns = TANClassifier("subset", max_bins=2, **QUICK).fit(pandas_nullable(COLUMNS), Y).encoder_.columns
    numeric = [column for column in columns if isinstance(column, NumericColumn)]
    assert [column.cuts.size for column in numeric] == [1, 1, 1, 1]


@pytest.mark.parametrize(("max_bins", "n_bins"), [(None, 10), (4, 4), (1, 1)])
def test_quantiles(max_bins, n_bins):
    X = np.arange(1000.0)[:, None]
    classifier = TANClassifier("subset", binning="quantile", max_bins=max_bins, **QUICK).fit(X, [0, 1] * 500)
    codes = np.searchsorted(classifier.encoder_.columns[0].cuts, X[:, 0], side="right")
    assert np.bincount(codes).tolist() == [1000 // n_bins] * n_bins


def test_quantiles_leave_missing_cells_out():
    X = np.r_[np.full(100, np.nan), np.arange(100.0)][:, None]
    classifier = TANClassifier("subset", binning="quantile", max_bins=2, **QUICK).fit(X, [0, 1] * 100)
    assert classifier.encoder_.columns[0].cuts.tolist() == [49.5]
    assert classifier.encoder_.cards.tolist() == [3]


def test_without_binning_each_number_is_a_category():
    X = np.array([[0.5], [1.5], [np.nan], [1.5]] * 10)
    classifier = TANClassifier("subset", binning="none", **QUICK).fit(X, [0, 1, 0, 1] * 10)
    assert classifier.encoder_.columns[0].categories.tolist() == [0.5, 1.5]
    assert classifier.encoder_.cards.tolist() == [3]
    # 1.0 lies between the two, but it is neither.
    unknown = classifier.predict_proba([[1.0]])
    prior = np.exp(classifier.network_.log_prior)
    np.testing.assert_allclose(unknown, [prior / prior.sum()], rtol=1e-5)


def test_codes_without_binning_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = ((rng.integers(0, 3, (300, 4)) + y[:, None]) % 5).astype(np.uint8)
    settings = {"structure": "chow-liu", "parameters": "ml"}
    plain = TANClassifier(binning="none", **settings).fit(X, y)
    named = TANClassifier(categorical_features=range(4), **settings).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), named.predict_proba(X))


def test_weights_move_the_bins():
    X = np.arange(100.0)[:, None]
    y = np.repeat([0, 1, 0], [30, 40, 30])
    weight = np.where(np.arange(100) < 70, 1.0, 0.0)
    classifier = TANClassifier("subset", **QUICK).fit(X, y, sample_weight=weight)
    assert classifier.encoder_.columns[0].cuts.tolist() == [29.5]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"binning": "equal"}, "binning must be 'auto', 'mdlp', 'quantile' or 'none', got 'equal'"),
        ({"binning": None}, "binning must be 'auto', 'mdlp', 'quantile' or 'none', got None"),
        ({"missing": "drop"}, "missing must be 'value' or 'ignore', got 'drop'"),
        ({"missing": None}, "missing must be 'value' or 'ignore', got None"),
        ({"max_bins": 0}, "max_bins must be an integer from 1 on, got 0"),
        ({"max_bins": 0, "binning": "quantile"}, "max_bins must be an integer from 1 on, got 0"),
        ({"max_bins": 0, "binning": "none"}, "max_bins must be an integer from 1 on, got 0"),
        ({"max_bins": 2.5}, "max_bins must be an integer from 1 on, got 2.5"),
        ({"max_bins": "few"}, "max_bins must be a finite number, got 'few'"),
        ({"max_categories": 1}, "max_categories must be None or an integer from 2 on, got 1"),
        ({"max_categories": 2.5}, "max_categories must be None or an integer from 2 on, got 2.5"),
        ({"max_categories": "few"}, "max_categories must be a finite number, got 'few'"),
        ({"categorical_features": ["hue"]}, "categorical_features lists 'hue', which X does not have"),
        ({"categorical_features": [8]}, "categorical_features lists column 8, but X has 8 columns"),
        ({"categorical_features": [True]}, "one entry for each of the 8 columns, but it has 1"),
        ({"categorical_features": "colour"}, r"such as \['colour'\]"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(option, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier(**option, **QUICK).fit(pandas_nullable(COLUMNS), Y)


# Columns of many values.


@pytest.fixture(scope="module")
def streets():
    """A column of 3000 street names, a few of them frequent, and one of numbers."""
    rng = np.random.default_rng(0)
    n_rows = 9000
    y = rng.integers(0, 2, n_rows)
    number = np.where(rng.random(n_rows) < 0.5, rng.integers(0, 20, n_rows) * 2 + y, np.arange(n_rows) % 3000 + 100)
    street = np.array([f"street {k}" for k in number])
    return pd.DataFrame({"street": street, "floor": rng.integers(0, 5, n_rows)}), y


def test_rare_values_are_pooled_and_listed(streets):
    X, y = streets
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    column = classifier.encoder_.columns[0]
    assert classifier.encoder_.cards.tolist() == [64, 5]
    assert column.categories.size == 63
    assert list(classifier.pooled_categories_) == ["street"]
    pooled = classifier.pooled_categories_["street"]
    assert {*pooled, *column.categories} == set(X["street"])
    assert len(pooled) == X["street"].nunique() - 63
    counts = X["street"].value_counts()
    assert counts[pooled].max() <= counts[column.categories].min()
    # Which street it is tells the class of the frequent ones.
    assert classifier.score(X, y) > 0.7


def test_pooled_values_are_one_value(streets):
    X, y = streets
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    pooled = classifier.pooled_categories_["street"]
    probabilities = classifier.predict_proba(pd.DataFrame({"street": pooled, "floor": 0}))
    np.testing.assert_array_equal(probabilities, np.tile(probabilities[:1], (len(pooled), 1)))
    # A street that training did not show is none of them: it is summed out.
    unseen = classifier.predict_proba(pd.DataFrame({"street": ["nowhere"], "floor": 0}))
    missing = classifier.predict_proba(pd.DataFrame({"street": pd.Series([None], dtype="str"), "floor": 0}))
    np.testing.assert_array_equal(unseen, missing)
    assert not np.allclose(unseen, probabilities[:1])


def test_pooled_columns_of_an_array_are_listed_by_number(streets):
    X, y = streets
    classifier = TANClassifier("subset", max_categories=3, **QUICK).fit(X.to_numpy(), y)
    assert list(classifier.pooled_categories_) == [0]
    named = TANClassifier("subset", max_categories=3, **QUICK).fit(X, y)
    assert named.pooled_categories_["street"] == classifier.pooled_categories_[0]
    assert TANClassifier("subset", max_categories=4000, **QUICK).fit(X, y).pooled_categories_ == {}


def test_numbers_taken_as_categories_are_pooled():
    X = np.r_[np.repeat([5, 6, 7], 50), np.arange(100, 150)][:, None]
    classifier = TANClassifier("subset", binning="none", max_categories=4, **QUICK).fit(X, np.arange(200) % 2)
    assert classifier.encoder_.cards.tolist() == [4]
    assert classifier.pooled_categories_ == {0: list(range(100, 150))}


def test_missing_cells_have_a_value_beside_the_pool(streets):
    X, y = streets
    X = X.assign(street=X["street"].where(np.arange(len(X)) % 10 > 0))
    assert TANClassifier("subset", **QUICK).fit(X, y).encoder_.cards.tolist() == [65, 5]
    assert TANClassifier("subset", missing="ignore", **QUICK).fit(X, y).encoder_.cards.tolist() == [64, 5]


def test_heavy_values_are_kept_by_weight():
    X = pd.DataFrame({"a": ["x"] * 10 + ["y"] * 5 + ["z"] * 5})
    weight = np.r_[np.full(10, 0.1), np.ones(5), np.full(5, 2.0)]
    classifier = TANClassifier("subset", max_categories=2, **QUICK).fit(X, [0, 1] * 10, sample_weight=weight)
    assert classifier.pooled_categories_ == {"a": ["x", "y"]}


def test_tables_of_columns_with_many_values_stay_small():
    """Eight columns of 3000 values each: tables of 64 values take megabytes, of 3000 they would take gigabytes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.integers(0, 3000, 6000).astype(str) for j in range(8)})
    y = rng.integers(0, 5, 6000)
    classifier = TANClassifier("subset", epochs=1, random_state=0).fit(X, y)
    assert classifier.encoder_.cards.tolist() == [64] * 8
    assert sum(map(len, classifier.pooled_categories_.values())) > 8 * 2500
    assert classifier.network_.layout.size <= 8 * 64 * 64 * 5


# Memory is known before a fit starts.


@pytest.fixture
def small_machine(monkeypatch):
    """A machine with 64 MiB of memory."""
    monkeypatch.setattr(layout, "_physical_memory", lambda: 2**26)


def test_a_fit_that_would_not_fit_in_memory_does_not_start(small_machine):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.integers(0, 500, 4000).astype(str) for j in range(6)})
    y = rng.integers(0, 4, 4000)
    TANClassifier("subset", **QUICK).fit(X, y)
    with pytest.raises(MemoryError) as caught:
        TANClassifier("all", max_categories=None, **QUICK).fit(X, y)
    message = str(caught.value)
    # 15 tables of 500 x 500 x 4 entries and 6 of 500 x 4, twelve bytes each: 0.17 GiB.
    assert "the 21 tables of this search space would take 0.2 GiB" in message
    assert "the machine has 0.1 GiB" in message
    assert "lower max_parents, max_bins or max_categories" in message
    assert "the largest table has 1,000,000 entries" in message


def test_counting_pairs_that_would_not_fit_in_memory_does_not_start(small_machine):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2000, (4000, 2))
    settings = {"binning": "none", "max_categories": None, "parameters": "ml"}
    with pytest.raises(MemoryError, match=r"the counts of one pair of features would take 0\.2 GiB"):
        TANClassifier("chow-liu", **settings).fit(X, rng.integers(0, 4, 4000))


def test_the_memory_of_a_fit_can_be_asked_for(iris):
    """Three numbers of four bytes for each entry of each table."""
    classifier = TANClassifier("none", **QUICK).fit(*iris)
    network = classifier.network_
    assert network.layout.training_bytes == 12 * (network.n_parameters - network.n_classes)


def test_memory_is_known_before_a_fit():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (500, 6))
    y = rng.integers(0, 3, 500)
    options = {"categorical_features": range(6), "random_state": 0}
    classifier = TANClassifier("all", **options)
    needed = classifier.memory_needed(X, y)
    n_entries = (15 * 4 * 4 + 6 * 4) * 3  # all pairs, and a table without a parent for each feature
    assert needed == 500 * 6 + 2 * 500 * 8 + 12 * n_entries
    assert not hasattr(classifier, "encoder_")
    chow_liu = TANClassifier("chow-liu", parent_dropout=0.1, **options)
    assert chow_liu.memory_needed(X, y) == 500 * 6 + 2 * 500 * 8 + 12 * (5 * 4 * 4 + 6 * 4) * 3
