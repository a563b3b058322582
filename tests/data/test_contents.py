"""The numbers in bins: quantiles that stay inside, draws that look like the column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.data.contents import BinContents

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(NUMBERS, st.lists(st.floats(-1e6, 1e6), unique=True, max_size=5), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_draws_lie_in_the_range_and_in_their_bin(values, cuts, seed):
    x, edges, rng = np.array(values), np.array(sorted(cuts)), np.random.default_rng(seed)
    contents = BinContents.read(x, edges)
    bins = np.searchsorted(edges, x, side="right")
    drawn = contents.draw(bins, rng.random(len(x)))
    np.testing.assert_array_equal(np.searchsorted(edges, drawn, side="right"), bins)
    every_bin = contents.draw(rng.integers(0, len(edges) + 1, 50), rng.random(50))
    assert every_bin.min() >= x.min()
    assert every_bin.max() <= x.max()


def test_weights_are_repeated_numbers():
    rng = np.random.default_rng(0)
    x, weight, cuts = rng.normal(size=50), rng.integers(0, 4, 50), np.array([-0.5, 0.7])
    weighted, repeated = BinContents.read(x, cuts, weight.astype(float)), BinContents.read(np.repeat(x, weight), cuts)
    np.testing.assert_array_equal(weighted.points, repeated.points)


@pytest.mark.parametrize(("values", "decimals"), [([1, 2], 0), ([1.0, 4.0], 0), ([0.25, 1.5], 2), ([1 / 3], -1)])
def test_decimals(values, decimals):
    assert BinContents.read(np.array(values), np.empty(0)).decimals == decimals


def test_few_whole_numbers_keep_their_frequencies():
    x = np.repeat([1, 2, 5], [70, 20, 10])
    drawn = BinContents.read(x, np.empty(0)).draw(np.zeros(10_000, np.int64), np.random.default_rng(0).random(10_000))
    np.testing.assert_allclose([(drawn == value).mean() for value in (1, 2, 5)], [0.7, 0.2, 0.1], atol=0.04)
    assert set(drawn) == {1.0, 2.0, 5.0}


def test_a_single_number_and_the_median():
    contents = BinContents.read(np.array([1.0, 1.0, 3.0, 4.0, 8.0]), np.array([2.0]))
    assert contents.single_values() == [1.0, None]
    np.testing.assert_array_equal(contents.medians(), [1.0, 4.0])
    assert BinContents.between(np.array([2.0])).single_values() == [None, None]
