"""The split rule gives the published counts, and its folds do not overlap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.datasets.split import split_rows


def oracle(n_rows, n_parts, fold):
    """Test rows of one class by the rule as it is written down, numbered from 1."""
    edges = [int(np.floor(1 + part * (n_rows - 1) / n_parts + 0.5)) for part in range(n_parts + 1)]
    inside = [row for row in range(1, n_rows + 1) if edges[fold - 1] < row < edges[fold]]
    return [1] * (fold == 1) + inside + [n_rows] * (fold == n_parts)


@given(
    counts=st.lists(st.integers(2, 60), min_size=1, max_size=4),
    n_parts=st.integers(2, 6),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_rule_holds_in_each_class(counts, n_parts, seed, data):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    order = rng.permutation(len(y))
    fold = data.draw(st.integers(1, n_parts))
    train, test = split_rows(y, order, n_parts, fold)
    assert sorted([*train, *test]) == list(range(len(y)))
    for label, count in enumerate(counts):
        rows = [row for row in order if y[row] == label]
        expected = [rows[number - 1] for number in oracle(count, n_parts, fold)]
        assert [row for row in test if y[row] == label] == expected


def test_rows_keep_the_given_order():
    order = np.array([3, 1, 0, 2, 5, 4])
    train, test = split_rows(np.zeros(6, dtype=int), order, 3, 1)
    assert [*test, *train] == order.tolist()


@pytest.mark.parametrize("n_rows", [703, 1533])
def test_a_row_is_tested_at_most_once(n_rows):
    y, order = np.zeros(n_rows, dtype=int), np.arange(n_rows)
    tested = np.concatenate([split_rows(y, order, 5, fold)[1] for fold in range(1, 6)])
    assert len(np.unique(tested)) == len(tested) == n_rows - 4
