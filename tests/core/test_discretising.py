"""Gaps that columns are cut at, against the oracle that looks at every gap, and arrays that the core refuses."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import core
from tests.oracles import mdlp_oracle
from tests.strategies import SEEDS

RULES = st.sampled_from(["textbook", "best-passing"])


@st.composite
def columns(draw, max_rows=30):
    """Values and classes that go together more or less, with ties in the values."""
    n_rows, n_classes = draw(st.integers(1, max_rows)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(SEEDS))
    y = np.sort(rng.integers(0, n_classes, n_rows)) if draw(st.booleans()) else rng.integers(0, n_classes, n_rows)
    noise = draw(st.sampled_from([0.0, 0.5, 2.0]))
    values = np.arange(n_rows) * draw(st.sampled_from([0.1, 0.5, 1.0])) + rng.normal(size=n_rows) * noise
    return np.round(values, draw(st.integers(0, 2))), y


def find_gaps(values, y, weight=None, unit=1.0, *, rule="textbook", max_bins=None):
    rows = core.ClassedRows(np.asarray(y, np.int32), weight, int(np.max(y, initial=0)) + 1, unit)
    return core.find_gaps(rows, np.asarray(values, float), rule == "best-passing", max_bins or len(y) + 1)


def middles(below, above):
    return (below / 2 + above / 2).tolist()


@given(columns(), RULES, st.sampled_from([None, 1, 2, 3, 5]))
def test_cuts_equal_the_oracle(data, rule, max_bins):
    values, y = data
    below, above = find_gaps(values, y, rule=rule, max_bins=max_bins)
    expected = mdlp_oracle.mdlp_cuts(values.tolist(), y.tolist(), None, rule, max_bins)
    assert middles(below, above) == pytest.approx(expected)


@given(columns(25), RULES, SEEDS, st.sampled_from([1.0, 0.25, 0.0625]))
def test_weights_are_whole_numbers_of_a_unit(data, rule, seed, unit):
    values, y = data
    weight = np.random.default_rng(seed).integers(0, 30, y.size)
    below, above = find_gaps(values, y, weight, unit, rule=rule)
    expected = mdlp_oracle.mdlp_cuts(values.tolist(), y.tolist(), (weight * unit).tolist(), rule)
    assert middles(below, above) == pytest.approx(expected)


@given(columns(), RULES, SEEDS)
def test_a_gap_is_between_neighbouring_values(data, rule, seed):
    values, y = data
    order = np.random.default_rng(seed).permutation(y.size)
    below, above = find_gaps(values[order], y[order], rule=rule)
    distinct = np.unique(values)
    np.testing.assert_array_equal(distinct[np.searchsorted(distinct, below) + 1], above)
    assert (np.diff(below) > 0).all()


def test_neighbours_of_one_class_are_one_group():
    values, y = np.array([1, 2, 2, 5, 5, 6, 7, 7]), np.array([1, 1, 1, 0, 1, 0, 0, 0])
    below, above = find_gaps(np.repeat(values, 20), np.repeat(y, 20))
    assert (below.tolist(), above.tolist()) == ([2, 5], [5, 6])


SORTED_VALUES = {
    "the whole range of floats": np.array([-1.7e308, -1.0, -1e-300, -5e-324, 0.0, 5e-324, 1e-300, 1.0, 1.7e308]),
    "values that differ in the last bits": 1.0 + np.arange(9) * 2.0**-52,
    "negative values that differ in the last bits": -1.0 - np.arange(9)[::-1] * 2.0**-52,
    "whole numbers": np.arange(-4.0, 5.0),
}


@pytest.mark.parametrize("name", SORTED_VALUES)
@pytest.mark.parametrize("n_repeats", [20, 400])
def test_sorting(name, n_repeats):
    values, y = np.repeat(SORTED_VALUES[name], n_repeats), np.repeat(np.arange(9) % 2, n_repeats)
    order = np.random.default_rng(0).permutation(values.size)
    below, above = find_gaps(values[order], y[order])
    assert below.tolist() == SORTED_VALUES[name][:-1].tolist()
    assert above.tolist() == SORTED_VALUES[name][1:].tolist()


def test_minus_zero_equals_zero():
    below, _ = find_gaps(np.repeat([-0.0, 0.0], 20), np.repeat([0, 1], 20))
    assert below.size == 0


def test_unknown_values_and_rows_without_weight_are_left_out():
    values, y, weight = np.arange(44.0), np.repeat([0, 1], 22), np.ones(44, np.int64)
    values[[3, 30]] = np.nan
    values[5], weight[5] = np.inf, 0
    values[40], weight[40] = -100.0, 0
    below, above = find_gaps(values, y, weight)
    assert (below.tolist(), above.tolist()) == ([21], [22])


@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_columns_that_tell_nothing_have_no_gap(n_rows):
    y = np.arange(n_rows) % 2
    for values in (np.zeros(n_rows), np.full(n_rows, np.nan), np.arange(n_rows)):
        assert [side.size for side in find_gaps(values, y)] == [0, 0]
    assert find_gaps(np.arange(n_rows), np.zeros(n_rows))[0].size == 0


def test_weights_beyond_the_table_of_logarithms():
    values, y = np.arange(30), np.repeat([0, 1, 0], 10)
    for unit in (1.0, 4.0, 2.0**-20):
        below, _ = find_gaps(values, y, np.full(30, 2**22), unit)
        assert below.tolist() == [9, 19]


def test_classes_stay_as_they_were_checked():
    y = np.repeat([0, 1], 20).astype(np.int32)
    weight = np.ones(40, np.int64)
    rows = core.ClassedRows(y, weight, 2)
    y[:], weight[:] = 10**9, -1
    assert core.find_gaps(rows, np.arange(40.0), False, 5)[0].tolist() == [19]


def test_threads_share_the_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 5000).astype(np.int32)
    table = [rng.normal(size=5000) + y * shift for shift in (0.0, 0.3, 1.0, 3.0)]
    rows = core.ClassedRows(y, None, 3)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda values: core.find_gaps(rows, values, True, 5000), table))
    for (below, above), values in zip(found, table, strict=True):
        expected = core.find_gaps(rows, values, True, 5000)
        assert (below.tolist(), above.tolist()) == tuple(side.tolist() for side in expected)


Y, WEIGHT = np.array([0, 1, 1], np.int32), np.array([1, 2, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Y.astype(np.int64), None, 2), "y has the wrong type"),
        ((Y[:, None], None, 2), "y must have 1 dimension"),
        ((np.repeat(Y, 2)[::2], None, 2), "y must be C-contiguous"),
        ((Y.tolist(), None, 2), "y must be an array"),
        ((Y, None, 1), "y holds 1, which is outside 0 to 0"),
        ((-Y, None, 2), "y holds -1"),
        ((Y, None, -1), "n_classes must"),
        ((Y, None, 2**40), "n_classes must"),
        ((Y, WEIGHT[:2], 2), "weight must have 3 entries"),
        ((Y, WEIGHT.astype(float), 2), "weight has the wrong type"),
        ((Y, -WEIGHT, 2), "weight must not be negative"),
        ((Y, np.array([2**62, 2**62, 2**62]), 2), "weight must not be negative, and not above"),
        ((Y, WEIGHT, 2, 0.0), "unit must be above 0"),
        ((Y, WEIGHT, 2, -1.0), "unit must be above 0"),
        ((Y, WEIGHT, 2, np.nan), "unit must be above 0"),
        ((Y, WEIGHT, 2, np.inf), "unit must be above 0"),
        ((Y, WEIGHT, 2, 1.7e308), "the weight of all rows finite"),
    ],
)
def test_bad_rows_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        core.ClassedRows(*arguments)


def misaligned(values):
    buffer = np.zeros(values.nbytes + 1, np.uint8)
    moved = buffer[1:].view(values.dtype)
    moved[:] = values
    return moved


@pytest.mark.parametrize(
    ("values", "max_bins", "message"),
    [
        (np.zeros(2), 3, "values must have 3 entries, not 2"),
        (np.zeros(3, np.float32), 3, "values has the wrong type"),
        (np.zeros((3, 1)), 3, "values must have 1 dimension"),
        (np.zeros(6)[::2], 3, "values must be C-contiguous"),
        (misaligned(np.zeros(3)), 3, "values must be aligned"),
        (np.array([0.0, -np.inf, 1.0]), 3, "some are infinite"),
        ([0.0, 1.0, 2.0], 3, "values must be an array"),
        (np.zeros(3), 0, "max_bins must be at least 1"),
        (np.zeros(3), -(2**63), "max_bins must be at least 1"),
    ],
)
def test_bad_columns_are_refused(values, max_bins, message):
    with pytest.raises(ValueError, match=message):
        core.find_gaps(core.ClassedRows(Y, None, 2), values, False, max_bins)


def test_other_things_are_refused():
    with pytest.raises(TypeError):
        core.find_gaps((Y, None, 2), np.zeros(3), False, 3)
    with pytest.raises(TypeError):
        core.find_gaps(core.ClassedRows(Y, None, 2), np.zeros(3), False, 2**64)
    with pytest.raises(TypeError):
        core.ClassedRows(Y, None, 2.5)
