"""Parent dropout: which CPTs are read, which parameters move."""

from dataclasses import dataclass

import numpy as np
import pytest

from tanager import GradientDescent, TANClassifier
from tanager.losses import NegativeLogLikelihood
from tanager.model import make_layout
from tanager.model.joint import join_layouts
from tanager.structure import ParentSets, fixed_parents
from tanager.training import Batch, Noise, Stepper, TrainingSettings, initial_state, make_problem
from tanager.training.noise import DropoutStream
from tanager.training.regularisers import ParentDropout, Run

SETS = ParentSets.from_lists([[-1], [-1, 0], [-1, 0, 1]], order=[0, 1, 2])
ALWAYS, NEVER = 0.0, 1.0  # uniform draws that are below, or above, every probability


@dataclass(frozen=True)
class FixedNoise(Noise):
    """Noise whose uniform draws are the same in every step."""

    uniform: tuple[float, ...] = ()

    def uniform_block(self, block, n_slots):
        assert len(self.uniform) == n_slots
        return np.tile(self.uniform, (64, 1))


def prepare(dropout, layout, noise, codes, y):
    return dropout.prepare(Run(make_problem(codes, y, None, 8), layout, noise))


def take_step(uniform, sets=SETS):
    """One step that draws the last candidate of each feature; no dropout if no draws are given."""
    layout = make_layout(sets, [2, 3, 2], 2)
    state = initial_state(layout, Noise(0))
    codes, y = np.random.default_rng(0).integers(0, 2, (8, 3)).astype(np.uint8), np.arange(8) % 2
    hooks = [] if uniform is None else [prepare(ParentDropout(0.5), layout, FixedNoise(0, uniform), codes, y)]
    stepper = Stepper(layout, NegativeLogLikelihood(), TrainingSettings(), 8, hooks=hooks)
    gumbel = np.array([0.0, 0.0, 9.0, 0.0, 0.0, 9.0][: sets.n_candidates])
    stepper.step(state, Batch(codes, np.arange(8), y, None), gumbel, rate=0.1, tau=1.0)
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
    draws = np.array([DropoutStream(Noise(1), 50).at(step) for step in range(100)])
    assert abs((draws < 0.2).mean() - 0.2) < 0.02


def test_the_hook_drops_by_the_draws_of_its_step():
    layout = make_layout(SETS, [2, 3, 2], 2)
    codes, y = np.zeros((8, 3), np.uint8), np.arange(8) % 2
    hook = prepare(ParentDropout(0.3), layout, Noise(4), codes, y)
    stream, last = DropoutStream(Noise(4), 3), np.array([0, 2, 5])
    n_dropped = 0
    for step in range(200):
        selected, soft = last.copy(), np.full(6, 0.5)
        hook.change_structure(step, layout.tables, selected, soft)
        is_dropped = stream.at(step) < 0.3
        np.testing.assert_array_equal(selected, np.where(is_dropped, [0, 1, 3], last))
        n_dropped += is_dropped[1:].sum()
    assert abs(n_dropped / 400 - 0.3) < 0.06


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
