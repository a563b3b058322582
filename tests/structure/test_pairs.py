"""Pairs of parents in search spaces: numbers, checks, orders, and which pairs become candidates."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.structure import PairRule, ParentSets, all_candidates, dependence_order, extra_parents_of, with_pairs
from tests.strategies import SEEDS

LISTS = [[-1], [-1, 0], [-1, (0, 1)], [(0, 2), 1, (0, 1), -1]]


def test_lists_go_through_unchanged():
    sets = ParentSets.from_lists(LISTS, order=[0, 1, 2, 3])
    assert sets.to_lists() == LISTS
    assert sets.pairs.tolist() == [[0, 1], [0, 2]]
    assert sets.candidates_of(3).tolist() == [5, 1, 4, -1]
    assert pickle.loads(pickle.dumps(sets)) == sets
    assert sets != ParentSets(sets.ptr, sets.parents, sets.order, [[0, 1], [1, 2]])


def test_one_structure_keeps_the_pairs_that_it_has():
    sets = ParentSets.from_lists(LISTS, order=[0, 1, 2, 3])
    assert sets.keep([0, 1, 4, 5]).to_lists() == [[-1], [-1], [(0, 1)], [(0, 2)]]
    assert sets.keep([0, 2, 3, 6]).pairs.shape == (0, 2)
    assert ParentSets.from_lists([[-1], [0], [(0, 1)]]).with_no_parent().to_lists() == [[-1], [-1, 0], [-1, (0, 1)]]


@pytest.mark.parametrize(
    ("lists", "order", "message"),
    [
        ([[-1], [-1], [(0, 2)]], None, "feature 2 is a candidate for its own parent"),
        ([[-1], [-1], [(0, 3)]], None, r"there is no pair \(0, 3\)"),
        ([[-1], [-1], [(1, 1)]], None, r"there is no pair \(1, 1\)"),
        ([[-1], [-1], [(-1, 1)]], None, r"there is no pair \(-1, 1\)"),
        ([[-1], [-1], [(0, 1), (1, 0)]], None, "feature 2: candidate 3 is listed more than once"),
        ([[-1], [-1], [-1], [(0, 1, 2)]], None, "feature 3: a candidate can have at most two parents"),
        ([[-1], [-1], [(0, 1.5)]], None, "feature 2: a pair of parents must hold integers"),
        ([[-1], [(0, 2)], [-1]], [0, 1, 2], "feature 1: candidate 2 does not come before it"),
    ],
)
def test_bad_pairs_are_refused(lists, order, message):
    with pytest.raises(ValueError, match=message):
        ParentSets.from_lists(lists, order)


@pytest.mark.parametrize("pairs", [[[1, 0]], [[0, 1], [0, 1]], [0, 1], [[0.5, 1.0]]])
def test_bad_arrays_of_pairs_are_refused(pairs):
    with pytest.raises(ValueError, match="pair"):
        ParentSets([0, 1, 2, 3], [-1, -1, -1], None, pairs)


@given(st.permutations(range(6)), SEEDS)
def test_order_puts_all_parents_first(order, seed):
    rng = np.random.default_rng(seed)
    members = np.full((6, 2), -1)
    for position, feature in enumerate(order):
        n_parents = rng.integers(min(position, 2) + 1)
        members[feature, :n_parents] = rng.choice(order[:position], n_parents, replace=False) if n_parents else -1
    place = np.append(np.argsort(dependence_order(members)), -1)
    assert (place[members] < place[:-1, None]).all()
    root = order[0]
    members[order[1], 1] = root
    members[root, 0] = order[1]
    assert dependence_order(members) is None


@given(SEEDS, st.integers(1, 4), st.integers(1, 40), st.booleans())
def test_pairs_added_are_pairs_of_candidates_within_the_limit(seed, n_pairs, max_cells, has_scores):
    rng = np.random.default_rng(seed)
    cards, order, scores = rng.integers(1, 5, 6), rng.permutation(6), rng.random((6, 6))
    base = all_candidates(order)
    sets = with_pairs(base, cards, PairRule(n_pairs, max_cells), rng, scores if has_scores else None)
    for i, (old, new) in enumerate(zip(base.to_lists(), sets.to_lists(), strict=True)):
        assert new[: len(old)] == old
        singles = sorted(j for j in old if j >= 0 and cards[j] > 1)
        fit = [(a, b) for a, b in combinations(singles, 2) if cards[a] * cards[b] * cards[i] <= max_cells]
        added = new[len(old) :]
        assert len(added) == min(n_pairs, len(fit))
        assert set(added) <= set(fit)
        if has_scores:
            best = sorted(fit, key=lambda pair: -(scores[i, pair[0]] + scores[i, pair[1]]))
            assert added == best[:n_pairs]


def test_some_pairs_are_random_beside_the_best():
    base, scores = all_candidates(range(6)), np.arange(36.0).reshape(6, 6)
    rule = PairRule(n_pairs=4, max_cells=1000, n_random=2)
    drawn = [with_pairs(base, [2] * 6, rule, np.random.default_rng(seed), scores) for seed in range(9)]
    last = [sets.to_lists()[5][6:] for sets in drawn]
    assert all(pairs[:2] == [(3, 4), (2, 4)] and len(set(pairs)) == 4 for pairs in last)
    assert len({tuple(pairs[2:]) for pairs in last}) > 1


def test_members_of_numbers():
    assert extra_parents_of(np.array([2, -1, 4]), np.array([[0, 1], [1, 2]]), 3).tolist() == [[2, -1], [-1, -1], [1, 2]]
