import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.core import count_cpts, pair_information
from tanager.model import make_layout
from tanager.structure import fixed_parents
from tests.oracles import counting_oracle
from tests.strategies import SEEDS, make_model, models


def oracle_counts(model, weight):
    """Counts of every candidate's CPT, one list entry each."""
    tables = []
    for i, j in zip(model.child, model.parent, strict=True):
        parent_codes, n_parent_values = (None, 1) if j == -1 else (model.codes[:, j], model.cards[j])
        columns = (parent_codes, model.codes[:, i], model.y)
        tables.append(counting_oracle.pair_counts(*columns, n_parent_values, model.cards[i], model.n_classes, weight))
    return tables


def count(model, weight, ranges):
    counts = np.zeros(model.layout.size)
    codes = model.codes.astype(np.uint8)
    for lo, hi in ranges:
        count_cpts(lo, hi, codes, model.y, weight, model.layout.cpts, counts, model.n_classes)
    return counts


@given(models(max_rows=25))
@settings(max_examples=40)
def test_counts_equal_oracle(model):
    weight = model.weight.astype(np.float64)
    counts = count(model, weight, [(0, len(model.cards))])
    for found, expected in zip(model.split(counts), oracle_counts(model, weight), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(models(max_rows=25), st.data())
@settings(max_examples=20)
def test_counts_of_parts_are_the_counts_of_the_whole(model, data):
    n_features = len(model.cards)
    cut = data.draw(st.integers(0, n_features))
    weight = model.weight.astype(np.float64)
    whole = count(model, weight, [(0, n_features)])
    assert np.array_equal(count(model, weight, [(cut, n_features), (0, cut)]), whole)


@given(models(max_rows=25), SEEDS)
@settings(max_examples=25)
def test_unknown_values_do_not_count(model, seed):
    weight = model.weight.astype(np.float64)
    is_hidden = np.random.default_rng(seed).random(model.codes.shape) < 0.3
    expected = []
    for e, (i, j) in enumerate(zip(model.child, model.parent, strict=True)):
        is_known = ~(is_hidden[:, i] | (j != -1) & is_hidden[:, j])
        expected.append(oracle_counts(model, weight * is_known)[e])
    model.codes = np.where(is_hidden, model.cards, model.codes)
    counts = count(model, weight, [(0, len(model.cards))])
    for found, table in zip(model.split(counts), expected, strict=True):
        np.testing.assert_allclose(found, table, rtol=1e-12)


def information_of(model, weight):
    n_features = len(model.cards)
    information = np.zeros((n_features, n_features))
    columns = np.ascontiguousarray(model.codes.T.astype(np.int32))
    cards = np.array(model.cards)
    pair_information(0, n_features, columns, model.y, weight, cards, information, model.n_classes)
    return information


@given(models(max_rows=40, max_card=3, max_classes=3, is_fixed=True), st.booleans())
@settings(max_examples=40)
def test_information_equals_oracle(model, is_weighted):
    weight = model.weight.astype(np.float64) if is_weighted else np.ones(len(model.y))
    expected = counting_oracle.conditional_mutual_information(
        model.codes, model.y, model.cards, model.n_classes, weight
    )
    information = information_of(model, weight)
    np.testing.assert_allclose(information, expected, atol=1e-12)
    assert np.array_equal(information, information.T)


def test_information_counts_rows_in_which_both_are_known():
    model = make_model([[-1]] * 3, [3, 2, 4], 2, seed=6, n_rows=40)
    is_hidden = np.random.default_rng(1).random(model.codes.shape) < 0.3
    expected = np.zeros((3, 3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        is_known = ~(is_hidden[:, i] | is_hidden[:, j])
        columns = (model.codes[is_known][:, [i, j]], model.y[is_known], [model.cards[i], model.cards[j]])
        of_known = counting_oracle.conditional_mutual_information(*columns, 2)[0, 1]
        # Rows that are not counted take their share of the information.
        expected[i, j] = expected[j, i] = of_known * is_known.mean()
    model.codes = np.where(is_hidden, model.cards, model.codes)
    np.testing.assert_allclose(information_of(model, np.ones(40)), expected, atol=1e-12)


def test_integer_weights_equal_repeated_rows():
    model = make_model([[-1]] * 3, [3, 2, 4], 2, seed=5, n_rows=20)
    repeats = np.random.default_rng(0).integers(0, 4, size=20)
    weighted = information_of(model, repeats.astype(np.float64))
    model.codes, model.y = np.repeat(model.codes, repeats, axis=0), np.repeat(model.y, repeats)
    np.testing.assert_allclose(weighted, information_of(model, np.ones(len(model.y))), atol=1e-12)


WRONG = [
    ({"hi": 99}, "range"),
    ({"lo": -1}, "range"),
    ({"codes": np.zeros((3, 5), np.uint8)}, "codes must have 2 columns"),
    ({"codes": np.zeros((3, 2))}, "codes must hold whole numbers"),
    ({"codes": np.zeros((2, 3), np.uint8).T}, "codes must be C-contiguous"),
    ({"y": np.array([0, 1, 2])}, "y holds 2"),
    ({"y": np.array([0, 1])}, "y must have 3 entries"),
    ({"y": np.array([0, 1, 0], np.int32)}, "y has the wrong type"),
    ({"weight": np.ones(3, np.float32)}, "weight has the wrong type"),
    ({"counts": np.zeros(5)}, "counts must have"),
    ({"n_classes": 3}, "offset does not fit"),
]


@pytest.mark.parametrize(("changed", "message"), WRONG)
def test_wrong_arguments_are_named(changed, message):
    layout = make_layout(fixed_parents([-1, 0]), [2, 3], 2)
    arguments = {
        "lo": 0,
        "hi": 2,
        "codes": np.zeros((3, 2), np.uint8),
        "y": np.array([0, 1, 0]),
        "weight": np.ones(3),
        "cpts": layout.cpts,
        "counts": np.zeros(layout.size),
        "n_classes": 2,
    }
    count_cpts(**arguments)
    with pytest.raises(ValueError, match=message):
        count_cpts(**(arguments | changed))


def test_counts_that_cannot_be_written_to_are_refused():
    layout = make_layout(fixed_parents([-1]), [2], 2)
    counts = np.zeros(layout.size)
    counts.setflags(write=False)
    with pytest.raises(ValueError, match="counts must be an array that can be written to"):
        count_cpts(0, 1, np.zeros((1, 1), np.uint8), np.array([0]), np.ones(1), layout.cpts, counts, 2)
