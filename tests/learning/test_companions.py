"""Companions: the groups they are learned over, and that the members together are the weighted sum that is wanted."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification

from tanager import GradientDescent, Pseudo
from tanager.data.mdlp import mdlp_cuts
from tanager.learning import (
    Companion,
    Context,
    DisjointTrees,
    EnsembleRecipe,
    IndependentSearches,
    PenalisedLikelihood,
    Rows,
    bins_of,
    held_out_gains,
)
from tanager.learning.companions import class_groups
from tanager.learning.edges import Edges
from tanager.model import average_networks

QUICK = GradientDescent(epochs=3, batch_size=50)
TREES = EnsembleRecipe(DisjointTrees(2, "residual"), PenalisedLikelihood(1.0, 1.0), is_joint=True)


@pytest.fixture(scope="module")
def rows():
    X, y = load_digits(return_X_y=True)
    used = X.std(axis=0) > 4
    codes = X[:400, used][:, :12].astype(np.uint8)
    return Rows(codes, y[:400], None, np.full(12, 17), 10, np.full(12, 17))


def mean_log_joint(learned, codes):
    return average_networks([each.fitted.network for each in learned]).log_joint(codes)


def odds(log_joint):
    return log_joint - log_joint[:, :1]


def test_the_members_together_are_the_weighted_sum(rows):
    context, companion = Context(rows), Companion(DisjointTrees(3), QUICK, 0.7, 0.2)
    learned = TREES.set_params(companion=companion).learn(context, 0)
    assert [each.is_companion for each in learned] == [False] * 2 + [True] * 3
    groups = class_groups(rows)
    coarse = context.regrouped(groups)
    own = mean_log_joint(TREES.learn(context, 0), rows.codes)
    other = mean_log_joint(companion.recipe().learn(coarse, 0), coarse.rows.codes)
    expected = 0.7 * odds(own) + 0.2 * odds(other)
    np.testing.assert_allclose(odds(mean_log_joint(learned, rows.codes)), expected, atol=1e-3)
    assert len({id(each.fitted.network.layout.groups) for each in learned}) == 1
    assert all((each.fitted.network.cards == rows.cards).all() for each in learned)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_number_of_threads_has_no_influence(rows, n_threads):
    recipe = TREES.set_params(companion=Companion(DisjointTrees(3), QUICK))
    one, several = (recipe.learn(Context(rows, n_threads=n), 0) for n in (1, n_threads))
    for each, other in zip(one, several, strict=True):
        np.testing.assert_array_equal(each.fitted.network.theta, other.fitted.network.theta)


def test_structures_that_were_found_are_kept_apart(rows):
    recipe = TREES.set_params(companion=Companion(DisjointTrees(3), QUICK))
    learned = recipe.learn(Context(rows), 0)
    fixed = recipe.with_structures_of(learned)
    again = fixed.learn(Context(rows), 0)
    assert [each.fitted.network.parents.tolist() for each in again] == [
        each.fitted.network.parents.tolist() for each in learned
    ]
    child, parent = (np.array([ends]) for ends in (1, learned[0].fitted.network.parents[1]))
    unknown = np.full(1, np.nan)
    found = held_out_gains(Edges(child, parent, unknown, unknown, unknown), fixed, rows, 0, 1.0)
    assert np.isfinite(found.gain).all()


def test_parameters_with_groups_of_their_own_can_be_a_companions(rows):
    context, companion = Context(rows), Companion(DisjointTrees(2), PenalisedLikelihood(1.0, 1.0), 0.5, 0.5)
    coarse = context.regrouped(class_groups(rows))
    own = mean_log_joint(TREES.learn(context, 0), rows.codes)
    other = mean_log_joint(companion.recipe().learn(coarse, 0), coarse.rows.codes)
    joined = mean_log_joint(TREES.set_params(companion=companion).learn(context, 0), rows.codes)
    np.testing.assert_allclose(odds(joined), 0.5 * odds(own) + 0.5 * odds(other), atol=1e-3)


def test_what_a_companion_chooses_is_decided_by_tuning(rows):
    context, companion = Context(rows), Companion("trees", PenalisedLikelihood())
    recipe = TREES.set_params(companion=companion)
    tuned = recipe.tuned(context, 0)
    assert tuned.companion.parameters.main == companion.tuned(context, 0).parameters.main != "auto"
    used = tuned.used(context).companion
    assert used.members == DisjointTrees()
    for each, other in zip(recipe.learn(context, 0), tuned.learn(context, 0), strict=True):
        np.testing.assert_array_equal(each.fitted.network.theta, other.fitted.network.theta)


def test_validation_rows_are_grouped_like_the_others(rows):
    groups = class_groups(rows)
    context = Context(rows, validation=rows.take(np.arange(30))).regrouped(groups)
    np.testing.assert_array_equal(context.validation.codes, context.rows.codes[:30])
    np.testing.assert_array_equal(context.validation.cards, groups.cards)


def test_nobody_judges_the_members_without_their_companion(rows):
    def fail(log_joint):
        raise AssertionError("watched")

    context = Context(rows, watch=fail)
    recipe = EnsembleRecipe(DisjointTrees(2), GradientDescent(epochs=8), is_joint=True)
    with pytest.raises(AssertionError, match="watched"):
        recipe.learn(context, 0)
    assert recipe.set_params(companion=Companion(DisjointTrees(2), QUICK)).learn(context, 0)


def test_trees_without_parents_have_a_companion_without_parents(rows):
    recipe = TREES.set_params(companion=Companion(DisjointTrees(3), QUICK)).without_parents(12)
    learned = recipe.learn(Context(rows), 0)
    assert [each.is_companion for each in learned] == [False, True]
    assert all((each.fitted.network.parents < 0).all() for each in learned)


def test_members_and_companion_are_trained_together():
    with pytest.raises(ValueError, match=r"companion requires members that are trained together"):
        TREES.set_params(is_joint=False, companion=Companion())
    with pytest.raises(ValueError, match=r"a companion requires GradientDescent or Penalised.*parameters='ml'"):
        Companion(parameters="ml")


def test_only_forests_can_be_companions(rows):
    cyclic = Companion(IndependentSearches(Pseudo(), 2), QUICK)
    with pytest.raises(ValueError, match=r"a companion requires forests"):
        TREES.set_params(companion=cyclic).learn(Context(rows), 0)


def test_numbers_are_grouped_where_classes_change_and_rare_words_together():
    rng = np.random.default_rng(0)
    number, y = rng.integers(0, 60, 2000), rng.integers(0, 2, 2000)
    y = np.where(number < 20, 0, np.where(number < 45, 1, y))
    few, word = rng.integers(0, 3, 2000), rng.zipf(1.5, 2000).clip(max=100) - 1
    missing = np.where(rng.random(2000) < 0.1, 60, number)  # the code behind those in order
    codes = np.stack([number, few, word, missing], axis=1)
    rows = Rows(codes, y, None, np.array([60, 3, 100, 61]), 2, np.array([60, 3, 0, 60]))
    groups = class_groups(rows)
    cuts = mdlp_cuts(number.astype(float), y)
    assert groups.of(0).tolist() == np.searchsorted(cuts, np.arange(60), side="right").tolist()
    assert groups.of(1).tolist() == [0, 1, 2]
    assert groups.cards[2] == 64
    counts = np.bincount(word, minlength=100)
    assert counts[groups.of(2) == 63].sum() <= counts[groups.of(2) == 0].sum()
    assert (groups.of(3) == groups.of(3)[60]).sum() == 1


def test_regrouped_rows_keep_what_is_unknown_and_what_is_in_order():
    codes = np.array([[0, 2], [3, 1], [4, 5], [2, 0]])
    rows = Rows(codes, np.array([0, 0, 1, 1]), None, np.array([4, 5]), 2, np.array([4, 0]))
    groups = class_groups(rows)
    context = Context(rows).regrouped(groups)
    assert context.rows.codes[2].tolist() == [groups.cards[0], groups.cards[1]]
    assert context.n_ordered.tolist() == [groups.cards[0], 0]
    assert context.rows.cards.tolist() == groups.cards.tolist()


def test_bins_of_recipes():
    assert bins_of(TREES) == "fine"
    assert bins_of(TREES.set_params(parameters=QUICK)) == "auto"
    assert bins_of(TREES.set_params(companion=Companion())) == "both"
    assert bins_of(TREES.set_params(parameters=QUICK, companion=Companion())) == "auto"


@pytest.mark.parametrize("name", ["own_weight", "weight"])
@pytest.mark.parametrize("value", [0, -1.0, float("inf"), "much", None])
def test_weights_are_checked(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be a finite number above 0, got {value!r}"):
        Companion(**{name: value})


def test_weights_of_rows_are_repeated_rows():
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, random_state=0)
    codes = np.stack([np.searchsorted(np.quantile(x, [0.2, 0.4, 0.6, 0.8]), x) for x in X.T], axis=1)
    times = np.random.default_rng(0).integers(0, 3, 300)
    weighted = Rows(codes, y, times.astype(float), np.full(5, 5), 2, np.full(5, 5))
    repeated = Rows(np.repeat(codes, times, axis=0), np.repeat(y, times), None, np.full(5, 5), 2, np.full(5, 5))
    assert class_groups(weighted).of_value.tolist() == class_groups(repeated).of_value.tolist()
