"""Trees that share no pair of features."""

from itertools import combinations

import numpy as np
import pytest

from tanager.structure import find_cycle, maximum_spanning_tree
from tanager.structure.covering import covering_paths, disjoint_trees


def pairs_of(structures):
    return [tuple(sorted((i, j))) for parents in structures for i, j in enumerate(parents.tolist()) if j >= 0]


@pytest.mark.parametrize("n_features", range(1, 12))
@pytest.mark.parametrize("seed", range(3))
def test_all_paths_hold_every_pair_once(n_features, seed):
    structures = covering_paths(n_features, 100, np.random.default_rng(seed))
    assert len(structures) == (n_features + 1) // 2
    assert sorted(pairs_of(structures)) == list(combinations(range(n_features), 2))
    assert all(find_cycle(parents) is None for parents in structures)


def test_fewer_are_as_many_as_asked_for_and_share_no_pair():
    structures = covering_paths(10, 3, np.random.default_rng(0))
    assert len(structures) == 3
    assert len(set(pairs_of(structures))) == 3 * 9


def test_another_seed_gives_other_paths():
    first, second = (covering_paths(10, 1, np.random.default_rng(seed))[0] for seed in (0, 1))
    assert (first != second).any()


def symmetric_scores(n_features, seed):
    scores = np.random.default_rng(seed).normal(size=(n_features, n_features))
    return scores + scores.T


@pytest.mark.parametrize("n_features", range(1, 12))
@pytest.mark.parametrize("seed", range(3))
def test_trees_hold_every_pair_once_before_they_end(n_features, seed):
    structures = disjoint_trees(symmetric_scores(n_features, seed), 100, np.random.default_rng(seed))
    assert sorted(pairs_of(structures)) == list(combinations(range(n_features), 2))
    assert all(find_cycle(parents) is None for parents in structures)


def test_trees_are_the_best_of_the_pairs_left():
    scores = symmetric_scores(12, 5)
    first, second, *_ = disjoint_trees(scores, 3, np.random.default_rng(0))
    assert set(pairs_of([first])) == set(pairs_of([maximum_spanning_tree(scores)]))
    rest = scores.copy()
    for i, j in pairs_of([first]):
        rest[i, j] = rest[j, i] = -1000.0
    assert set(pairs_of([second])) == set(pairs_of([maximum_spanning_tree(rest)]))


def test_trees_of_equal_scores():
    structures = disjoint_trees(np.zeros((6, 6)), 3, np.random.default_rng(0))
    assert len(structures) == 3
    assert len(set(pairs_of(structures))) == len(pairs_of(structures))
