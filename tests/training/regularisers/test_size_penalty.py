"""The price on the expected size of the model."""

import numpy as np
import pytest
from hypothesis import given, settings

from tanager import GradientDescent
from tanager.losses import Hybrid
from tanager.model import ParentDistribution, make_layout
from tanager.structure import ParentSets, fixed_parents, subset_candidates
from tanager.training import (
    Noise,
    Schedule,
    Stepper,
    TrainingSettings,
    initial_state,
    make_problem,
    structure_of,
    train,
)
from tanager.training.regularisers import Run, SizePenalty
from tanager.training.regularisers.size_penalty import size_cost
from tests.strategies import SEEDS

CARDS = [5, 2, 3, 4]


def trained(layout, *regularisers):
    """Train on rows whose neighbouring features are alike."""
    rng = np.random.default_rng(0)
    base = rng.integers(2, size=(600, 1))
    codes = (base + (rng.random((600, 4)) < 0.1)).astype(np.uint8) % np.array(CARDS, np.uint8)
    y = (codes.sum(axis=1) > 2).astype(np.int64)
    state = initial_state(layout, Noise(0))
    plan = TrainingSettings(epochs=10, batch_size=50, regularisers=regularisers)
    return train(state, layout, make_problem(codes, y, None, 20), Hybrid(), plan, Noise(0))


def expected_size(layout, weight, phi):
    """The term of the loss."""
    return size_cost(layout, weight) @ ParentDistribution(layout.parent_sets, phi).probabilities


def phi_gradient(layout, phi, loss, *regularisers):
    """Gradient of phi in a first step: Adam's first moment is a tenth of it."""
    problem = make_problem(np.zeros((6, 4), np.uint8), np.arange(6) % 2, None, 6, may_merge=False)
    state = initial_state(layout, Noise(0), phi)
    hooks = [each.prepare(Run(problem, layout, Noise(0))) for each in regularisers]
    stepper = Stepper(state, layout, problem, loss, TrainingSettings(), hooks)
    stepper.run(np.arange(6), np.zeros((1, len(phi))), None, Schedule(0.1, 1.0))
    return state.phi.mean / (1 - TrainingSettings().adam.beta1)


def no_loss(log_joint, y, sample_weight):
    return 0.0, np.zeros_like(log_joint)


def test_value_is_the_share_of_the_largest_model():
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0]]), [5, 2], 3)
    found = [expected_size(layout, 2.0, np.array(phi)) for phi in ([0.0, 0.0, -50.0], [0.0, -50.0, 0.0])]
    assert found == pytest.approx([2.0 * (15 + 6) / (15 + 30), 2.0])


@given(SEEDS)
@settings(max_examples=20)
def test_gradient_is_the_slope_of_the_value(seed):
    rng = np.random.default_rng(seed)
    layout = make_layout(subset_candidates(rng.permutation(4), 3, rng), CARDS, 2)
    phi = rng.normal(size=layout.parent_sets.n_candidates)
    gradient = phi_gradient(layout, phi, no_loss, SizePenalty(0.7))
    for e in range(len(phi)):
        step = 1e-5 * np.eye(len(phi))[e]
        slope = (expected_size(layout, 0.7, phi + step) - expected_size(layout, 0.7, phi - step)) / 2e-5
        np.testing.assert_allclose(gradient[e], slope, atol=1e-8)
    others = phi_gradient(layout, phi, Hybrid())
    total = phi_gradient(layout, phi, Hybrid(), SizePenalty(0.7))
    np.testing.assert_allclose(total, others + gradient, atol=1e-12)


def test_a_high_price_leaves_no_parents_and_a_low_one_some():
    rng = np.random.default_rng(1)
    layout = make_layout(subset_candidates(np.arange(4), 3, rng), CARDS, 2)
    kept = []
    for price in (0.0, 1000.0):
        state = trained(layout, SizePenalty(price))
        kept.append(layout.parent_sets.select(structure_of(state, layout).most_probable()))
    assert (kept[0] >= 0).any()
    assert (kept[1] == -1).all()


def test_a_fixed_structure_does_not_change():
    layout = make_layout(fixed_parents([-1, 0, 1, 2]), CARDS, 2)
    with_price, without = trained(layout, SizePenalty(5.0)), trained(layout)
    np.testing.assert_array_equal(with_price.theta.value, without.theta.value)


@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
@pytest.mark.parametrize("make", [SizePenalty, lambda value: GradientDescent(size_penalty=value)])
def test_wrong_values_are_named(make, value):
    with pytest.raises(ValueError, match=r"^size_penalty must be a finite number of at least 0, got"):
        make(value)
