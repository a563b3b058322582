import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.model import Network, make_groups, make_layout
from tanager.structure import ParentSets
from tests.oracles import counting_oracle
from tests.strategies import SEEDS, make_model, models


def network_of(model, chosen=None):
    chosen = np.arange(len(model.cards)) if chosen is None else chosen
    return Network.from_arena(model.layout, model.theta, model.prior, chosen)


@given(models())
@settings(max_examples=40)
def test_chosen_candidates_make_the_network(model):
    selected, _ = model.sample()
    network = network_of(model, selected)
    assert network.parents.tolist() == [model.parent[e] for e in selected]
    assert network.cards.tolist() == model.cards
    assert (network.n_features, network.n_classes) == (len(model.cards), model.n_classes)
    assert network.n_parameters == sum(np.prod(model.shapes[e]) for e in selected) + model.n_classes
    for i, e in enumerate(selected):
        np.testing.assert_allclose(network.cpt(i), np.exp(model.tables()[e]), rtol=1e-12)
        np.testing.assert_allclose(network.cpt(i).sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(network.log_joint(model.codes), model.log_joint(selected), rtol=1e-6, atol=1e-6)


@given(models(is_ordered=True, max_features=4, max_card=3, max_rows=4), st.data())
@settings(max_examples=30)
def test_rows_with_and_without_unknown_values(model, data):
    selected, _ = model.sample()
    is_hidden = np.array(data.draw(st.lists(st.booleans(), min_size=model.codes.size, max_size=model.codes.size)))
    is_hidden = is_hidden.reshape(model.codes.shape)
    is_hidden[0] = False
    structure = (model.child, model.parent, selected)
    codes = np.where(is_hidden, -1, model.codes)
    expected = counting_oracle.marginal_log_joint(model.tables(), model.prior, *structure, codes)
    unknown = np.where(is_hidden, model.cards, model.codes).astype(np.int32)
    np.testing.assert_allclose(network_of(model, selected).log_joint(unknown), expected, rtol=1e-6, atol=2e-6)


@given(models(is_ordered=True, is_fixed=True, max_features=4, max_card=3))
@settings(max_examples=20)
def test_joint_probabilities_sum_to_one(model):
    every_row = np.array(list(np.ndindex(*model.cards)), dtype=np.int32)
    assert np.exp(network_of(model).log_joint(every_row)).sum() == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("n_classes", [2, 8, 19])
@pytest.mark.parametrize("n_features", [7, 8, 9, 20])
def test_many_features_and_classes(n_features, n_classes):
    """More than the kernels take at a time."""
    rng = np.random.default_rng(n_features)
    candidates = [[rng.integers(-1, i)] for i in range(n_features)]
    cards = rng.integers(1, 5, size=n_features)
    model = make_model(candidates, cards, n_classes, seed=n_classes, n_rows=5)
    expected = model.log_joint(range(n_features))
    np.testing.assert_allclose(network_of(model).log_joint(model.codes), expected, rtol=1e-6, atol=1e-6)
    assert network_of(model).predict(model.codes).tolist() == expected.argmax(axis=1).tolist()


@pytest.mark.parametrize("n_threads", [2, 3])
def test_number_of_threads_does_not_change_a_bit(n_threads):
    model = make_model([[-1], [0], [1]], [3, 2, 4], 3, seed=0, n_rows=50)
    model.codes[::7, 1] = 2
    network = network_of(model)
    assert np.array_equal(network.log_joint(model.codes, n_threads), network.log_joint(model.codes))


@given(models(is_ordered=True, max_features=4), SEEDS)
@settings(max_examples=25)
def test_predicted_class_is_the_most_probable(model, seed):
    selected, _ = model.sample()
    is_hidden = np.random.default_rng(seed).random(model.codes.shape) < 0.2
    codes = np.where(is_hidden, model.cards, model.codes).astype(np.int32)
    network = network_of(model, selected)
    expected = network.log_joint(codes).argmax(axis=1)
    for n_threads in (1, 2, 3):
        assert np.array_equal(network.predict(codes, n_threads), expected)


def test_first_of_equal_classes_is_predicted():
    model = make_model([[-1], [0]], [2, 2], 10, seed=0, n_rows=6)
    model.theta[:] = np.log(0.5)
    model.prior[:] = np.log([0.05, 0.05, 0.2, 0.05, 0.2, 0.05, 0.05, 0.1, 0.05, 0.2])
    model.codes[0, 1] = 2  # unknown
    assert network_of(model).predict(model.codes).tolist() == [2] * 6


def test_no_rows():
    network = network_of(make_model([[-1], [0]], [3, 2], 3, seed=0))
    assert network.log_joint(np.empty((0, 2), np.int32)).shape == (0, 3)
    assert network.predict(np.empty((0, 2), np.int32)).shape == (0,)


def test_cycle_is_no_bayesian_network_and_leaves_out_terms():
    model = make_model([[1], [0], [-1]], [2, 3, 2], 2, seed=1, n_rows=1)
    network = network_of(model)
    assert not network.is_bayesian_network
    model.codes[0] = [0, 2, 1]
    tables = model.tables()
    all_terms = model.prior + tables[0][2, 0] + tables[1][0, 2] + tables[2][0, 1]
    np.testing.assert_allclose(network.log_joint(model.codes)[0], all_terms, rtol=1e-6)
    model.codes[0, 0] = 2  # unknown: both tables of the cycle need it
    np.testing.assert_allclose(network.log_joint(model.codes)[0], model.prior + tables[2][0, 1], rtol=1e-6)


def test_forest_is_a_bayesian_network():
    assert network_of(make_model([[-1], [0], [0]], [2, 3, 2], 2, seed=1)).is_bayesian_network


def test_cpts_with_a_line_for_each_group_or_each_value():
    groups = make_groups([np.array([0, 1, 0]), np.array([0, 0])])
    layout = make_layout(ParentSets.from_lists([[-1], [0]]), [3, 2], n_classes=2, groups=groups)
    theta = np.log(np.random.default_rng(0).dirichlet([1, 1], layout.arena_size // 2)).ravel().astype(np.float32)
    network = Network.from_arena(layout, theta, np.log([0.5, 0.5]), np.array([0, 1]))
    assert network.cpt(1, grouped=True).shape == (2, 2, 2)
    np.testing.assert_array_equal(network.cpt(1), network.cpt(1, grouped=True)[[0, 1, 0]])
    np.testing.assert_array_equal(network.cpt(0), network.cpt(0, grouped=True))
    assert network.groups_of(0).tolist() == [0, 1, 0]
    assert network.expanded.groups_of(0) is None
    np.testing.assert_array_equal(network.expanded.cpt(1, grouped=True), network.cpt(1))
