"""Sampling of structures, the straight-through gradient and Adam on phi."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager._types import Adam, Moments
from tanager.kernels.parents import descend_phi, parent_probabilities, phi_gradient, sample_parents
from tests.oracles import model_oracle
from tests.strategies import SEEDS

TAUS = st.sampled_from([10.0, 1.0, 0.1])


@st.composite
def segments(draw):
    """Numbers of candidates of up to six features, as ptr."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    return np.cumsum([0, *sizes])


def sample(phi, noise, ptr, tau):
    selected, soft = np.empty(len(ptr) - 1, np.int64), np.empty(len(phi))
    sample_parents(np.asarray(phi, float), np.asarray(noise, float), np.asarray(ptr), tau, selected, soft)
    return selected, soft


@given(segments(), TAUS, SEEDS)
def test_sample_equals_oracle(ptr, tau, seed):
    rng = np.random.default_rng(seed)
    phi, noise = rng.normal(scale=2.0, size=ptr[-1]), model_oracle.gumbel(rng.random(ptr[-1]))
    selected, soft = sample(phi, noise, ptr, tau)
    expected, expected_soft = model_oracle.sample(phi, noise, ptr, tau)
    assert selected.tolist() == expected.tolist()
    np.testing.assert_allclose(soft, expected_soft, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(np.add.reduceat(soft, ptr[:-1]), 1.0)


@given(segments(), SEEDS)
def test_temperature_does_not_change_what_is_selected(ptr, seed):
    rng = np.random.default_rng(seed)
    phi, noise = rng.normal(size=ptr[-1]), rng.normal(size=ptr[-1])
    draws = {tuple(sample(phi, noise, ptr, tau)[0]) for tau in (100.0, 1.0, 1e-3)}
    assert len(draws) == 1


def test_first_of_equal_candidates_is_selected():
    selected, soft = sample([0.0, 2.0, 1.0, 3.0], [5.0, 0.0, 1.0, -1.0], [0, 1, 4], tau=0.5)
    assert selected.tolist() == [0, 1]
    np.testing.assert_allclose(soft, [1.0, 1 / 3, 1 / 3, 1 / 3])


def test_far_apart_logits_neither_overflow_nor_lose_the_sum():
    selected, soft = sample([1e4, -1e4, 0.0], np.zeros(3), [0, 3], tau=0.1)
    assert selected.tolist() == [0]
    assert soft.tolist() == [1.0, 0.0, 0.0]


@given(segments(), TAUS, SEEDS)
def test_gradient_equals_oracle(ptr, tau, seed):
    rng = np.random.default_rng(seed)
    soft = rng.random(ptr[-1])
    soft /= np.repeat(np.add.reduceat(soft, ptr[:-1]), np.diff(ptr))
    weight_gradient, gradient = rng.normal(size=ptr[-1]), np.empty(ptr[-1])
    phi_gradient(weight_gradient, soft, ptr, tau, gradient)
    np.testing.assert_allclose(gradient, model_oracle.soft_max_gradient(weight_gradient, soft, tau, ptr), atol=1e-13)


@given(SEEDS)
@settings(max_examples=20)
def test_descent_equals_adam_of_the_oracle(seed):
    rng = np.random.default_rng(seed)
    adam = Adam(beta1=0.8, beta2=0.99, epsilon=1e-3)
    value, m, v = rng.normal(size=4), np.zeros(4), np.zeros(4)
    phi = Moments(value.copy(), np.zeros(4), np.zeros(4))
    for step in range(1, 6):
        gradient = rng.normal(size=4)
        descend_phi(phi, gradient, step, 0.05, adam)
        value, m, v = model_oracle.adam_step(value, gradient, m, v, step, 0.05, *adam)
        for found, expected in zip(phi, (value, m, v), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@given(segments(), SEEDS, st.sampled_from([1.0, 1e3]))
def test_probabilities_are_the_softmax_of_phi(ptr, seed, scale):
    phi = np.random.default_rng(seed).normal(scale=scale, size=ptr[-1])
    probabilities = np.empty(ptr[-1])
    parent_probabilities(phi, ptr, probabilities)
    for start, stop in pairwise(ptr):
        expected = np.exp(model_oracle.log_softmax_vector(phi[start:stop]))
        np.testing.assert_allclose(probabilities[start:stop], expected, rtol=1e-9, atol=1e-300)
        assert probabilities[start:stop].sum() == pytest.approx(1.0)
