from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from tanager.structure import ParentSets, maximum_arborescence
from tanager.structure.forest import depth_first_order, find_cycle, maximum_spanning_tree, topological_order
from tanager.structure.parent_sets import NO_PARENT

any_parents = st.integers(1, 9).flatmap(lambda n: st.lists(st.integers(-1, n - 1), min_size=n, max_size=n))


def reaches_itself(feature: int, parents: list[int]) -> bool:
    above = parents[feature]
    for _ in parents:
        if above in (feature, NO_PARENT):
            break
        above = parents[above]
    return above == feature


@st.composite
def symmetric_weights(draw: st.DrawFn, entries: st.SearchStrategy[float]) -> NDArray[np.float64]:
    n = draw(st.integers(1, 9))
    upper = np.triu(draw(arrays(np.float64, (n, n), elements=entries)), 1)
    return upper + upper.T


# Whole numbers tie often, and their sums are exact.
tied_weights = symmetric_weights(st.integers(-3, 3).map(float))


class TestFindCycle:
    @given(any_parents)
    def test_finds_a_cycle_if_there_is_one(self, parents: list[int]) -> None:
        cycle = find_cycle(parents)
        on_cycles = {i for i in range(len(parents)) if reaches_itself(i, parents)}
        if cycle is None:
            assert not on_cycles
        else:
            assert set(cycle) <= on_cycles
            assert len(set(cycle)) == len(cycle)
            assert cycle[0] == min(cycle)
            assert [parents[child] for child in [*cycle[1:], cycle[0]]] == cycle

    @pytest.mark.parametrize(
        ("parents", "cycle"),
        [
            ([3, 0, -1, 1], [0, 1, 3]),
            ([-1, 1], [1]),
            ([4, 2, 1, -1, 5, 4], [4, 5]),  # 0 leads to the cycle of 4 and 5, and comes before that of 1 and 2
        ],
    )
    def test_runs_from_parent_to_child(self, parents: list[int], cycle: list[int]) -> None:
        assert find_cycle(parents) == cycle


class TestDepthFirstOrder:
    @given(any_parents)
    def test_what_is_below_a_feature_follows_it_at_once(self, parents: list[int]) -> None:
        if find_cycle(parents) is not None:
            with pytest.raises(ValueError, match="the parents form a cycle"):
                depth_first_order(parents)
            return
        expected: list[int] = []

        def visit(parent: int) -> None:
            for i in range(len(parents)):
                if parents[i] == parent:
                    expected.append(i)
                    visit(i)

        visit(NO_PARENT)
        assert depth_first_order(parents).tolist() == expected


class TestTopologicalOrder:
    @given(any_parents)
    def test_parents_come_first_and_ready_features_by_number(self, parents: list[int]) -> None:
        if find_cycle(parents) is not None:
            with pytest.raises(ValueError, match="the parents form a cycle"):
                topological_order(parents)
            return
        placed: list[int] = []
        for feature in topological_order(parents).tolist():
            ready = [i for i, up in enumerate(parents) if i not in placed and (up == NO_PARENT or up in placed)]
            assert feature == min(ready)
            placed.append(feature)
        assert len(placed) == len(parents)

    def test_example(self) -> None:
        order = topological_order(np.array([4, 0, -1, -1, 3]))
        assert order.tolist() == [2, 3, 4, 0, 1]
        assert order.dtype == np.int64

    @pytest.mark.parametrize(
        ("parents", "cycle"),
        [([3, -1, 1, 0], "0 -> 3 -> 0"), ([-1, -1, 2], "2 -> 2"), ([-1, 3, 1, 2], "1 -> 2 -> 3 -> 1")],
    )
    def test_cycle_is_named(self, parents: list[int], cycle: str) -> None:
        with pytest.raises(ValueError, match=f"the parents form a cycle: features {cycle}$"):
            topological_order(parents)

    @pytest.mark.parametrize("stray", [-2, 3])
    def test_parent_out_of_range(self, stray: int) -> None:
        message = f"feature 1: parent {stray} does not exist; features are numbered 0 to 2, and -1 is no parent"
        with pytest.raises(ValueError, match=message):
            topological_order([-1, stray, 0])

    def test_no_features(self) -> None:
        with pytest.raises(ValueError, match="the number of features in parents must be at least 1, got 0"):
            topological_order([])

    def test_not_integers(self) -> None:
        with pytest.raises(ValueError, match="parents must hold integers, got float64"):
            topological_order([-1.0, 0.0])


def tree_weight(weights: NDArray[np.float64], parents: NDArray[np.int64]) -> float:
    children = np.flatnonzero(parents != NO_PARENT)
    return float(weights[children, parents[children]].sum())


class TestMaximumSpanningTree:
    @given(tied_weights, st.data())
    def test_weight_equals_scipy(self, weights: NDArray[np.float64], data: st.DataObject) -> None:
        root = data.draw(st.integers(0, len(weights) - 1))
        parents = maximum_spanning_tree(weights, root)
        # SciPy minimises, and reads zero as no edge: turn the sign and lift all weights above zero.
        lifted = np.triu(4.0 - weights, 1)
        n_edges = len(weights) - 1
        assert tree_weight(weights, parents) == 4.0 * n_edges - minimum_spanning_tree(lifted).sum()

    @given(tied_weights, st.data())
    def test_is_a_tree_directed_away_from_its_root(self, weights: NDArray[np.float64], data: st.DataObject) -> None:
        root = data.draw(st.integers(0, len(weights) - 1))
        parents = maximum_spanning_tree(weights, root)
        assert np.flatnonzero(parents == NO_PARENT).tolist() == [root]
        assert find_cycle(parents) is None
        assert parents.dtype == np.int64

    @given(symmetric_weights(st.floats(-1e3, 1e3)))
    def test_weight_of_real_numbers(self, weights: NDArray[np.float64]) -> None:
        parents = maximum_spanning_tree(weights)
        lifted = np.triu(2e3 - weights, 1)
        expected = 2e3 * (len(weights) - 1) - minimum_spanning_tree(lifted).sum()
        assert tree_weight(weights, parents) == pytest.approx(expected, abs=1e-8)

    def test_chain_from_another_root(self) -> None:
        weights = np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
        assert maximum_spanning_tree(weights).tolist() == [-1, 0, 1]
        assert maximum_spanning_tree(weights, root=2).tolist() == [1, 2, -1]

    def test_negative_edges_are_taken_too(self) -> None:
        assert maximum_spanning_tree([[0, -2, -1], [-2, 0, -3], [-1, -3, 0]]).tolist() == [-1, 0, 0]

    def test_ties_go_to_the_smallest_number(self) -> None:
        assert maximum_spanning_tree(np.ones((4, 4)), root=2).tolist() == [2, 0, -1, 0]

    def test_tied_parent_that_joined_later_wins_if_smaller(self) -> None:
        weights = np.zeros((4, 4))
        weights[0, 2] = weights[0, 1] = weights[1, 3] = weights[2, 3] = 1.0
        weights[0, 2] = 2.0
        # 2 joins before 1, and both have an edge of weight 1 to 3, but 1 joins before 3 does.
        assert maximum_spanning_tree(weights + weights.T).tolist() == [-1, 0, 0, 1]

    def test_one_feature(self) -> None:
        assert maximum_spanning_tree([[0.0]]).tolist() == [-1]

    def test_diagonal_is_not_read(self) -> None:
        weights = np.array([[np.nan, 1, 2], [1, np.inf, 3], [2, 3, 9]])
        assert maximum_spanning_tree(weights).tolist() == [-1, 2, 0]

    def test_weights_of_the_caller_stay_as_they_are(self) -> None:
        weights = np.ones((3, 3))
        maximum_spanning_tree(weights)
        assert np.array_equal(weights, np.ones((3, 3)))

    @pytest.mark.parametrize("heavier", [(1, 2), (2, 1)])
    def test_of_two_sides_that_differ_by_rounding_the_larger_counts(self, heavier: tuple[int, int]) -> None:
        weights = np.ones((3, 3))
        weights[heavier] += 1e-15
        # From 0 feature 1 joins first, by the tie; then 2 joins it, where without the difference it would join 0.
        assert maximum_spanning_tree(weights).tolist() == [-1, 0, 1]

    @pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 0)])
    def test_not_square(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match="weights must be a square matrix, got shape"):
            maximum_spanning_tree(np.zeros(shape))

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, value: float) -> None:
        weights = np.zeros((3, 3))
        weights[1, 2] = weights[2, 1] = value
        with pytest.raises(ValueError, match=rf"weights\[1, 2\] is {value}, but weights must be finite"):
            maximum_spanning_tree(weights)

    def test_not_symmetric(self) -> None:
        message = r"weights must be symmetric, but weights\[0, 1\] is 1.0 and weights\[1, 0\] is 2.0"
        with pytest.raises(ValueError, match=message):
            maximum_spanning_tree([[0, 1], [2, 0]])

    @pytest.mark.parametrize(("i", "j"), [(0, 1), (3, 290), (260, 299), (298, 299)])
    def test_not_symmetric_in_one_place_of_many(self, i: int, j: int) -> None:
        weights = np.ones((300, 300))
        weights[j, i] = 2.0
        with pytest.raises(ValueError, match=rf"but weights\[{i}, {j}\] is 1.0 and weights\[{j}, {i}\] is 2.0"):
            maximum_spanning_tree(weights)

    @pytest.mark.parametrize("root", [-1, 2])
    def test_root_out_of_range(self, root: int) -> None:
        with pytest.raises(ValueError, match=f"root={root} is not a feature; features are numbered 0 to 1"):
            maximum_spanning_tree(np.zeros((2, 2)), root=root)


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
