import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import (
    CategoryColumn,
    FrameEncoder,
    NumericColumn,
    QuantileBinning,
    as_frame,
    group_labels,
    value_labels,
)
from tanager.data.contents import BinContents


def numbers(*cuts, has_missing=False):
    return NumericColumn(np.array(cuts, np.float64), has_missing)


def words(*categories):
    return CategoryColumn(np.array(categories, dtype=object))


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (NumericColumn(np.empty(0)), ["any"]),
        (NumericColumn(np.array([0.5])), ["< 0.5", ">= 0.5"]),
        (NumericColumn(np.array([1.00001, 1.00002])), ["< 1.00001", "1.00001 to 1.00002", ">= 1.00002"]),
        (CategoryColumn(np.array([1.0, 2.0])), ["1", "2"]),
        (
            CategoryColumn(np.array([1, "1", "missing"], dtype=object), has_missing=True),
            ["1", "1 (2)", "missing", "missing (2)"],
        ),
        (CategoryColumn(np.array(["a"], dtype=object), np.array(["b", "c"], dtype=object)), ["a", "other"]),
    ],
)
def test_each_code_has_a_label_of_its_own(column, labels):
    assert value_labels(column) == labels
    assert len(labels) == column.card


def test_neighbouring_floats_have_different_labels():
    low = 0.1
    cuts = np.array([low, np.nextafter(low, 1)])
    assert len(set(value_labels(NumericColumn(cuts)))) == 3


def test_features_without_a_name_are_numbered():
    table = as_frame(np.zeros((3, 2)))
    encoder = FrameEncoder.fit(table, table.is_categorical, None, QuantileBinning(2))
    assert encoder.feature_labels == ["x0", "x1"]


@pytest.mark.parametrize(
    ("cuts", "labels"),
    [
        ([0.5, 1.5, 2.5], ["< 1", "1", "2", ">= 3"]),
        ([-1.5, -0.5, 3.5], ["< -1", "-1", "0 to 3", ">= 4"]),
        ([1.5, 2.5, 4.0, 5.5], ["< 2", "2", "3", "4 to 5", ">= 6"]),  # nobody had 4
        ([123456.5, 123457.5, 2e6 + 0.5], ["< 123457", "123457", "123458 to 2000000", ">= 2000001"]),
        # Too few cuts to tell, numbers in between, or mostly whole numbers as cuts.
        ([2.5], ["< 2.5", ">= 2.5"]),
        ([0.5, 1.25, 1.5], ["< 0.5", "0.5 to 1.25", "1.25 to 1.5", ">= 1.5"]),
        ([1.5, 2.0, 2.5], ["< 1.5", "1.5 to 2", "2 to 2.5", ">= 2.5"]),
        ([1.0, 2.0, 3.5], ["< 1", "1 to 2", "2 to 3.5", ">= 3.5"]),
    ],
)
def test_bins_of_whole_numbers(cuts, labels):
    assert value_labels(numbers(*cuts)) == labels


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=40, unique=True))
def test_the_label_of_a_bin_holds_the_whole_numbers_in_it(values):
    values = np.sort(values)
    column = numbers(*(values[:-1] + values[1:]) / 2)
    for value, label in zip(values[1:-1].tolist(), value_labels(column)[1:-1], strict=True):
        low, *high = (float(number) for number in label.split(" to "))
        assert low <= value <= (high or [low])[0]


def test_large_numbers_have_no_exponent():
    assert value_labels(numbers(33790.25, 1176000.7)) == ["< 33790", "33790 to 1176000", ">= 1176000"]
    assert value_labels(numbers(1e-7, 1e20)) == ["< 1e-07", "1e-07 to 1e+20", ">= 1e+20"]


def test_long_numbers_with_a_bin_of_their_own():
    values = np.array([-5.535652774370123, 0.1 + 0.2, 0.3 + 1e-9, 104316.18])
    contents = BinContents(np.repeat(values[:, None], 2, axis=1))
    column = NumericColumn((values[:-1] + values[1:]) / 2, contents=contents)
    assert value_labels(column) == ["-5.53565277", "0.3", "0.300000001", "104316.18"]


@pytest.mark.parametrize(
    ("column", "groups", "labels"),
    [
        (numbers(13.1, 14.2, 15.2), [0, 1, 1, 2], ["< 13.1", "13.1 to 15.2", ">= 15.2"]),
        (numbers(13.1, 14.2, 15.2), [0, 0, 1, 1], ["< 14.2", ">= 14.2"]),
        (numbers(13.1, 14.2), [0, 0, 0], ["any"]),
        (numbers(13.1, 14.2, has_missing=True), [0, 1, 1, 2], ["< 13.1", ">= 13.1", "missing"]),
        (numbers(13.1, 14.2, has_missing=True), [1, 0, 1, 1], ["13.1 to 14.2", "< 13.1, >= 14.2, missing"]),
        (numbers(0.5, 1.5, 2.5, 3.5), [0, 1, 1, 2, 2], ["< 1", "1 to 2", ">= 3"]),
        (numbers(0.5, 1.5, 2.5, 3.5), [0, 1, 2, 2, 3], ["< 1", "1", "2 to 3", ">= 4"]),
        (words("a", "b", "c"), [1, 0, 1], ["b", "a, c"]),
        (words("a", "b"), [0, 1], ["a", "b"]),
        (words("x" * 50, "b", "c"), [0, 0, 1], ["x" * 50 + " and 1 more", "c"]),
        (words("a, b", "a", "b"), [0, 1, 1], ["a, b", "a, b (2)"]),
    ],
)
def test_groups_are_labelled_by_what_they_cover(column, groups, labels):
    assert group_labels(column, np.array(groups)) == labels


def test_groups_of_many_words_are_short():
    column = words(*(f"word {k}" for k in range(99)))
    (label,) = group_labels(column, np.zeros(99, int))
    assert label == "word 0, word 1, word 2, word 3, word 4 and 94 more"


@given(st.data())
def test_each_group_has_a_label_of_its_own(data):
    cuts = sorted(data.draw(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20, unique=True)))
    column = numbers(*cuts, has_missing=data.draw(st.booleans()))
    found = data.draw(st.lists(st.integers(0, 4), min_size=column.card, max_size=column.card))
    groups = np.unique(found, return_inverse=True)[1]
    labels = group_labels(column, groups)
    assert len(set(labels)) == len(labels) == groups.max() + 1
    # A group of one value has the label of the value.
    own = value_labels(column)
    for group, label in enumerate(labels):
        codes = np.flatnonzero(groups == group)
        assert len(codes) > 1 or label == own[codes[0]]


def test_labels_of_an_encoder():
    encoder = FrameEncoder((numbers(13.1, 14.2, 15.2), words("a", "b")), None)
    assert encoder.value_labels(0, np.array([0, 1, 1, 2])) == ["< 13.1", "13.1 to 15.2", ">= 15.2"]
    assert encoder.joint_labels({}) == [""]
    assert encoder.joint_labels({1: None, 0: np.array([0, 0, 1, 1])}) == [
        "a, < 14.2",
        "a, >= 14.2",
        "b, < 14.2",
        "b, >= 14.2",
    ]
    encoder.value_labels(1).clear()  # it is the caller's own
    assert encoder.value_labels(1) == ["a", "b"]
