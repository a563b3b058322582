"""Networks over groups of values as networks over values, beside plain sums over the groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.model import Network, average_networks, common_groups, make_groups, make_layout, refine, regroup
from tanager.structure import ParentSets

N_CLASSES = 3
CHAIN = ParentSets(np.arange(4), np.array([-1, 0, 1], np.int32))


def random_network(rng, cards, parent_sets=CHAIN, groups=None):
    layout = make_layout(parent_sets, cards, N_CLASSES, groups=groups)
    theta = np.zeros(layout.arena_size, np.float32)
    for i in range(len(cards)):
        logits = rng.normal(size=layout.cpt(theta, i).shape)
        layout.cpt(theta, i)[...] = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return Network.from_arena(layout, theta, np.log(rng.dirichlet(np.ones(N_CLASSES))), np.arange(len(cards)))


def random_groups(rng, cards):
    """Groups that all have a value, in any order."""
    maps = []
    for card in cards:
        n_groups = int(rng.integers(1, card + 1))
        others = rng.integers(n_groups, size=card - n_groups)
        maps.append(rng.permutation(np.concatenate([np.arange(n_groups), others])))
    return make_groups(maps)


@given(st.integers(0, 10_000))
def test_a_refined_network_has_the_posteriors_of_the_groups_and_sums_to_one(seed):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 6, size=3)
    groups = random_groups(rng, cards)
    coarse = random_network(rng, groups.cards)
    counts = [rng.integers(0, 9, size=card).astype(float) for card in cards]
    fine = refine(coarse, groups, counts)
    assert fine.cards.tolist() == cards.tolist()
    codes = rng.integers(0, cards, size=(20, 3))
    grouped = np.stack([groups.of(j)[codes[:, j]] for j in range(3)], axis=1)
    gaps = fine.log_joint(codes) - coarse.log_joint(grouped)
    np.testing.assert_allclose(gaps, gaps[:, :1] * np.ones(N_CLASSES), atol=1e-5)
    for i in range(3):
        np.testing.assert_allclose(fine.cpt(i).sum(axis=1), 1.0, atol=1e-5)
        own = groups.of(i)
        for value in range(cards[i]):  # the share of a value in its group, one row added to each
            share = (counts[i][value] + 1) / sum(counts[i][k] + 1 for k in range(cards[i]) if own[k] == own[value])
            of_group = coarse.cpt(i)[own_line(fine, i), own[value]]
            np.testing.assert_allclose(fine.cpt(i)[0, value], of_group * share, rtol=1e-4)


def own_line(fine, feature):
    """The line of the coarse CPT that the first value of the parent reads."""
    parent = fine.parents[feature]
    return 0 if parent < 0 else fine.groups_of(int(parent))[0]


@given(st.integers(0, 10_000))
def test_unknown_values_are_summed_out_alike(seed):
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 6, size=3)
    groups = random_groups(rng, cards)
    coarse = random_network(rng, groups.cards)
    fine = refine(coarse, groups, [np.ones(card) for card in cards])
    codes = rng.integers(0, cards, size=(5, 3))
    codes[:, 1] = cards[1]
    grouped = np.stack([np.append(groups.of(j), groups.cards[j])[codes[:, j]] for j in range(3)], axis=1)
    gaps = fine.log_joint(codes) - coarse.log_joint(grouped)
    np.testing.assert_allclose(gaps, gaps[:, :1] * np.ones(N_CLASSES), atol=1e-5)


@given(st.integers(0, 10_000))
def test_regrouped_networks_say_the_same_and_share_their_groups(seed):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 6, size=3)
    networks = [random_network(rng, cards, groups=groups) for groups in (random_groups(rng, cards), None, None)]
    networks[2] = random_network(rng, cards, groups=random_groups(rng, cards))
    for some in (networks[:2], networks[::2], networks):
        common = common_groups(some)
        codes = rng.integers(0, cards, size=(20, 3))
        regrouped = [regroup(network, common) for network in some]
        for before, after in zip(some, regrouped, strict=True):
            np.testing.assert_allclose(after.log_joint(codes), before.log_joint(codes), atol=1e-6)
            assert after.layout.groups is common
        mean = np.mean([network.log_joint(codes) for network in some], axis=0)
        for each in (some, regrouped):
            np.testing.assert_allclose(average_networks(each).log_joint(codes), mean, atol=1e-5)


def test_groups_in_common_are_the_coarsest_that_all_agree_with():
    rng, cards = np.random.default_rng(0), np.array([4, 2])
    pair = ParentSets(np.arange(3), np.array([-1, 0], np.int32))
    first, second = (make_groups([np.array(own), np.arange(2)]) for own in ([0, 0, 1, 1], [0, 1, 1, 1]))
    networks = [random_network(rng, cards, pair, groups) for groups in (first, second, first)]
    assert common_groups(networks).of(0).tolist() == [0, 1, 2, 2]
    assert common_groups(networks[::2]) is first
    assert common_groups([random_network(rng, cards, pair)] * 2) is None


@pytest.mark.parametrize("count", [0.0, 1e6])
def test_no_value_is_impossible(count):
    groups = make_groups([np.array([0, 0]), np.array([0, 1]), np.array([0, 1])])
    fine = refine(random_network(np.random.default_rng(0), groups.cards), groups, [np.array([count, 0.0])] * 3)
    assert np.isfinite(fine.log_joint(np.array([[1, 0, 0]]))).all()
