"""Arrays that are codes already are copied as a whole; the result is that of the way column by column."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import QuantileBinning, TableEncoder, as_table
from tanager.data.ready_codes import are_ready, may_hold

BINNING = QuantileBinning(max_bins=4)
DTYPES = [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.int64, np.uint64]


def fit(cards):
    """An encoder of columns that hold 0 .. card - 1."""
    X = np.arange(max(cards))[:, None] % np.array(cards)
    return TableEncoder.fit(as_table(X), np.ones(len(cards), np.bool_), None, BINNING)


def by_column(encoder, X):
    return encoder.encode(as_table(pd.DataFrame(X)))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 40), st.sampled_from(DTYPES), st.data())
def test_equals_the_way_column_by_column(cards, n_rows, dtype, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    info = np.iinfo(dtype)
    X = np.random.default_rng(seed).integers(max(info.min, -3), 12, size=(n_rows, len(cards))).astype(dtype)
    encoder = fit(cards)
    assert are_ready(encoder.columns)
    assert np.array_equal(encoder.encode(as_table(X)), by_column(encoder, X))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_many_rows(dtype, n_threads):
    cards = np.arange(1, 38)
    X = np.random.default_rng(0).integers(0, cards + 1, size=(9_001, 37)).astype(dtype)
    codes = fit(cards).encode(as_table(X), n_threads)
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, np.minimum(X, cards))


def test_array_is_not_handed_back():
    X = np.zeros((3, 2), np.uint8)
    codes = fit([2, 2]).encode(as_table(X))
    codes[:] = 1
    assert not X.any()


def test_booleans_and_other_orders():
    encoder = fit([2, 2, 2])
    X = np.random.default_rng(0).integers(0, 2, size=(20, 3))
    for array in (X.astype(bool), np.asfortranarray(X), X[::2], X.astype(">i4"), X.astype(float)):
        assert np.array_equal(encoder.encode(as_table(array)), array)


def test_numbers_too_narrow_for_the_cards_take_the_other_way():
    encoder = fit([300, 2])
    X = np.array([[-1, 0], [5, 1]], np.int8)
    assert not may_hold(X, encoder.cards)
    assert encoder.encode(as_table(X)).tolist() == [[300, 0], [5, 1]]


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
    encoder = TableEncoder.fit(as_table(X), np.array([True]), None, BINNING, **options)
    assert not are_ready(encoder.columns)


def test_binned_columns_are_not_ready():
    table = as_table(np.arange(4)[:, None])
    assert not are_ready(TableEncoder.fit(table, np.array([False]), None, BINNING).columns)
