"""Sentences about figures: shares of nearest experiments, hulls, and when a statement is left open."""

from dataclasses import replace

import numpy as np
import pytest

from tanager.experiments.grids import best_published, paper_grid, sample_grid
from tanager.experiments.selection import Point, Results
from tanager.report.findings import Comparison, compare, describe
from tanager.report.paper_figures import Series, paper_figures
from tests.experiments.inventing import invent

SUBSET = sample_grid(paper_grid("letter", "subset"), 80)[::2]


def series(errors, specs=SUBSET):
    return Series("", [Point(spec, error) for spec, error in zip(specs, errors, strict=False)], 0)


def test_each_experiment_is_compared_with_the_nearest():
    def at(lam, gamma, error):
        return Point(replace(SUBSET[0], lam=lam, gamma=gamma), error)

    first = Series("", [at(10.0, 1.0, 9.0), at(100.0, 1.0, 9.0)], 0)
    other = Series("", [at(12.0, 1.0, 8.0), at(90.0, 1.0, 10.0), at(1000.0, 50.0, 1.0)], 0)
    result = compare(first, other)
    assert (result.share, result.n) == (0.5, 2)
    # Two at the same place count half each, and ties count half.
    twice = Series("", [at(10.0, 1.0, 9.0), at(10.0, 1.0, 10.0)], 0)
    assert compare(Series("", first.points[:1], 0), twice).share == 0.75


def test_hulls_are_compared_where_both_are():
    errors = np.full(40, 9.0)
    assert compare(series(errors), series(errors + 1)).hull == 1.0
    assert compare(series(errors + 1), series(errors)).hull == 0.0


def test_hulls_without_a_common_range_are_not_compared():
    def at(*lams):
        return Series("", [Point(replace(SUBSET[0], lam=lam), 9.0) for lam in lams], 0)

    assert compare(at(10.0, 20.0), at(100.0, 200.0)).hull is None


@pytest.mark.parametrize(
    ("share", "n", "expected"), [(0.9, 30, True), (0.1, 30, False), (0.6, 30, None), (0.9, 4, None)]
)
def test_shares_near_one_half_decide_nothing(share, n, expected):
    assert Comparison(share, n, 1.0).is_better is expected


def sentence(records, name):
    (figure,) = [figure for figure in paper_figures(Results(records)) if figure.name == name]
    return describe(figure)


def drawn(dataset, method, n, error_of, n_folds=1):
    specs = sample_grid(paper_grid(dataset, method), n)
    return [invent(spec, error_of(spec) / 100, fold=fold) for spec in specs for fold in range(1, n_folds + 1)]


@pytest.mark.parametrize(("subset", "verdict"), [(8.0, "holds here"), (12.0, "does not hold here")])
def test_statement_about_the_methods(subset, verdict):
    errors = {"random": 11.0, "chow-liu": 10.0, "subset": subset}
    records = [record for method in errors for record in drawn("letter", method, 60, lambda spec: errors[spec.method])]
    text = sentence(records, "compare-letter")
    assert f"on a wide range of settings, {verdict}." in text
    without = [record for record in records if record.spec.method != "random"]
    assert "cannot be decided with these runs" in sentence(without, "compare-letter")


def test_statement_about_orderings_and_sizes_of_the_heuristic():
    records = drawn(
        "mnist", "heuristic", 400, lambda spec: {"A": 6, "B": 5, "C": 4}[spec.ordering] - spec.max_parents / 10
    )
    by_ordering = sentence(records, "heuristic-orderings-mnist")
    assert "Ordering C has the lower error than ordering B in 100%" in by_ordering
    assert "holds here" in by_ordering
    assert "K = 8 has the lower error than K = 5" in sentence(records, "heuristic-sizes-mnist")


def test_orderings_that_differ_and_that_do_not():
    def different(spec):
        return 9 + spec.ordering + spec.lam / 1e4

    text = sentence(drawn("satimage", "subset", 200, different, n_folds=5), "orderings-satimage")
    assert text.startswith("The median error is lowest for ordering 0")
    assert "outperform others, holds (p = " in text
    same = sentence(drawn("satimage", "subset", 200, lambda spec: 9 + spec.lam / 1e4, n_folds=5), "orderings-satimage")
    assert "cannot be decided with these runs" in same


def test_parent_subsets():
    records = drawn("letter", "subset", 600, lambda spec: 12 - spec.max_parents / 4 + spec.draw / 10 + spec.lam / 1e5)
    text = sentence(records, "parent-subsets-letter")
    assert "K = 8 has the lower error than K = 2 in 100%" in text
    assert "With K = 2: the median error is lowest for subset 0, K = 2" in text


def test_configurations_that_were_selected_do_not_count():
    records = drawn("letter", "chow-liu", 20, lambda spec: 10.0)
    records += [invent(spec, 0.01) for spec in best_published("letter", "subset")]
    assert sentence(records, "compare-letter") == ""
    records += drawn("letter", "subset", 20, lambda spec: 11.0)
    assert "than Chow-Liu in 0% of 10 experiments" in sentence(records, "compare-letter")
