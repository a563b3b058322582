import enum
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import CategoryColumn, FrameEncoder, NumericColumn, QuantileBinning, as_frame
from tanager.data.coders import are_ready, code_dtype, may_hold, sort_categories


@given(
    st.lists(st.floats(-10, 10), max_size=200, unique=True),
    st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=1, max_size=30),
)
def test_a_numeric_code_counts_the_cuts_that_are_not_above(cuts, values):
    column = NumericColumn(np.sort(np.array(cuts, dtype=np.float64)))
    values = np.array(values + cuts[:5])
    codes = column.coder(None, "column 0")(values)
    assert codes.tolist() == [sum(cut <= x for cut in cuts) for x in values]
    assert column.card == len(cuts) + 1
    assert (column.edges[codes] <= values).all()
    assert (values < column.edges[codes + 1]).all()


def test_float32_is_compared_in_double_precision():
    cut = 0.1 + 1e-12
    column = NumericColumn(np.array([cut]))
    x = np.array([0.1], dtype=np.float32)
    assert float(x[0]) > cut
    assert column.coder(None, "column 0")(x).tolist() == [1]


@pytest.mark.parametrize("n_cuts", [3, 127, 128, 200, 254, 255])
@pytest.mark.parametrize("has_missing", [False, True])
def test_missing_numbers_have_the_code_behind_the_bins(n_cuts, has_missing):
    column = NumericColumn(np.arange(n_cuts, dtype=np.float64), has_missing)
    codes = column.coder(None, "column 'a'")(np.array([np.nan, 1.0, 1e9]))
    assert codes.tolist() == [n_cuts + 1, 2, n_cuts]
    # With a code of its own a missing cell has the last code, without one it is unknown.
    assert column.card == n_cuts + 1 + has_missing
    assert column.edges.size == n_cuts + 2


@pytest.mark.parametrize("number", [np.inf, -np.inf])
def test_infinite_numbers_are_in_no_bin(number):
    column = NumericColumn(np.array([1.5]), True)
    with pytest.raises(ValueError, match="column 'a' has infinite values"):
        column.coder(None, "column 'a'")(np.array([1.0, np.nan, number]))
    with pytest.raises(ValueError, match="column 'a' has infinite values"):
        column.coder(np.array([1.0, number]), "column 'a'")(np.array([0, 1]))


def test_a_numeric_column_reads_levels_that_are_numbers():
    column = NumericColumn(np.array([1.5, 2.5]))
    codes = column.coder(np.array([3, 1]), "column 'a'")(np.array([0, 1, -1], dtype=np.int8))
    assert codes.tolist() == [2, 0, 3]
    mixed = column.coder(np.array([True, 2, Decimal("9.5"), 10**400], dtype=object), "column 'a'")
    assert mixed(np.array([2, 0, -1, 1])).tolist() == [2, 0, 3, 1]
    with pytest.raises(ValueError, match="column 'a' has infinite values"):
        mixed(np.array([3]))
    assert column.coder(np.array([], dtype=object), "column 'a'")(np.array([-1, -1])).tolist() == [3, 3]


def test_a_numeric_column_refuses_text_in_a_cell_but_not_in_an_unused_level():
    code = NumericColumn(np.array([1.5, 2.5])).coder(np.array(["y", 1, "x"], dtype=object), "column 'a'")
    assert code(np.array([1, -1])).tolist() == [0, 3]
    with pytest.raises(ValueError, match=r"column 'a' is numeric, but it holds 'x'; .* categorical_features"):
        code(np.array([1, -1, 2, 0]))


CELLS = st.one_of(st.integers(-3, 3), st.floats(-3, 3), st.text("ab", max_size=2), st.booleans())


@given(st.lists(CELLS, min_size=1, max_size=20))
def test_sorted_categories_are_distinct_and_do_not_depend_on_the_order(values):
    ordered = sort_categories(values, "column 0")
    assert set(ordered) == set(values)
    assert len(ordered) == len(set(values))
    assert sort_categories(values[::-1], "column 0") == ordered
    numbers = [value for value in ordered if not isinstance(value, str)]
    assert ordered[: len(numbers)] == sorted(numbers)
    assert ordered[len(numbers) :] == sorted(ordered[len(numbers) :])


def test_values_without_an_order_are_refused():
    colour = enum.Enum("Colour", ["RED", "BLUE"])
    with pytest.raises(TypeError, match=r"column 'c' has values that cannot be sorted .* turn them into text"):
        sort_categories(list(colour), "column 'c'")


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=10, unique=True), st.lists(st.integers(-9, 9), min_size=1))
def test_numbers_are_found_among_categories_and_unseen_ones_are_unknown(categories, values):
    column = CategoryColumn(np.sort(np.array(categories)))
    expected = [sorted(categories).index(value) if value in categories else len(categories) for value in values]
    assert column.coder(None, "column 0")(np.array(values)).tolist() == expected
    assert column.coder(None, "column 0")(np.array(values, dtype=np.float32)).tolist() == expected
    levels, codes = np.unique(np.array(values, dtype=object), return_inverse=True)
    assert column.coder(levels, "column 0")(codes).tolist() == expected


def test_numbers_are_found_among_mixed_categories():
    column = CategoryColumn(np.array([1, 2.5, "a"], dtype=object))
    assert column.coder(None, "column 0")(np.array([2.5, 7.0, 1.0])).tolist() == [1, 3, 0]
    text = CategoryColumn(np.array(["a", "b"], dtype=object))
    assert text.coder(None, "column 0")(np.array([2.5, 7.0])).tolist() == [2, 2]


def test_text_digits_are_not_numbers():
    column = CategoryColumn(np.array(["1", "2"], dtype=object))
    assert column.coder(np.array(["2", 1], dtype=object), "column 0")(np.array([0, 1])).tolist() == [1, 2]


@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("pooled", [[], [0, 3]])
@pytest.mark.parametrize(
    ("levels", "cells"),
    [(None, [np.nan, 2.0, 3.0, 9.0]), (np.array([9, 3, 2]), [-1, 2, 1, 0])],
    ids=["cells", "levels"],
)
def test_codes_of_missing_pooled_and_unseen_values_differ(levels, cells, pooled, has_missing):
    column = CategoryColumn(np.array([1, 2]), np.array(pooled, dtype=int), has_missing)
    missing, kept, rare, unseen = column.coder(levels, "column 'a'")(np.array(cells)).tolist()
    assert kept == 1
    assert rare == (2 if pooled else column.card)
    assert missing == (column.card - 1 if has_missing else column.card)
    assert unseen == column.card == 2 + bool(pooled) + has_missing


@pytest.mark.parametrize(
    ("kept", "rare", "numbers", "expected"),
    [
        # Text among the kept categories moves the shared code away from the number of kept numbers.
        ([1, "a", "b"], [2, 3], [3, 1, 2, 9], [3, 0, 3, 4]),
        (["a", "b"], [2, 3], [3, 1, 2], [2, 3, 2]),
        ([2, 5], [1, 3, 7], [1, 2, 3, 5, 7, 6], [2, 0, 2, 1, 2, 3]),
        ([2, 5], ["a", "b"], [5, 3, 2], [1, 3, 0]),
        ([False, "a", 10**400], [True, -(10**400)], [0, 1, 2], [0, 3, 4]),
    ],
)
def test_pooled_numbers_share_one_code_beside_any_categories(kept, rare, numbers, expected):
    def objects(cells):
        return np.array(sort_categories(cells, "column 0"), dtype=object)

    column = CategoryColumn(objects(kept), objects(rare))
    assert column.coder(None, "column 0")(np.array(numbers, dtype=np.float64)).tolist() == expected
    assert column.coder(None, "column 0")(np.array(numbers)).tolist() == expected
    levels = np.array(numbers, dtype=object)
    assert column.coder(levels, "column 0")(np.arange(len(numbers))).tolist() == expected


def test_a_category_without_values_knows_only_missing_cells():
    column = CategoryColumn(np.empty(0), has_missing=True)
    assert column.card == 1
    assert column.coder(None, "column 0")(np.array([np.nan, 3.0])).tolist() == [0, 1]
    assert column.coder(np.array(["x"], dtype=object), "column 0")(np.array([-1, 0])).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "u2", "i4", "u8", "f4", "f8"])
@pytest.mark.parametrize("categories", [[0, 1, 7], [-1, 0.5, 1, 2, 300], [False, True], ["a", 1], [10**400, 0]])
def test_codes_do_not_depend_on_the_type_of_the_cells(dtype, categories):
    kept = np.array(sort_categories(categories, "column 0"), dtype=object)
    column = CategoryColumn(kept, np.array([3, 200, "z"], dtype=object), True)
    values = np.array([0, 1, 2, 3, 7, 100], dtype=dtype)
    expected = [
        kept.tolist().index(x) if x in kept.tolist() else kept.size if x == 3 else column.card for x in values.tolist()
    ]
    assert column.coder(None, "column 0")(values).tolist() == expected
    assert column.coder(None, "column 0")(np.repeat(values, 2)[::2]).tolist() == expected
    if all(isinstance(category, (bool, int)) and category < 10**9 for category in categories):
        plain = CategoryColumn(np.array(kept.tolist()), np.array([3, 200]), True)
        assert plain.coder(None, "column 0")(values).tolist() == expected


def test_large_integers_are_told_apart():
    big = 2**53
    column = CategoryColumn(np.array([big, big + 1]), np.array([big + 2, big + 3]))
    assert column.coder(None, "column 0")(np.array([big + 3, big + 1, big, big + 4])).tolist() == [2, 1, 0, 3]


@pytest.mark.parametrize("number", [np.inf, -np.inf])
def test_infinite_numbers_are_no_categories(number):
    column = CategoryColumn(np.array([1, 2]))
    with pytest.raises(ValueError, match="column 'a' has infinite values"):
        column.coder(None, "column 'a'")(np.array([number]))
    code = column.coder(np.array([1, number, "x"], dtype=object), "column 'a'")
    assert code(np.array([0, 2, -1])).tolist() == [0, 2, 2]
    with pytest.raises(ValueError, match="column 'a' has infinite values"):
        code(np.array([0, 1]))


@pytest.mark.parametrize(("card", "dtype"), [(1, "u1"), (255, "u1"), (256, "u2"), (65535, "u2"), (65536, "u4")])
def test_codes_use_the_smallest_type_that_holds_the_unknown_code(card, dtype):
    assert code_dtype(card) == np.dtype(dtype)


def test_columns_are_frozen_and_can_be_pickled():
    column = CategoryColumn(np.array(["a", "b"], dtype=object), np.array(["c", "d"], dtype=object), True)
    with pytest.raises(AttributeError):
        column.categories = None
    copy = pickle.loads(pickle.dumps(column))
    assert (copy.categories.tolist(), copy.pooled.tolist(), copy.has_missing) == (["a", "b"], ["c", "d"], True)


BINNING = QuantileBinning(max_bins=4)
DTYPES = [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.int64, np.uint64]


def fit(cards):
    """An encoder of columns that hold 0 .. card - 1."""
    X = np.arange(max(cards))[:, None] % np.array(cards)
    return FrameEncoder.fit(as_frame(X), np.ones(len(cards), np.bool_), None, BINNING)


def by_column(encoder, X):
    return encoder.encode(as_frame(pd.DataFrame(X)))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 40), st.sampled_from(DTYPES), st.data())
def test_equals_the_way_column_by_column(cards, n_rows, dtype, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    info = np.iinfo(dtype)
    X = np.random.default_rng(seed).integers(max(info.min, -3), 12, size=(n_rows, len(cards))).astype(dtype)
    encoder = fit(cards)
    assert are_ready(encoder.columns)
    assert np.array_equal(encoder.encode(as_frame(X)), by_column(encoder, X))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_many_rows(dtype, n_threads):
    cards = np.arange(1, 38)
    X = np.random.default_rng(0).integers(0, cards + 1, size=(9_001, 37)).astype(dtype)
    codes = fit(cards).encode(as_frame(X), n_threads)
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, np.minimum(X, cards))


def test_array_is_not_handed_back():
    X = np.zeros((3, 2), np.uint8)
    codes = fit([2, 2]).encode(as_frame(X))
    codes[:] = 1
    assert not X.any()


def test_booleans_and_other_orders():
    encoder = fit([2, 2, 2])
    X = np.random.default_rng(0).integers(0, 2, size=(20, 3))
    for array in (X.astype(bool), np.asfortranarray(X), X[::2], X.astype(">i4"), X.astype(float)):
        assert np.array_equal(encoder.encode(as_frame(array)), array)


def test_numbers_too_narrow_for_the_cards_take_the_other_way():
    encoder = fit([300, 2])
    X = np.array([[-1, 0], [5, 1]], np.int8)
    assert not may_hold(X, encoder.cards)
    assert encoder.encode(as_frame(X)).tolist() == [[300, 0], [5, 1]]


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (np.array([[1], [2]]), {}),  # does not start at 0
        (np.array([[0.0], [1.0]]), {}),  # floats may be missing or broken
        (np.array([[0], [1], [2], [0], [0]]), {"max_categories": 2}),  # 1 and 2 share a code
        (np.array([[0], [1], [None]], dtype=object), {}),
    ],
)
def test_what_is_not_ready(X, options):
    encoder = FrameEncoder.fit(as_frame(X), np.array([True]), None, BINNING, **options)
    assert not are_ready(encoder.columns)


def test_binned_columns_are_not_ready():
    table = as_frame(np.arange(4)[:, None])
    assert not are_ready(FrameEncoder.fit(table, np.array([False]), None, BINNING).columns)


@pytest.mark.parametrize("n_cuts", [0, 1, 63, 200])
def test_few_and_many_numbers_get_the_same_bins(n_cuts):
    """A search for each number and comparisons with each cut: a number on a cut belongs to the bin above."""
    rng = np.random.default_rng(0)
    column = NumericColumn(np.unique(rng.normal(size=n_cuts)), has_missing=True)
    cells = np.concatenate([rng.normal(size=2000), column.cuts, [np.nan, -1e300, 1e300]])
    code = column.coder(None, "column 0")
    together = code(cells)
    assert together.tolist() == [code(cells[n : n + 1])[0] for n in range(len(cells))]
    expected = [n_cuts + 1 if x != x else sum(x >= cut for cut in column.cuts) for x in cells]
    assert together.tolist() == expected
