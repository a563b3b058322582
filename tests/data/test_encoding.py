import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import CategoryColumn, NumericColumn, as_frame
from tanager.data import encoding as encoding_module
from tests.data.encoders import cells, describe, describe_all, encode, fit

NO_HOLES = st.nothing()


@st.composite
def tables(draw, holes=NO_HOLES):
    n_rows = draw(st.integers(1, 30))
    X = np.empty((n_rows, 3), dtype=object)
    for index, values in enumerate([st.floats(-3, 3), st.text("abc", max_size=2), st.integers(-2, 2)]):
        X[:, index] = draw(st.lists(values | holes, min_size=n_rows, max_size=n_rows))
    weight = np.array(draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows)))
    weight[draw(st.integers(0, n_rows - 1))] = 1
    return X, weight


MASK = [False, True, True]


@given(tables(holes=st.none()), st.sampled_from([None, 2, 3]))
def test_integer_weights_equal_repeated_rows(data, max_categories):
    X, weight = data
    weighted = fit(X, MASK, weight.astype(float), max_categories=max_categories)
    repeated = fit(np.repeat(X, weight, axis=0), MASK, max_categories=max_categories)
    assert describe_all(weighted) == describe_all(repeated)
    assert np.array_equal(weighted.encode(as_frame(X)), repeated.encode(as_frame(X)))


@given(tables(holes=st.none()), st.sampled_from([None, 2, 3]))
def test_training_rows_use_every_code_and_no_other(data, max_categories):
    X, _ = data
    encoder = fit(X, MASK, max_categories=max_categories)
    codes = encoder.encode(as_frame(X))
    for index, card in enumerate(encoder.cards):
        assert set(codes[:, index]) == set(range(card))


@given(tables())
def test_codes_lead_back_to_categories_and_bins(data):
    X, _ = data
    encoder = fit(X, MASK)
    codes = encoder.encode(as_frame(X))
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
    assert encoder.encode(as_frame(np.array([[1], [3], [2]]))).ravel().tolist() == [0, 1, 2]


def test_levels_that_no_row_with_weight_has_are_left_out():
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a", "c"], categories=["d", "c", "b", "a"])})
    assert describe(fit(frame, sample_weight=[1.0, 2.0, 0.0])) == [["a", "b"]]
    numeric = pd.DataFrame({"x": pd.Categorical([3, 1, 2])})
    assert describe(fit(numeric, sample_weight=[1.0, 2.0, 0.0])) == [[1, 3]]


def test_a_numeric_category_may_be_treated_as_a_number():
    frame = pd.DataFrame({"x": pd.Categorical([30, 10, 20])})
    encoder = fit(frame, [False])
    assert describe(encoder) == [[15.0, 25.0]]
    assert encoder.encode(as_frame(frame)).ravel().tolist() == [2, 0, 1]


def test_unseen_categories_are_unknown_and_never_an_error():
    encoder = fit(pd.DataFrame({"job": ["a", "b"], "code": [1, 2]}), [True, True])
    codes = encoder.encode(as_frame(pd.DataFrame({"job": ["z", "b"], "code": [2, 9]})))
    assert codes.tolist() == [[2, 1], [1, 2]]
    codes = encoder.encode(as_frame(pd.DataFrame({"job": [1, 2], "code": ["1", "b"]})))
    assert codes.tolist() == [[2, 2], [2, 2]]


def test_many_categories_widen_the_codes():
    X = np.arange(300).reshape(-1, 1)
    codes = fit(X, [True]).encode(as_frame(X))
    assert codes.dtype == np.uint16
    assert codes.ravel().tolist() == list(range(300))
    assert fit(X[:255], [True]).encode(as_frame(X)).dtype == np.uint8
    assert fit(X[:255], [True]).encode(as_frame(X)).max() == 255


def test_blocks_and_threads_do_not_change_the_codes(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    encoder = fit(X)
    expected = encoder.encode(as_frame(X))
    monkeypatch.setattr(encoding_module, "_BLOCK_ROWS", 7)
    assert np.array_equal(encoder.encode(as_frame(X)), expected)
    assert np.array_equal(encoder.encode(as_frame(X), n_threads=3), expected)
    X[990, 1] = np.nan
    expected[990, 1] = encoder.cards[1]
    assert np.array_equal(encoder.encode(as_frame(X), n_threads=3), expected)
    X[991, 2] = np.inf
    with pytest.raises(ValueError, match="column 2 has infinite values"):
        encoder.encode(as_frame(X), n_threads=3)


def test_no_rows_give_no_codes():
    assert fit(np.eye(3)).encode(as_frame(np.zeros((0, 3)))).shape == (0, 3)


def test_binning_is_called_once_with_the_numeric_columns_and_the_weights():
    calls = []

    def binning(columns, sample_weight):
        calls.append(([column.tolist() for column in columns], sample_weight.tolist()))
        return [np.array([0.5]), np.array([])]

    X = np.array([[1.0, 7.0, 0.0], [0.0, 8.0, 0.0]])
    encoder = fit(X, [False, True, False], [1, 2], binning)
    assert calls == [([[1.0, 0.0], [0.0, 0.0]], [1.0, 2.0])]
    assert describe(encoder) == [[0.5], [7.0, 8.0], []]


HOLES = pd.DataFrame({"age": [1.0, np.nan, 2.0], "job": ["x", None, "y"], "n": [4, 5, 6]})


def test_missing_cells_have_the_last_code_of_a_column_that_had_some():
    encoder = fit(HOLES)
    assert describe_all(encoder) == ([[1.5], ["x", "y"], [4.5, 5.5]], {}, [True, True, False])
    assert encoder.cards.tolist() == [3, 3, 3]
    assert encoder.encode(as_frame(HOLES)).tolist() == [[0, 0, 0], [2, 2, 1], [1, 1, 2]]
    # The last column has no code for missing cells: there they are as unknown as a value never seen.
    later = pd.DataFrame({"age": [np.nan, 9.0], "job": [None, "z"], "n": [np.nan, 9]})
    assert encoder.encode(as_frame(later)).tolist() == [[2, 2, 3], [1, 3, 2]]


def test_ignored_missing_cells_are_unknown():
    encoder = fit(HOLES, missing="ignore")
    assert describe_all(encoder) == ([[1.5], ["x", "y"], [4.5, 5.5]], {}, [False] * 3)
    assert encoder.cards.tolist() == [2, 2, 3]
    assert encoder.encode(as_frame(HOLES)).tolist() == [[0, 0, 0], [2, 2, 1], [1, 1, 2]]


def test_missing_cells_of_rows_without_weight_do_not_matter():
    encoder = fit(HOLES, sample_weight=[1, 0, 1])
    assert describe_all(encoder) == ([[1.5], ["x", "y"], [5.0]], {}, [False] * 3)
    assert encoder.encode(as_frame(HOLES)).tolist() == [[0, 0, 0], [2, 2, 1], [1, 1, 1]]


def test_infinite_cells_of_rows_without_weight_do_not_matter():
    X = np.array([[1.0, 1.0], [np.inf, np.inf], [2.0, 2.0]])
    assert describe(fit(X, [False, True], [1, 0, 1])) == [[1.5], [1.0, 2.0]]


EMPTY = {
    "floats": np.full((3, 1), np.nan),
    "objects": cells(None, np.nan, None),
    "category": pd.DataFrame({"a": pd.Categorical([None] * 3, categories=["x", "y"])}),
    "numeric category": pd.DataFrame({"a": pd.Categorical([None] * 3, categories=[1, 2])}),
}


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("is_categorical", [False, True])
def test_a_column_of_missing_cells_has_one_code_and_knows_nothing_else(kind, is_categorical):
    encoder = fit(EMPTY[kind], [is_categorical], max_categories=2)
    assert encoder.cards.tolist() == [1]
    assert encode(encoder, EMPTY[kind]) == [0, 0, 0]
    assert encode(encoder, np.array([[7.0], [np.nan]])) == [1, 0]
    assert encode(encoder, cells("x", None, 3)) == [1, 0, 1]
    with pytest.raises(ValueError, match=r"column .* has no values in the training rows.*drop it, or use missing="):
        fit(EMPTY[kind], [is_categorical], missing="ignore")


def test_a_column_is_all_missing_when_its_rows_with_weight_are():
    X, weight = np.array([[1.0], [np.nan], [2.0]]), [0, 3, 0]
    assert fit(X, sample_weight=weight).cards.tolist() == [1]
    with pytest.raises(ValueError, match="column 0 has no values in the training rows, only missing ones"):
        fit(X, sample_weight=weight, missing="ignore")


def test_binning_does_not_see_columns_without_a_value():
    widths = []

    def binning(columns, sample_weight):
        widths.append(len(columns))
        return [np.array([0.5]) for _ in columns]

    X = np.array([[0.0, np.nan, 0.0], [1.0, np.nan, np.nan]])
    encoder = fit(X, binning=binning)
    assert widths == [2]
    assert encoder.encode(as_frame(X)).tolist() == [[0, 0, 0], [1, 0, 2]]


@pytest.mark.parametrize("missing", ["drop", "Value", "", None, True])
def test_an_unknown_word_for_missing_cells_is_refused(missing):
    with pytest.raises(ValueError, match=re.escape(f"missing must be 'value' or 'ignore', got {missing!r}")):
        fit(np.eye(2), missing=missing)


@pytest.mark.parametrize("limit", [1, 0, -3, 2.0, "3", True, np.int64(1), np.nan])
def test_a_limit_of_categories_below_two_or_not_an_integer_is_refused(limit):
    with pytest.raises(ValueError, match=r"max_categories must be None or an integer from 2 on, got"):
        fit(np.eye(2), max_categories=limit)


def test_a_limit_of_categories_may_be_an_integer_of_numpy():
    assert fit(cells(*"aabc"), max_categories=np.int64(2)).pooled() == {0: ["b", "c"]}


@pytest.mark.parametrize(
    ("frame", "is_categorical"),
    [
        ({"age": [1.0, np.inf]}, False),
        ({"age": [1.0, -np.inf]}, True),
        ({"age": pd.Categorical([1.0, np.inf])}, True),
        ({"age": pd.Categorical([1.0, np.inf])}, False),
        ({"age": ["x", -np.inf]}, True),
        ({"age": [np.nan, np.inf]}, False),
    ],
)
def test_infinite_values_are_refused_in_training(frame, is_categorical):
    with pytest.raises(ValueError, match=re.escape("column 'age' has infinite values (inf)")):
        fit(pd.DataFrame(frame), [is_categorical])


def test_infinite_levels_that_no_row_has_do_not_matter():
    frame = pd.DataFrame({"age": pd.Categorical([1.0, 2.0, None], categories=[np.inf, 2.0, 1.0])})
    for is_categorical in (True, False):
        assert encode(fit(frame, [is_categorical]), frame) == [0, 1, 2]


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
        (["a", "b", "c", "d"], "Not in the training frame: 'd'."),
        (["a", "b", "C"], "Missing: 'c'. Not in the training frame: 'C'."),
        (["a", "c", "b"], "Out of order: 'c', 'b'; reorder them with X[['a', 'b', 'c']]."),
    ],
)
def test_other_columns_than_in_training_are_named(columns, message):
    encoder = fit(pd.DataFrame(np.eye(3), columns=["a", "b", "c"]))
    table = as_frame(pd.DataFrame(np.ones((1, len(columns))), columns=columns))
    with pytest.raises(ValueError, match=re.escape("differ from those of the training frame. " + message)):
        encoder.encode(table)


def test_another_number_of_columns_is_refused():
    encoder = fit(pd.DataFrame(np.eye(3), columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match="X has 2 features, but FrameEncoder is expecting 3 features as input"):
        encoder.encode(as_frame(np.zeros((1, 2))))
    assert encoder.encode(as_frame(np.zeros((1, 3)))).shape == (1, 3)


def test_text_in_a_numeric_column_is_named():
    encoder = fit(pd.DataFrame({"age": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="column 'age' is numeric, but it holds 'old'"):
        encoder.encode(as_frame(pd.DataFrame({"age": [1.0, "old"]})))
    unused = pd.DataFrame({"age": pd.Categorical([1.0, None], categories=["old", 1.0])})
    assert encode(encoder, unused) == [0, 2]
    assert encode(encoder, cells(True, 2)) == [0, 1]


def test_an_encoder_can_be_pickled_and_its_arrays_are_read_only():
    X = np.array([["a", 1.0], ["b", 2.0], ["c", None]], dtype=object)
    encoder = fit(X, max_categories=2)
    for array in (encoder.columns[1].cuts, encoder.columns[0].categories, encoder.columns[0].pooled):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    copy = pickle.loads(pickle.dumps(encoder))
    assert describe_all(copy) == describe_all(encoder)
    assert np.array_equal(copy.encode(as_frame(X)), encoder.encode(as_frame(X)))


@given(st.integers(0, 2**32 - 1))
def test_a_few_rows_have_the_codes_of_many(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)).round(1)
    encoder = fit(X, [False, False, False])
    near = np.concatenate([[np.nextafter(cut, -np.inf), cut] for cut in encoder.columns[0].cuts] or [[0.0]])
    X[: len(near), 0] = near[: len(X)]
    if seed % 3 == 0:
        X[0, 1] = np.nan
    many = encoder.encode(as_frame(X))
    for start in range(0, 50, 3):
        np.testing.assert_array_equal(encoder.encode(as_frame(X[start : start + 3])), many[start : start + 3])
