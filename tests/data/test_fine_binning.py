"""Many cuts, at quantiles and evenly spaced: how wide and how heavy bins are, weights, order of rows, odd columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data.binning import FineBinning, distinct_values, fine_cuts, midpoints
from tests.data.test_binning import VALUES, weighted
from tests.strategies import SEEDS

MAX_BINS = st.integers(1, 30)


@st.composite
def columns(draw):
    """Up to 200 numbers, of which one may have many copies."""
    rng = np.random.default_rng(draw(SEEDS))
    values = rng.normal(size=draw(st.integers(1, 200))).round(draw(st.integers(0, 3)))
    return np.append(values, np.full(draw(st.integers(0, 100)), values[0]))


def bins_of(cuts, values):
    return np.searchsorted(cuts, values, side="right")


def half(max_bins):
    """Bins of equal weight, and bins of equal width."""
    return max(max_bins // 2, 2)


def heavy_values(values, max_bins):
    distinct, weight = distinct_values(values, None)
    return distinct[weight * max_bins > 2 * weight.sum()]


@given(columns(), MAX_BINS)
def test_cuts_rise_and_are_midpoints_of_neighbours(values, max_bins):
    cuts, distinct = fine_cuts(values, None, max_bins), np.unique(values)
    assert (np.diff(cuts) > 0).all()
    assert cuts.dtype == np.float64
    assert np.isin(cuts, midpoints(distinct[:-1], distinct[1:])).all()


@given(columns(), MAX_BINS)
def test_there_are_few_more_bins_than_wanted(values, max_bins):
    """Beyond those of equal weight and width there are only those of values that many rows have."""
    n_cuts = fine_cuts(values, None, max_bins).size
    if max_bins == 1 or np.unique(values).size <= max_bins:
        assert n_cuts <= max_bins - 1
    else:
        assert n_cuts <= 2 * (half(max_bins) - 1) + 2 * heavy_values(values, max_bins).size


def test_numbers_without_heavy_values_have_no_more_bins_than_wanted():
    values = np.random.default_rng(0).lognormal(size=5000)
    for max_bins in (4, 16, 64, 255):
        assert max_bins / 2 <= fine_cuts(values, None, max_bins).size + 1 <= max_bins


@given(columns(), MAX_BINS)
def test_few_values_keep_bins_of_their_own(values, max_bins):
    distinct = np.unique(values)
    if max_bins > 1 and distinct.size <= max_bins:
        assert bins_of(fine_cuts(values, None, max_bins), distinct).tolist() == list(range(distinct.size))


@given(columns(), st.integers(2, 30))
def test_values_that_many_rows_have_are_alone_in_their_bin(values, max_bins):
    cuts, distinct = fine_cuts(values, None, max_bins), np.unique(values)
    counts = np.bincount(bins_of(cuts, distinct))
    assert (counts[bins_of(cuts, heavy_values(values, max_bins))] == 1).all()


@pytest.mark.parametrize("max_bins", [3, 4, 7, 10, 30])
def test_a_value_in_the_midst_of_others_is_alone_too(max_bins):
    values = np.concatenate([np.full(9000, 450), np.arange(1000)])
    assert {449.5, 450.5} <= set(fine_cuts(values, None, max_bins))


@given(columns(), st.integers(2, 30))
def test_no_bin_is_wider_than_its_share_of_the_range(values, max_bins):
    cuts = fine_cuts(values, None, max_bins)
    widest = max(np.ptp(values[bins_of(cuts, values) == k]) for k in np.unique(bins_of(cuts, values)))
    assert widest <= np.ptp(values) / half(max_bins) * (1 + 1e-9)


@given(columns(), st.integers(2, 30))
def test_no_bin_is_heavier_than_its_share_of_the_rows(values, max_bins):
    """Of the values that few rows have, up to the weight of one value."""
    cuts = fine_cuts(values, None, max_bins)
    light = values[~np.isin(values, heavy_values(values, max_bins))]
    if light.size:
        heaviest = np.unique(light, return_counts=True)[1].max()
        assert np.bincount(bins_of(cuts, light)).max() <= light.size / half(max_bins) + heaviest


@given(weighted(), MAX_BINS)
def test_integer_weights_equal_repeated_rows(data, max_bins):
    values, weight = data
    expected = fine_cuts(np.repeat(values, weight), None, max_bins).tolist()
    assert fine_cuts(values, weight.astype(float), max_bins).tolist() == expected
    if weight.any():
        (found,) = FineBinning(max_bins)([values], weight.astype(float))
        (repeated,) = FineBinning(max_bins)([np.repeat(values, weight)], None)
        assert found.tolist() == repeated.tolist()


@given(VALUES, MAX_BINS, SEEDS)
def test_row_order_does_not_matter(values, max_bins, seed):
    rng, values = np.random.default_rng(seed), np.array(values, dtype=np.float64)
    weight, order = rng.gamma(0.3, size=values.size), rng.permutation(values.size)
    cuts = fine_cuts(values, weight, max_bins)
    assert fine_cuts(values[order], weight[order], max_bins).tolist() == cuts.tolist()


@given(columns(), MAX_BINS, SEEDS)
def test_missing_cells_are_left_out(values, max_bins, seed):
    is_missing = np.random.default_rng(seed).random(values.size) < 0.3
    found = fine_cuts(np.where(is_missing, np.nan, values), None, max_bins)
    assert found.tolist() == fine_cuts(values[~is_missing], None, max_bins).tolist()


@pytest.mark.parametrize("values", [[3.0], [2, 2, 2], [np.nan, 1.0], [np.nan], []])
def test_a_constant_column_has_no_cut(values):
    assert fine_cuts(np.array(values, np.float64), None, 8).size == 0


@pytest.mark.parametrize("max_bins", [2, 5, 64])
@pytest.mark.parametrize(
    "values",
    [
        2 * np.linspace(-0.85e308, 0.85e308, 200),
        np.array([-1.7e308, *np.linspace(0, 1, 100), 1.7e308]),
        np.arange(100) * 5e-324,
        1.0 + np.arange(100) * np.finfo(float).eps,
    ],
    ids=["the whole range", "far apart", "denormal", "last bits"],
)
def test_cuts_separate_their_neighbours_at_the_limits_of_floating_point(values, max_bins):
    cuts = fine_cuts(values, None, max_bins)
    assert np.isfinite(cuts).all()
    assert (np.diff(cuts) > 0).all()
    assert len(np.unique(bins_of(cuts, values))) == cuts.size + 1


def test_infinite_values_are_refused():
    with pytest.raises(ValueError, match="infinite"):
        fine_cuts(np.array([1.0, np.inf]), None, 8)


@pytest.mark.parametrize("max_bins", [0, -1, 2.5, True, None])
def test_wrong_numbers_of_bins(max_bins):
    with pytest.raises(ValueError, match="max_bins must be an integer from 1 on"):
        fine_cuts(np.arange(9), None, max_bins)


def test_every_column_is_cut_for_itself():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=3000), rng.integers(0, 3, 3000), np.ones(3000)]
    found = FineBinning(32)(columns, None)
    assert [cuts.tolist() for cuts in found] == [fine_cuts(each, None, 32).tolist() for each in columns]


@given(st.integers(2, 2000))
def test_bins_are_no_more_than_the_rows(n_rows):
    (cuts,) = FineBinning(64)([np.arange(n_rows) ** 1.5], None)
    assert cuts.size < min(64, n_rows)


def test_columns_of_few_distinct_numbers_keep_them_all():
    rng = np.random.default_rng(0)
    amounts, many = rng.choice(np.arange(100) ** 2, 5000), rng.choice(np.arange(300) ** 2, 5000)
    for values, n_bins in ((amounts, 100), (many, None)):
        (cuts,) = FineBinning(64, most_values=256)([values], None)
        assert cuts.size + 1 == n_bins if n_bins else cuts.size < 64
    (few,) = FineBinning(64, most_values=256)([amounts[:900]], None)
    assert few.size < 64  # 60 bins are all that 900 rows allow
    (limited,) = FineBinning(64)([amounts], None)
    assert limited.size < 64
