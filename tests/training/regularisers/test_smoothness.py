"""Smoothness: neighbouring lines of CPTs drawn together, where values have an order."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tanager import GradientDescent, TANClassifier
from tanager.model import make_layout
from tanager.structure import ParentSets
from tanager.training import Noise, Schedule, Stepper, TrainingSettings, initial_state, make_problem
from tanager.training.regularisers import Run, Smoothness
from tests.oracles import model_oracle, regulariser_oracle

CARDS = [3, 2, 4]


def a_run(n_ordered):
    """A run on a layout of three features, of whose values the first so many are in order."""
    layout = make_layout(ParentSets.from_lists([[2], [-1, 0], [-1, 1]]), CARDS, 2)
    problem = make_problem(np.zeros((4, 3), np.uint8), np.arange(4) % 2, None, 4)
    return Run(replace(problem, n_ordered=n_ordered), layout, Noise(0))


def moved(run, *hooks):
    """CPTs before and after a step on candidates 0, 2 and 3; the loss has no gradient, so nothing else moves them."""
    state = initial_state(run.layout, Noise(0))
    state.theta.value[: run.layout.size] = np.random.default_rng(0).normal(size=run.layout.size)
    before, no_loss = state.theta.value.copy(), lambda log_joint, y, w: (0.0, np.zeros_like(log_joint))
    stepper = Stepper(state, run.layout, run.problem, no_loss, TrainingSettings(), hooks)
    rows, noise = np.arange(run.problem.batch_size), np.array([[0.0, 0.0, 99.0, 99.0, 0.0]])
    stepper.run(rows, noise, None, Schedule(0.1, 1.0))
    assert stepper.selected.tolist() == [0, 2, 3]
    return before, state.theta.value


def test_a_step_exchanges_the_rate_times_the_strength_of_the_difference():
    run = a_run(np.array([3, 0, 2]))
    before, after = moved(run, Smoothness(1.5).prepare(run))
    for child, (e, n_parent) in enumerate([(0, 2), (2, 3), (3, 0)]):
        cpt = run.layout.cpt(before, e)
        expected = regulariser_oracle.smoothed(cpt, [3, 0, 2][child], n_parent, 0.1 * 1.5)
        assert np.abs(expected - cpt).max() > 0.01
        np.testing.assert_allclose(
            run.layout.cpt(after, e), model_oracle.log_softmax_table(expected), rtol=0, atol=2e-6
        )
    for e in (1, 4):
        np.testing.assert_array_equal(run.layout.cpt(after, e), run.layout.cpt(before, e))


def test_nothing_moves_where_no_feature_has_an_order():
    run = a_run(None)
    _, expected = moved(run)
    _, after = moved(run, Smoothness(1.5).prepare(run))
    np.testing.assert_array_equal(after, expected)


def roughness(clf, feature):
    """Mean difference of neighbouring lines of a CPT."""
    return np.abs(np.diff(np.log(clf.network_.cpt(feature)), axis=1)).mean()


def test_smoothness_is_for_numbers_and_not_for_categories():
    rng = np.random.default_rng(0)
    codes = rng.integers(6, size=(400, 3))
    y = (codes.sum(axis=1) + rng.integers(4, size=400) > 9).astype(int)

    def fit(amount, **options):
        parameters = GradientDescent(epochs=20, smoothness=amount)
        return TANClassifier([-1, 0, 1], parameters, binning="none", random_state=0, **options).fit(codes, y)

    assert roughness(fit(1.0), 2) < 0.7 * roughness(fit(0.0), 2)
    first, second = (fit(amount, categorical_features=[0, 1, 2]) for amount in (0.0, 1.0))
    np.testing.assert_array_equal(first.network_.theta, second.network_.theta)


def test_diffusion_must_stay_stable():
    assert Smoothness(2.0).largest_rate == pytest.approx(0.1)
    assert Smoothness(0.0).largest_rate == math.inf
    assert GradientDescent(smoothness=2.0, learning_rate=0.1).smoothness == 2.0
    with pytest.raises(ValueError, match=r"^Smoothness\(strength=2.1\) allows a learning_rate of at most 0.0952"):
        GradientDescent(smoothness=2.1, learning_rate=0.1)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("make", [Smoothness, lambda value: GradientDescent(smoothness=value)])
def test_wrong_values_are_named(make, value):
    with pytest.raises(ValueError, match=r"^smoothness must be a finite number of at least 0, got"):
        make(value)
