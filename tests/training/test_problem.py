"""Rows cut into batches, and equal rows merged where they fit into one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.training import Noise, make_problem
from tests.strategies import SEEDS


def few_kinds(seed, n_rows):
    """Rows of at most 2 * 2 * 2 kinds."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, size=(n_rows, 2), dtype=np.uint8), rng.integers(0, 2, size=n_rows)


def all_different(n_rows):
    return np.arange(n_rows, dtype=np.uint16)[:, None], np.zeros(n_rows, np.int64)


def assert_same(found, expected):
    assert (found.n_steps, found.batch_size) == (expected.n_steps, expected.batch_size)
    assert np.array_equal(found.codes, expected.codes)
    assert found.codes.dtype == expected.codes.dtype
    assert np.array_equal(found.y, expected.y)
    assert np.array_equal(found.weight, expected.weight)


@given(SEEDS, st.integers(1, 40), st.integers(8, 20))
def test_merged_rows_carry_the_weight_of_the_rows_they_stand_for(seed, n_rows, batch_size):
    codes, y = few_kinds(seed, n_rows)
    weight = np.random.default_rng(seed).uniform(0.1, 2.0, size=n_rows)
    problem = make_problem(codes, y, weight, batch_size)
    kinds = {}
    for row, label, w in zip(codes.tolist(), y.tolist(), weight, strict=True):
        kinds[label, *row] = kinds.get((label, *row), 0.0) + w
    found = zip(problem.y.tolist(), problem.codes.tolist(), problem.weight, strict=True)
    assert {(label, *row): pytest.approx(w, rel=1e-6) for label, row, w in found} == kinds
    assert problem.is_full_batch
    assert problem.batch_size == len(kinds)
    assert problem.n_steps == max(1, n_rows // batch_size)  # weights that are no counts do not change it


@given(SEEDS, st.integers(1, 40), st.data())
def test_integer_weights_equal_repeated_rows(seed, n_rows, data):
    codes, y = few_kinds(seed, n_rows)
    repeats = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n_rows, max_size=n_rows)))
    repeats[0] = max(repeats[0], 1)
    weighted = make_problem(codes, y, repeats.astype(np.float64), 8)
    assert_same(weighted, make_problem(np.repeat(codes, repeats, axis=0), np.repeat(y, repeats), None, 8))


@given(SEEDS, st.integers(1, 40))
def test_row_order_does_not_matter_where_rows_are_merged(seed, n_rows):
    codes, y = few_kinds(seed, n_rows)
    order = np.random.default_rng(seed).permutation(n_rows)
    assert_same(make_problem(codes[order], y[order], None, 8), make_problem(codes, y, None, 8))


@pytest.mark.parametrize("may_merge", [True, False])
@pytest.mark.parametrize("batch_size", [3, 100])
def test_rows_of_weight_zero_are_left_out(may_merge, batch_size):
    codes, y = all_different(10)
    weight = np.array([1.0, 0.0, 2.0, 0.0, 1.0, 1.0, 0.5, 0.0, 3.0, 1.0])
    problem = make_problem(codes, y, weight, batch_size, may_merge=may_merge)
    assert problem.codes.ravel().tolist() == [0, 2, 4, 5, 6, 8, 9]
    assert problem.weight.tolist() == [1.0, 2.0, 1.0, 1.0, 0.5, 3.0, 1.0]
    assert problem.weight.dtype == np.float32
    if batch_size == 3:
        assert problem.n_steps == 2


@pytest.mark.parametrize(("n_rows", "batch_size", "n_steps"), [(100, 10, 10), (109, 10, 10), (10, 10, 1), (7, 10, 1)])
def test_incomplete_last_batch_is_dropped(n_rows, batch_size, n_steps):
    problem = make_problem(*all_different(n_rows), None, batch_size, may_merge=False)
    assert problem.n_steps == n_steps
    assert problem.batch_size == min(n_rows, batch_size)
    assert problem.weight is None


@pytest.mark.parametrize(("n_rows", "n_steps"), [(64, 4), (65, 4), (799, 49), (800, 50), (1000, 50)])
def test_merged_rows_keep_the_number_of_steps_up_to_fifty(n_rows, n_steps):
    codes, y = few_kinds(0, n_rows)
    merged, apart = (make_problem(codes, y, None, 16, may_merge=may_merge) for may_merge in (True, False))
    assert apart.n_steps == n_rows // 16
    assert merged.n_steps == n_steps
    assert merged.weight.sum() == n_rows
    assert len(merged.y) == 8


def test_more_kinds_of_rows_than_a_batch_are_not_merged():
    # The first rows are few of a kind, those that follow are not.
    codes, y = all_different(100)
    codes[:50] = 0
    problem = make_problem(codes, y, None, 10)
    assert np.array_equal(problem.codes, codes)
    assert problem.weight is None
    assert not problem.is_full_batch


@given(SEEDS, st.integers(1, 50), st.integers(1, 60))
def test_batches_of_an_epoch_hold_each_row_at_most_once(seed, n_rows, batch_size):
    problem = make_problem(*all_different(n_rows), None, batch_size, may_merge=False)
    rows = problem.epoch_rows(Noise(seed), 3)
    assert rows.dtype == np.int64
    assert len(rows) == problem.n_steps * problem.batch_size
    assert len(set(rows.tolist())) == len(rows)


def test_rows_of_an_epoch_are_shuffled_by_the_noise_of_the_epoch():
    problem = make_problem(*all_different(30), None, 8, may_merge=False)
    noise = Noise(1)
    for epoch in (0, 4):
        assert problem.epoch_rows(noise, epoch).tolist() == noise.permutation(epoch, 30)[:24].tolist()


def test_steps_of_a_full_batch_see_all_rows_in_order():
    problem = make_problem(*all_different(5), None, 5)
    assert problem.is_full_batch
    assert problem.epoch_rows(Noise(0), 0).tolist() == [0, 1, 2, 3, 4]
    merged = make_problem(*few_kinds(0, 64), None, 16)
    assert merged.n_steps == 4
    assert merged.epoch_rows(Noise(0), 7).tolist() == [*range(8)] * 4


def test_type_of_the_codes_is_kept():
    assert make_problem(*all_different(5), None, 5).codes.dtype == np.uint16
    assert make_problem(*few_kinds(0, 30), None, 8).codes.dtype == np.uint8
