"""Tables drawn towards those without a parent, and lines of tables towards their neighbours."""

import numpy as np
import pytest

from tanager import TANClassifier
from tanager.kernels.pulls import shrink_tables, smooth_tables
from tanager.losses import Hybrid
from tanager.model import make_layout, table_log_frequencies
from tanager.structure import ParentSets, fixed_parents, naive_bayes
from tanager.training import Noise, TrainingSettings, initial_state, make_problem, train
from tanager.training.pulls import shrinkage_goals

CARDS = [3, 2, 4]


def rows(n_rows=300):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(card, size=n_rows) for card in CARDS], axis=1).astype(np.uint8)
    return codes, rng.integers(2, size=n_rows)


def test_goals_are_the_smoothed_frequencies_without_a_parent():
    codes, y = rows()
    layout = make_layout(naive_bayes(3), CARDS, 2)
    expected = table_log_frequencies(layout, codes, y, np.ones(len(y)), smoothing=1.0)
    goals = shrinkage_goals(make_problem(codes, y, None, 10), layout)
    np.testing.assert_allclose(goals.value, expected, atol=1e-6)
    np.testing.assert_array_equal(goals.offset, layout.tables.offset)


def test_goals_leave_out_unknown_values_and_count_weights():
    codes = np.array([[0, 0, 0], [3, 1, 3], [1, 0, 0]], np.uint8)  # 3 is unknown in the first column
    layout = make_layout(naive_bayes(3), CARDS, 2)
    problem = make_problem(codes, np.zeros(3, np.int64), np.array([1.0, 5.0, 2.0]), 2)
    table = np.exp(shrinkage_goals(problem, layout).value[:6]).reshape(3, 2)
    np.testing.assert_allclose(table[:, 0], np.array([2, 3, 1]) / 6, atol=1e-6)
    np.testing.assert_allclose(table[:, 1], 1 / 3, atol=1e-6)


def test_selected_tables_with_a_parent_move():
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0], [-1, 1]]), CARDS, 2)
    rng = np.random.default_rng(0)
    theta = rng.normal(size=layout.arena_size).astype(np.float32)
    goals, before = rng.normal(size=18).astype(np.float32), theta.copy()
    offset = np.array([0, 6, 10, 18])
    shrink_tables(0, 3, theta, layout.tables, np.array([0, 2, 3]), goals, offset, 0.25)
    expected = before.copy()
    table = layout.table(expected, 2)
    table += 0.25 * (goals[6:10].reshape(1, 2, 2) - table)
    np.testing.assert_allclose(theta, expected, atol=1e-6)


def test_strong_shrinkage_leaves_naive_bayes():
    codes, y = rows()
    layout = make_layout(fixed_parents([-1, 0, 1]), CARDS, 2)
    problem = make_problem(codes, y, None, 50)
    plan = TrainingSettings(epochs=60, batch_size=50, learning_rate=0.1, shrinkage=10.0, learning_rate_decay=0.01)
    state = train(initial_state(layout, Noise(0)), layout, problem, Hybrid(), plan, Noise(0))
    goals = shrinkage_goals(problem, layout)
    for child in (1, 2):
        goal = goals.value[goals.offset[child] : goals.offset[child + 1]].reshape(1, CARDS[child], 2)
        np.testing.assert_allclose(layout.table(state.theta.value, child) - goal, 0.0, atol=0.25)
    free = train(initial_state(layout, Noise(0)), layout, problem, Hybrid(), TrainingSettings(epochs=60), Noise(0))
    goal = goals.value[goals.offset[2] :].reshape(1, CARDS[2], 2)
    assert np.abs(layout.table(free.theta.value, 2) - goal).max() > 0.5


def neighbours_in_loops(table, n_child, n_parent, share):
    """One step of diffusion over the first values of parent and child."""
    result = table.copy()
    n_parents, n_children, _ = table.shape
    for j in range(n_parents):
        for i in range(n_children):
            for other_j, other_i in ((j - 1, i), (j + 1, i), (j, i - 1), (j, i + 1)):
                along_child = other_j == j and 0 <= other_i < n_child and i < n_child
                along_parent = other_i == i and 0 <= other_j < n_parent and j < n_parent
                if along_child or along_parent:
                    result[j, i] += share * (table[other_j, other_i] - table[j, i])
    return result


@pytest.mark.parametrize("n_ordered", [[3, 2, 4, 0], [3, 0, 2, 0], [0, 0, 0, 0], [1, 2, 3, 0]])
def test_neighbouring_lines_of_ordered_values_exchange(n_ordered):
    layout = make_layout(ParentSets.from_lists([[2], [-1, 0], [-1, 1]]), CARDS, 2)
    theta = np.random.default_rng(0).normal(size=layout.arena_size).astype(np.float32)
    before, selected = theta.copy(), np.array([0, 2, 3])
    smooth_tables(0, 3, theta, layout.tables, selected, np.array(n_ordered), 0.15)
    expected = before.copy()
    for child, (e, parent) in enumerate(zip(selected, (2, 0, 3), strict=True)):
        table = layout.table(expected, e)
        table[:] = neighbours_in_loops(table, n_ordered[child], n_ordered[parent], 0.15)
    np.testing.assert_allclose(theta, expected, atol=1e-6)


def roughness(clf, feature):
    """Mean difference of neighbouring lines of a table."""
    return np.abs(np.diff(np.log(clf.network_.cpt(feature)), axis=1)).mean()


def test_smoothness_is_for_numbers_and_not_for_categories():
    rng = np.random.default_rng(0)
    codes = rng.integers(6, size=(400, 3))
    y = (codes.sum(axis=1) + rng.integers(4, size=400) > 9).astype(int)
    options = {"structure": [-1, 0, 1], "binning": "none", "epochs": 20, "random_state": 0}
    rough, smooth = (TANClassifier(smoothness=amount, **options).fit(codes, y) for amount in (0.0, 1.0))
    assert roughness(smooth, 2) < 0.7 * roughness(rough, 2)
    names = {"categorical_features": [0, 1, 2], **options}
    first, second = (TANClassifier(smoothness=amount, **names).fit(codes, y) for amount in (0.0, 1.0))
    np.testing.assert_array_equal(first.network_.theta, second.network_.theta)


@pytest.mark.parametrize("value", [-1.0, np.nan, 2.1])
def test_wrong_smoothness_is_named(value):
    with pytest.raises(ValueError, match=r"^smoothness "):
        TrainingSettings(smoothness=value, learning_rate=0.1)


@pytest.mark.parametrize("value", [-1.0, np.nan, 11.0])
def test_wrong_values_are_named(value):
    with pytest.raises(ValueError, match=r"^shrinkage "):
        TrainingSettings(shrinkage=value, learning_rate=0.1)
