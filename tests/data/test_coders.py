import enum
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import CategoryColumn, NumericColumn
from tanager.data.coders import code_dtype, sort_categories


@given(
    st.lists(st.floats(-10, 10), max_size=200, unique=True),
    st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=1, max_size=30),
)
def test_a_numeric_code_counts_the_cuts_that_are_not_above(cuts, values):
    column = NumericColumn(np.sort(np.array(cuts, dtype=np.float64)))
    values = np.array(values + cuts[:5])
    codes = column.coder(None, "column 0", False)(values)
    assert codes.tolist() == [sum(cut <= x for cut in cuts) for x in values]
    assert column.card == len(cuts) + 1
    assert (column.edges[codes] <= values).all()
    assert (values < column.edges[codes + 1]).all()


def test_float32_is_compared_in_double_precision():
    cut = 0.1 + 1e-12
    column = NumericColumn(np.array([cut]))
    x = np.array([0.1], dtype=np.float32)
    assert float(x[0]) > cut
    assert column.coder(None, "column 0", False)(x).tolist() == [1]


@pytest.mark.parametrize("n_cuts", [3, 200])
def test_missing_numbers_are_unknown_when_allowed(n_cuts):
    column = NumericColumn(np.arange(n_cuts, dtype=np.float64))
    x = np.array([np.nan, 1.0])
    assert column.coder(None, "column 'a'", True)(x).tolist() == [n_cuts + 1, 2]
    with pytest.raises(ValueError, match="column 'a' has missing values"):
        column.coder(None, "column 'a'", False)(x)
    with pytest.raises(ValueError, match="column 'a' has infinite values"):
        column.coder(None, "column 'a'", True)(np.array([-np.inf]))


def test_a_numeric_column_reads_levels_that_are_numbers():
    column = NumericColumn(np.array([1.5, 2.5]))
    codes = column.coder(np.array([3, 1]), "column 'a'", True)(np.array([0, 1, -1], dtype=np.int8))
    assert codes.tolist() == [2, 0, 3]
    with pytest.raises(ValueError, match=r"column 'a' is numeric, but it holds 'x'; .* categorical_features"):
        column.coder(np.array([1, "x"], dtype=object), "column 'a'", True)


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
    assert column.coder(None, "column 0", False)(np.array(values)).tolist() == expected
    assert column.coder(None, "column 0", False)(np.array(values, dtype=np.float32)).tolist() == expected
    levels, codes = np.unique(np.array(values, dtype=object), return_inverse=True)
    assert column.coder(levels, "column 0", False)(codes).tolist() == expected


def test_numbers_are_found_among_mixed_categories():
    column = CategoryColumn(np.array([1, 2.5, "a"], dtype=object))
    assert column.coder(None, "column 0", False)(np.array([2.5, 7.0, 1.0])).tolist() == [1, 3, 0]
    text = CategoryColumn(np.array(["a", "b"], dtype=object))
    assert text.coder(None, "column 0", False)(np.array([2.5, 7.0])).tolist() == [2, 2]


def test_text_digits_are_not_numbers():
    column = CategoryColumn(np.array(["1", "2"], dtype=object))
    assert column.coder(np.array(["2", 1], dtype=object), "column 0", False)(np.array([0, 1])).tolist() == [1, 2]


@pytest.mark.parametrize(("levels", "cells"), [(None, [np.nan, 1.0]), (np.array([1]), [-1, 0])])
def test_missing_categories_are_unknown_when_allowed(levels, cells):
    column = CategoryColumn(np.array([1, 2]))
    assert column.coder(levels, "column 'a'", True)(np.array(cells)).tolist() == [2, 0]
    with pytest.raises(ValueError, match="column 'a' has missing values"):
        column.coder(levels, "column 'a'", False)(np.array(cells))


def test_infinite_numbers_are_no_categories():
    with pytest.raises(ValueError, match="column 'a' has infinite values"):
        CategoryColumn(np.array([1, 2])).coder(None, "column 'a'", True)(np.array([np.inf]))


@pytest.mark.parametrize(("card", "dtype"), [(1, "u1"), (255, "u1"), (256, "u2"), (65535, "u2"), (65536, "u4")])
def test_codes_use_the_smallest_type_that_holds_the_unknown_code(card, dtype):
    assert code_dtype(card) == np.dtype(dtype)


def test_columns_are_frozen_and_can_be_pickled():
    column = CategoryColumn(np.array(["a", "b"], dtype=object))
    with pytest.raises(AttributeError):
        column.categories = None
    assert pickle.loads(pickle.dumps(column)).categories.tolist() == ["a", "b"]
