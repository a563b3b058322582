from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.structure import ParentSets, find_cycle, maximum_arborescence


def brute_force(sets, scores):
    """Largest summed score over all choices without a cycle."""
    ranges = [range(sets.ptr[i], sets.ptr[i + 1]) for i in range(sets.n_features)]
    totals = [sum(scores[e] for e in chosen) for chosen in product(*ranges) if find_cycle(sets.select(chosen)) is None]
    return max(totals)


@st.composite
def scored_sets(draw):
    n_features = draw(st.integers(1, 5))
    lists = [
        [-1, *draw(st.lists(st.sampled_from([j for j in range(n_features) if j != i]), unique=True, max_size=3))]
        if n_features > 1
        else [-1]
        for i in range(n_features)
    ]
    sets = ParentSets.from_lists(lists)
    scores = draw(st.lists(st.integers(-9, 9), min_size=sets.n_candidates, max_size=sets.n_candidates))
    return sets, np.array(scores, float)


@given(scored_sets())
def test_the_forest_is_the_best_of_all(problem):
    sets, scores = problem
    chosen = maximum_arborescence(sets, scores)
    assert find_cycle(sets.select(chosen)) is None
    assert scores[chosen].sum() == brute_force(sets, scores)


def test_nested_cycles():
    # 0 and 1 prefer each other, 2 and 3 prefer each other, and the pairs prefer each other too.
    sets = ParentSets.from_lists([[-1, 1, 2], [-1, 0], [-1, 3, 0], [-1, 2]])
    scores = np.array([0.0, 10.0, 8.0, 0.0, 10.0, 1.0, 10.0, 8.0, 0.0, 10.0])
    chosen = maximum_arborescence(sets, scores)
    assert find_cycle(sets.select(chosen)) is None
    assert scores[chosen].sum() == brute_force(sets, scores)


def test_without_cycles_it_is_the_best_candidate_of_each():
    rng = np.random.default_rng(0)
    sets = ParentSets.from_lists([[-1, *range(i)] for i in range(40)])
    scores = rng.normal(size=sets.n_candidates)
    best = [sets.ptr[i] + scores[sets.ptr[i] : sets.ptr[i + 1]].argmax() for i in range(40)]
    assert maximum_arborescence(sets, scores).tolist() == best


def test_large_random_problems_end_in_forests():
    rng = np.random.default_rng(1)
    sets = ParentSets.from_lists([[-1, *rng.permutation([j for j in range(200) if j != i])[:8]] for i in range(200)])
    chosen = maximum_arborescence(sets, rng.normal(size=sets.n_candidates))
    assert find_cycle(sets.select(chosen)) is None


def test_impossible_forests_are_named():
    with pytest.raises(ValueError, match=r"feature [01]: no forest is possible"):
        maximum_arborescence(ParentSets.from_lists([[1], [0]]), [1.0, 1.0])


def test_one_score_for_each_candidate():
    with pytest.raises(ValueError, match="2 candidates"):
        maximum_arborescence(ParentSets.from_lists([[-1], [-1]]), [1.0])
