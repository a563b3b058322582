"""The best forest and samples of forests, against networkx and against all choices that keep a forest."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.kernels.arborescence import best_forest, sample_forest
from tanager.kernels.parents import sample_parents
from tanager.structure import ParentSets, find_cycle
from tests.strategies import SEEDS


@st.composite
def free_sets(draw, max_features=7):
    """Search spaces without an order in which every feature may go without a parent."""
    n_features = draw(st.integers(1, max_features))
    lists = []
    for i in range(n_features):
        others = [j for j in range(n_features) if j != i]
        some = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        lists.append(draw(st.permutations([-1, *some])))
    return ParentSets.from_lists(lists)


def for_kernel(sets):
    """Segments and parents, D for none."""
    parent = sets.parents.astype(np.int64)
    parent[parent < 0] = sets.n_features
    return np.array(sets.ptr), parent


def networkx_total(sets, scores):
    """Summed score of the best forest, as an arborescence from a root without incoming edges."""
    graph = nx.DiGraph()
    ptr, parent = for_kernel(sets)
    for i, (start, stop) in enumerate(pairwise(ptr)):
        graph.add_weighted_edges_from((int(parent[e]), i, float(scores[e])) for e in range(start, stop))
    return nx.maximum_spanning_arborescence(graph).size("weight")


def forest(sets, scores):
    selected = np.full(sets.n_features, -7)
    assert best_forest(np.asarray(scores, float), *for_kernel(sets), selected) == -1
    return selected


@given(free_sets(), SEEDS)
def test_the_forest_is_that_of_networkx(sets, seed):
    scores = np.random.default_rng(seed).normal(size=sets.n_candidates)
    selected = forest(sets, scores)
    assert find_cycle(sets.select(selected)) is None
    assert scores[selected].sum() == pytest.approx(networkx_total(sets, scores))


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_many_features_that_prefer_cycles(scale):
    """Low scores for no parent make cycles within cycles."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        sets = ParentSets.from_lists([[-1, *rng.permutation([j for j in range(60) if j != i])[:5]] for i in range(60)])
        scores = rng.normal(size=sets.n_candidates) - scale * (sets.parents < 0)
        selected = forest(sets, scores)
        assert find_cycle(sets.select(selected)) is None
        assert scores[selected].sum() == pytest.approx(networkx_total(sets, scores))


def test_candidates_of_no_probability_are_left_alone_where_that_is_possible():
    sets = ParentSets.from_lists([[-1, 1], [-1, 0], [-1, 0, 1]])
    scores = [-np.inf, 2.0, 0.0, 5.0, -np.inf, -np.inf, 1.0]
    assert sets.select(forest(sets, scores)).tolist() == [1, -1, 1]


def test_without_a_root_there_is_no_forest():
    sets = ParentSets.from_lists([[-1], [2], [1, 3], [1]])
    assert best_forest(np.zeros(5), *for_kernel(sets), np.empty(4, np.int64)) in (1, 2, 3)


@given(free_sets(), SEEDS, st.sampled_from([10.0, 1.0, 0.2]))
@settings(max_examples=60)
def test_soft_weights_are_shared_by_the_parents_that_keep_a_forest(sets, seed, tau):
    rng = np.random.default_rng(seed)
    phi, noise = rng.normal(size=sets.n_candidates), rng.gumbel(size=sets.n_candidates)
    selected, soft = np.empty(sets.n_features, np.int64), np.empty(sets.n_candidates)
    sample_forest(phi, noise, *for_kernel(sets), tau, selected, soft)
    np.testing.assert_array_equal(selected, forest(sets, phi + noise))
    parents = sets.select(selected)
    for i, (start, stop) in enumerate(pairwise(sets.ptr)):
        expected = np.zeros(stop - start)
        for e in range(start, stop):
            changed = parents.copy()
            changed[i] = sets.parents[e]
            if find_cycle(changed) is None:
                expected[e - start] = np.exp((phi[e] + noise[e] - (phi + noise)[selected[i]]) / tau)
        assert expected.max() == 1.0  # of those that keep a forest, the selected one is the best
        np.testing.assert_allclose(soft[start:stop], expected / expected.sum(), rtol=1e-12)


@given(SEEDS)
@settings(max_examples=20)
def test_with_an_order_a_forest_is_each_feature_on_its_own(seed):
    rng = np.random.default_rng(seed)
    sets = ParentSets.from_lists([[-1, *range(i)] for i in range(6)])
    arguments = rng.normal(size=sets.n_candidates), rng.gumbel(size=sets.n_candidates)
    draws = []
    for sample, structure in ((sample_forest, for_kernel(sets)), (sample_parents, for_kernel(sets)[:1])):
        selected, soft = np.empty(6, np.int64), np.empty(sets.n_candidates)
        sample(*arguments, *structure, 0.7, selected, soft)
        draws.append((selected, soft))
    np.testing.assert_array_equal(draws[0][0], draws[1][0])
    # A feature that descends from another can come later only, so the order alone rules it out.
    np.testing.assert_allclose(draws[0][1], draws[1][1])
