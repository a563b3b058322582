"""Parent dropout: which CPTs are read, which parameters move."""

import numpy as np
import pytest

from tanager import GradientDescent, TANClassifier
from tanager.losses import NegativeLogLikelihood
from tanager.model import make_layout
from tanager.model.joint import join_layouts
from tanager.structure import ParentSets, fixed_parents
from tanager.training import Noise, Schedule, Stepper, TrainingSettings, initial_state, make_problem, train
from tanager.training.noise import DropoutStream
from tanager.training.regularisers import Hooks, ParentDropout, Regulariser, Run

SETS = ParentSets.from_lists([[-1], [-1, 0], [-1, 0, 1]], order=[0, 1, 2])
ALWAYS, NEVER = 0.0, 1.0  # uniform draws that are below, or above, every probability


def take_step(uniform, sets=SETS):
    """One step that draws the last candidate of each feature; no dropout if no draws are given."""
    layout = make_layout(sets, [2, 3, 2], 2)
    state = initial_state(layout, Noise(0))
    codes, y = np.random.default_rng(0).integers(0, 2, (8, 3)).astype(np.uint8), np.arange(8) % 2
    problem = make_problem(codes, y, None, 8, may_merge=False)
    hooks = [] if uniform is None else [ParentDropout(0.5).prepare(Run(problem, layout, Noise(0)))]
    stepper = Stepper(state, layout, problem, NegativeLogLikelihood(), TrainingSettings(), hooks)
    gumbel = np.array([[0.0, 0.0, 9.0, 0.0, 0.0, 9.0][: sets.n_candidates]])
    stepper.run(np.arange(8), gumbel, None if uniform is None else np.array([uniform]), Schedule(0.1, 1.0))
    return state


def test_a_dropped_parent_leaves_the_cpt_without_parent_and_phi_alone():
    state = take_step((NEVER, NEVER, ALWAYS))
    assert state.updates.tolist() == [1, 0, 1, 1, 0, 0]
    assert (state.phi.mean[3:] == 0).all()
    assert (state.phi.mean[1:3] != 0).all()


@pytest.mark.parametrize("uniform", [None, (NEVER, NEVER, NEVER), (0.5, 0.5, 0.5)])
def test_without_dropout_the_drawn_cpts_are_updated(uniform):
    assert take_step(uniform).updates.tolist() == [1, 0, 1, 0, 0, 1]


def test_a_feature_without_such_a_cpt_keeps_its_parent():
    state = take_step((ALWAYS,) * 3, ParentSets.from_lists([[-1], [0], [1]], order=[0, 1, 2]))
    assert state.updates.tolist() == [1, 1, 1]


def test_parents_are_dropped_with_the_given_probability():
    draws = DropoutStream(Noise(1), 50).steps(0, 100)
    assert abs((draws < 0.2).mean() - 0.2) < 0.02


class Watching(Regulariser):
    """Notes the structure of every step, after dropout."""

    def prepare(self, run):
        class Notes(Hooks):
            def change_structure(self, step, tables, selected, soft):
                STRUCTURES.append((step, selected.copy(), soft.copy()))

        return Notes()


STRUCTURES = []


def test_training_drops_by_the_draws_of_each_step():
    layout = make_layout(SETS, [2, 3, 2], 2)
    problem = make_problem(np.zeros((8, 3), np.uint8), np.arange(8) % 2, None, 4, may_merge=False)
    state, last = initial_state(layout, Noise(4)), np.array([0, 2, 5])
    state.phi.value[:] = -50.0
    state.phi.value[last] = 50.0
    plan = TrainingSettings(epochs=100, structure_learning_rate=0.0, regularisers=(ParentDropout(0.3), Watching()))
    STRUCTURES.clear()
    train(state, layout, problem, NegativeLogLikelihood(), plan, Noise(4))
    is_dropped = DropoutStream(Noise(4), 3).steps(0, 200) < 0.3
    assert [step for step, _, _ in STRUCTURES] == list(range(200))
    for dropped, (_, selected, soft) in zip(is_dropped, STRUCTURES, strict=True):
        np.testing.assert_array_equal(selected, np.where(dropped, [0, 1, 3], last))
        np.testing.assert_allclose(np.add.reduceat(soft, SETS.ptr[:-1]), ~dropped)
    assert abs(is_dropped[:, 1:].mean() - 0.3) < 0.06


def test_added_cpts_are_never_drawn_and_the_others_keep_their_phi():
    layout = make_layout(ParentSets.from_lists([[-1, 1], [0, 2], [0]]), [2, 3, 2], 2)
    wider, phi = ParentDropout(0.2).extend(layout, np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert wider.parent_sets.to_lists() == [[-1, 1], [-1, 0, 2], [-1, 0]]
    assert phi.tolist() == [1.0, 2.0, -np.inf, 3.0, 4.0, -np.inf, 5.0]
    _, from_zero = ParentDropout(0.2).extend(layout, None)
    assert from_zero.tolist() == [0.0, 0.0, -np.inf, 0.0, 0.0, -np.inf, 0.0]


def test_every_feature_of_every_member_gets_a_cpt_without_a_parent():
    members = [make_layout(fixed_parents(parents), [2, 3, 2], 2) for parents in ([-1, 0, 1], [1, -1, 0])]
    wider, phi = ParentDropout(0.2).extend(join_layouts(members), None)
    assert wider.n_members == 2
    assert np.diff(wider.parent_sets.ptr).tolist() == [1, 2, 2, 2, 1, 2]
    assert np.isinf(phi).sum() == 4


@pytest.mark.parametrize("structure", ["chow-liu", "random", "subset"])
def test_a_fixed_structure_is_kept(structure):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 5))
    y = (X[:, 0] + X[:, 1] > 2).astype(int)
    options = {"categorical_features": range(5), "random_state": 0}
    plain = TANClassifier(structure, GradientDescent(epochs=5), **options).fit(X, y)
    dropped = TANClassifier(structure, GradientDescent(epochs=5, parent_dropout=0.3), **options).fit(X, y)
    assert not np.array_equal(plain.predict_proba(X), dropped.predict_proba(X))
    if structure != "subset":
        assert plain.parents_.tolist() == dropped.parents_.tolist()
        assert (dropped.parent_probabilities_.max(axis=1) == 1.0).all()


@pytest.mark.parametrize("value", [-0.1, 1.0, np.nan])
@pytest.mark.parametrize("make", [ParentDropout, lambda value: GradientDescent(parent_dropout=value)])
def test_what_is_not_a_probability_is_refused(make, value):
    with pytest.raises(ValueError, match=r"^parent_dropout must be a finite number of at least 0 and below 1, got"):
        make(value)
