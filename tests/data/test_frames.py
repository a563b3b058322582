import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tanager.data import FrameEncoder, QuantileBinning, as_frame

CITY = ["Graz", "Wien", "Graz", "Linz", "Wien"]
AGE = [31.0, 22.5, 31.0, 47.0, 60.0]
COUNT = [3, 1, 2, 2, 1]
MEMBER = [True, False, True, True, False]


def numpy_table():
    X = np.empty((5, 4), dtype=object)
    X[:, 0], X[:, 1], X[:, 2], X[:, 3] = CITY, AGE, COUNT, MEMBER
    return X


def pandas_table():
    return pd.DataFrame({"city": CITY, "age": AGE, "count": COUNT, "member": MEMBER})


def pandas_nullable():
    return pandas_table().convert_dtypes()


def pandas_arrow():
    return pandas_table().convert_dtypes(dtype_backend="pyarrow")


def pandas_objects():
    return pandas_table().astype(object)


def polars_table():
    return pl.DataFrame({"city": CITY, "age": AGE, "count": COUNT, "member": MEMBER})


def arrow_table():
    return pa.table({"city": CITY, "age": AGE, "count": COUNT, "member": MEMBER})


def dictionary(table):
    """The same table with its text column as the library's dictionary type."""
    if isinstance(table, pd.DataFrame):
        return table.assign(city=table["city"].astype("category").cat.set_categories(["Wien", "Rom", "Linz", "Graz"]))
    if isinstance(table, pl.DataFrame):
        return table.with_columns(pl.col("city").cast(pl.Categorical))
    return table.set_column(0, "city", table["city"].dictionary_encode())


TABLES = {
    "numpy": numpy_table,
    "pandas": pandas_table,
    "pandas nullable": pandas_nullable,
    "pandas arrow": pandas_arrow,
    "pandas object": pandas_objects,
    "pandas category": lambda: dictionary(pandas_table()),
    "polars": polars_table,
    "polars categorical": lambda: dictionary(polars_table()),
    "polars enum": lambda: polars_table().with_columns(pl.col("city").cast(pl.Enum(["Wien", "Rom", "Linz", "Graz"]))),
    "polars decimal": lambda: polars_table().with_columns(pl.col("age").cast(pl.Decimal(10, 2))),
    "arrow": arrow_table,
    "arrow dictionary": lambda: dictionary(arrow_table()),
    "arrow large string": lambda: arrow_table().cast(arrow_table().schema.set(0, pa.field("city", pa.large_string()))),
    "arrow chunks": lambda: pa.concat_tables([dictionary(arrow_table()[:2]), dictionary(arrow_table()[2:])]),
    "arrow batch": lambda: arrow_table().to_batches()[0],
    "arrow stream": lambda: Stream(arrow_table()),
}


class Stream:
    """A table of some other library that speaks Arrow's stream protocol."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def fit(table, is_categorical=None, **options):
    mask = table.is_categorical if is_categorical is None else np.array(is_categorical)
    return FrameEncoder.fit(table, mask, None, QuantileBinning(max_bins=3), **options)


@pytest.mark.parametrize("trained_on", TABLES)
@pytest.mark.parametrize("applied_to", TABLES)
def test_every_kind_of_table_gives_the_same_codes(trained_on, applied_to):
    encoder = fit(as_frame(TABLES[trained_on]()))
    table = as_frame(TABLES[applied_to]())
    assert table.is_categorical.tolist() == [True, False, False, True]
    assert encoder.columns[0].categories.tolist() == ["Graz", "Linz", "Wien"]
    assert encoder.encode(table).tolist() == [[0, 1, 2, 1], [2, 0, 0, 0], [0, 1, 1, 1], [1, 2, 1, 1], [2, 2, 0, 0]]


def every_kind(filled, levels=("Wien", "Rom", "Linz", "Graz")):
    """The same columns in every kind of table; the first column is text, which some kinds keep in a dictionary."""
    first = next(iter(filled))
    X = np.empty((len(filled[first]), len(filled)), dtype=object)
    for index, values in enumerate(filled.values()):
        X[:, index] = values
    plain = pd.DataFrame({name: pd.Series(values) for name, values in filled.items()})
    category = plain.assign(**{first: pd.Categorical(filled[first], categories=levels)})
    polars, arrow = pl.DataFrame(filled), pa.table(filled)
    position = {level: code for code, level in enumerate(levels)}
    coded = pa.DictionaryArray.from_arrays(
        pa.array([position.get(value) for value in filled[first]], pa.int8()), pa.array(levels)
    )
    return {
        "numpy": X,
        "pandas": plain,
        "pandas nullable": plain.convert_dtypes(),
        "pandas arrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "pandas category": category,
        "polars": polars,
        "polars categorical": polars.with_columns(pl.col(first).cast(pl.Categorical)),
        "polars enum": polars.with_columns(pl.col(first).cast(pl.Enum(levels))),
        "arrow": arrow,
        "arrow dictionary": arrow.set_column(0, first, coded),
        "arrow chunks": pa.concat_tables([dictionary(arrow[:2]), dictionary(arrow[2:])]),
    }


@cache
def with_holes(*rows):
    """Every kind of table, with a missing cell in each column at the given rows."""
    columns = {"city": CITY, "age": AGE, "count": COUNT, "member": MEMBER}
    return every_kind(
        {name: [None if row in rows else value for row, value in enumerate(values)] for name, values in columns.items()}
    )


KINDS = list(with_holes())


@pytest.mark.parametrize("kind", KINDS)
def test_missing_cells_are_unknown_where_training_had_none(kind):
    encoder = fit(as_frame(numpy_table()))
    expected = encoder.encode(as_frame(numpy_table()))
    expected[1] = encoder.cards
    assert encoder.encode(as_frame(with_holes(1)[kind])).tolist() == expected.tolist()


@pytest.mark.parametrize("trained_on", KINDS)
@pytest.mark.parametrize("applied_to", KINDS)
def test_missing_cells_of_training_have_the_same_code_in_every_kind_of_table(trained_on, applied_to):
    encoder = fit(as_frame(with_holes(1)[trained_on]))
    assert [column.has_missing for column in encoder.columns] == [True] * 4
    assert encoder.cards.tolist() == [4, 4, 4, 3]
    expected = [[0, 0, 2, 1], [3, 3, 3, 2], [0, 0, 1, 1], [1, 1, 1, 1], [2, 2, 0, 0]]
    assert encoder.encode(as_frame(with_holes(1)[applied_to])).tolist() == expected
    expected[4] = expected[1]
    assert encoder.encode(as_frame(with_holes(1, 4)[applied_to])).tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_missing_cells_of_training_can_be_ignored(kind):
    table = as_frame(with_holes(1)[kind])
    encoder = fit(table, missing="ignore")
    assert encoder.cards.tolist() == [3, 3, 3, 2]
    assert encoder.encode(table)[1].tolist() == [3, 3, 3, 2]
    assert (encoder.encode(table)[[0, 2, 3, 4]] < encoder.cards).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_with_nothing_but_missing_cells_can_be_encoded(kind):
    empty = as_frame(with_holes(*range(5))[kind])
    encoder = fit(as_frame(numpy_table()))
    assert encoder.encode(empty).tolist() == [encoder.cards.tolist()] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_with_nothing_but_missing_cells_can_be_fitted(kind):
    empty = as_frame(with_holes(*range(5))[kind])
    encoder = fit(empty)
    assert encoder.cards.tolist() == [1] * 4
    assert encoder.encode(empty).tolist() == [[0] * 4] * 5
    assert encoder.encode(as_frame(TABLES["pandas"]())).tolist() == [[1] * 4] * 5
    name = "column 0" if kind == "numpy" else "column 'city'"
    with pytest.raises(ValueError, match=f"{name} has no values in the training rows, only missing ones"):
        fit(empty, missing="ignore")


# Graz weighs 3, Wien 2, Linz, Enns and Steyr 1; a dictionary has Rom and Bern too, which no row has.
TOWNS = ["Graz", "Steyr", "Wien", "Graz", None, "Enns", "Wien", "Linz", "Graz"]
ZIPS = [8010, 4400, 1010, 8010, 4470, 4470, 1010, 4020, 8010]
LEVELS = ("Wien", "Rom", "Steyr", "Linz", "Graz", "Enns", "Bern")
TRAIN = every_kind({"city": TOWNS, "zip": ZIPS}, LEVELS)
LATER = every_kind(
    {"city": ["Enns", "Rom", None, "Wien", "Steyr"], "zip": [4400, 7000, None, 8010, 1010]},
    LEVELS,
)


@pytest.mark.parametrize("trained_on", KINDS)
@pytest.mark.parametrize("applied_to", KINDS)
def test_rare_missing_and_unseen_values_in_every_kind_of_table(trained_on, applied_to):
    train = as_frame(TRAIN[trained_on])
    encoder = fit(train, is_categorical=[True, True], max_categories=3)
    city, code = encoder.columns
    assert city.categories.tolist() == ["Graz", "Wien"]
    assert city.pooled.tolist() == ["Enns", "Linz", "Steyr"]
    # Of the two values that weigh 2 the smaller keeps its code.
    assert code.categories.tolist() == [1010, 8010]
    assert code.pooled.tolist() == [4020, 4400, 4470]
    assert encoder.cards.tolist() == [4, 3]
    assert encoder.encode(train)[:, 0].tolist() == [0, 2, 1, 0, 3, 2, 1, 2, 0]
    assert encoder.encode(as_frame(LATER[applied_to])).tolist() == [[2, 2], [4, 3], [3, 3], [1, 1], [2, 0]]


@pytest.mark.parametrize("kind", KINDS)
def test_levels_that_no_row_has_are_no_categories(kind):
    table = as_frame(every_kind({"city": ["Graz", None, "Wien"]}, LEVELS)[kind])
    column = fit(table, max_categories=2).columns[0]
    assert (column.categories.tolist(), column.pooled.size, column.card) == (["Graz", "Wien"], 0, 3)


def test_numeric_columns_of_frames_are_not_copied():
    values = np.arange(5.0)
    for frame in (
        pd.DataFrame({"a": values}, copy=False),
        pl.DataFrame({"a": values}),
        pa.table({"a": pa.array(values)}),
    ):
        (column,) = as_frame(frame).columns
        assert not column.flags.owndata


def test_codes_of_a_category_are_used_as_they_are():
    series = pd.Series(pd.Categorical(["b", "a", None], categories=["c", "b", "a"]))
    table = as_frame(series.to_frame("x"))
    assert table.columns[0].tolist() == [1, 2, -1]
    assert table.levels[0].tolist() == ["c", "b", "a"]


def test_equal_and_missing_levels_of_a_dictionary_are_merged():
    column = pa.DictionaryArray.from_arrays([0, 1, 2, 3], ["a", None, "b", "a"])
    table = as_frame(pa.table({"x": column}))
    assert table.levels[0][table.columns[0][[0, 2, 3]]].tolist() == ["a", "b", "a"]
    assert table.columns[0][1] == -1


def test_numeric_levels_keep_their_type_and_intervals_are_categories():
    assert as_frame(pd.DataFrame({"x": pd.Categorical([3, 1])})).levels[0].dtype == np.int64
    frame = pd.DataFrame({"x": pd.cut(pd.Series([1.0, 5.0, 9.0]), [0, 4, 8, 12])})
    encoder = fit(as_frame(frame))
    assert encoder.encode(as_frame(frame[::-1])).ravel().tolist() == [2, 1, 0]


def test_names_that_are_not_text_are_no_names():
    assert as_frame(pd.DataFrame(np.zeros((2, 2)))).names is None
    assert as_frame(pd.DataFrame(np.zeros((2, 1)), columns=["a"])).names == ["a"]


DATES = pd.to_datetime(["2020-01-01", "2021-01-01"])


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "more than one column named 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "more than one column named 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", 3]), TypeError, r"names of several types, for instance 3 \(int\)"),
        (pd.DataFrame({"when": DATES}), TypeError, "column 'when' holds dates"),
        (pd.DataFrame({"when": DATES.tz_localize("UTC")}), TypeError, "column 'when' holds dates"),
        (pd.DataFrame({"when": DATES.to_period("M")}), TypeError, "column 'when' holds dates"),
        (pd.DataFrame({"when": pd.Categorical(DATES)}), TypeError, "column 'when' holds dates"),
        (pd.DataFrame({"when": DATES - DATES[0]}), TypeError, "column 'when' holds dates or durations"),
        (pl.DataFrame({"when": list(DATES)}), TypeError, "column 'when' holds dates"),
        (pa.table({"when": list(DATES)}), TypeError, "column 'when' holds dates"),
        (pd.DataFrame({"tags": [["a"], ["b"]]}), TypeError, "column 'tags' holds values of type list"),
        (pl.DataFrame({"tags": [["a"], ["b"]]}), TypeError, "column 'tags' holds values of type List"),
        (pl.DataFrame({"tags": [{"a": 1}]}), TypeError, "column 'tags' holds values of type Struct"),
        (pa.table({"tags": [["a"], ["b"]]}), TypeError, "column 'tags' holds values of type list"),
        (pd.DataFrame({"z": [1j, 2]}), ValueError, "Complex data not supported: column 'z'"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"lazy frame; call X.collect\(\) first"),
        (pd.DataFrame(index=range(3)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (pd.Series([1, 2]), ValueError, "Expected 2D array, got 1D"),
    ],
)
def test_frames_that_cannot_be_read_are_refused(frame, error, message):
    with pytest.raises(error, match=message):
        as_frame(frame)


def test_binary_and_nameless_types_are_read_cell_by_cell():
    for frame in (pl.DataFrame({"a": [b"x", b"y"]}), pa.table({"a": [b"x", b"y"]})):
        assert fit(as_frame(frame)).columns[0].categories.tolist() == [b"x", b"y"]
    sparse = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 0.0, 1.0])})
    assert as_frame(sparse).columns[0].tolist() == [0.0, 0.0, 1.0]


def test_arrays_need_none_of_the_frame_libraries():
    code = (
        "import sys, numpy\n"
        "sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow']))  # importing one of them now fails\n"
        "from tanager.data import as_frame\n"
        "print(as_frame(numpy.zeros((2, 3))).n_columns)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "3"


def test_a_missing_arrow_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow; pip install 'tanager\[frames\]'"):
        as_frame(Stream(arrow_table()))
