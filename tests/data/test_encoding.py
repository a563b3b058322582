import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import CategoryColumn, NumericColumn, QuantileBinning, TableEncoder, as_table
from tanager.data import encoding as encoding_module

BINNING = QuantileBinning(max_bins=4)


def fit(X, is_categorical=None, sample_weight=None, binning=BINNING):
    table = as_table(X)
    if is_categorical is None:
        is_categorical = table.is_categorical
    return TableEncoder.fit(table, np.asarray(is_categorical), sample_weight, binning)


def describe(encoder):
    """Everything that was learned, as plain values."""
    return [
        column.cuts.tolist() if isinstance(column, NumericColumn) else column.categories.tolist()
        for column in encoder.columns
    ]


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 30))
    X = np.empty((n_rows, 3), dtype=object)
    for index, cells in enumerate([st.floats(-3, 3), st.text("abc", max_size=2), st.integers(-2, 2)]):
        X[:, index] = draw(st.lists(cells, min_size=n_rows, max_size=n_rows))
    weight = np.array(draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows)))
    weight[draw(st.integers(0, n_rows - 1))] = 1
    return X, weight


MASK = [False, True, True]


@given(tables())
def test_integer_weights_equal_repeated_rows(data):
    X, weight = data
    weighted = fit(X, MASK, weight.astype(float))
    assert describe(weighted) == describe(fit(np.repeat(X, weight, axis=0), MASK))


@given(tables())
def test_codes_lead_back_to_categories_and_bins(data):
    X, _ = data
    encoder = fit(X, MASK)
    codes = encoder.encode(as_table(X))
    assert codes.flags.c_contiguous
    assert codes.dtype == np.uint8
    assert (codes < encoder.cards).all()
    numbers = X[:, 0].astype(float)
    edges = encoder.columns[0].edges
    assert (edges[codes[:, 0]] <= numbers).all()
    assert (numbers < edges[codes[:, 0] + 1]).all()
    for index in (1, 2):
        assert encoder.columns[index].categories[codes[:, index]].tolist() == X[:, index].tolist()
        assert set(codes[:, index]) == set(range(encoder.cards[index]))


def test_kinds_of_columns():
    encoder = fit(pd.DataFrame({"age": [1.0, 2.0, 3.0], "job": ["b", "a", "b"], "is_new": [True, False, True]}))
    assert [type(column) for column in encoder.columns] == [NumericColumn, CategoryColumn, CategoryColumn]
    assert encoder.names == ("age", "job", "is_new")
    assert encoder.cards.tolist() == [3, 2, 2]
    assert encoder.cards.dtype == np.int32
    assert describe(encoder) == [[1.5, 2.5], ["a", "b"], [False, True]]
    assert encoder.columns[2].categories.dtype == np.bool_


def test_integer_valued_float_categories_keep_their_type():
    encoder = fit(np.array([[3.0], [1.0]]), [True])
    assert encoder.columns[0].categories.dtype == np.float64
    assert encoder.encode(as_table(np.array([[1], [3], [2]]))).ravel().tolist() == [0, 1, 2]


def test_levels_that_no_row_with_weight_has_are_left_out():
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a", "c"], categories=["d", "c", "b", "a"])})
    assert describe(fit(frame, sample_weight=[1.0, 2.0, 0.0])) == [["a", "b"]]
    numeric = pd.DataFrame({"x": pd.Categorical([3, 1, 2])})
    assert describe(fit(numeric, sample_weight=[1.0, 2.0, 0.0])) == [[1, 3]]


def test_a_numeric_category_may_be_treated_as_a_number():
    frame = pd.DataFrame({"x": pd.Categorical([30, 10, 20])})
    encoder = fit(frame, [False])
    assert describe(encoder) == [[15.0, 25.0]]
    assert encoder.encode(as_table(frame)).ravel().tolist() == [2, 0, 1]


def test_unseen_categories_are_unknown_and_never_an_error():
    encoder = fit(pd.DataFrame({"job": ["a", "b"], "code": [1, 2]}), [True, True])
    codes = encoder.encode(as_table(pd.DataFrame({"job": ["z", "b"], "code": [2, 9]})))
    assert codes.tolist() == [[2, 1], [1, 2]]
    codes = encoder.encode(as_table(pd.DataFrame({"job": [1, 2], "code": ["1", "b"]})))
    assert codes.tolist() == [[2, 2], [2, 2]]


def test_many_categories_widen_the_codes():
    X = np.arange(300).reshape(-1, 1)
    codes = fit(X, [True]).encode(as_table(X))
    assert codes.dtype == np.uint16
    assert codes.ravel().tolist() == list(range(300))
    assert fit(X[:255], [True]).encode(as_table(X)).dtype == np.uint8
    assert fit(X[:255], [True]).encode(as_table(X)).max() == 255


def test_blocks_and_threads_do_not_change_the_codes(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    encoder = fit(X)
    expected = encoder.encode(as_table(X))
    monkeypatch.setattr(encoding_module, "_BLOCK_ROWS", 7)
    assert np.array_equal(encoder.encode(as_table(X)), expected)
    assert np.array_equal(encoder.encode(as_table(X), n_threads=3), expected)
    X[990, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 has missing values"):
        encoder.encode(as_table(X), n_threads=3)


def test_no_rows_give_no_codes():
    assert fit(np.eye(3)).encode(as_table(np.zeros((0, 3)))).shape == (0, 3)


def test_binning_is_called_once_with_the_numeric_columns_and_the_weights():
    calls = []

    def binning(columns, sample_weight):
        calls.append(([column.tolist() for column in columns], sample_weight.tolist()))
        return [np.array([0.5]), np.array([])]

    X = np.array([[1.0, 7.0, 0.0], [0.0, 8.0, 0.0]])
    encoder = fit(X, [False, True, False], [1, 2], binning)
    assert calls == [([[1.0, 0.0], [0.0, 0.0]], [1.0, 2.0])]
    assert describe(encoder) == [[0.5], [7.0, 8.0], []]


def test_missing_cells_of_rows_without_weight_do_not_matter():
    frame = pd.DataFrame({"a": [1.0, np.nan, 2.0], "b": ["x", None, "y"]})
    assert describe(fit(frame, sample_weight=[1, 0, 1])) == [[1.5], ["x", "y"]]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"age": [1.0, np.nan]}, "column 'age' has missing values (NaN or None) in 1 of 2 training rows; fill them"),
        ({"age": [np.nan, np.nan]}, "column 'age' has missing values (NaN or None) in 2 of 2 training rows"),
        ({"job": ["a", None]}, "column 'job' has missing values (NaN or None) in 1 of 2 training rows"),
        ({"job": [None, None]}, "column 'job' has missing values"),
        ({"age": [1.0, np.inf]}, "column 'age' has infinite values (inf)"),
    ],
)
def test_missing_and_infinite_values_are_refused_in_training(frame, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        fit(pd.DataFrame(frame))


def test_infinite_categories_are_refused():
    with pytest.raises(ValueError, match="column 0 has infinite values"):
        fit(np.array([[np.inf], [1.0]]), [True])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"sample_weight must have shape \(2,\), one weight a row, but its shape is \(1,\)"),
        ([1.0, -1.0], "sample_weight must be finite and not negative"),
        ([1.0, np.nan], "sample_weight must be finite and not negative"),
        ([0.0, 0.0], "sample_weight is zero for every row"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        fit(np.eye(2), sample_weight=weight)


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 2\)\) while a minimum of 1 is required."):
        fit(np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "b"], "Missing: 'c'."),
        (["a", "b", "c", "d"], "Not in the training table: 'd'."),
        (["a", "b", "C"], "Missing: 'c'. Not in the training table: 'C'."),
        (["a", "c", "b"], "Out of order: 'c', 'b'; reorder them with X[['a', 'b', 'c']]."),
    ],
)
def test_other_columns_than_in_training_are_named(columns, message):
    encoder = fit(pd.DataFrame(np.eye(3), columns=["a", "b", "c"]))
    table = as_table(pd.DataFrame(np.ones((1, len(columns))), columns=columns))
    with pytest.raises(ValueError, match=re.escape("differ from those of the training table. " + message)):
        encoder.encode(table)


def test_another_number_of_columns_is_refused():
    encoder = fit(pd.DataFrame(np.eye(3), columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 3 features as input"):
        encoder.encode(as_table(np.zeros((1, 2))))
    assert encoder.encode(as_table(np.zeros((1, 3)))).shape == (1, 3)


def test_text_in_a_numeric_column_is_named():
    encoder = fit(pd.DataFrame({"age": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="column 'age' is numeric, but it holds 'old'"):
        encoder.encode(as_table(pd.DataFrame({"age": [1.0, "old"]})))


def test_an_encoder_can_be_pickled_and_its_arrays_are_read_only():
    X = np.array([["a", 1.0], ["b", 2.0]], dtype=object)
    encoder = fit(X)
    with pytest.raises(ValueError, match="read-only"):
        encoder.columns[1].cuts[0] = 0
    copy = pickle.loads(pickle.dumps(encoder))
    assert describe(copy) == describe(encoder)
    assert np.array_equal(copy.encode(as_table(X)), encoder.encode(as_table(X)))
