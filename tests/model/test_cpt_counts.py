"""Counts that add up, and closed-form parameters against slow loops and scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB

from tanager._threads import Crew
from tanager.model import (
    CptCounts,
    Network,
    all_pairs,
    class_log_prior,
    conditional_mutual_information,
    cpt_log_frequencies,
    layout,
    make_layout,
)
from tanager.structure import ParentSets, naive_bayes
from tests.oracles import counting_oracle
from tests.strategies import SEEDS, make_model, models

SMOOTHING = st.sampled_from([1.0, 0.1, 10.0])
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


# What follows from them in closed form.


@given(models(max_rows=30), SMOOTHING)
@settings(max_examples=40)
def test_tables_equal_oracle_and_sum_to_one(model, smoothing):
    arena = cpt_log_frequencies(model.layout, model.codes, model.y, model.weight, smoothing)
    for e, (i, j) in enumerate(zip(model.child, model.parent, strict=True)):
        parent_codes = None if j == -1 else model.codes[:, j]
        sizes = (*model.shapes[e][:2], model.n_classes)
        counts = counting_oracle.pair_counts(parent_codes, model.codes[:, i], model.y, *sizes, model.weight)
        table = np.exp(model.split(arena)[e])
        np.testing.assert_allclose(table, counting_oracle.maximum_likelihood_table(counts, smoothing), rtol=1e-9)
        np.testing.assert_allclose(table.sum(axis=1), 1.0)


@given(models(max_rows=30), SMOOTHING)
@settings(max_examples=20)
def test_prior_equals_oracle(model, smoothing):
    n_classes = model.n_classes + 1  # a class without rows
    expected = counting_oracle.maximum_likelihood_prior(
        counting_oracle.class_counts(model.y, n_classes, model.weight), smoothing
    )
    log_prior = class_log_prior(model.y, model.weight, n_classes, smoothing)
    np.testing.assert_allclose(np.exp(log_prior), expected, rtol=1e-9)


@given(SEEDS, st.integers(1, 5), st.integers(1, 4), SMOOTHING, st.booleans())
@settings(max_examples=25)
def test_naive_bayes_is_that_of_scikit_learn(seed, n_features, n_classes, smoothing, is_weighted):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 6, size=n_features)
    codes, test_codes = (rng.integers(0, cards, size=(n, n_features), dtype=np.int32) for n in (40, 15))
    # scikit-learn wants to see every class.
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, size=40 - n_classes)])
    weight = rng.uniform(0.1, 3.0, size=40) if is_weighted else np.ones(40)

    tables = make_layout(naive_bayes(n_features), cards, n_classes)
    theta = cpt_log_frequencies(tables, codes, y, weight, smoothing)
    log_prior = class_log_prior(y, weight, n_classes, smoothing)
    network = Network.from_arena(tables, theta, log_prior, np.arange(n_features))

    # scikit-learn smooths the tables and not the classes, so it is given our prior.
    reference = CategoricalNB(alpha=smoothing, min_categories=cards, class_prior=np.exp(log_prior))
    reference.fit(codes, y, sample_weight=weight)
    np.testing.assert_allclose(
        network.log_joint(test_codes), reference.predict_joint_log_proba(test_codes), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("n_threads", [2, 3])
def test_number_of_threads_does_not_change_a_bit(n_threads):
    model = make_model([[-1], [-1, 0], [0, 1], [-1, 2]], [3, 2, 4, 3], 3, seed=0, n_rows=50)
    data = (model.codes, model.y, model.weight)
    cards = np.array(model.cards)
    with Crew(n_threads) as crew:
        arena = cpt_log_frequencies(model.layout, *data, 1.0, crew)
        information = conditional_mutual_information(*data, cards, crew)
    assert np.array_equal(arena, cpt_log_frequencies(model.layout, *data, 1.0))
    assert np.array_equal(information, conditional_mutual_information(*data, cards))


@given(models(max_rows=30, is_fixed=True))
@settings(max_examples=25)
def test_information_equals_oracle(model):
    information = conditional_mutual_information(model.codes, model.y, model.weight, np.array(model.cards))
    expected = counting_oracle.conditional_mutual_information(
        model.codes, model.y, model.cards, model.n_classes, model.weight
    )
    np.testing.assert_allclose(information, expected, atol=1e-12)
    assert not information.diagonal().any()


def test_counts_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(layout, "allowed_memory", lambda: 2**20)
    monkeypatch.setattr(layout, "_WORTH_ASKING", 0)
    codes, y, cards = np.zeros((3, 2), np.int32), np.array([0, 1, 2]), np.array([300, 400])
    with pytest.raises(MemoryError, match=r"counts of one pair .* lower max_bins or max_categories"):
        conditional_mutual_information(codes, y, np.ones(3), cards)
