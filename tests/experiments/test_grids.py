"""The paper's grids: their sizes, what they hold, parts of them, and the runs of a configuration."""

from collections import Counter

import numpy as np
import pytest

from tanager import Hybrid, paper_settings
from tanager.datasets import CATALOGUE, load_dataset
from tanager.experiments import published_draws
from tanager.experiments.grids import (
    best_margin,
    best_published,
    expand,
    n_experiments,
    paper_grid,
    published_spec,
    sample_grid,
)
from tanager.experiments.methods import METHODS, TABLE_METHODS, methods_for
from tanager.experiments.spaces import search_space

# Heuristic is the paper's text: three orderings, four K, a hundred hyperparameters, two learning rates.
SIZES = {
    "nb-ml": 1,
    "chow-liu-ml": 1,
    "nb": 1000,
    "random": 10_000,
    "chow-liu": 1200,
    "subset": 15_000,
    "all": 5000,
    "heuristic": 2400,
}


@pytest.mark.parametrize("method", SIZES)
def test_sizes_and_identities(method):
    grid = paper_grid("usps" if method == "heuristic" else "letter", method)
    assert len(grid) == len({spec.key for spec in grid}) == SIZES[method]
    assert {spec.epochs for spec in grid} <= {None, 500}
    assert all(spec.is_full and spec.fold == 1 for spec in grid)


def test_which_methods_a_data_set_has():
    columns = [method.name for method in TABLE_METHODS]
    assert list(SIZES) == columns
    without = {"letter": {"heuristic"}, "satimage": {"heuristic"}, "usps": {"all"}, "mnist": {"all"}, "digits": set()}
    for name, missing in without.items():
        assert methods_for(CATALOGUE[name]) == [column for column in columns if column not in missing]


def test_subset_grid_crosses_everything():
    grid = paper_grid("satimage", "subset")
    counts = Counter((spec.ordering, spec.draw, spec.max_parents, spec.learning_rate) for spec in grid)
    assert len(counts) == 5 * 5 * 3 * 2
    assert set(counts.values()) == {100}
    assert {spec.batch_size for spec in grid} == {50}


def test_settings_of_the_grids():
    draws = published_draws(16)
    first = {tuple(values) for values in draws.setting_1}
    second = {tuple(values) for values in draws.setting_2}
    expected = {"nb": first, "all": first, "chow-liu": first | second, "random": second, "subset": second}
    for method, values in expected.items():
        assert {(spec.lam, spec.gamma, spec.eta) for spec in paper_grid("letter", method)} == values


def test_pseudo_and_recovery():
    assert {spec.max_parents for spec in paper_grid("letter", "pseudo")} == {2, 5, 8, 15}
    assert {spec.max_parents for spec in paper_grid("usps", "pseudo")} == {2, 5, 8}
    assert [spec.max_parents for spec in paper_grid("satimage", "recover")] == [35, 35]
    assert [spec.max_parents for spec in paper_grid("mnist", "recover")] == [8, 8]
    assert best_published("letter", "recover") == paper_grid("letter", "recover")


@pytest.mark.parametrize(("dataset", "method"), [("letter", "heuristic"), ("mnist", "all")])
def test_methods_that_do_not_apply_are_refused(dataset, method):
    with pytest.raises(ValueError, match=f"method '{method}' does not apply to {dataset}"):
        paper_grid(dataset, method)


@pytest.mark.parametrize(
    ("dataset", "method"), [("letter", "subset"), ("satimage", "all"), ("usps", "subset"), ("mnist", "subset")]
)
def test_best_published_is_in_the_grid_and_is_what_the_settings_say(dataset, method):
    best = best_published(dataset, method)
    assert [spec.learning_rate for spec in best] == [3e-3, 3e-2]
    grid = set(paper_grid(dataset, method))
    assert grid.issuperset(best)
    parameters = paper_settings(dataset, method)["parameters"]
    assert parameters.loss == Hybrid(best[1].lam, best[1].gamma, best[1].eta)
    names = ("learning_rate", "batch_size", "epochs", "structure_learning_rate", "optimiser")
    assert all(getattr(best[1], name) == getattr(parameters, name) for name in names)


def test_best_published_is_the_published_search_space(monkeypatch):
    class Shape:
        name, n_features, image_shape = "letter", 16, None

    spec = best_published("letter", "subset")[0]
    assert search_space(spec, Shape, information=None) == paper_settings("letter", "subset")["structure"]


def test_where_nothing_was_published():
    assert best_published("letter", "nb") == []
    assert best_published("digits", "subset") == []
    assert [spec.method for spec in best_published("digits", "nb-ml")] == ["nb-ml"]


def test_published_configurations_are_named_by_number():
    grid = paper_grid("letter", "chow-liu")
    assert published_spec("letter", "chow-liu", 499, learning_rate=3e-3) == grid[998]
    assert published_spec("letter", "chow-liu", 0, setting=2, learning_rate=3e-3) == grid[1000]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("letter", "nb", 500), "setting 1 has the numbers 0 to 499, got 500"),
        (("letter", "subset", 100), "setting 2 has the numbers 0 to 99, got 100"),
        (("letter", "nb-ml", 0), "method 'nb-ml' has no hyperparameters"),
        (("letter", "subset", 0), "method 'subset' requires ordering"),
    ],
)
def test_numbers_that_do_not_exist_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        published_spec(*arguments)


def test_samples_nest():
    grid = paper_grid("letter", "subset")
    small, large = sample_grid(grid, 10), sample_grid(grid, 500)
    assert small == large[:10]
    assert len({spec.key for spec in large}) == 500
    assert sorted(spec.key for spec in sample_grid(grid, 10**6)) == sorted(spec.key for spec in grid)


def test_runs_of_a_configuration():
    configuration = paper_grid("satimage", "nb")[0]
    runs = expand(configuration)
    assert [(run.fold, run.validation_share) for run in runs] == [(f, s) for f in range(1, 6) for s in (0.0, 0.2)]
    assert {run.configuration for run in runs} == {configuration.key}
    assert [run.validation_share for run in expand(configuration, "test")] == [0.0] * 5
    assert [run.validation_share for run in expand(configuration, "validation")] == [0.2] * 5
    for method in ("nb-ml", "recover"):
        assert [run.validation_share for run in expand(paper_grid("letter", method)[0], "both")] == [0.0]


@pytest.mark.parametrize("method", METHODS)
def test_every_search_space_fits_its_data(method):
    data = load_dataset("digits")
    rng = np.random.default_rng(0)
    information = rng.random((64, 64))
    information = information + information.T
    for spec in sample_grid(paper_grid("digits", method), 20):
        space = search_space(spec, data, lambda: information)
        assert space.n_features == 64
        assert space.is_ordered == (method != "pseudo")
        is_search = method in ("subset", "all", "heuristic", "pseudo", "recover")
        assert space.is_fixed != is_search
        if spec.max_parents is not None:
            largest = max(len(candidates) for candidates in space.to_lists())
            assert largest == spec.max_parents + 1


def test_draws_around_a_point_begin_at_it():
    lam, gamma = best_margin("letter")
    drawn = sample_grid(paper_grid("letter", "random"), 100, around=(lam, gamma))
    assert {(spec.lam, spec.gamma) for spec in drawn} == {(lam, gamma)}
    assert len({(spec.ordering, spec.draw, spec.learning_rate) for spec in drawn}) == 100


def test_draws_around_a_point_go_outwards():
    drawn = sample_grid(paper_grid("usps", "nb"), 1000, around=(100.0, 30.0))
    distances = [np.hypot(np.log(spec.lam / 100.0), np.log(spec.gamma / 30.0)) for spec in drawn]
    assert np.all(np.diff(distances) > -1e-8)
    assert len(drawn) == 1000


@pytest.mark.parametrize(("dataset", "method"), [("letter", "pseudo"), ("usps", "pseudo"), ("mnist", "heuristic")])
def test_experiments_are_configurations_without_their_learning_rate(dataset, method):
    grid = paper_grid(dataset, method)
    assert len({spec.experiment for spec in grid}) == n_experiments(dataset, method) == len(grid) / 2
    assert n_experiments(dataset, "nb-ml") == 1
