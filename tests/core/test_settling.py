"""Normalising, counting and settling of forests, against sums over every row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tanager._types import OpenForest
from tanager.model import make_groups, make_layout
from tanager.structure import depth_first_order, fixed_parents
from tests.oracles import settling_oracle
from tests.strategies import SEEDS


@st.composite
def forests(draw):
    """A random forest over at most four features, with groups of parents' values or without."""
    rng = np.random.default_rng(draw(SEEDS))
    n_features, n_classes = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cards = draw(st.lists(st.integers(1, 3), min_size=n_features, max_size=n_features))
    order = rng.permutation(n_features)
    parents = np.full(n_features, -1)
    for place, i in enumerate(order):
        parents[i] = rng.choice([-1, *order[:place]])
    maps = [np.arange(card) for card in cards]
    groups = None
    if draw(st.booleans()):
        maps = [np.sort(rng.integers(0, 2, card)) for card in cards]
        maps = [each - each.min() for each in maps]
        groups = make_groups(maps)
    layout = make_layout(fixed_parents(parents), cards, n_classes, groups=groups)
    start = np.cumsum([0, *cards])
    order = depth_first_order(parents)
    forest = OpenForest(
        rng.normal(size=layout.size), rng.normal(size=n_classes), layout.cpts, order, np.concatenate(maps), start
    )
    return layout, parents.tolist(), [each.tolist() for each in maps], forest


def tables_of(layout, forest):
    return [layout.cpt(forest.theta, i) for i in range(len(layout.cards))]


def joint_of(layout, parents, maps, forest):
    return settling_oracle.joint_table(
        tables_of(layout, forest), forest.log_prior, parents, maps, layout.cards.tolist()
    )


def random_frequencies(layout, rng):
    counts = rng.gamma(1.0, size=layout.size // layout.n_classes) + 0.05
    first = layout.cpts.offset // layout.n_classes
    return np.concatenate([part / part.sum() for part in np.split(counts, first[1:-1])])


@given(forests())
@settings(max_examples=60)
def test_normalising_keeps_the_distribution(case):
    layout, *_, forest = case
    before = joint_of(*case)
    core.normalise_forest(forest)
    np.testing.assert_allclose(joint_of(*case), before, atol=1e-12)
    for table in tables_of(layout, forest):
        np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0)
    assert np.exp(forest.log_prior).sum() == pytest.approx(1.0)


@given(forests(), SEEDS, st.integers(0, 8))
@settings(max_examples=60)
def test_settling_equals_fitting_the_table_of_all_rows(case, seed, n_sweeps):
    layout, parents, maps, forest = case
    rng = np.random.default_rng(seed)
    cards, n_classes = layout.cards.tolist(), layout.n_classes
    frequencies, classes = random_frequencies(layout, rng), rng.dirichlet(np.full(n_classes, 3.0))
    first = layout.cpts.offset // n_classes
    above = [1 if j < 0 else max(maps[j]) + 1 for j in parents]
    targets = [frequencies[first[i] : first[i + 1]].reshape(above[i], cards[i]) for i in range(len(cards))]
    tolerance = np.full(n_classes, 0.01)
    structure = (parents, maps, forest.order.tolist(), cards)
    expected = settling_oracle.settle(joint_of(*case), targets, classes, tolerance, *structure, n_sweeps)
    core.settle(forest, frequencies, classes, tolerance, n_sweeps)
    np.testing.assert_allclose(joint_of(*case), expected, rtol=1e-8, atol=1e-12)


def test_it_ends_where_frequencies_are_right():
    layout = make_layout(fixed_parents([-1, 0]), [2, 2], n_classes=2)
    forest = OpenForest(
        np.zeros(12), np.zeros(2), layout.cpts, np.arange(2), np.array([0, 1, 0, 1]), np.array([0, 2, 4])
    )
    goal = (np.array([0.5, 0.5, 0.25, 0.25, 0.25, 0.25]), np.full(2, 0.5), np.full(2, 0.1))
    core.settle(forest, *goal, 1000)
    np.testing.assert_allclose(forest.theta, 0.0, atol=1e-12)


@given(forests(), SEEDS)
@settings(max_examples=40)
def test_frequencies_are_smoothed_by_those_of_the_values_alone(case, seed):
    layout, *_ = case
    counts = np.random.default_rng(seed).poisson(2.0, layout.size).astype(float)
    given_parent, joint = (np.empty(layout.size // layout.n_classes) for _ in range(2))
    core.fill_frequencies(tuple(layout.cpts), counts, layout.n_classes, 7.0, given_parent, joint)
    first = layout.cpts.offset // layout.n_classes
    for i, card in enumerate(layout.cards.tolist()):
        of_pair = layout.cpt(counts, i).sum(axis=2)
        found, both = (each[first[i] : first[i + 1]].reshape(of_pair.shape) for each in (given_parent, joint))
        for g, line in enumerate(of_pair):
            for x in range(card):
                alone = (of_pair[:, x].sum() + 1) / (of_pair.sum() + card)
                expected = (line[x] + 7.0 * alone) / (line.sum() + 7.0)
                assert found[g, x] == pytest.approx(expected)
                assert both[g, x] == pytest.approx(expected * (line.sum() + 1) / (of_pair.sum() + len(of_pair)))
        assert both.sum() == pytest.approx(1.0)


def small_forest(**changes):
    layout = make_layout(fixed_parents([-1, 0]), [2, 2], n_classes=2)
    forest = OpenForest(
        np.zeros(12), np.zeros(2), layout.cpts, np.arange(2), np.array([0, 1, 0, 1]), np.array([0, 2, 4])
    )
    return forest._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": np.array([1, 0])}, "order must be depth first"),
        ({"order": np.array([0, 0])}, "order must have each feature once"),
        ({"group": np.array([0, 2, 0, 1])}, "group holds 2, which is outside 0 to 1"),
        ({"group": np.array([0, 1])}, "group must have as many entries"),
        ({"start": np.array([0, 1, 4])}, "start does not fit"),
        ({"theta": np.zeros(11)}, "theta must have 12 entries, not 11"),
    ],
)
def test_forests_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        core.normalise_forest(small_forest(**changes))
