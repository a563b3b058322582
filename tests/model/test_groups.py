"""Networks whose CPTs have a line for each group of a parent's values: the same as with a line for each value."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.model import Network, average_networks, can_temper, make_layout, temper
from tanager.model.layout import grouped_codes, make_groups
from tanager.structure import ParentSets
from tests.oracles import effects_oracle, query_oracle
from tests.oracles.model_oracle import log_softmax_table, log_softmax_vector
from tests.strategies import SEEDS

CLOSE = {"rtol": 1e-5, "atol": 1e-6}


class Grouped(NamedTuple):
    """A random network with groups, and its CPTs with a line for each value, written by hand."""

    network: Network
    maps: list[np.ndarray]
    tables: list[np.ndarray]  # float64[R_parent or 1, R_child, C]
    codes: np.ndarray

    def states(self):
        network = self.network
        return query_oracle.all_states(self.tables, network.log_prior, network.parents.tolist(), network.cards.tolist())


def make_grouped(parents, maps, n_classes, seed, *, is_normalised=True, n_rows=12):
    rng = np.random.default_rng(seed)
    maps, cards = [np.asarray(each) for each in maps], [len(each) for each in maps]
    layout = make_layout(ParentSets.from_lists([[j] for j in parents]), cards, n_classes, groups=make_groups(maps))
    arena, tables = np.zeros(layout.arena_size, np.float32), []
    for i, parent in enumerate(parents):
        table = rng.normal(size=(1 if parent < 0 else maps[parent].max() + 1, cards[i], n_classes))
        table = (log_softmax_table(table) if is_normalised else table).astype(np.float32)
        layout.cpt(arena, i)[...] = table
        lines = [0] if parent < 0 else maps[parent]
        tables.append(np.array([table[group] for group in lines], np.float64))
    prior = log_softmax_vector(rng.normal(size=n_classes))
    codes = np.stack([rng.integers(0, card, n_rows) for card in cards], axis=1)
    return Grouped(Network.from_arena(layout, arena, prior, np.arange(len(parents))), maps, tables, codes)


@st.composite
def grouped(draw, **options):
    drawn = draw(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=4))
    maps = [np.unique(each, return_inverse=True)[1] for each in drawn]
    parents = [draw(st.integers(-1, i - 1)) for i in range(len(maps))]
    return make_grouped(parents, maps, draw(st.integers(1, 4)), draw(SEEDS), **options)


def chain(n_classes=3, **options):
    """Four features of which each is the parent of the next."""
    return make_grouped([-1, 0, 1, 2], [[0, 0, 1, 1, 2], [0, 1], [1, 0, 1], [0, 0, 0]], n_classes, seed=0, **options)


def log_joint_in_loops(model, codes):
    network, result = model.network, []
    for row in codes.tolist():
        total = network.log_prior.copy()
        for i, parent in enumerate(network.parents.tolist()):
            total += model.tables[i][0 if parent < 0 else row[parent], row[i]]
        result.append(total)
    return np.array(result)


def hidden(model, seed=0):
    """The rows with some codes unknown."""
    is_hidden = np.random.default_rng(seed).random(model.codes.shape) < 0.4
    return np.where(is_hidden, model.network.cards, model.codes)


# Layout and codes.


def test_a_cpt_has_a_line_for_each_group_of_its_parent():
    layout = chain().network.layout
    arena = np.zeros(layout.arena_size)
    assert [layout.cpt(arena, i).shape for i in range(4)] == [(1, 5, 3), (3, 2, 3), (2, 3, 3), (2, 3, 3)]
    assert layout.size == 15 + 18 + 18 + 18
    assert layout.cards.tolist() == [5, 2, 3, 3]


def test_groups_know_the_values_of_each_feature():
    groups = make_groups([np.array([1, 0, 1]), np.array([0])])
    assert groups.of(0).tolist() == [1, 0, 1]
    assert groups.of(1).tolist() == [0]
    assert groups.cards.tolist() == [2, 1]


def test_pairs_of_parents_cannot_be_grouped():
    groups = make_groups([np.array([0, 1])] * 3)
    with pytest.raises(ValueError, match="values cannot be grouped where features have two extra parents"):
        make_layout(ParentSets.from_lists([[-1], [-1], [(0, 1)]]), [2, 2, 2], 2, groups=groups)


def test_several_candidates_may_have_groups():
    """The network of chosen candidates keeps the groups and the CPTs of these."""
    groups = make_groups([np.array([0, 0, 1]), np.array([0, 1])])
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0]]), [3, 2], 2, groups=groups)
    arena = np.zeros(layout.arena_size, np.float32)
    layout.cpt(arena, 2)[...] = np.arange(8).reshape(2, 2, 2)
    network = Network.from_arena(layout, arena, np.zeros(2), np.array([0, 2]))
    assert network.parents.tolist() == [-1, 0]
    assert network.layout.cpt(network.theta, 1).ravel().tolist() == list(range(8))
    assert network.layout.groups is groups


@given(grouped(), st.integers(1, 3))
@settings(max_examples=30)
def test_codes_of_groups_stand_beside_those_of_values(model, n_threads):
    codes = hidden(model)
    found = grouped_codes(codes, model.network.layout.groups, n_threads)
    assert found.tolist() == effects_oracle.group_codes(codes, [each.tolist() for each in model.maps])


# A line for each value.


@given(grouped())
@settings(max_examples=40)
def test_expanded_cpts_are_those_of_the_groups(model):
    for i, table in enumerate(model.tables):
        np.testing.assert_allclose(model.network.cpt(i), np.exp(table), rtol=1e-6)
        np.testing.assert_array_equal(model.network.expanded.cpt(i), model.network.cpt(i))
    assert model.network.expanded.layout.groups is None
    assert model.network.expanded.expanded is model.network.expanded


@given(grouped(), st.sampled_from([np.uint8, np.int8, np.int16, np.int64]), st.integers(1, 2))
@settings(max_examples=40)
def test_log_joint_equals_the_loops_and_the_expanded_network(model, code_type, n_threads):
    codes = model.codes.astype(code_type)
    found = model.network.log_joint(codes, n_threads)
    np.testing.assert_allclose(found, log_joint_in_loops(model, codes), **CLOSE)
    np.testing.assert_array_equal(found, model.network.expanded.log_joint(codes, n_threads))
    np.testing.assert_array_equal(model.network.predict(codes, n_threads), found.argmax(axis=1))


@given(grouped(), SEEDS)
@settings(max_examples=40)
def test_unknown_values_are_summed_out_as_by_enumeration(model, seed):
    network, codes = model.network, hidden(model, seed)
    states, cards = model.states(), network.cards.tolist()
    expected = [
        [query_oracle.evidence_probability(states, row, c, cards) for c in range(network.n_classes)] for row in codes
    ]
    found = network.log_joint(codes)
    np.testing.assert_allclose(np.exp(found), expected, **CLOSE)
    np.testing.assert_array_equal(network.predict(codes), found.argmax(axis=1))


@given(grouped(), SEEDS)
@settings(max_examples=25)
def test_answers_equal_those_of_the_expanded_network(model, seed):
    network, expanded, codes = model.network, model.network.expanded, hidden(model, seed)
    found, expected = network.marginals(codes), expanded.marginals(codes)
    np.testing.assert_array_equal(found.classes, expected.classes)
    for of_network, of_expanded in zip(found.features, expected.features, strict=True):
        np.testing.assert_array_equal(of_network, of_expanded)
    for of_network, of_expanded in zip(network.most_probable(codes), expanded.most_probable(codes), strict=True):
        np.testing.assert_array_equal(of_network, of_expanded)
    draws = [each.sample(len(codes), codes, random_state=seed) for each in (network, expanded)]
    for of_network, of_expanded in zip(*draws, strict=True):
        np.testing.assert_array_equal(of_network, of_expanded)
    np.testing.assert_array_equal(network.log_terms(codes), expanded.log_terms(codes))
    np.testing.assert_array_equal(network.log_likelihood(codes), expanded.log_likelihood(codes))
    np.testing.assert_array_equal(network.query([0, "class"], codes), expanded.query([0, "class"], codes))


@given(grouped(), SEEDS)
@settings(max_examples=25)
def test_marginals_and_most_probable_rows_equal_enumeration(model, seed):
    network, codes, states = model.network, hidden(model, seed), model.states()
    cards = network.cards.tolist()
    marginals, (_, _, log_probability) = network.marginals(codes), network.most_probable(codes)
    for n, row in enumerate(codes):
        of = (row, -1, cards)
        np.testing.assert_allclose(
            marginals.classes[n], query_oracle.joint(states, ["class"], *of, network.n_classes), **CLOSE
        )
        for i, probabilities in enumerate(marginals.features):
            expected = query_oracle.joint(states, [i], *of, network.n_classes)
            np.testing.assert_allclose(probabilities[n], expected, **CLOSE)
        assert np.exp(log_probability[n]) == pytest.approx(query_oracle.highest_probability(states, *of), rel=1e-5)


def test_samples_have_the_probabilities_of_the_states():
    model = chain(n_classes=2)
    codes, classes = model.network.sample(20_000, random_state=0)
    states = model.states()
    for value in range(5):
        share = query_oracle.joint(states, [0], model.network.cards, -1, model.network.cards.tolist(), 2)[value]
        assert np.mean(codes[:, 0] == value) == pytest.approx(share, abs=0.015)
    assert np.mean(classes) == pytest.approx(np.exp(model.network.log_prior[1]), abs=0.015)


@pytest.mark.parametrize(("code", "code_type"), [(-1, np.int64), (-1, np.int8), (301, np.int64), (2**40, np.int64)])
def test_codes_that_are_neither_values_nor_unknown_are_refused(code, code_type):
    network = make_grouped([-1, 0], [np.arange(300) // 100, [0, 1]], 2, seed=0).network
    with pytest.raises(ValueError, match=f"row 1, feature 0: code {code} is outside 0 to 300, where 300 is unknown"):
        network.log_joint(np.array([[0, 0], [code, 0]], code_type))


def test_a_network_of_groups_has_fewer_parameters():
    network = chain().network
    assert network.n_parameters == network.layout.size + 3 < network.expanded.n_parameters


def test_a_network_without_groups_is_its_own_expansion():
    layout = make_layout(ParentSets.from_lists([[-1], [0]]), [2, 3], 2)
    network = Network.from_arena(layout, np.zeros(layout.arena_size, np.float32), np.zeros(2), np.arange(2))
    assert network.expanded is network


# Pickles, temperatures and averages.


@pytest.mark.parametrize("is_used", [False, True])
def test_a_pickle_predicts_the_same(is_used):
    model = chain()
    codes = hidden(model)
    expected = model.network.log_joint(codes) if is_used else chain().network.log_joint(codes)
    back = pickle.loads(pickle.dumps(model.network))
    np.testing.assert_array_equal(back.log_joint(codes), expected)
    np.testing.assert_array_equal(back.layout.groups.of_value, model.network.layout.groups.of_value)
    average = average_networks([model.network, temper(model.network, 2.0)])
    expected = average.log_joint(codes)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(average)).log_joint(codes), expected)


def test_a_pickle_does_not_have_what_can_be_made_again():
    network = make_grouped([-1, 0], [np.arange(100) // 50, np.arange(100)], 5, seed=0).network
    before = len(pickle.dumps(network))
    network.log_joint(np.array([[0, 100]]))
    assert "expanded" in vars(network)
    assert len(pickle.dumps(network)) == before


def log_odds(network, codes):
    log_joint = network.log_joint(codes)
    return log_joint - log_joint[:, :1]


@given(grouped(is_normalised=False), st.floats(0.3, 30.0))
@settings(max_examples=40)
def test_a_temperature_divides_the_log_odds_of_all_rows(model, temperature):
    """Also of CPTs that are not normalised, as effects are."""
    network = model.network
    every_row = np.array(list(np.ndindex(*network.cards)))
    tempered = temper(network, temperature)
    expected = log_joint_in_loops(model, every_row)
    expected = (expected - expected[:, :1]) / temperature
    assert can_temper(network)
    np.testing.assert_allclose(log_odds(tempered, every_row), expected, atol=3e-5)


@given(grouped(is_normalised=False), st.floats(0.3, 30.0))
@settings(max_examples=40)
def test_a_tempered_network_is_normalised_and_keeps_its_groups(model, temperature):
    tempered = temper(model.network, temperature)
    assert tempered.layout.groups is model.network.layout.groups
    assert tempered.theta.shape == model.network.theta.shape
    for i in range(tempered.n_features):
        np.testing.assert_allclose(tempered.cpt(i).sum(axis=1), 1.0, atol=1e-5)
    assert np.exp(tempered.log_prior).sum() == pytest.approx(1.0, abs=1e-9)
    every_row = np.array(list(np.ndindex(*tempered.cards)))
    assert np.exp(tempered.log_joint(every_row)).sum() == pytest.approx(1.0, abs=1e-4)


def test_a_temperature_of_one_leaves_a_normalised_network():
    network = chain().network
    np.testing.assert_allclose(temper(network, 1.0).theta, network.theta, atol=2e-6)


@given(SEEDS, st.booleans())
@settings(max_examples=30)
def test_the_average_is_the_mean_of_its_members(seed, has_unknown):
    maps = [[0, 0, 1], [0, 1, 1, 2], [0, 0], [1, 0, 1]]
    structures = [[-1, 0, 1, 2], [1, -1, 1, -1], [-1, 0, 1, 2], [3, -1, -1, -1]]
    members = [make_grouped(parents, maps, 3, seed + k) for k, parents in enumerate(structures)]
    codes = hidden(members[0], seed) if has_unknown else members[0].codes
    networks = [member.network for member in members]
    average = average_networks(networks)
    expected = np.mean([network.log_joint(codes) for network in networks], axis=0)
    np.testing.assert_allclose(average.log_joint(codes), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(average.log_joint(codes, n_threads=2), expected, rtol=1e-5, atol=1e-5)
    assert average.groups is networks[0].layout.groups


def test_equal_edges_of_members_are_merged():
    maps = [[0, 0, 1], [0, 1]]
    networks = [make_grouped([-1, 0], maps, 2, seed).network for seed in range(5)]
    assert average_networks(networks).n_parameters == networks[0].n_parameters
