"""Networks in which features have two extra parents, against loops."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from tanager.model import Network, ParentDistribution, average_networks, cpt_log_frequencies, make_layout
from tanager.model.joint import join_layouts, split_distribution, split_networks
from tanager.structure import ParentSets
from tests.strategies import SEEDS, make_model, models

CHAIN = [[-1], [0], [(0, 1)], [(1, 2)]]


def network_of(model):
    """The network of a model with one candidate for each feature."""
    return Network.from_arena(model.layout, model.arena(), model.prior, np.arange(len(model.cards)))


def approximate_log_joint(network, row):
    """What is said of unknown values, by recursion: parents are taken to be independent given the class."""

    def probability(i, value, c, known):
        if value == network.cards[i]:
            return 1.0
        parents = [j for j in network.extra_parents[i].tolist() if j >= 0]
        total = 0.0
        for values in product(*(range(network.cards[j]) for j in parents)):
            weight, place = 1.0, 0
            for j, x in zip(parents, values, strict=True):
                if known is not None and known[j] < network.cards[j]:
                    weight *= x == known[j]
                else:
                    weight *= probability(j, x, c, None)
                place = place * network.cards[j] + x
            total += weight * network.cpt(i)[place, value, c]
        return total

    classes = range(network.n_classes)
    terms = [[np.log(probability(i, row[i], c, row)) for c in classes] for i in range(network.n_features)]
    return network.log_prior + np.sum(terms, axis=0)


@given(models(is_fixed=True, has_pairs=True))
@settings(max_examples=30)
def test_log_joint_and_classes_are_those_of_the_oracle(model):
    network = network_of(model)
    expected = model.log_joint(range(len(model.cards)))
    for dtype in (np.uint8, np.int64):
        codes = model.codes.astype(dtype)
        np.testing.assert_allclose(network.log_joint(codes), expected, rtol=1e-5, atol=1e-5)
        assert np.array_equal(network.predict(codes), network.log_joint(codes).argmax(axis=1))
        many = np.tile(codes, (100, 1))
        assert np.array_equal(network.predict(many, n_threads=2), network.log_joint(many).argmax(axis=1))
    np.testing.assert_allclose(network.log_prior + network.log_terms(model.codes).sum(axis=1), expected, atol=1e-5)


@given(SEEDS)
@settings(max_examples=15)
def test_a_pair_with_a_constant_feature_is_a_single_parent(seed):
    paired = make_model([[-1], [-1], [(0, 1)]], [3, 1, 2], 2, seed)
    single = make_model([[-1], [-1], [0]], [3, 1, 2], 2, seed)
    assert np.array_equal(paired.theta, single.theta)
    assert np.array_equal(network_of(paired).log_joint(paired.codes), network_of(single).log_joint(paired.codes))
    hidden = np.where(np.random.default_rng(seed).random(paired.codes.shape) < 0.3, paired.cards, paired.codes)
    hidden[:, 2] = paired.codes[:, 2]  # with nothing known below the unknown, both rules are exact
    hidden[:, 0] = paired.cards[0]
    first, second = network_of(paired), network_of(single)
    np.testing.assert_allclose(first.log_joint(hidden), second.log_joint(hidden), atol=1e-5)


@given(SEEDS)
@settings(max_examples=15)
def test_unknown_values(seed):
    model = make_model(CHAIN, [2, 3, 2, 2], 3, seed)
    network, rng = network_of(model), np.random.default_rng(seed)
    codes = np.where(rng.random(model.codes.shape) < 0.4, model.cards, model.codes)
    expected = [approximate_log_joint(network, row) for row in codes.tolist()]
    np.testing.assert_allclose(network.log_joint(codes), expected, atol=1e-5)
    np.testing.assert_allclose(network.log_prior + network.log_terms(codes).sum(axis=1), expected, atol=1e-5)
    codes = model.codes.copy()
    codes[:, 3] = 2  # nothing depends on the last feature: leaving it out is exact
    completed = [np.where(np.arange(4) == 3, x, model.codes) for x in range(2)]
    exact = np.logaddexp(*(network.log_joint(rows) for rows in completed))
    np.testing.assert_allclose(network.log_joint(codes), exact, atol=1e-5)


def test_cycles_leave_terms_with_unknown_parents_out():
    model = make_model([[1], [2], [(0, 1)]], [2, 2, 2], 2, seed=0)
    network = network_of(model)
    assert not network.is_bayesian_network
    np.testing.assert_allclose(network.log_terms([[0, 1, 2]])[0, 1:], 0.0, atol=1e-6)
    with pytest.raises(ValueError, match="two extra parents"):
        network.sample(1)


def test_draws_follow_the_joint_distribution():
    network = network_of(make_model(CHAIN[:3], [2, 2, 3], 2, seed=3))
    codes, classes = network.sample(20_000, random_state=0)
    rows = np.array(list(product(range(2), range(2), range(3))))
    expected = np.exp(network.log_joint(rows)).ravel()
    found = np.bincount((codes @ [6, 3, 1]) * 2 + classes, minlength=24) / 20_000
    assert abs(expected.sum() - 1) < 1e-5
    assert np.abs(found - expected).sum() < 0.05
    given_class, drawn = network.sample(5000, classes=[1], random_state=1)
    assert set(drawn) == {1}
    assert abs(given_class[:, 0].mean() - network.cpt(0)[0, 1, 1]) < 0.03
    total = np.exp(network.log_likelihood(rows)).sum()
    assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda network: network.marginals(),
        lambda network: network.query([0]),
        lambda network: network.most_probable(),
        lambda network: network.entropy(),
        lambda network: network.mutual_information(),
        lambda network: network.log_likelihood([[0, 1, 3]]),
        lambda network: network.sample(3, codes=[[0, 2, 3]]),
        lambda network: network.forest(),
    ],
)
def test_what_needs_a_forest_is_refused(ask):
    network = network_of(make_model(CHAIN[:3], [2, 2, 3], 2, seed=3))
    assert network.is_bayesian_network
    with pytest.raises(ValueError, match="two extra parents"):
        ask(network)


def test_tables_of_the_same_parents_merge_in_an_average():
    one, two = (make_model(CHAIN, [2, 3, 2, 2], 3, seed) for seed in (1, 2))
    three = make_model([[(1, 2)], [2], [-1], [2]], [2, 3, 2, 2], 3, seed=4)
    networks = [network_of(model) for model in (one, two, three)]
    average = average_networks(networks)
    assert len(average.cpts.child) == 8
    assert average.pairs.tolist() == [[0, 1], [1, 2]]
    codes = np.concatenate([one.codes, np.where(two.codes == 0, two.cards, two.codes)])
    expected = np.mean([network.log_joint(codes) for network in networks], axis=0)
    np.testing.assert_allclose(average.log_joint(codes), expected, atol=1e-5)


def test_members_of_a_joint_arena_come_apart_again():
    sets = [
        ParentSets.from_lists([[-1], [-1, 0], [(0, 1), 1], [-1, (1, 2), (0, 1)]], order=[0, 1, 2, 3]),
        ParentSets.from_lists([[-1], [-1, 0], [1], [-1, 2]], order=[0, 1, 2, 3]),
        ParentSets.from_lists([[(1, 3), 1], [-1], [-1, (0, 3)], [-1]], order=[1, 3, 0, 2]),
    ]
    joint = join_layouts([make_layout(each, [2, 3, 2, 2], 3) for each in sets])
    spread = np.arange(float(joint.parent_sets.n_candidates))
    found = split_distribution(ParentDistribution(joint.parent_sets, spread), 3)
    assert [each.parent_sets.to_lists() for each in found] == [each.to_lists() for each in sets]
    chosen = joint.parent_sets.ptr[1:] - 1  # the last candidate of each feature
    networks = split_networks(joint, np.arange(joint.arena_size, dtype=np.float32), np.zeros(3), chosen)
    assert networks[0].extra_parents.tolist() == [[-1, -1], [0, -1], [1, -1], [0, 1]]
    assert networks[2].extra_parents.tolist() == [[1, -1], [-1, -1], [0, 3], [-1, -1]]
    start = joint.cpts.offset[chosen[10]]
    assert networks[2].layout.cpt(networks[2].theta, 2).ravel().tolist() == list(range(start, start + 2 * 2 * 2 * 3))


def test_relative_frequencies_given_two_parents():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, [2, 3, 2], (50, 3)), rng.integers(0, 2, 50)
    layout = make_layout(ParentSets.from_lists([[-1], [-1], [(0, 1)]]), [2, 3, 2], 2)
    table = layout.cpt(cpt_log_frequencies(layout, codes, y, np.ones(50), 1.0), 2)
    for a, b, c in product(range(2), range(3), range(2)):
        rows = codes[(codes[:, 0] == a) & (codes[:, 1] == b) & (y == c)]
        counts = np.bincount(rows[:, 2], minlength=2) + 1
        np.testing.assert_allclose(np.exp(table[a * 3 + b, :, c]), counts / counts.sum())
