"""Strengths of penalties: which is taken, what is tuned, and which rows are held out for that."""

import numpy as np
import pytest

from tanager import DisjointTrees, PenalisedLikelihood, TANClassifier, TANEnsembleClassifier
from tanager.learning import ChowLiu, Context, Recipe, Rows, strengths
from tanager.learning.strengths import clearness, make_effects, smoothest, thin
from tanager.model import make_layout
from tanager.structure import EdgeRules, fixed_parents
from tests.learning.penalised_rows import GIVEN, TUNED, fit, hold_out_one_part_of_more, make_context, numbers

# Which strength is taken.

ONES = np.ones(100)


def losses(*means, spread=0.0, seed=0):
    """Log-losses of 100 rows for penalties from strong to weak, with given means."""
    rng = np.random.default_rng(seed)
    noise = [rng.normal(scale=spread, size=100) if spread else np.zeros(100) for _ in means]
    return {10.0**-k: mean + each - each.mean() for k, (mean, each) in enumerate(zip(means, noise, strict=True))}


def test_the_best_strength_is_taken_where_others_are_clearly_worse():
    assert smoothest(losses(0.7, 0.5, 0.6), ONES) == 0.1
    assert smoothest(losses(0.5, 0.6, 0.7), ONES) == 1.0
    assert smoothest(losses(0.7, 0.6, 0.5), ONES) == 0.01


def test_the_strongest_of_equals_is_taken():
    assert smoothest(losses(0.5, 0.5, 0.5), ONES) == 1.0
    assert smoothest({3.0: ONES}, ONES) == 3.0


def test_a_stronger_penalty_may_be_worse_by_less_than_chance():
    # Differences of rows have a standard error of about 1.4 / 10.
    assert smoothest(losses(0.51, 0.5, spread=1.0), ONES) == 1.0
    assert smoothest(losses(0.9, 0.5, spread=1.0), ONES) == 0.1
    assert smoothest(losses(0.51, 0.5, spread=0.01), ONES) == 0.1


def test_weights_decide_which_rows_count():
    found = {1.0: np.where(np.arange(100) < 50, 1.0, 0.0), 0.1: np.full(100, 0.45)}
    assert smoothest(found, np.where(np.arange(100) < 50, 9.0, 1.0)) == 0.1
    assert smoothest(found, np.where(np.arange(100) < 50, 1.0, 9.0)) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_noise_asks_for_strong_penalties(seed):
    rng = np.random.default_rng(seed)
    clf = fit(rng.uniform(size=(500, 3)), rng.integers(0, 2, 500), "none", TUNED)
    assert clf.options_["parameters"].main == 300.0
    probability = clf.predict_proba(rng.uniform(size=(500, 3)))[:, 1]
    assert np.ptp(probability) < 0.4


@pytest.mark.parametrize("seed", range(3))
def test_a_clean_fine_signal_asks_for_weak_penalties(seed):
    rng = np.random.default_rng(seed)
    X, X_test = rng.uniform(size=(2, 800, 2))
    y, y_test = (np.sin(12 * each[:, 0]) > 0 for each in (X, X_test))
    clf = fit(X, y, "none", TUNED)
    assert clf.options_["parameters"].main <= 1.0
    assert clf.score(X_test, y_test) > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_features_that_tell_the_class_only_together_ask_for_weak_penalties_of_pairs(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(600, 3))
    clf = fit(X, (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5), "chow-liu", TUNED)
    assert clf.options_["parameters"].pairs <= 1.0
    assert clf.options_["parameters"].main >= 10.0
    assert clf.score(X, (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)) > 0.9


def wavy_pair(n_rows, seed):
    """Two numbers that tell the class together only, in many small fields."""
    X = np.random.default_rng(seed).uniform(size=(n_rows, 2))
    return X, np.sin(14 * X[:, 0]) * np.sin(14 * X[:, 1]) > 0


def test_fine_groups_are_taken_where_held_out_rows_want_them():
    X, y = wavy_pair(3000, 0)
    fine, coarse = (fit(X, y, parameters=PenalisedLikelihood(max_groups=most)) for most in ("auto", 12))
    assert fine.options_["parameters"].max_groups == 32
    assert fine.network_.groups_of(0).max() + 1 > coarse.network_.groups_of(0).max() + 1 == 12
    X_test, y_test = wavy_pair(2000, 1)
    assert fine.score(X_test, y_test) > coarse.score(X_test, y_test) + 0.02


def test_fine_groups_are_not_tried_where_pairs_have_strong_penalties(monkeypatch):
    monkeypatch.setattr(strengths, "_FINE", "an error if used")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 3))
    clf = fit(X, X[:, 0] + rng.normal(scale=0.3, size=500) > 0.5, parameters=TUNED)
    assert clf.options_["parameters"].max_groups == 12


def test_few_values_have_no_finer_groups(monkeypatch):
    X, y = wavy_pair(600, 0)
    calls, make = [], strengths.make_effects
    monkeypatch.setattr(strengths, "make_effects", lambda *args: calls.append(args[2].cards.max()) or make(*args))
    fit(np.floor(10 * X), y, parameters=TUNED)
    n_coarse = len(calls)
    fit(np.floor(10 * X), y, parameters=PenalisedLikelihood(max_groups=12))
    assert len(calls) == 2 * n_coarse


def rough_and_smooth(n_rows=3000, seed=0):
    """A number whose single values tell the class, and three that tell it smoothly or not at all."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 40, n_rows), rng.uniform(size=(n_rows, 3))])
    jagged = np.where(np.isin(X[:, 0], [3, 8, 9, 20, 27, 33]), 3.0, -1.0)
    return X, jagged + 3 * X[:, 1] + rng.logistic(size=n_rows) > 1.5


SPARSE = PenalisedLikelihood(least_gain="auto")


def n_pairs(clf):
    return int(sum((network.parents >= 0).sum() for network in (each.network_ for each in clf.estimators_)))


@pytest.mark.parametrize("seed", range(3))
def test_pairs_without_a_gain_are_left_out_where_held_out_rows_want_it(seed):
    X, y = numbers(n_rows=1000, n_features=8, seed=seed)
    X_test, y_test = numbers(n_rows=4000, n_features=8, seed=seed + 10)
    dense, sparse = (
        TANEnsembleClassifier(DisjointTrees(3, "residual"), each, random_state=0).fit(X, y) for each in (TUNED, SPARSE)
    )
    assert sparse.options_["parameters"].least_gain in (0.0, 2.0)
    assert n_pairs(dense) == 21
    assert n_pairs(sparse) < 8
    of_class = [-np.log(each.predict_proba(X_test)[np.arange(4000), y_test]).mean() for each in (dense, sparse)]
    assert of_class[1] < of_class[0] - 0.01


def test_pairs_that_tell_little_each_stay_where_they_tell_much_together():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 12)) * 0.2
    X[:, 6:] += rng.choice([-1.0, 1.0], (400, 6))
    X[:, :6] += X[:, 6:] * (2 * y[:, None] - 1) * 0.4
    assert fit(X, y, ChowLiu("residual"), SPARSE).options_["parameters"].least_gain != 2.0


def test_what_a_kept_pair_must_gain_can_be_given():
    X, y = numbers(n_rows=1000, n_features=8)
    few = fit(X, y, ChowLiu("residual"), GIVEN.set_params(least_gain=1e9))
    assert (few.network_.parents >= 0).sum() == 1  # the clearest stays
    assert few.options_["parameters"].least_gain == 1e9
    assert (fit(X, y, ChowLiu("residual"), GIVEN).network_.parents >= 0).sum() == 7


def test_features_get_strengths_of_their_own_where_held_out_rows_want_them():
    X, y = rough_and_smooth()
    own, same = (fit(X, y, "none", PenalisedLikelihood(adaptive=adaptive)) for adaptive in ("auto", False))
    assert own.options_["parameters"].adaptive is True
    assert same.options_["parameters"].adaptive is False
    X_test, y_test = rough_and_smooth(seed=1)
    losses = [-np.log(clf.predict_proba(X_test)[np.arange(3000), y_test.astype(int)]).mean() for clf in (own, same)]
    assert losses[0] < losses[1]


def test_given_strengths_are_where_adapting_starts():
    X, y = rough_and_smooth()
    plain, own = (fit(X, y, "none", PenalisedLikelihood(1.0, 1.0, adaptive=adaptive)) for adaptive in ("auto", True))
    spread = [np.ptp(np.log(clf.network_.cpt(0)[0, :, 1] / clf.network_.cpt(0)[0, :, 0])) for clf in (plain, own)]
    assert spread[1] > 1.3 * spread[0]


# Tuning.


@pytest.fixture
def no_folds(monkeypatch):
    """Holding rows out is an error."""

    def refuse(*args):
        raise AssertionError("rows are held out")

    monkeypatch.setattr(strengths, "hold_out", refuse)


def lay_out(context):
    return [Recipe("chow-liu", GIVEN).lay_out(context, 0)]


def test_given_strengths_are_not_tuned(no_folds):
    context = make_context()
    assert GIVEN.tuned(lay_out, context, 0) is GIVEN
    fit(*numbers())
    TANEnsembleClassifier(DisjointTrees(2), GIVEN, random_state=0).fit(*numbers())


def test_tuned_strengths_are_not_tuned_again(monkeypatch):
    context = make_context()
    tuned = TUNED.tuned(lay_out, context, 0)
    assert "auto" not in (tuned.main, tuned.pairs, tuned.max_groups, tuned.adaptive)
    monkeypatch.setattr(strengths, "hold_out", None)
    assert tuned.tuned(lay_out, context, 0) is tuned


@pytest.mark.parametrize("name", ["main", "pairs"])
def test_a_strength_that_is_given_stays(name):
    tuned = PenalisedLikelihood(**{name: 0.123}).tuned(lay_out, make_context(), 0)
    assert getattr(tuned, name) == 0.123
    assert "auto" not in (tuned.main, tuned.pairs)


def test_rows_are_held_out_once_for_all_structures(monkeypatch):
    calls, context = [], make_context()
    hold_out = strengths.hold_out
    monkeypatch.setattr(strengths, "hold_out", lambda *args: calls.append(args) or hold_out(*args))
    for structure in ("none", "chow-liu", "random"):
        Recipe(structure, TUNED).tuned(context, 0)
    assert len(calls) == 1
    Recipe("none", TUNED).tuned(context, 1)
    assert len(calls) == 2


def test_structures_that_were_tried_before_have_no_influence():
    first, second = make_context(), make_context()
    Recipe("none", TUNED).tuned(first, 0)
    Recipe("random", TUNED).tuned(first, 0)
    assert Recipe("chow-liu", TUNED).tuned(first, 0) == Recipe("chow-liu", TUNED).tuned(second, 0)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_few_rows_are_not_held_out(no_folds, n_rows):
    X, _ = numbers(n_rows)
    clf = fit(X, np.arange(n_rows) % 2, parameters=TUNED)
    assert (clf.options_["parameters"].main, clf.options_["parameters"].pairs) == (1.0, 1.0)


def test_without_pairs_their_strength_is_not_searched_for():
    tuned = TUNED.tuned(lambda context: [Recipe("none", GIVEN).lay_out(context, 0)], make_context(), 0)
    assert tuned.pairs == 1.0
    assert tuned.main != "auto"


def test_tuning_leaves_the_value_itself():
    parameters = PenalisedLikelihood()
    fit(*numbers(), parameters=parameters)
    assert parameters == PenalisedLikelihood()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("many_rows", "enough_rows", "many_cells", "n_folds"),
    [(300, 300, 0, 3), (299, 300, 900, 1), (300, 299, 900, 3), (300, 299, 899, 1)],
)
def test_one_part_is_held_out_where_rows_or_columns_are_many(monkeypatch, many_rows, enough_rows, many_cells, n_folds):
    limits = {"_MANY_ROWS": many_rows, "_ENOUGH_ROWS": enough_rows, "_MANY_CELLS": many_cells}
    for name, value in limits.items():
        monkeypatch.setattr(strengths, name, value)
    monkeypatch.setattr("tanager.learning.rows._FEW_ROWS", 300)
    assert len(strengths._make_folds(make_context(n_rows=300), 0)) == n_folds


@pytest.mark.parametrize(("many_rows", "n_each"), [(1000, 2), (100, 7)])
def test_parts_that_are_held_out_share_the_threads(monkeypatch, many_rows, n_each):
    hold_out_one_part_of_more(many_rows, monkeypatch)
    seen = set()

    def count_threads(*given):
        seen.add(given[-1])
        return make_effects(*given)

    monkeypatch.setattr(strengths, "make_effects", count_threads)
    TUNED.tuned(lay_out, make_context(n_threads=7), 0)
    assert seen == {n_each}


def test_strengths_for_many_classes_are_near_those_that_all_of_them_ask_for(monkeypatch):
    """With 300 classes of 6 rows each; without copies of classes penalties would be chosen that are much weaker."""
    rng = np.random.default_rng(0)
    centres, y = rng.normal(size=(300, 3)) * 2, np.repeat(np.arange(300), 6)
    X = centres[y] + rng.normal(size=(len(y), 3))

    def strength():
        return TANClassifier("none", PenalisedLikelihood(), random_state=0).fit(X, y).options_["parameters"].main

    of_some = strength()
    monkeypatch.setattr("tanager.learning.context.MOST_CLASSES", 300)
    assert 1 / 3.5 < of_some / strength() < 3.5


# Which pairs are kept.

CHAIN = [-1, 0, 1, 2]


def pair_context(n_rows=4000, n_classes=2, rules=None, seed=0):
    """Four features of which only the first two, together, tell the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (n_rows, 4)).astype(np.uint8)
    y = np.where(rng.random(n_rows) < 0.7, (codes[:, 0] + codes[:, 1]) % n_classes, rng.integers(0, n_classes, n_rows))
    return Context(Rows(codes, y, None, np.full(4, 6), n_classes, np.full(4, 6)), rules=rules)


def parents_of(layouts):
    return [each.parent_sets.parents.tolist() for each in layouts]


def thinned(context, least, structures=(CHAIN,)):
    rows = context.rows
    layouts = [
        make_layout(fixed_parents(each), rows.cards, rows.n_classes, groups=context.groups()) for each in structures
    ]
    return parents_of(thin(layouts, context, least))


def test_noise_is_within_a_few_deviations_of_chance_and_a_signal_is_not():
    for n_classes in (2, 3):
        for seed in range(5):
            found = clearness(pair_context(n_classes=n_classes, seed=seed))
            others = found[np.triu_indices(4, 1)][1:]
            assert found[0, 1] > 20
            assert -6 < others.min() < others.max() < 3  # main effects have taken some of the noise


def test_pairs_below_the_least_gain_are_left_out_of_all_structures():
    context = pair_context()
    assert thinned(context, 5.0, (CHAIN, [2, 3, -1, 0])) == [[-1, 0, -1, -1], [-1, -1, -1, -1]]
    assert thinned(context, -100.0) == [CHAIN]


def test_the_clearest_pair_stays():
    assert thinned(pair_context(), 1e9) == [[-1, 0, -1, -1]]
    assert thinned(pair_context(), 1e9, ([-1, -1, -1, -1],)) == [[-1, -1, -1, -1]]


def test_required_edges_stay():
    rules = EdgeRules.from_edges(4, [], [(2, 3)])
    assert thinned(pair_context(rules=rules), 5.0) == [[-1, 0, -1, 2]]


def test_pairs_without_values_in_common_are_no_error():
    rows = Rows(np.zeros((5, 1), np.uint8), np.array([0, 1, 0, 1, 1]), None, np.array([1]), 2)
    assert thinned(Context(rows), 0.0, ([-1],)) == [[-1]]
