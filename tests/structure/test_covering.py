"""Trees that share no pair of features."""

from itertools import combinations

import numpy as np
import pytest

from tanager.structure import find_cycle
from tanager.structure.covering import covering_paths


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
