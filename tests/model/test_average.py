"""Averages of networks whose groups of parents' values differ."""

import numpy as np

from tanager.model import Network, average_networks, make_groups, make_layout
from tanager.structure import ParentSets

CARDS = [4, 3]


def random_network(parents, maps, seed):
    sets = ParentSets.from_lists([[parent] for parent in parents])
    layout = make_layout(sets, CARDS, 2, groups=make_groups([np.array(each) for each in maps]))
    theta = np.zeros(layout.arena_size, np.float32)
    theta[: layout.size] = np.random.default_rng(seed).normal(size=layout.size)
    return Network(np.array(parents), layout, theta, np.log([0.4, 0.6]))


def test_groups_that_differ_are_merged_on_what_both_tell_apart():
    members = [
        random_network([-1, 0], ([0, 0, 1, 1], [0, 0, 1]), 0),
        random_network([-1, 0], ([0, 1, 1, 1], [0, 1, 1]), 1),
        random_network([1, -1], ([0, 1, 1, 1], [0, 1, 1]), 2),
    ]
    average = average_networks(members)
    rows = np.array(list(np.ndindex(*CARDS)))
    expected = np.mean([member.log_joint(rows) for member in members], axis=0)
    np.testing.assert_allclose(average.log_joint(rows), expected, atol=1e-5)
    assert average.groups.cards.tolist() == [3, 3]


def test_groups_that_are_alike_stay():
    maps = [0, 0, 1, 1], [0, 0, 1]
    average = average_networks([random_network([-1, 0], maps, seed) for seed in range(2)])
    assert average.groups.cards.tolist() == [2, 2]
