"""The order of the campaign: all cells side by side, half of the experiments with held-out rows."""

from collections import Counter

import pytest

from tanager.datasets import CATALOGUE
from tanager.experiments.campaign import GOALS, Goal, campaign
from tanager.experiments.grids import best_published, paper_grid, sample_grid
from tanager.experiments.methods import applies


def test_goals_cover_the_table():
    wanted = {
        (dataset, method)
        for dataset in ("letter", "satimage", "usps", "mnist")
        for method in ("nb-ml", "chow-liu-ml", "nb", "random", "chow-liu", "subset", "all", "heuristic")
        if applies(method, CATALOGUE[dataset])
    }
    assert wanted <= {(goal.dataset, goal.method) for goal in GOALS}
    assert all(len(goal.grid()) >= goal.n_configurations for goal in GOALS)


def test_configurations_are_those_of_the_even_order():
    runs = campaign([Goal("letter", "nb", 10, 1.0)])
    full = [spec for spec in runs if spec.is_full]
    assert full == sample_grid(paper_grid("letter", "nb"), 10)
    held = {spec.configuration for spec in runs if not spec.is_full}
    assert held == {full[i].configuration for i in (0, 1, 4, 5, 8, 9)}


def test_beginnings_keep_the_pace():
    runs = campaign([Goal("letter", "nb", 100, 2.0), Goal("letter", "chow-liu", 100, 1.0)])
    counts = Counter(spec.method for spec in runs[:90] if spec.is_full)
    assert counts["nb"] == pytest.approx(2 * counts["chow-liu"], abs=3)


def test_best_configurations_have_five_seeds_and_no_run_comes_twice():
    runs = campaign([Goal("letter", "subset", 20, 1.0)])
    assert len({spec.key for spec in runs}) == len(runs)
    (_, fast) = best_published("letter", "subset")
    same = [spec for spec in runs if (spec.experiment, spec.learning_rate) == (fast.experiment, fast.learning_rate)]
    assert [spec.seed for spec in same if spec.is_full] == [0, 1, 2, 3, 4]


def test_part_of_a_grid():
    runs = campaign([Goal("letter", "subset", 20, 1.0, (("ordering", (3,)), ("max_parents", (2, 8))))])
    assert {(spec.ordering, spec.max_parents) for spec in runs} == {(3, 2), (3, 8)}
    assert {spec.seed for spec in runs} == {0}


def test_folds_of_a_configuration_stay_together():
    runs = campaign([Goal("satimage", "nb", 4, 1.0)])
    assert [spec.fold for spec in runs[:10]] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
