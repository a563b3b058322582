"""Parent dropout: which tables are read, which parameters move."""

import numpy as np
import pytest

from tanager import TANClassifier
from tanager.losses import NegativeLogLikelihood
from tanager.model import make_layout
from tanager.structure import ParentSets
from tanager.training import Batch, Noise, Stepper, TrainingSettings, initial_state
from tanager.training.noise import DropoutStream

SETS = ParentSets.from_lists([[-1], [-1, 0], [-1, 0, 1]], order=[0, 1, 2])


def take_step(is_dropped, sets=SETS):
    layout = make_layout(sets, [2, 3, 2], 2)
    noise = Noise(0)
    state = initial_state(layout, noise)
    stepper = Stepper(layout, NegativeLogLikelihood(), TrainingSettings(), 8)
    codes = np.random.default_rng(0).integers(0, 2, (8, 3)).astype(np.uint8)
    batch = Batch(codes, np.arange(8), np.arange(8) % 2, None)
    gumbel = np.array([0.0, 0.0, 9.0, 0.0, 0.0, 9.0][: sets.n_candidates])  # the last candidate of each wins
    stepper.step(state, batch, gumbel, rate=0.1, tau=1.0, is_dropped=is_dropped)
    return state


def test_a_dropped_parent_leaves_the_table_without_parent_and_phi_alone():
    state = take_step(np.array([False, False, True]))
    assert state.updates.tolist() == [1, 0, 1, 1, 0, 0]
    assert (state.phi.mean[3:] == 0).all()
    assert (state.phi.mean[1:3] != 0).all()


def test_without_dropout_the_drawn_tables_are_updated():
    for is_dropped in (None, np.zeros(3, bool)):
        assert take_step(is_dropped).updates.tolist() == [1, 0, 1, 0, 0, 1]


def test_a_feature_without_such_a_table_keeps_its_parent():
    state = take_step(np.ones(3, bool), ParentSets.from_lists([[-1], [0], [1]], order=[0, 1, 2]))
    assert state.updates.tolist() == [1, 1, 1]


def test_parents_are_dropped_with_the_given_probability():
    draws = np.array([DropoutStream(Noise(1), 50).at(step) for step in range(100)])
    assert abs((draws < 0.2).mean() - 0.2) < 0.02


@pytest.mark.parametrize("structure", ["chow-liu", "random", "subset"])
def test_a_fixed_structure_is_kept(structure):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 5))
    y = (X[:, 0] + X[:, 1] > 2).astype(int)
    options = {"categorical_features": range(5), "random_state": 0, "epochs": 5}
    plain = TANClassifier(structure, **options).fit(X, y)
    dropped = TANClassifier(structure, parent_dropout=0.3, **options).fit(X, y)
    assert not np.array_equal(plain.predict_proba(X), dropped.predict_proba(X))
    if structure != "subset":
        assert plain.parents_.tolist() == dropped.parents_.tolist()
        assert (dropped.parent_probabilities_.max(axis=1) == 1.0).all()


@pytest.mark.parametrize("value", [-0.1, 1.0, np.nan])
def test_what_is_no_probability_is_refused(value):
    with pytest.raises(ValueError, match="parent_dropout must be"):
        TrainingSettings(parent_dropout=value)
