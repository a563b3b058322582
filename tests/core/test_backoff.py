"""Counts that back off to coarser ones, against plain loops over the cells."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.core import back_off, best_prior_rows
from tests.oracles.counting_oracle import backed_off, backed_off_left_out
from tests.strategies import SEEDS, models

OFFERED = np.array([0.5, 2.0, 8.0, 32.0])


def random_counts(model, seed):
    return np.random.default_rng(seed).poisson(2.0, model.layout.size).astype(float)


def call_back_off(model, counts, prior_rows, ranges):
    values, left_out, gains = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros(len(prior_rows))
    for lo, hi in ranges:
        back_off(lo, hi, model.layout.cpts, counts, model.n_classes, prior_rows, values, left_out, gains)
    return values, left_out, gains


def call_best(model, counts, ranges):
    prior_rows = np.full((len(model.parent), 2), -1.0)
    for lo, hi in ranges:
        best_prior_rows(lo, hi, model.layout.cpts, counts, model.n_classes, OFFERED, prior_rows)
    return prior_rows


@given(models(max_rows=1), SEEDS)
@settings(max_examples=25)
def test_frequencies_equal_oracle(model, seed):
    counts = random_counts(model, seed)
    prior_rows = np.random.default_rng(seed).uniform(0.1, 5.0, (len(model.parent), 2))
    values, left_out, gains = call_back_off(model, counts, prior_rows, [(0, len(model.cards))])
    parts = (model.split(each) for each in (counts, values, left_out))
    for rows, gain, cells, value, without in zip(prior_rows, gains, *parts, strict=True):
        np.testing.assert_allclose(value, backed_off(cells, *rows))
        np.testing.assert_allclose(value.sum(axis=1), 1.0)
        is_seen = cells > 0
        np.testing.assert_allclose(without[is_seen], backed_off_left_out(cells, *rows)[is_seen])
        whole = cells.sum(axis=0, keepdims=True)
        coarser = np.broadcast_to(backed_off_left_out(whole, rows[0], 0.0), cells.shape)
        expected = cells[is_seen] @ np.log(without[is_seen] / coarser[is_seen]) / max(cells.sum(), 1.0)
        assert gain == pytest.approx(expected if len(cells) > 1 else 0.0)


@given(models(max_rows=1), SEEDS)
@settings(max_examples=25)
def test_best_pull_makes_left_out_rows_most_probable(model, seed):
    counts = random_counts(model, seed)
    found = call_best(model, counts, [(0, len(model.cards))])
    for (of_class, of_parent), cells in zip(found.tolist(), model.split(counts), strict=True):

        def likelihood(of, *rows):
            return (of * np.log(np.nan_to_num(backed_off_left_out(of, *rows), nan=1.0))).sum()

        whole = cells.sum(axis=0, keepdims=True)
        by_class = [likelihood(whole, rows, 0.0) for rows in OFFERED]
        assert by_class[OFFERED.tolist().index(of_class)] == pytest.approx(max(by_class))
        if len(cells) > 1:
            by_parent = [likelihood(cells, of_class, rows) for rows in OFFERED]
            assert by_parent[OFFERED.tolist().index(of_parent)] == pytest.approx(max(by_parent))
        else:
            assert of_parent == 0.0


@given(models(max_rows=1), SEEDS, st.data())
@settings(max_examples=10)
def test_parts_give_the_bits_of_the_whole(model, seed, data):
    counts, n_features = random_counts(model, seed), len(model.cards)
    cut = data.draw(st.integers(0, n_features))
    whole, parts = [(0, n_features)], [(cut, n_features), (0, cut)]
    prior_rows = call_best(model, counts, whole)
    assert np.array_equal(prior_rows, call_best(model, counts, parts))
    of_whole, of_parts = (call_back_off(model, counts, prior_rows, ranges) for ranges in (whole, parts))
    assert all(map(np.array_equal, of_whole, of_parts))


@given(models(max_rows=1))
@settings(max_examples=3)
def test_wrong_arguments_are_refused(model):
    counts, prior_rows = random_counts(model, 0), np.ones((len(model.parent), 2))
    cpts, n_classes, arenas = model.layout.cpts, model.n_classes, [np.zeros(model.layout.size) for _ in range(2)]
    gains = np.zeros(len(model.parent))
    with pytest.raises(ValueError, match="counts must not be negative"):
        back_off(0, 1, cpts, counts - 100.0, n_classes, prior_rows, *arenas, gains)
    with pytest.raises(ValueError, match="prior_rows must not be negative"):
        back_off(0, 1, cpts, counts, n_classes, -prior_rows, *arenas, gains)
    with pytest.raises(ValueError, match="offered must be above 0"):
        best_prior_rows(0, 1, cpts, counts, n_classes, np.zeros(2), prior_rows)
    with pytest.raises(ValueError, match="offered must not be empty"):
        best_prior_rows(0, 1, cpts, counts, n_classes, np.zeros(0), prior_rows)
