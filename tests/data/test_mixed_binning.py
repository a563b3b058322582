"""Bins for numbers of unknown kind, against the rules in words."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import MDLPBinning, MixedBinning, mdlp_cuts
from tanager.data.binning import quantile_cuts


def mixed_cuts(values, y, weight=None, max_bins=None):
    (cuts,) = MixedBinning(MDLPBinning(y, max_bins=max_bins))([values], weight)
    return cuts.tolist()


def cuts_in_words(values, y, weight=None, max_bins=None):
    """The rules one after the other, without shortcuts."""
    weight = np.ones(len(values)) if weight is None else weight
    known = [(value, w) for value, w in zip(values, weight, strict=True) if w > 0 and not np.isnan(value)]
    distinct = sorted({value for value, _ in known})
    most = 10 if max_bins is None else min(10, max_bins)
    if 1 < len(distinct) <= most and sum(w for _, w in known) >= 10 * len(distinct):
        return [(low + high) / 2 for low, high in pairwise(distinct)]
    by_classes = mdlp_cuts(values, y, weight, max_bins=max_bins)
    if len(by_classes):
        return by_classes.tolist()
    return quantile_cuts(values, weight, 4 if max_bins is None else min(4, max_bins)).tolist()


@st.composite
def columns(draw):
    """Values with NaN and ties, classes, and weights of which some are zero, or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_values = draw(st.integers(1, 150)), draw(st.sampled_from([1, 2, 5, 10, 11, 12, 60]))
    values = rng.integers(0, n_values, n_rows) / 4.0
    y = (values + rng.normal(size=n_rows) * draw(st.sampled_from([0.1, 1.0, 100.0])) > 0.5).astype(int)
    values[rng.random(n_rows) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    weight = rng.integers(0, 4, n_rows).astype(float) if draw(st.booleans()) else None
    if weight is not None:
        weight[0] = 1.0
    return values, y, weight


@given(columns(), st.sampled_from([None, 1, 2, 3, 7, 20]))
def test_cuts_follow_the_rules(column, max_bins):
    values, y, weight = column
    assert mixed_cuts(values, y, weight, max_bins) == pytest.approx(cuts_in_words(values, y, weight, max_bins))


@given(columns(), st.sampled_from([None, 3]))
def test_a_row_of_weight_two_is_two_rows(column, max_bins):
    values, y, weight = column
    times = np.ones(len(y), int) if weight is None else weight.astype(int)
    repeated = mixed_cuts(np.repeat(values, times), np.repeat(y, times), None, max_bins)
    assert mixed_cuts(values, y, times.astype(float), max_bins) == pytest.approx(repeated)


@given(columns(), st.integers(1, 12))
def test_max_bins_limits_all_bins(column, max_bins):
    assert len(mixed_cuts(*column, max_bins)) <= max_bins - 1


def test_a_few_rows_of_each_value_are_needed():
    y = np.zeros(100, int)
    assert mixed_cuts(np.tile(np.arange(10.0), 10), y) == [k + 0.5 for k in range(9)]
    assert len(mixed_cuts(np.tile(np.arange(10.0), 10)[:-1], y[:-1])) == 3
    assert len(mixed_cuts(np.arange(110) % 11.0, np.zeros(110, int))) == 3


def test_rows_without_weight_at_the_top_are_absent():
    """They have many values, so that a glance at the first rows would say that there are many."""
    values = np.r_[np.arange(1000.0), np.tile([1.0, 2.0, 3.0], 40)]
    weight = np.r_[np.zeros(1000), np.ones(120)]
    y = np.zeros(len(values), int)
    assert mixed_cuts(values, y, weight) == [1.5, 2.5]


def test_the_first_rows_do_not_hide_others():
    values = np.r_[np.ones(2000), np.arange(2000.0)]
    y = np.zeros(len(values), int)
    assert mixed_cuts(values, y) == quantile_cuts(values, None, 4).tolist()
