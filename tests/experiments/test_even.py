"""The even order of grids: a permutation whose beginnings cover all levels."""

from collections import Counter

import numpy as np
import pytest

from tanager.experiments.even import even_order
from tanager.experiments.grids import paper_grid
from tanager.experiments.methods import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_every_configuration_comes_once(method):
    grid = paper_grid("digits", method)
    assert sorted(spec.key for spec in even_order(grid)) == sorted(spec.key for spec in grid)


def test_learning_rates_of_an_experiment_follow_each_other():
    order = even_order(paper_grid("letter", "random"))
    for slow, fast in zip(order[::2], order[1::2], strict=True):
        assert slow.experiment == fast.experiment
        assert {slow.learning_rate, fast.learning_rate} == {3e-3, 3e-2}


@pytest.mark.parametrize("n", [60, 250, 1000])
@pytest.mark.parametrize("part", [slice(None), slice(0, None, 2)], ids=["all", "every other"])
def test_beginnings_cover_all_levels_evenly(n, part):
    order = even_order(paper_grid("letter", "subset"))[::2][:n][part]
    for name, n_levels in (("ordering", 5), ("draw", 5), ("max_parents", 3)):
        counts = Counter(getattr(spec, name) for spec in order)
        expected = len(order) / n_levels
        assert len(counts) == n_levels
        # Independent draws deviate by more than 2 sqrt(n p (1 - p)) in one level of twenty.
        assert max(abs(count - expected) for count in counts.values()) <= 1 + expected**0.5


def test_beginnings_cover_lambda_and_gamma_together():
    grid = paper_grid("letter", "nb")
    points = np.array([(np.log10(spec.lam) / 3, (np.log10(spec.gamma) + 1) / 3) for spec in even_order(grid)[::2]])
    quarters = Counter(map(tuple, (points[:40] * 2).astype(int).tolist()))
    assert len(quarters) == 4
    assert min(quarters.values()) >= 7


def test_grid_that_is_no_product_of_levels():
    grid = paper_grid("letter", "nb")[:7]
    assert sorted(spec.key for spec in even_order(grid)) == sorted(spec.key for spec in grid)
    assert even_order([]) == []
