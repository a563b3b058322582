"""Encoders that learn new values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.data import CategoryColumn, FrameEncoder, NumericColumn, QuantileBinning, as_frame, grow

VALUES = ["a", "b", "c", "d", "e", None]


def frame_of(*columns):
    return as_frame(np.array(columns, dtype=object).T)


def fit(frame, **options):
    return FrameEncoder.fit(frame, frame.is_categorical, None, QuantileBinning(3), **options)


@given(st.lists(st.sampled_from(VALUES), min_size=1, max_size=8), st.lists(st.sampled_from(VALUES), max_size=8))
@settings(max_examples=60)
def test_grown_encoder_is_that_of_all_rows(first, second):
    if not second or all(value is None for value in first):
        return
    grown, maps = grow(fit(frame_of(first)), frame_of(second), "value", None)
    expected = fit(frame_of([*first, *second]))
    assert grown.value_labels(0) == expected.value_labels(0)
    before, after = fit(frame_of(first)).encode(frame_of(first)), grown.encode(frame_of(first))
    of_value = np.arange(grown.cards[0]) if maps is None else maps[0]
    np.testing.assert_array_equal(of_value[before], after)


def test_nothing_new_changes_nothing():
    encoder = fit(frame_of(["a", "b", "a"], [1, 2, 3]))
    assert grow(encoder, frame_of(["b", "a"], [7, -7]), "value", None) == (encoder, None)


def test_values_beyond_the_limit_share_one():
    grown, maps = grow(fit(frame_of(["b", "d"])), frame_of(["a", "c", "e"]), "value", 3)
    assert grown.value_labels(0) == ["a", "b", "d", "other"]
    assert grown.pooled() == {0: ["c", "e"]}
    np.testing.assert_array_equal(maps[0], [1, 2])
    again, maps = grow(grown, frame_of(["f", None, "a"]), "value", 3)
    assert again.value_labels(0) == ["a", "b", "d", "other", "missing"]
    assert again.pooled() == {0: ["c", "e", "f"]}
    np.testing.assert_array_equal(maps[0], [0, 1, 2, 3])
    more, maps = grow(again, frame_of(["g"]), "value", 3)
    assert more.pooled() == {0: ["c", "e", "f", "g"]}
    np.testing.assert_array_equal(maps[0], [0, 1, 2, 3, 4])


def test_numbers_keep_their_bins_and_gain_a_bin_for_missing_cells():
    encoder = FrameEncoder((NumericColumn(np.array([1.5])),), None)
    grown, maps = grow(encoder, as_frame(np.array([[9.0], [np.nan]])), "value", None)
    assert grown.columns[0].has_missing
    np.testing.assert_array_equal(maps[0], [0, 1])
    assert grow(encoder, as_frame(np.array([[9.0], [np.nan]])), "ignore", None)[1] is None


def test_numbers_among_categories_of_numbers():
    encoder = FrameEncoder((CategoryColumn(np.array([1, 5])),), None)
    grown, _ = grow(encoder, as_frame(np.array([[3.5]])), "value", None)
    np.testing.assert_array_equal(grown.columns[0].categories, [1, 3.5, 5])


def test_rows_that_do_not_count_teach_nothing():
    encoder = fit(frame_of(["a", "b"]))
    assert grow(encoder, frame_of(["c", "a"]), "value", None, np.array([1]))[1] is None


def test_column_without_values_has_no_bins_to_grow():
    empty = as_frame(np.array([[np.nan], [np.nan]]))
    encoder = FrameEncoder.fit(empty, empty.is_categorical, None, QuantileBinning(2))
    with pytest.raises(ValueError, match=r"column 0 had only missing cells in the first rows"):
        grow(encoder, as_frame(np.array([[1.0], [2.0]])), "value", None)


def test_columns_keep_the_types_that_they_had_in_training():
    pandas = pytest.importorskip("pandas")
    first, second = (
        as_frame(pandas.DataFrame({"word": pandas.Categorical(list(words)), "n": np.array([1, 2])}))
        for words in ("ab", "az")
    )
    encoder = fit(first)
    grown, maps = grow(encoder, second, "value", None)
    assert maps is not None
    assert grown.dtypes == encoder.dtypes == ("category", "int64")
