import numpy as np
from hypothesis import given, settings

from tanager.model import make_layout
from tanager.structure import ParentSets
from tanager.training import Noise, Start, initial_state, keep_structure, structure_of
from tanager.training.regularisers import FeatureCpts
from tests.oracles import model_oracle
from tests.strategies import SEEDS, make_model, models


@given(models(max_rows=1), SEEDS)
@settings(max_examples=25)
def test_parameters_start_random_and_normalised(model, seed):
    state = initial_state(model.layout, Noise(seed))
    draws = Noise(seed).initial(model.layout.size + model.n_classes, 0.1)
    for found, drawn in zip(model.split(state.theta.value), model.split(draws), strict=True):
        np.testing.assert_allclose(found, model_oracle.log_softmax_table(drawn), atol=1e-6)
    expected = model_oracle.log_softmax_vector(draws[model.layout.size :].astype(float))
    np.testing.assert_allclose(state.prior.value, expected, atol=1e-6)
    assert state.theta.value.dtype == state.prior.value.dtype == np.float32


def test_cpts_start_from_those_given():
    cards = [3, 2, 4]
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0], [1]]), cards, 3)
    cpt = np.log(np.random.default_rng(0).dirichlet(np.ones(4), size=3).T).astype(np.float32)
    cpts = FeatureCpts.zeros(layout)
    cpts.value[:] = -np.log(np.repeat(cards, np.multiply(cards, 3)))
    cpts.value[cpts.offset[2] :] = cpt.ravel()
    prior = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    state = initial_state(layout, Noise(0), start=Start(cpts, prior))
    np.testing.assert_allclose(layout.cpt(state.theta.value, 3), np.stack([cpt, cpt]), atol=1e-6)
    np.testing.assert_allclose(layout.cpt(state.theta.value, 2), np.log(0.5), atol=1e-6)
    np.testing.assert_allclose(state.prior.value, prior, atol=1e-6)


def test_nothing_has_happened_yet():
    state = initial_state(make_model([[-1], [-1, 0]], [2, 3], 2, seed=0).layout, Noise(0))
    assert not state.phi.value.any()
    for moments in (state.theta, state.prior, state.phi):
        assert not moments.mean.any()
        assert not moments.square.any()
    assert (state.step, state.epoch, len(state.history)) == (0, 0, 0)
    assert not state.last.any()
    assert not state.updates.any()


def test_copy_shares_nothing():
    state = initial_state(make_model([[-1], [-1, 0]], [2, 3], 2, seed=0).layout, Noise(0))
    copy = state.copy()
    pairs = zip(state.theta + state.prior + state.phi, copy.theta + copy.prior + copy.phi, strict=True)
    for array, copied in (*pairs, (state.last, copy.last), (state.updates, copy.updates)):
        assert np.array_equal(array, copied)
        assert not np.shares_memory(array, copied)
    state.history.append(loss=0, error=0, entropy=0, learning_rate=0, tau=0)
    assert len(copy.history) == 0


def test_structure_is_that_of_phi():
    model = make_model([[-1], [-1, 0]], [2, 3], 2, seed=0)
    state = model.state()
    state.phi.value[:] = [0.0, 1.0, 3.0]
    assert structure_of(state, model.layout).most_probable().tolist() == [0, 2]


def test_a_structure_that_is_kept_is_the_only_one_drawn():
    model = make_model([[-1], [-1, 0]], [2, 3], 2, seed=0)
    state = model.state()
    state.phi.mean[:], state.phi.square[:], state.epoch = 1.0, 1.0, 7
    theta = state.theta.value.copy()
    keep_structure(state, np.array([0, 1]))
    assert structure_of(state, model.layout).probabilities.tolist() == [1.0, 1.0, 0.0]
    assert not state.phi.mean.any()
    assert not state.phi.square.any()
    assert state.epoch == 0
    assert state.path.is_closed
    assert np.array_equal(state.theta.value, theta)
