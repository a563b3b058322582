"""Shrinkage: CPTs with a parent drawn towards those without one."""

import math

import numpy as np
import pytest

from tanager import GradientDescent
from tanager.losses import Hybrid
from tanager.model import cpt_log_frequencies, make_layout
from tanager.structure import ParentSets, fixed_parents, naive_bayes
from tanager.training import Noise, Schedule, Stepper, TrainingSettings, initial_state, make_problem, train
from tanager.training.regularisers import Run, Shrinkage
from tanager.training.regularisers.shrinkage import count_features
from tests.oracles import model_oracle, regulariser_oracle

CARDS = [3, 2, 4]


def rows(n_rows=300):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(card, size=n_rows) for card in CARDS], axis=1).astype(np.uint8)
    return codes, rng.integers(2, size=n_rows)


def test_goals_are_the_smoothed_frequencies_without_a_parent():
    codes, y = rows()
    layout = make_layout(naive_bayes(3), CARDS, 2)
    expected = cpt_log_frequencies(layout, codes, y, np.ones(len(y)), smoothing=1.0)
    goals = count_features(make_problem(codes, y, None, 10), layout)
    np.testing.assert_allclose(goals.value, expected, atol=1e-6)
    np.testing.assert_array_equal(goals.offset, layout.cpts.offset)


def test_goals_leave_out_unknown_values_and_count_weights():
    codes = np.array([[0, 0, 0], [3, 1, 3], [1, 0, 0]], np.uint8)  # 3 is unknown in the first column
    layout = make_layout(naive_bayes(3), CARDS, 2)
    problem = make_problem(codes, np.zeros(3, np.int64), np.array([1.0, 5.0, 2.0]), 2)
    cpt = np.exp(count_features(problem, layout).value[:6]).reshape(3, 2)
    np.testing.assert_allclose(cpt[:, 0], np.array([2, 3, 1]) / 6, atol=1e-6)
    np.testing.assert_allclose(cpt[:, 1], 1 / 3, atol=1e-6)


def test_a_step_takes_drawn_cpts_with_a_parent_a_share_of_the_way_to_their_goals():
    codes, y = rows()
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0], [-1, 1]]), CARDS, 2)
    problem = make_problem(codes, y, None, 10)
    hook = Shrinkage(2.5).prepare(Run(problem, layout, Noise(0)))
    state, goals = initial_state(layout, Noise(0)), count_features(problem, layout)
    before = state.theta.value.copy()
    # The loss has no gradient, so that nothing else moves the CPTs, which are then normalised.
    stepper = Stepper(state, layout, problem, lambda log_joint, y, w: (0.0, 0 * log_joint), TrainingSettings(), [hook])
    stepper.run(np.arange(10), np.array([[0.0, 0.0, 99.0, 99.0, 0.0]]), None, Schedule(0.1, 1.0))
    assert stepper.selected.tolist() == [0, 2, 3]
    goal = goals.value[goals.offset[1] : goals.offset[2]].reshape(2, 2)
    expected = regulariser_oracle.shrunk(layout.cpt(before, 2), goal, 0.25)
    assert np.abs(expected - layout.cpt(before, 2)).max() > 0.01
    np.testing.assert_allclose(
        layout.cpt(state.theta.value, 2), model_oracle.log_softmax_table(expected), rtol=0, atol=1e-6
    )
    for e in (0, 1, 3, 4):
        np.testing.assert_allclose(layout.cpt(state.theta.value, e), layout.cpt(before, e), atol=1e-6)


def test_strong_shrinkage_leaves_naive_bayes():
    codes, y = rows()
    layout = make_layout(fixed_parents([-1, 0, 1]), CARDS, 2)
    problem = make_problem(codes, y, None, 50)
    plan = TrainingSettings(epochs=60, batch_size=50, learning_rate_decay=0.01, regularisers=(Shrinkage(10.0),))
    state = train(initial_state(layout, Noise(0)), layout, problem, Hybrid(), plan, Noise(0))
    goals = count_features(problem, layout)
    for child in (1, 2):
        goal = goals.value[goals.offset[child] : goals.offset[child + 1]].reshape(1, CARDS[child], 2)
        np.testing.assert_allclose(layout.cpt(state.theta.value, child) - goal, 0.0, atol=0.25)
    free = train(initial_state(layout, Noise(0)), layout, problem, Hybrid(), TrainingSettings(epochs=60), Noise(0))
    goal = goals.value[goals.offset[2] :].reshape(1, CARDS[2], 2)
    assert np.abs(layout.cpt(free.theta.value, 2) - goal).max() > 0.5


def test_one_step_may_reach_the_goal_but_not_go_beyond():
    assert Shrinkage(10.0).largest_rate == pytest.approx(0.1)
    assert Shrinkage(0.0).largest_rate == math.inf
    assert GradientDescent(shrinkage=10.0, learning_rate=0.1).shrinkage == 10.0
    with pytest.raises(ValueError, match=r"^Shrinkage\(strength=11.0\) allows a learning_rate of at most 0.0909"):
        GradientDescent(shrinkage=11.0, learning_rate=0.1)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("make", [Shrinkage, lambda value: GradientDescent(shrinkage=value)])
def test_wrong_values_are_named(make, value):
    with pytest.raises(ValueError, match=r"^shrinkage must be a finite number of at least 0, got"):
        make(value)
