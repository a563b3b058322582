"""Encoded rows: what they count as, equal ones merged, and which of them are held out."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.learning import Rows, hold_out


def random_rows(n_rows, n_values, n_classes):
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, n_values, (n_rows, 5)).astype(np.uint8), rng.integers(0, n_classes, n_rows)
    return Rows(codes, y, None, np.full(5, n_values), n_classes)


def test_rows_count_with_whole_weights():
    rows = random_rows(300, 3, 3)
    assert rows.n_counted == 300
    assert rows._replace(weight=np.full(300, 2.0)).n_counted == 600
    assert rows._replace(weight=np.full(300, 0.5)).n_counted == 300
    np.testing.assert_array_equal(rows.full_weight(), np.ones(300))


def test_some_of_the_rows():
    rows = random_rows(300, 3, 3)._replace(weight=np.arange(300.0))
    some = rows.take(np.array([7, 3]))
    np.testing.assert_array_equal(some.codes, rows.codes[[7, 3]])
    assert some.y.tolist() == rows.y[[7, 3]].tolist()
    assert some.weight.tolist() == [7.0, 3.0]
    assert rows._replace(weight=None).take(np.array([7])).weight is None


def test_memory_of_the_rows():
    rows = random_rows(300, 3, 3)
    assert rows.n_bytes == 300 * 5 + 2 * 300 * 8
    assert rows._replace(weight=np.ones(300)).n_bytes == rows.n_bytes + 300 * 8


# Rows to train on and rows to hold out.


@st.composite
def encoded_rows(draw, max_rows=60):
    """Few values, so that some rows are equal; whole weights, other weights or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(2, max_rows)), draw(st.integers(1, 3))
    codes = rng.integers(0, 3, (n_rows, n_features)).astype(np.uint8)
    weights = {"none": None, "whole": rng.integers(1, 5, n_rows) * 1.0, "other": rng.uniform(0.1, 3.0, n_rows)}
    weight = weights[draw(st.sampled_from(sorted(weights)))]
    return Rows(codes, rng.integers(0, 3, n_rows), weight, codes.max(axis=0).astype(np.int64) + 1, 3)


def split(rows, seed, *more):
    """The rows themselves of each pair of parts."""
    return [(rows.take_part(kept), rows.take_part(held)) for kept, held in hold_out(rows, seed, *more)]


def weight_of_each(rows):
    """Weight of each distinct row with its class."""
    total = Counter()
    for values, label, weight in zip(rows.codes.tolist(), rows.y.tolist(), rows.full_weight().tolist(), strict=True):
        total[(*values, label)] += weight
    return total


def repeat(rows):
    times = rows.weight.astype(int)
    return rows._replace(codes=np.repeat(rows.codes, times, axis=0), y=np.repeat(rows.y, times), weight=None)


@given(encoded_rows())
def test_merged_rows_are_the_distinct_ones_with_their_weights(rows):
    merged = rows.merged()
    found = list(map(tuple, np.column_stack([merged.codes, merged.y]).tolist()))
    assert len(set(found)) == len(found)
    assert weight_of_each(merged) == pytest.approx(weight_of_each(rows))
    assert merged._replace(codes=None, y=None, weight=None) == rows._replace(codes=None, y=None, weight=None)


@given(encoded_rows(), st.integers(0, 99))
def test_merged_rows_are_the_same_for_any_order_and_for_repeated_rows(rows, seed):
    rows = rows._replace(weight=np.arange(len(rows.y)) % 4 + 1.0)
    repeated = repeat(rows)
    shuffled = repeated.take(np.random.default_rng(seed).permutation(len(repeated.y)))
    for other in (repeated, shuffled):
        for ours, theirs in zip(rows.merged()[:3], other.merged()[:3], strict=True):
            np.testing.assert_array_equal(ours, theirs)


@given(encoded_rows(), st.integers(0, 99), st.sampled_from([None, 2, 5]))
def test_every_row_is_held_out_once_and_kept_in_all_other_parts(rows, seed, n_parts):
    everything, parts = weight_of_each(rows), split(rows, seed, n_parts)
    assert len(parts) == (n_parts or 3)
    for kept, held in parts:
        assert weight_of_each(kept) + weight_of_each(held) == pytest.approx(everything)
    assert sum((weight_of_each(held) for _, held in parts), Counter()) == pytest.approx(everything)


@given(encoded_rows(), st.integers(0, 99))
def test_parts_number_the_rows(rows, seed):
    for parts in hold_out(rows, seed):
        for part in parts:
            taken = rows.take_part(part)
            assert len(set(part.rows.tolist())) == len(part.rows)
            np.testing.assert_array_equal(taken.codes, rows.codes[part.rows])
            np.testing.assert_array_equal(taken.y, rows.y[part.rows])


@given(encoded_rows(), st.integers(0, 99))
def test_classes_are_in_all_parts_alike(rows, seed):
    if rows.weight is not None and not (rows.weight % 1 == 0).all():
        rows = rows._replace(weight=None)
    held = [weight_of_each(part) for _, part in split(rows, seed)]
    for label in set(rows.y.tolist()):
        numbers = [sum(n for row, n in part.items() if row[-1] == label) for part in held]
        assert max(numbers) - min(numbers) <= 1


@pytest.mark.parametrize("is_weighted", [False, True])
def test_equal_rows_are_held_out_at_random(is_weighted):
    """Spread evenly, they would tell a classifier that learns rows by heart the classes of the others."""
    codes = np.repeat(np.arange(60), 1 if is_weighted else 30)[:, None].astype(np.uint8)
    weight = np.full(60, 30.0) if is_weighted else None
    rows = Rows(codes, np.zeros(len(codes), np.int64), weight, np.array([60]), 1)
    held = [
        np.array([weight_of_each(part)[k, 0] for k in range(60)]) for seed in range(20) for _, part in split(rows, seed)
    ]
    # The number of 30 copies that are among a third of 1,800 rows is hypergeometric.
    assert np.mean(held) == 10
    assert np.var(held) == pytest.approx(30 * 1 / 3 * 2 / 3 * 1770 / 1799, rel=0.1)


@given(encoded_rows(), st.integers(0, 99))
def test_a_row_of_weight_two_is_two_rows(rows, seed):
    rows = rows._replace(weight=np.arange(len(rows.y)) % 4 + 1.0)
    for weighted, repeated in zip(split(rows, seed), split(repeat(rows), seed), strict=True):
        assert list(map(weight_of_each, weighted)) == list(map(weight_of_each, repeated))


@given(encoded_rows(), st.integers(0, 99))
def test_other_weights_stay_with_their_rows(rows, seed):
    weight = np.arange(len(rows.y)) + 0.5
    found = [part.weight for _, part in split(rows._replace(weight=weight), seed)]
    assert sorted(np.concatenate(found)) == weight.tolist()


@given(encoded_rows(), st.integers(0, 99))
def test_parts_keep_what_is_known_of_the_features(rows, seed):
    rows = rows._replace(n_ordered=np.arange(len(rows.cards)))
    for part in (part for pair in split(rows, seed) for part in pair):
        assert part.cards is rows.cards
        assert part.n_ordered is rows.n_ordered
        assert part.n_classes == rows.n_classes


def test_seeds_hold_out_other_rows():
    rows = random_rows(200, 9, 2)
    first, again, other = (weight_of_each(split(rows, seed)[0][1]) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(("n_rows", "n_used"), [(2_500, 2_500), (20_001, 20_000), (90_000, 20_000)])
def test_of_many_rows_some_take_part_and_a_quarter_is_held_out(n_rows, n_used):
    rows = random_rows(n_rows, 200, 3)
    [(kept, held)] = split(rows, 0)
    n_kept, n_held = len(kept.y), len(held.y)
    assert n_kept + n_held == n_used
    assert n_held / n_used == pytest.approx(0.25, abs=0.01)
    assert not weight_of_each(kept).keys() & weight_of_each(held).keys()
    np.testing.assert_allclose(np.bincount(held.y) / n_held, np.bincount(rows.y) / n_rows, atol=0.002)


@pytest.mark.parametrize("n_rows", [1_001, 1_500, 9_000])
def test_no_more_rows_take_part_than_are_asked_for(n_rows):
    rows = random_rows(n_rows, 200, 3)
    parts = hold_out(rows, 0, 3, 1_000)
    assert [len(held.rows) for _, held in parts] == [333] * 3
    for kept, held in parts:
        others = np.concatenate([other.rows for _, other in parts if other is not held])
        assert sorted(kept.rows) == sorted(others)
        assert not set(kept.rows) & set(held.rows)
