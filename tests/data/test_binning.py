import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import QuantileBinning, quantile_cuts
from tanager.data.binning import distinct_values, midpoints

VALUES = st.lists(st.one_of(st.integers(-5, 5), st.floats(-1e6, 1e6)), min_size=1, max_size=40)
MAX_BINS = st.integers(1, 12)


@st.composite
def weighted(draw):
    values = np.array(draw(VALUES), dtype=np.float64)
    weight = draw(st.lists(st.integers(0, 4), min_size=values.size, max_size=values.size))
    return values, np.array(weight)


@given(weighted(), MAX_BINS)
def test_integer_weights_equal_repeated_rows(data, max_bins):
    values, weight = data
    expected = quantile_cuts(np.repeat(values, weight), None, max_bins)
    assert quantile_cuts(values, weight.astype(float), max_bins).tolist() == expected.tolist()


@given(VALUES, MAX_BINS, st.integers(0, 2**32 - 1))
def test_row_order_does_not_matter(values, max_bins, seed):
    rng = np.random.default_rng(seed)
    values = np.array(values, dtype=np.float64)
    weight = rng.gamma(0.3, size=values.size)
    order = rng.permutation(values.size)
    cuts = quantile_cuts(values, weight, max_bins)
    assert quantile_cuts(values[order], weight[order], max_bins).tolist() == cuts.tolist()


@given(st.integers(0, 2**32 - 1))
def test_rounding_of_summed_weights_does_not_depend_on_row_order(seed):
    rng = np.random.default_rng(seed)
    values, weight, order = rng.integers(0, 3, 30), rng.gamma(0.3, size=30), rng.permutation(30)
    expected = distinct_values(values, weight)
    for got, wanted in zip(distinct_values(values[order], weight[order]), expected, strict=True):
        assert got.tolist() == wanted.tolist()


@given(VALUES, MAX_BINS)
def test_cuts_are_midpoints_of_neighbours_and_few_values_keep_their_own_bins(values, max_bins):
    values = np.array(values, dtype=np.float64)
    distinct = np.unique(values)
    cuts = quantile_cuts(values, None, max_bins)
    assert cuts.size <= max_bins - 1
    assert (np.diff(cuts) > 0).all()
    codes = np.searchsorted(cuts, distinct, side="right")
    assert set(np.diff(codes)) <= {0, 1}
    gaps = np.flatnonzero(np.diff(codes))
    assert cuts.tolist() == midpoints(distinct[gaps], distinct[gaps + 1]).tolist()
    if distinct.size <= max_bins:
        assert codes.tolist() == list(range(distinct.size))


def quantile_gaps_by_search(distinct, weight, max_bins):
    """For every quantile, look at every gap for the nearest one."""
    below = [sum(weight[: i + 1]) for i in range(len(distinct) - 1)]
    gaps = {
        min(range(len(below)), key=lambda i: (abs(below[i] * max_bins - k * sum(weight)), i))
        for k in range(1, max_bins)
    }
    return [(distinct[i] + distinct[i + 1]) / 2 for i in sorted(gaps)]


@given(st.lists(st.integers(1, 30), min_size=4, max_size=25), st.integers(2, 3))
def test_cut_is_in_the_gap_nearest_to_the_quantile(weight, max_bins):
    distinct = list(range(len(weight)))
    cuts = quantile_cuts(np.array(distinct), np.array(weight, dtype=float), max_bins)
    assert cuts.tolist() == quantile_gaps_by_search(distinct, weight, max_bins)


def test_a_heavy_value_gets_a_bin_of_its_own():
    values = np.concatenate([np.full(900, 50), np.arange(100)])
    cuts = quantile_cuts(values, None, 10)
    assert {49.5, 50.5} <= set(cuts)


def test_equal_weight_in_every_bin():
    values = np.random.default_rng(0).normal(size=10_000)
    counts = np.bincount(np.searchsorted(quantile_cuts(values, None, 16), values, side="right"))
    assert counts.tolist() == [625] * 16


@pytest.mark.parametrize("values", [[3.0], [2, 2, 2], [np.nan, 1.0], [np.nan]])
def test_a_constant_column_has_no_cut(values):
    assert quantile_cuts(np.array(values), None, 8).size == 0


def test_nan_and_zero_weight_are_left_out():
    cuts = quantile_cuts(np.array([1.0, np.nan, 2.0, 9.0]), np.array([1.0, 1.0, 1.0, 0.0]), 8)
    assert cuts.tolist() == [1.5]


def test_no_row_with_weight_has_no_cut():
    assert quantile_cuts(np.array([1.0, 2.0]), np.zeros(2), 8).size == 0


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2.0)),
        (-1.7e308, 1.7e308),
        (5e-324, 1e-323),
        (0.0, 5e-324),
        (-1.0, np.nextafter(-1.0, 0)),
    ],
)
def test_a_cut_separates_the_values_beside_it_at_the_limits_of_floating_point(low, high):
    (cut,) = quantile_cuts(np.array([low, high]), None, 2)
    assert low < cut <= high


def test_infinite_values_are_refused():
    with pytest.raises(ValueError, match="infinite"):
        quantile_cuts(np.array([1.0, np.inf]), None, 4)
    with pytest.raises(ValueError, match="infinite"):
        quantile_cuts(np.array([1.0, np.inf]), np.array([0.0, 1.0]), 4)
    assert quantile_cuts(np.array([1.0, np.inf, 2.0]), np.array([1.0, 0.0, 1.0]), 4).tolist() == [1.5]


@pytest.mark.parametrize("max_bins", [0, -1, 2.5, True, "4"])
def test_max_bins_must_be_a_positive_integer(max_bins):
    with pytest.raises(ValueError, match="max_bins must be an integer from 1 on"):
        quantile_cuts(np.arange(3), None, max_bins)


def test_quantile_binning_cuts_each_column():
    columns = [np.arange(10), np.array([1.0] * 9 + [2.0])]
    cuts = QuantileBinning(max_bins=2)(columns, None)
    assert [cut.tolist() for cut in cuts] == [[4.5], [1.5]]
