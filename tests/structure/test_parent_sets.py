from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from tanager.structure.forest import find_cycle
from tanager.structure.parent_sets import NO_PARENT, ParentSets


def example() -> ParentSets:
    return ParentSets.from_lists([[-1, 2], [-1, 0, 2], [-1], [0]], order=[2, 0, 3, 1])


@st.composite
def ordered_lists(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Candidates that come before their child, in any sequence, "no parent" among them or not."""
    order = draw(st.permutations(range(draw(st.integers(1, 8)))))
    candidates: list[list[int]] = [[] for _ in order]
    for position, feature in enumerate(order):
        allowed = [NO_PARENT, *order[:position]]
        candidates[feature] = draw(st.lists(st.sampled_from(allowed), min_size=1, unique=True))
    return candidates, order


class TestContents:
    def test_flat_arrays(self) -> None:
        sets = example()
        assert sets.ptr.tolist() == [0, 2, 5, 6, 7]
        assert sets.parents.tolist() == [-1, 2, -1, 0, 2, -1, 0]
        assert sets.order is not None
        assert sets.order.tolist() == [2, 0, 3, 1]
        assert [array.dtype.name for array in (sets.ptr, sets.parents, sets.order)] == ["int64", "int32", "int64"]

    def test_counts(self) -> None:
        sets = example()
        assert (sets.n_features, sets.n_candidates) == (4, 7)

    def test_constructor_equals_from_lists(self) -> None:
        flat = ParentSets(np.array([0, 1, 3]), np.array([-1, -1, 0], dtype=np.int32), np.array([0, 1]))
        assert flat == ParentSets.from_lists([[-1], [-1, 0]], [0, 1])

    def test_fixed_means_one_candidate_for_each_feature(self) -> None:
        assert ParentSets.from_lists([[-1], [0]]).is_fixed
        assert not ParentSets.from_lists([[-1], [-1, 0]]).is_fixed

    def test_ordered_only_with_an_order(self) -> None:
        assert example().is_ordered
        assert not ParentSets.from_lists([[1], [0]]).is_ordered

    def test_candidates_of(self) -> None:
        sets = example()
        assert [sets.candidates_of(i).tolist() for i in range(4)] == [[-1, 2], [-1, 0, 2], [-1], [0]]

    @pytest.mark.parametrize("feature", [-1, 4])
    def test_candidates_of_no_feature(self, feature: int) -> None:
        with pytest.raises(IndexError, match=f"there is no feature {feature}: features are numbered 0 to 3"):
            example().candidates_of(feature)

    def test_repr_is_short(self) -> None:
        assert repr(example()) == "ParentSets(n_features=4, n_candidates=7, is_ordered=True)"

    @given(ordered_lists())
    def test_lists_come_back(self, drawn: tuple[list[list[int]], list[int]]) -> None:
        candidates, order = drawn
        assert ParentSets.from_lists(candidates, order).to_lists() == candidates


class TestSelect:
    def test_flat_indices_to_parents(self) -> None:
        parents = example().select([1, 3, 5, 6])
        assert parents.tolist() == [2, 0, -1, 0]
        assert parents.dtype == np.int64

    @given(ordered_lists(), st.data())
    def test_every_selection_of_an_ordered_set_is_acyclic(
        self, drawn: tuple[list[list[int]], list[int]], data: st.DataObject
    ) -> None:
        sets = ParentSets.from_lists(*drawn)
        bounds = zip(sets.ptr[:-1].tolist(), sets.ptr[1:].tolist(), strict=True)
        indices = [data.draw(st.integers(first, end - 1)) for first, end in bounds]
        parents = sets.select(indices)
        assert find_cycle(parents) is None
        assert all(parent in candidates for parent, candidates in zip(parents, sets.to_lists(), strict=True))

    def test_without_an_order_a_selection_may_have_a_cycle(self) -> None:
        assert find_cycle(ParentSets.from_lists([[-1, 1], [-1, 0]]).select([1, 3])) == [0, 1]

    @pytest.mark.parametrize("index", [1, 5])
    def test_index_of_another_feature(self, index: int) -> None:
        with pytest.raises(
            ValueError, match=f"feature 1: index {index} is not one of its own candidates, which are 2 to 4"
        ):
            example().select([0, index, 5, 6])

    def test_wrong_number_of_indices(self) -> None:
        with pytest.raises(ValueError, match="indices must hold one entry for each of 4 features, got 3"):
            example().select([0, 2, 5])


class TestErrors:
    @pytest.mark.parametrize("stray", [3, -2, 2**32])
    def test_out_of_range(self, stray: int) -> None:
        message = f"feature 1: candidate {stray} does not exist; features are numbered 0 to 2, and -1 is no parent"
        with pytest.raises(ValueError, match=message):
            ParentSets.from_lists([[-1], [-1, stray], [-1]])

    def test_own_parent(self) -> None:
        with pytest.raises(ValueError, match="feature 2 is a candidate for its own parent"):
            ParentSets.from_lists([[-1], [-1], [0, 2]])

    @pytest.mark.parametrize("twice", [-1, 0])
    def test_listed_twice(self, twice: int) -> None:
        with pytest.raises(ValueError, match=f"feature 2: candidate {twice} is listed more than once"):
            ParentSets.from_lists([[-1], [-1, 0], [twice, 1, twice]])

    def test_no_candidates(self) -> None:
        with pytest.raises(ValueError, match="feature 1 has no candidates; list -1 for no parent"):
            ParentSets.from_lists([[-1], [], [0]])

    def test_no_features(self) -> None:
        with pytest.raises(ValueError, match="the number of features must be at least 1, got 0"):
            ParentSets.from_lists([])

    @pytest.mark.parametrize(
        ("order", "but"), [([0, 2, 2], "feature 1 is missing"), ([0, 1, 3], "it holds 3"), ([0, -1, 1], "it holds -1")]
    )
    def test_order_is_not_a_permutation(self, order: list[int], but: str) -> None:
        with pytest.raises(ValueError, match=f"order must hold each of 0 to 2 once, but {but}"):
            ParentSets.from_lists([[-1], [-1], [-1]], order)

    def test_order_of_another_length(self) -> None:
        with pytest.raises(ValueError, match="order has 2 features, but there are candidates for 3"):
            ParentSets.from_lists([[-1], [-1], [-1]], [0, 1])

    def test_candidate_after_its_child(self) -> None:
        with pytest.raises(ValueError, match="feature 0: candidate 1 does not come before it in the order"):
            ParentSets.from_lists([[-1, 1], [-1], [-1]], [2, 0, 1])

    def test_not_integers(self) -> None:
        with pytest.raises(ValueError, match="feature 1: the candidates must hold integers, got float64"):
            ParentSets.from_lists([[-1], [0.5]])

    def test_not_flat(self) -> None:
        with pytest.raises(ValueError, match=r"order must be one-dimensional, got shape \(1, 2\)"):
            ParentSets.from_lists([[-1], [0]], [[0, 1]])

    @pytest.mark.parametrize("ptr", [[1, 2, 3], [0, 1, 2], [0, 4, 3]])
    def test_ptr_does_not_fit(self, ptr: list[int]) -> None:
        with pytest.raises(ValueError, match="ptr must rise from 0 to the number of candidates, 3"):
            ParentSets(np.array(ptr), np.array([-1, -1, 0], dtype=np.int32))


def through_pickle(sets: ParentSets) -> ParentSets:
    copied = pickle.loads(pickle.dumps(sets))
    assert isinstance(copied, ParentSets)
    return copied


class TestValue:
    @pytest.mark.parametrize("field", ["ptr", "parents", "order"])
    @pytest.mark.parametrize("make_copy", [lambda sets: sets, copy.copy, copy.deepcopy, through_pickle])
    def test_arrays_are_read_only_also_in_copies(self, field: str, make_copy) -> None:  # type: ignore[no-untyped-def]
        array = getattr(make_copy(example()), field)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0

    @pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, through_pickle])
    def test_copies_are_equal(self, make_copy) -> None:  # type: ignore[no-untyped-def]
        for sets in (example(), ParentSets.from_lists([[1], [0]])):
            assert make_copy(sets) == sets
            assert hash(make_copy(sets)) == hash(sets)

    def test_fields_cannot_be_set(self) -> None:
        with pytest.raises(FrozenInstanceError):
            example().order = None  # type: ignore[misc]

    def test_arrays_of_the_caller_are_copied(self) -> None:
        ptr, parents, order = np.array([0, 1, 3]), np.array([-1, -1, 0], dtype=np.int32), np.array([0, 1])
        sets = ParentSets(ptr, parents, order)
        before = copy.deepcopy(sets)
        ptr[1], parents[2], order[:] = 2, -1, [1, 0]
        assert sets == before

    def test_equal_whatever_the_type_of_integer(self) -> None:
        narrow = ParentSets.from_lists([np.array([-1], dtype=np.int8), np.array([0], dtype=np.uint16)])
        assert narrow == ParentSets.from_lists([[-1], [0]])
        assert len({narrow, ParentSets.from_lists([[-1], [0]])}) == 1

    @pytest.mark.parametrize(
        "other",
        [
            ParentSets.from_lists([[-1], [0, -1]], [0, 1]),
            ParentSets.from_lists([[-1], [-1, 0]]),
            ParentSets.from_lists([[-1], [-1]], [0, 1]),
            [[-1], [-1, 0]],
            None,
        ],
    )
    def test_unequal(self, other: object) -> None:
        assert ParentSets.from_lists([[-1], [-1, 0]], [0, 1]) != other

    def test_order_counts(self) -> None:
        assert ParentSets.from_lists([[-1], [-1]], [0, 1]) != ParentSets.from_lists([[-1], [-1]], [1, 0])

    def test_clone_keeps_the_value(self) -> None:
        class Holder(BaseEstimator):
            def __init__(self, structure: ParentSets) -> None:
                self.structure = structure

        assert clone(Holder(example())).structure == example()
