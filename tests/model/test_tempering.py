"""Temperatures that are worked into the tables: log-odds, normalisation, and networks without one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.model import Network, best_temperature, can_temper, temper
from tests.strategies import make_model, models

FORESTS = models(is_ordered=True, is_fixed=True)
TEMPERATURES = st.floats(0.3, 30.0)


def network_of(model):
    return Network.from_arena(model.layout, model.theta, model.prior, np.arange(len(model.cards)))


def log_odds(network, codes):
    log_joint = network.log_joint(codes)
    return log_joint - log_joint[:, :1]


@given(FORESTS, TEMPERATURES)
@settings(max_examples=40)
def test_log_odds_are_divided_by_the_temperature(model, temperature):
    network = network_of(model)
    every_row = np.array(list(np.ndindex(*model.cards)), dtype=np.int32)
    found = log_odds(temper(network, temperature), every_row)
    np.testing.assert_allclose(found, log_odds(network, every_row) / temperature, atol=3e-5)


@given(FORESTS, TEMPERATURES)
@settings(max_examples=40)
def test_tables_and_prior_stay_normalised(model, temperature):
    network = network_of(model)
    other = temper(network, temperature)
    assert other.parents.tolist() == network.parents.tolist()
    assert other.theta.dtype == network.theta.dtype
    for i in range(network.n_features):
        np.testing.assert_allclose(other.cpt(i).sum(axis=1), 1.0, atol=1e-5)
    assert np.exp(other.log_prior).sum() == pytest.approx(1.0, abs=1e-5)
    every_row = np.array(list(np.ndindex(*model.cards)), dtype=np.int32)
    assert np.exp(other.log_joint(every_row)).sum() == pytest.approx(1.0, abs=1e-4)


@given(FORESTS)
@settings(max_examples=20)
def test_a_temperature_of_one_changes_nothing(model):
    network = network_of(model)
    other = temper(network, 1.0)
    np.testing.assert_allclose(other.theta, network.theta, atol=2e-6)
    np.testing.assert_allclose(other.log_prior, network.log_prior, atol=2e-6)


@given(FORESTS, TEMPERATURES, TEMPERATURES)
@settings(max_examples=20)
def test_temperatures_multiply(model, first, second):
    network = network_of(model)
    twice, once = temper(temper(network, first), second), temper(network, first * second)
    np.testing.assert_allclose(twice.theta, once.theta, atol=3e-5)


def test_the_network_that_is_given_stays_as_it_is():
    network = network_of(make_model([[-1], [0], [1]], [2, 3, 2], 3, seed=0))
    theta, prior = network.theta.copy(), network.log_prior.copy()
    assert not np.allclose(temper(network, 3.0).theta, theta)
    np.testing.assert_array_equal(network.theta, theta)
    np.testing.assert_array_equal(network.log_prior, prior)


@pytest.mark.parametrize("candidates", [[[1], [2], [0]], [[-1], [-1], [(0, 1)]]], ids=["cycle", "pair"])
def test_what_is_no_forest_is_refused(candidates):
    network = network_of(make_model(candidates, [2, 3, 2], 2, seed=0))
    assert not can_temper(network)
    with pytest.raises(ValueError, match=r"a temperature \(calibrate=True\) requires a forest"):
        temper(network, 2.0)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan])
def test_temperatures_that_are_none(temperature):
    network = network_of(make_model([[-1], [0]], [2, 3], 2, seed=0))
    assert can_temper(network)
    with pytest.raises(ValueError, match="temperature must be above 0"):
        temper(network, temperature)


# The best temperature.


def log_loss_in_loops(scores, y, weight):
    total = 0.0
    for row, label, w in zip(scores.tolist(), y.tolist(), weight.tolist(), strict=True):
        highest = max(row)
        total += w * min(20.0, highest + math.log(sum(math.exp(s - highest) for s in row)) - row[label])
    return total / weight.sum()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 1.0, 30.0]), st.integers(2, 4))
@settings(max_examples=30)
def test_the_temperature_is_the_best_of_a_grid(seed, spread, n_classes):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(80, n_classes))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    scores, weight = scores * spread, rng.uniform(0.1, 2.0, 80)
    found = best_temperature(scores, y, weight)
    assert 0.5 <= found <= 50.0
    loss = log_loss_in_loops(scores / found, y, weight)
    low = 0.5 if np.count_nonzero(scores.argmax(axis=1) != y) >= 10 else 1.0
    best = min(log_loss_in_loops(scores / t, y, weight) for t in np.geomspace(low, 50.0, 40))
    assert loss <= best + 1e-4


def test_a_row_that_was_impossible_does_not_outweigh_the_others():
    scores = np.r_[np.tile([[0.0, -3.0], [-3.0, 0.0]], (50, 1)), [[0.0, -1e6]]]
    y = np.r_[np.tile([0, 1], 50), 1]
    assert best_temperature(scores, y, np.ones(101)) < 2.0


@pytest.mark.parametrize("weight", [np.ones(40), np.full(40, 0.01)], ids=["whole", "small"])
@pytest.mark.parametrize(("n_errors", "is_surer"), [(0, False), (9, False), (10, True)])
def test_few_errors_do_not_make_a_classifier_surer(n_errors, is_surer, weight):
    scores, y = np.tile([[0.0, -0.1]], (40, 1)), (np.arange(40) < n_errors).astype(int)
    found = best_temperature(scores, y, weight)
    assert (found < 0.6) if is_surer else found == pytest.approx(1.0, abs=1e-3)
    # As many rows, as weights.
    merged = best_temperature(scores[:2], np.array([0, 1]), np.array([40.0 - n_errors, n_errors]))
    assert found == pytest.approx(merged, rel=1e-4)


def test_one_class_has_no_temperature():
    assert best_temperature(np.full((9, 1), -3.0), np.zeros(9, int), np.ones(9)) == 1.0
