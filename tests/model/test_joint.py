"""Several TANs in one arena."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.model import ParentDistribution, make_layout
from tanager.model.joint import join_layouts, split_distribution, split_networks
from tanager.model.layout import padded
from tanager.structure import ParentSets, fixed_parents, pseudo_candidates, subset_candidates
from tests.strategies import SEEDS

CARDS = [2, 3, 1, 4]


@given(st.integers(1, 4), SEEDS, st.booleans())
@settings(max_examples=30)
def test_splitting_undoes_joining(n_members, seed, is_ordered):
    rng = np.random.default_rng(seed)
    if is_ordered:
        sets = [subset_candidates(rng.permutation(4), 2, rng) for _ in range(n_members)]
    else:
        sets = [pseudo_candidates(4, 2, rng) for _ in range(n_members)]
    joint = join_layouts([make_layout(each, CARDS, 3) for each in sets])
    phi = rng.normal(size=joint.parent_sets.n_candidates)
    members = split_distribution(ParentDistribution(joint.parent_sets, phi), n_members)
    assert [member.parent_sets for member in members] == sets
    np.testing.assert_array_equal(np.concatenate([member.phi for member in members]), phi)
    np.testing.assert_array_equal(joint.cpts.child, np.tile(np.arange(4), n_members))
    np.testing.assert_array_equal(joint.cards, CARDS)


def test_members_keep_their_own_tables():
    structures = [[-1, 0, 1, 2], [3, -1, 0, -1]]
    layouts = [make_layout(fixed_parents(parents), CARDS, 3) for parents in structures]
    joint = join_layouts(layouts)
    theta = np.arange(joint.size + padded(3), dtype=np.float32)
    networks = split_networks(joint, theta, np.zeros(3), np.arange(8))
    assert [network.parents.tolist() for network in networks] == structures
    own = np.concatenate([network.theta[: network.layout.size] for network in networks])
    np.testing.assert_array_equal(own, theta[: joint.size])


def test_search_space_must_have_the_features_of_the_table():
    with pytest.raises(ValueError, match="has 3 features, but X has 2"):
        make_layout(ParentSets.from_lists([[-1]] * 6), [2, 2], 2, n_members=2)
