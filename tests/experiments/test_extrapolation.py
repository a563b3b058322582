"""Minima of more experiments than were run: right for known distributions, and only from evenly drawn experiments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.experiments.extrapolation import FEWEST, Minimum, evenly_drawn, extrapolate_minimum
from tanager.experiments.grids import best_published, paper_grid, sample_grid
from tanager.experiments.selection import Point

DISTRIBUTIONS = {
    "thin end": lambda rng, n: 9 + rng.gamma(2.0, 1.0, n),
    "piled up at the end": lambda rng, n: 9 + rng.gamma(0.7, 1.0, n),
    "skewed": lambda rng, n: 9 + np.exp(rng.normal(size=n)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_minima_of_the_same_distribution_lie_within(name):
    rng = np.random.default_rng(0)
    draw = DISTRIBUTIONS[name]
    verdicts = [extrapolate_minimum(draw(rng, 100), 2000).verdict(draw(rng, 2000).min()) for _ in range(60)]
    assert verdicts.count("within") >= 48  # 80 %, where 90 % are meant


def test_minima_of_a_better_distribution_lie_below():
    rng = np.random.default_rng(0)
    expected = extrapolate_minimum(9 + rng.gamma(2.0, 1.0, 300), 600)
    assert expected.verdict(8.5) == "below"
    assert expected.verdict(10.0) == "above"


@given(st.lists(st.sampled_from([8.0, 9.0, 9.5, 12.0]), min_size=FEWEST, max_size=60), st.integers(1, 10_000))
def test_any_errors_give_ordered_bounds(errors, n):
    result = extrapolate_minimum(errors, n)
    assert result.low <= result.median <= result.high <= max(errors)


def test_more_experiments_have_a_lower_minimum():
    errors = 9 + np.random.default_rng(1).gamma(2.0, 1.0, 200)
    medians = [extrapolate_minimum(errors, n).median for n in (1, 10, 100, 1000)]
    assert medians == sorted(medians, reverse=True)
    assert medians[0] == pytest.approx(np.median(errors), rel=0.03)


def test_few_errors_are_not_extrapolated():
    assert extrapolate_minimum(np.arange(FEWEST - 1.0), 100) is None


def test_only_the_beginning_of_the_even_order_counts():
    order = sample_grid(paper_grid("letter", "subset"), 40)[::2]
    points = [Point(spec, 9.0 + number) for number, spec in enumerate(order)]
    best = Point(best_published("letter", "subset")[1], 1.0)
    assert evenly_drawn([best, *points[::-1]], "letter", "subset") == points
    assert evenly_drawn([best, *points[:5], *points[6:]], "letter", "subset") == points[:5]
    assert evenly_drawn([], "letter", "subset") == []


def test_verdicts_include_the_bounds():
    bounds = Minimum(9.0, 9.5, 10.0)
    assert [bounds.verdict(value) for value in (8.99, 9.0, 10.0, 10.01)] == ["below", "within", "within", "above"]
