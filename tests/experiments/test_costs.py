"""Costs: monotone before runs, exact arithmetic from measured times after."""

from dataclasses import replace

import pytest

from tanager.experiments.costs import grid_cost, relative_cost
from tanager.experiments.grids import paper_grid
from tanager.experiments.search import HalvingPlan
from tests.experiments.inventing import invent

GRID = paper_grid("letter", "subset")
BY_SIZE = {k: next(spec for spec in GRID if spec.max_parents == k) for k in (2, 5, 8)}


def test_relative_cost_grows_with_epochs_candidates_and_rows():
    spec = BY_SIZE[5]
    assert relative_cost(replace(spec, epochs=1000)) == 2 * relative_cost(spec)
    assert relative_cost(BY_SIZE[2]) < relative_cost(spec) < relative_cost(BY_SIZE[8])
    assert relative_cost(replace(spec, validation_share=0.2)) == pytest.approx(0.8 * relative_cost(spec))
    assert relative_cost(paper_grid("letter", "nb-ml")[0]) < relative_cost(replace(spec, epochs=1))
    assert relative_cost(paper_grid("letter", "nb")[0]) < relative_cost(paper_grid("letter", "all")[0])


def test_grid_is_costed_by_the_median_second_of_an_epoch():
    records = [
        # 10, 20 and 30 ms an epoch for K = 2, 5, 8; the first run of a worker has compiled, and does not count.
        *(invent(BY_SIZE[2], 0.1, cpu_seconds=seconds, seed=k) for k, seconds in enumerate((5.0, 5.0, 50.0))),
        invent(BY_SIZE[5], 0.1, cpu_seconds=10.0),
        invent(BY_SIZE[8], 0.1, 0.1, cpu_seconds=1.2, epochs=50, validation_share=0.2),
        invent(paper_grid("satimage", "subset")[0], 0.1, cpu_seconds=1e6),
    ]
    cost = grid_cost(GRID, records)
    assert cost.n_runs == 15_000
    assert cost.n_measured == 5
    assert cost.is_complete
    assert cost.grid_hours == pytest.approx(5000 * 500 * (0.01 + 0.02 + 0.03) / 3600)
    epochs = 0.8 * (27 * 55 + 9 * 166 + 3 * 500) + 500
    assert cost.search_hours(HalvingPlan()) == pytest.approx(0.02 * epochs / 3600)


def test_sizes_that_were_not_run_cost_as_the_dearest():
    cost = grid_cost(GRID, [invent(BY_SIZE[8], 0.1, cpu_seconds=15.0)])
    assert not cost.is_complete
    assert cost.grid_hours == pytest.approx(15_000 * 15 / 3600)


def test_nothing_measured():
    assert grid_cost(GRID, []) is None
