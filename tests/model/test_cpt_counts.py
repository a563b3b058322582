"""Counts that add up."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager._threads import Crew
from tanager.model import CptCounts, all_pairs, conditional_mutual_information, make_layout
from tanager.structure import ParentSets
from tests.strategies import SEEDS

CARDS = np.array([3, 2, 4, 1])


def random_rows(seed, n_rows=60, n_classes=3):
    """Codes, some of them unknown, classes, and whole weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, CARDS + 1, (n_rows, len(CARDS))).astype(np.uint8)
    return codes, rng.integers(0, n_classes, n_rows), rng.integers(1, 4, n_rows).astype(float)


@given(SEEDS, st.lists(st.integers(0, 60), max_size=4), st.booleans())
@settings(max_examples=30)
def test_counts_of_pieces_add_up_to_the_last_bit(seed, cuts, is_merged):
    codes, y, weight = random_rows(seed)
    layout = all_pairs(CARDS, 3)
    whole, summed = CptCounts.empty(layout), CptCounts.empty(layout)
    whole.add(codes, y, weight)
    edges = [0, *sorted(cuts), len(y)]
    for lo, hi in pairwise(edges):
        piece = CptCounts.empty(layout) if is_merged else summed
        piece.add(codes[lo:hi], y[lo:hi], weight[lo:hi])
        if is_merged:
            summed.merge(piece)
    np.testing.assert_array_equal(summed.cells, whole.cells)
    np.testing.assert_array_equal(summed.of_class, whole.of_class)
    assert (summed.n_rows, summed.n_counted) == (len(y), weight.sum())


@given(SEEDS, st.booleans())
@settings(max_examples=30)
def test_information_of_counts_is_that_of_rows_to_the_last_bit(seed, is_threaded):
    codes, y, weight = random_rows(seed)
    counts = CptCounts.empty(all_pairs(CARDS, 3))
    counts.add(codes, y, weight)
    expected = conditional_mutual_information(codes, y, weight, CARDS)
    with Crew(2 if is_threaded else 1) as crew:
        np.testing.assert_array_equal(counts.information(crew), expected)
    without = conditional_mutual_information(codes, np.zeros_like(y), weight, CARDS)
    np.testing.assert_array_equal(counts.without_classes().information(), without)


@given(SEEDS)
@settings(max_examples=20)
def test_any_forest_can_be_selected_from_all_pairs(seed):
    codes, y, weight = random_rows(seed)
    counts = CptCounts.empty(all_pairs(CARDS, 3))
    counts.add(codes, y, weight)
    layout = make_layout(ParentSets.from_lists([[2], [-1], [1], [-1]]), CARDS, 3)
    expected = CptCounts.empty(layout)
    expected.add(codes, y, weight)
    np.testing.assert_array_equal(counts.select(layout).cells, expected.cells)


@given(SEEDS)
@settings(max_examples=20)
def test_recoded_counts_are_the_counts_of_recoded_rows(seed):
    codes, y, weight = random_rows(seed)
    maps = [np.array([0, 2, 4]), np.array([1, 0]), np.arange(4), np.array([1])]
    cards = np.array([5, 2, 4, 3])
    sets = ParentSets.from_lists([[-1], [-1, 0], [-1, (0, 1)], [2]])
    counts = CptCounts.empty(make_layout(sets, CARDS, 3))
    counts.add(codes, y, weight)
    expected = CptCounts.empty(make_layout(sets, cards, 3))
    new = [np.append(of_value, card)[column] for of_value, card, column in zip(maps, cards, codes.T, strict=True)]
    expected.add(np.stack(new, axis=1).astype(np.uint8), y, weight)
    np.testing.assert_array_equal(counts.recoded(cards, maps).cells, expected.cells)


def test_scaled_counts_are_no_longer_whole():
    counts = CptCounts.empty(all_pairs(CARDS, 3))
    counts.add(*random_rows(0))
    before = counts.copy()
    counts.scale(0.5)
    np.testing.assert_array_equal(counts.cells, before.cells / 2)
    assert counts.n_counted == before.n_rows
    by_class = before.scaled_by_class(np.array([1.0, 2.0, 0.5]))
    np.testing.assert_array_equal(by_class.of_class, before.of_class * [1.0, 2.0, 0.5])
