"""Draws from a network against its exact probabilities, with fixed seeds."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from tests.model.test_queries import random_network

PARENTS, CARDS, N_CLASSES = [-1, 0, 1, 0, -1, 4], [3, 2, 4, 3, 2, 3], 3
N_DRAWS = 20_000


def check_counts(counts, probabilities):
    """Pearson's statistic must not be beyond what one in 100,000 samples shows."""
    expected = probabilities.ravel() * counts.sum()
    is_possible = expected > 0
    assert counts.ravel()[~is_possible].sum() == 0
    statistic = ((counts.ravel() - expected)[is_possible] ** 2 / expected[is_possible]).sum()
    assert statistic < chi2.ppf(1 - 1e-5, max(is_possible.sum() - 1, 1))


def counts_of(codes, classes, pair, shape):
    columns = [classes if target == "class" else codes[:, target] for target in pair]
    counts = np.zeros(shape)
    np.add.at(counts, tuple(columns), 1)
    return counts


@pytest.mark.parametrize(
    ("codes", "classes"),
    [
        (None, None),
        (None, [2]),
        ([[3, 2, 1, 3, 2, 3]], None),
        ([[3, 0, 4, 2, 2, 1]], [-1]),
        ([[1, 2, 3, 3, 1, 2]], [0]),
    ],
)
def test_every_pair_has_the_exact_frequencies(codes, classes):
    network, _ = random_network(PARENTS, CARDS, N_CLASSES, seed=5)
    drawn, labels = network.sample(N_DRAWS, codes, classes, random_state=0)
    assert drawn.shape == (N_DRAWS, 6)
    assert drawn.dtype == labels.dtype == np.int64
    for pair in itertools.combinations([*range(6), "class"], 2):
        exact = network.query(list(pair), codes, classes)[0]
        check_counts(counts_of(drawn, labels, pair, exact.shape), exact)


def test_the_check_of_counts_can_fail():
    network, _ = random_network(PARENTS, CARDS, N_CLASSES, seed=5)
    drawn, labels = network.sample(N_DRAWS, classes=[1], random_state=0)
    exact = network.query([2, 0], classes=[2])[0]
    with pytest.raises(AssertionError):
        check_counts(counts_of(drawn, labels, (2, 0), exact.shape), exact)


def test_one_draw_for_each_row_of_evidence():
    network, _ = random_network(PARENTS, CARDS, N_CLASSES, seed=5)
    observed = np.array([[3, 0, 4, 2, 2, 1], [1, 2, 3, 3, 1, 2]])
    codes = np.tile(observed, (N_DRAWS // 2, 1))
    drawn, labels = network.sample(len(codes), codes, random_state=1)
    is_known = codes < CARDS
    assert np.array_equal(drawn[is_known], codes[is_known])
    for k in range(2):
        exact = network.query([2, "class"], observed[[k]])[0]
        check_counts(counts_of(drawn[k::2], labels[k::2], (2, "class"), exact.shape), exact)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_number_of_threads_and_blocks_do_not_change_draws(n_threads):
    network, _ = random_network(PARENTS, CARDS, N_CLASSES, seed=5)
    one = network.sample(40_000, random_state=7)
    many = network.sample(40_000, random_state=7, n_threads=n_threads)
    assert np.array_equal(one[0], many[0])
    assert np.array_equal(one[1], many[1])
    assert np.array_equal(one[0][:100], network.sample(100, random_state=7)[0])


def test_seeds():
    network, _ = random_network(PARENTS, CARDS, N_CLASSES, seed=5)
    assert not np.array_equal(network.sample(50, random_state=1)[0], network.sample(50, random_state=2)[0])
    generator = np.random.default_rng(1)
    assert np.array_equal(network.sample(50, random_state=1)[0], network.sample(50, random_state=generator)[0])
    assert network.sample(0)[0].shape == (0, 6)


def test_extreme_tables():
    network, _ = random_network([-1, 0, 1], [3, 3, 3], 2, spread=60.0)
    drawn, labels = network.sample(1000, [[3, 3, 2]], random_state=0)
    log_joint = network.log_joint(drawn)
    assert np.isfinite(log_joint).all()
    check_counts(counts_of(drawn, labels, (0, "class"), (3, 2)), network.query([0, "class"], [[3, 3, 2]])[0] + 1e-9)


@pytest.mark.parametrize(("n", "rows"), [(3, 2), (1, 2), (5, 0)])
def test_evidence_must_be_one_row_or_as_many_as_draws(n, rows):
    network, _ = random_network(PARENTS, CARDS, N_CLASSES)
    with pytest.raises(ValueError, match=f"to draw {n} rows, give observed values of 1 row or of {n} rows, got {rows}"):
        network.sample(n, np.zeros((rows, 6), np.int64))


@pytest.mark.parametrize("n", [-1, 2.0, True, "3"])
def test_number_of_draws_is_checked(n):
    network, _ = random_network(PARENTS, CARDS, N_CLASSES)
    with pytest.raises(ValueError, match="whole number of at least 0"):
        network.sample(n)
