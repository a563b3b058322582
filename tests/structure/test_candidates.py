from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.structure import (
    NO_PARENT,
    ParentSets,
    all_candidates,
    candidates_from_permutations,
    centre_outwards,
    draw_permutations,
    fixed_parents,
    naive_bayes,
    nearest_candidates,
    pixel_positions,
    pseudo_candidates,
    random_parents,
    subset_candidates,
)

seeds = st.integers(0, 2**32 - 1)
orders = st.integers(2, 10).flatmap(lambda n: st.permutations(range(n)))


def predecessors(order: list[int], feature: int) -> list[int]:
    return order[: order.index(feature)]


class TestFixed:
    def test_naive_bayes(self) -> None:
        sets = naive_bayes(3)
        assert sets == ParentSets.from_lists([[-1], [-1], [-1]], [0, 1, 2])
        assert sets.is_fixed

    def test_naive_bayes_without_features(self) -> None:
        with pytest.raises(ValueError, match="n_features must be at least 1, got 0"):
            naive_bayes(0)

    def test_fixed_parents(self) -> None:
        sets = fixed_parents([3, -1, 0, -1])
        assert sets == ParentSets.from_lists([[3], [-1], [0], [-1]], [1, 3, 0, 2])
        assert sets.is_fixed

    def test_fixed_parents_with_a_cycle(self) -> None:
        with pytest.raises(ValueError, match=r"the parents form a cycle: features 0 -> 3 -> 0$"):
            fixed_parents([3, -1, 0, 0])

    def test_fixed_parents_out_of_range(self) -> None:
        with pytest.raises(ValueError, match="feature 1: parent 2 does not exist"):
            fixed_parents([-1, 2])


class TestRandomParents:
    @given(orders, seeds)
    def test_one_predecessor_each(self, order: list[int], seed: int) -> None:
        sets = random_parents(order, np.random.default_rng(seed))
        assert sets.is_fixed
        assert sets.is_ordered
        assert sets.to_lists()[order[0]] == [NO_PARENT]
        for feature in order[1:]:
            assert sets.to_lists()[feature][0] in predecessors(order, feature)

    @given(orders, seeds)
    def test_is_the_first_candidate_of_the_subset(self, order: list[int], seed: int) -> None:
        fixed = random_parents(order, np.random.RandomState(seed)).to_lists()
        subset = subset_candidates(order, 1, np.random.RandomState(seed)).to_lists()
        assert fixed == [candidates[1:] or [NO_PARENT] for candidates in subset]

    def test_draws_are_spread_over_all_predecessors(self) -> None:
        rng = np.random.default_rng(0)
        last = [random_parents([0, 1, 2, 3], rng).to_lists()[3][0] for _ in range(300)]
        assert np.bincount(last, minlength=3).min() > 60

    def test_one_feature(self) -> None:
        assert random_parents([0], np.random.default_rng(0)) == naive_bayes(1)


class TestDrawPermutations:
    @pytest.mark.parametrize("make_rng", [np.random.RandomState, np.random.default_rng])
    def test_one_for_each_position_in_turn(self, make_rng: Any) -> None:
        rng = make_rng(7)
        expected = [rng.permutation(position).tolist() for position in range(12)]
        assert [drawn.tolist() for drawn in draw_permutations(12, make_rng(7))] == expected

    def test_second_draw_of_the_paper_on_letter(self) -> None:
        # The stream of the published runs, up to the four orderings, and then one draw after the other.
        rng = np.random.RandomState(265304870)
        rng.randint(1, 10**9, 1000)
        for low, high in [(0, 3), (-1, 2), (1, 20)]:
            rng.uniform(low, high, 500)
        rng.randint(1, 10**9, 4000)
        orders = [rng.permutation(16) for _ in range(4)]
        state = rng.get_state()
        first = subset_candidates(orders[2], 8, rng)
        second = subset_candidates(orders[2], 2, rng)
        rng.set_state(state)
        drawn = [[rng.permutation(position) for position in range(16)] for _ in range(2)]
        assert first == candidates_from_permutations(orders[2], drawn[0], 8)
        assert second == candidates_from_permutations(orders[2], drawn[1], 2)


class TestSubset:
    @given(orders, seeds, st.data())
    def test_no_parent_then_predecessors(self, order: list[int], seed: int, data: st.DataObject) -> None:
        k = data.draw(st.integers(1, len(order) - 1))
        sets = subset_candidates(order, k, np.random.default_rng(seed))
        assert sets.order is not None
        assert sets.order.tolist() == order
        for feature, candidates in enumerate(sets.to_lists()):
            before = predecessors(order, feature)
            assert candidates[0] == NO_PARENT
            assert set(candidates[1:]) <= set(before)
            assert len(candidates) == 1 + min(k, len(before))

    @given(orders, seeds, st.data())
    def test_smaller_k_is_nested_in_larger(self, order: list[int], seed: int, data: st.DataObject) -> None:
        small = data.draw(st.integers(1, len(order) - 1))
        large = data.draw(st.integers(small, len(order) - 1))
        few = subset_candidates(order, small, np.random.RandomState(seed)).to_lists()
        many = subset_candidates(order, large, np.random.RandomState(seed)).to_lists()
        assert few == [candidates[: small + 1] for candidates in many]

    @given(orders, seeds)
    def test_largest_k_has_the_candidates_of_all(self, order: list[int], seed: int) -> None:
        subset = subset_candidates(order, len(order) - 1, np.random.default_rng(seed)).to_lists()
        assert [sorted(candidates) for candidates in subset] == [sorted(c) for c in all_candidates(order).to_lists()]

    def test_the_generator_moves_on_by_the_same_for_every_k(self) -> None:
        after = []
        for k in (1, 5):
            rng = np.random.default_rng(3)
            subset_candidates(range(6), k, rng)
            after.append(rng.random())
        assert after[0] == after[1]


class TestFromPermutations:
    def test_positions_refer_to_the_order(self) -> None:
        sets = candidates_from_permutations([3, 1, 0, 2], [[], [0], [1, 0], [2, 0, 1]], 2)
        # Position 0, 1, 2, 3 is feature 3, 1, 0, 2.
        assert sets.to_lists() == [[-1, 1, 3], [-1, 3], [-1, 0, 3], [-1]]

    def test_only_the_first_k_are_read(self) -> None:
        padded = np.array([[-1, -1, -1], [0, -1, -1], [1, -1, -1]])
        assert candidates_from_permutations([0, 1, 2], padded, 1).to_lists() == [[-1], [-1, 0], [-1, 1]]

    @pytest.mark.parametrize("bad", [[1], [0, 2], [-1, 0]])
    def test_too_few_or_not_before(self, bad: list[int]) -> None:
        message = rf"permutations\[2\] must start with 2 positions below 2, got \[{', '.join(map(str, bad))}\]"
        with pytest.raises(ValueError, match=message):
            candidates_from_permutations([0, 1, 2], [[], [0], bad], 2)

    def test_listed_twice(self) -> None:
        with pytest.raises(ValueError, match="feature 0: candidate 2 is listed more than once"):
            candidates_from_permutations([2, 1, 0], [[], [0], [0, 0]], 2)

    def test_wrong_number(self) -> None:
        with pytest.raises(ValueError, match="there must be a permutation for each of 3 positions, got 2"):
            candidates_from_permutations([0, 1, 2], [[], [0]], 1)


class TestAll:
    @given(orders)
    def test_no_parent_then_every_predecessor(self, order: list[int]) -> None:
        candidates = all_candidates(order).to_lists()
        assert candidates == [[NO_PARENT, *predecessors(order, i)] for i in range(len(order))]

    def test_one_feature(self) -> None:
        assert all_candidates([0]) == naive_bayes(1)

    def test_order_is_checked(self) -> None:
        with pytest.raises(ValueError, match="order must hold each of 0 to 2 once, but feature 2 is missing"):
            all_candidates([0, 1, 1])


def nearest_by_loop(order: list[int], places: list[tuple[int, int]], k: int) -> list[list[int]]:
    candidates = [[NO_PARENT] for _ in order]
    for position, feature in enumerate(order):
        left = list(order[:position])
        while left and len(candidates[feature]) <= k:
            best = left[0]
            for other in left:
                if math.dist(places[other], places[feature]) < math.dist(places[best], places[feature]):
                    best = other
            left.remove(best)
            candidates[feature].append(best)
    return candidates


class TestNearest:
    @given(orders, st.data())
    def test_equals_a_loop(self, order: list[int], data: st.DataObject) -> None:
        place = st.tuples(st.integers(-3, 3), st.integers(-3, 3))
        places = data.draw(st.lists(place, min_size=len(order), max_size=len(order)))
        k = data.draw(st.integers(1, len(order) - 1))
        assert nearest_candidates(order, places, k).to_lists() == nearest_by_loop(order, places, k)

    def test_image_from_the_centre_outwards(self) -> None:
        order = centre_outwards((6, 6))
        places = [(i // 6, i % 6) for i in range(36)]
        sets = nearest_candidates(order, pixel_positions((6, 6)), 5)
        assert sets.to_lists() == nearest_by_loop(order.tolist(), places, 5)

    def test_ties_go_to_the_earlier_in_the_order(self) -> None:
        line = [[0, 0], [0, 2], [0, 1]]
        assert nearest_candidates([0, 1, 2], line, 1).candidates_of(2).tolist() == [-1, 0]
        assert nearest_candidates([1, 0, 2], line, 1).candidates_of(2).tolist() == [-1, 1]

    def test_both_coordinates_count(self) -> None:
        places = [[0, 5], [3, 0], [0, 0]]
        assert nearest_candidates([0, 1, 2], places, 2).candidates_of(2).tolist() == [-1, 1, 0]

    @pytest.mark.parametrize("shape", [(3, 3), (2, 2), (3,)])
    def test_shape_of_positions(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match=r"positions must have shape \(3, 2\), got \("):
            nearest_candidates([0, 1, 2], np.zeros(shape), 1)

    def test_positions_must_be_finite(self) -> None:
        with pytest.raises(ValueError, match=r"feature 1: its position must be finite, got \[nan, 0.0\]"):
            nearest_candidates([0, 1, 2], np.array([[0, 0], [np.nan, 0], [1, 1]]), 1)


class TestPseudo:
    def test_all_others(self) -> None:
        sets = pseudo_candidates(3)
        assert sets == ParentSets.from_lists([[-1, 1, 2], [-1, 0, 2], [-1, 0, 1]])
        assert not sets.is_ordered

    @given(st.integers(2, 10), seeds, st.data())
    def test_k_others_nested(self, n: int, seed: int, data: st.DataObject) -> None:
        small = data.draw(st.integers(1, n - 1))
        large = data.draw(st.integers(small, n - 1))
        few = pseudo_candidates(n, small, np.random.default_rng(seed))
        many = pseudo_candidates(n, large, np.random.default_rng(seed))
        assert not few.is_ordered
        assert few.to_lists() == [candidates[: small + 1] for candidates in many.to_lists()]
        for feature, candidates in enumerate(many.to_lists()):
            assert candidates[0] == NO_PARENT
            assert len(set(candidates[1:]) - {feature}) == large

    def test_others_are_drawn_by_the_generator(self) -> None:
        rng = np.random.default_rng(5)
        others = [[j for j in range(6) if j != i] for i in range(6)]
        expected = [[NO_PARENT, *np.array(other)[rng.permutation(5)[:2]].tolist()] for other in others]
        assert pseudo_candidates(6, 2, np.random.default_rng(5)).to_lists() == expected

    def test_later_features_are_candidates_too(self) -> None:
        assert pseudo_candidates(2, 1, np.random.default_rng(0)).to_lists() == [[-1, 1], [-1, 0]]

    def test_rng_is_needed(self) -> None:
        with pytest.raises(ValueError, match="random candidates require rng; give it, or use k=None"):
            pseudo_candidates(4, 2)

    def test_one_feature(self) -> None:
        assert pseudo_candidates(1).to_lists() == [[-1]]


def with_k(name: str, n_features: int, k: Any) -> ParentSets:
    order, rng = np.arange(n_features), np.random.default_rng(0)
    if name == "subset":
        return subset_candidates(order, k, rng)
    if name == "permutations":
        return candidates_from_permutations(order, draw_permutations(n_features, rng), k)
    if name == "nearest":
        return nearest_candidates(order, np.zeros((n_features, 2)), k)
    return pseudo_candidates(n_features, k, rng)


@pytest.mark.parametrize("name", ["subset", "permutations", "nearest", "pseudo"])
class TestMaxParents:
    def test_more_than_any_feature_could_have(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"max_parents=20 but there are only 16 features, so at most 15$"):
            with_k(name, 16, 20)

    def test_the_largest_is_accepted(self, name: str) -> None:
        assert with_k(name, 16, 15).candidates_of(15).size == 16
        with pytest.raises(ValueError, match="max_parents=16 but"):
            with_k(name, 16, 16)

    def test_one_feature_cannot_have_any(self, name: str) -> None:
        with pytest.raises(ValueError, match=r"max_parents=1 but there is only 1 feature, so at most 0$"):
            with_k(name, 1, 1)

    @pytest.mark.parametrize("k", [0, -1])
    def test_less_than_one(self, name: str, k: int) -> None:
        with pytest.raises(ValueError, match=f"max_parents must be at least 1, got {k}$"):
            with_k(name, 16, k)

    def test_not_an_integer(self, name: str) -> None:
        with pytest.raises(TypeError, match=r"max_parents must be an integer, got 2\.0"):
            with_k(name, 16, 2.0)

    def test_numpy_integers_are_integers(self, name: str) -> None:
        assert with_k(name, 16, np.int32(3)) == with_k(name, 16, 3)
