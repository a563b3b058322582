"""Codes back to values, and a few values by column to codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.data import CategoryColumn, FrameEncoder, NumericColumn, as_frame, encode_assignment
from tanager.data.contents import bin_middles
from tanager.data.decoding import decode_column

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def encoder_of(*columns, names=None):
    return FrameEncoder(tuple(columns), names)


@given(st.lists(FINITE, unique=True, max_size=6))
@settings(max_examples=200)
def test_middles_lie_in_their_bins(values):
    cuts = np.array(sorted(values))
    if cuts.size and cuts[0] == -np.finfo(float).max:
        return  # nothing is below
    middles = bin_middles(cuts)
    assert np.isfinite(middles).all()
    assert np.searchsorted(cuts, middles, side="right").tolist() == list(range(cuts.size + 1))


@st.composite
def columns(draw):
    has_missing = draw(st.booleans())
    if draw(st.booleans()):
        cuts = draw(st.lists(st.floats(-1e6, 1e6), unique=True, max_size=4))
        return NumericColumn(np.array(sorted(cuts), dtype=np.float64), has_missing)
    values = draw(
        st.sampled_from(
            [
                np.array(["a", "b", "c"], dtype=object),
                np.array([3, 5, 8]),
                np.array([0.5, 2.0]),
                np.array([False, True]),
                np.array([1, 2.5, "x"], dtype=object),
            ]
        )
    )
    n_kept = draw(st.integers(1, len(values)))
    return CategoryColumn(values[:n_kept], values[n_kept:], has_missing)


@given(st.lists(columns(), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_decoded_values_have_their_codes_again(parts, seed):
    encoder = encoder_of(*parts)
    codes = np.random.default_rng(seed).integers(0, encoder.cards, size=(7, len(parts)))
    cells = np.empty(codes.shape, dtype=object)
    for j, column in enumerate(encoder.decode(codes, bins="median")):
        cells[:, j] = column
    assert np.array_equal(encoder.encode(as_frame(cells)), codes)


def test_types_of_decoded_columns():
    numbers = CategoryColumn(np.array([3, 5]))
    assert decode_column(numbers, np.array([0, 1])).dtype.kind == "i"
    np.testing.assert_array_equal(decode_column(numbers, np.array([0, 2])), [3.0, np.nan])
    assert decode_column(CategoryColumn(np.array([False, True])), np.array([1, 2])).tolist() == [True, None]
    numeric = NumericColumn(np.array([2.5, 10.0]), has_missing=True)
    assert decode_column(numeric, np.arange(5)).tolist() == ["< 2.5", "2.5 to 10", ">= 10", None, None]


def test_rare_values_are_the_first_of_them():
    column = CategoryColumn(np.array(["a"], dtype=object), np.array(["x", "y"], dtype=object))
    assert decode_column(column, np.array([1, 0])).tolist() == ["x", "a"]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((2, 1), int), r"shape \(N, 2\), got int64 of shape \(2, 1\)"),
        (np.zeros((2, 2)), "got float64"),
        (np.array([[0, 3]]), "row 0, column 'b': code 3 is outside 0 to 2"),
        (np.array([[0, 0], [-1, 0]]), "row 1, column 'a': code -1"),
    ],
)
def test_wrong_codes(codes, message):
    encoder = encoder_of(NumericColumn(np.array([1.0])), NumericColumn(np.array([1.0])), names=("a", "b"))
    with pytest.raises(ValueError, match=message):
        encoder.decode(codes)


def test_wrong_option():
    with pytest.raises(ValueError, match="bins must be 'label' or 'median', got 'mean'"):
        encoder_of(NumericColumn(np.array([1.0]))).decode(np.zeros((1, 1), int), bins="mean")


ENCODER = encoder_of(
    NumericColumn(np.array([1.0, 2.0])),
    CategoryColumn(np.array(["blue", "red"], dtype=object), has_missing=True),
    names=("size", "colour"),
)


def test_assignments():
    assert encode_assignment(ENCODER, {}).tolist() == [3, 3]
    assert encode_assignment(ENCODER, {"size": 1.5, 1: "red"}).tolist() == [1, 1]
    assert encode_assignment(ENCODER, {"colour": None}).tolist() == [3, 2]
    assert encode_assignment(ENCODER, {"colour": "green", "size": float("nan")}).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"weight": 1}, "there is no column 'weight'; the columns are 'size', 'colour'"),
        ({2: 1}, "there is no column 2; columns are numbered 0 to 1"),
        ({-1: 1}, "there is no column -1"),
        ({True: 1}, "by its name or its number, got True"),
        ({"size": 1, 0: 1}, "column 'size' is given twice"),
        ({"size": "big"}, "column 'size' is numeric, but it holds 'big'"),
        ({"size": float("inf")}, "column 'size' has infinite values"),
    ],
)
def test_wrong_assignments(values, message):
    with pytest.raises(ValueError, match=message):
        encode_assignment(ENCODER, values)


def test_names_where_there_are_none():
    with pytest.raises(ValueError, match="the training frame had no names; use 0 to 0"):
        encode_assignment(encoder_of(NumericColumn(np.array([1.0]))), {"a": 1})
