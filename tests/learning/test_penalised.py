"""Parameters at the optimum of a penalised conditional likelihood: strengths, networks, and estimators with them."""

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import check_is_fitted

from tanager import (
    CoveringPaths,
    DisjointTrees,
    IndependentSearches,
    ParentSets,
    PenalisedLikelihood,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.learning import ChowLiu, Context, Recipe, Rows
from tanager.learning import penalised as penalised_module
from tanager.learning.penalised import make_effects, pairs_of, smoothest
from tanager.model import Effects, average_networks

GIVEN = PenalisedLikelihood(main=1.0, pairs=1.0)
TUNED = PenalisedLikelihood()


def numbers(n_rows=200, n_classes=2, n_features=4, seed=0):
    """Numbers of which some tell the class, two of them together only."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, n_features))
    score = 2 * X[:, 0] + 3 * X[:, -1] * X[:, -2] + rng.normal(scale=0.5, size=n_rows)
    return X, np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)


def make_context(n_rows=300, n_classes=3, n_threads=1, seed=0):
    """Two ordered features of 20 values, one of them with missing cells, and a category of 30."""
    rng = np.random.default_rng(seed)
    cards = np.array([20, 21, 30])
    codes = np.stack([rng.integers(0, card, n_rows) for card in cards], axis=1).astype(np.uint8)
    score = codes[:, 0] / 5 + (codes[:, 1] > 9) * (codes[:, 2] % 3) + rng.normal(size=n_rows)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    return Context(Rows(codes, y, None, cards, n_classes, np.array([20, 20, 0])), n_threads)


def fit(X, y, structure="chow-liu", parameters=GIVEN, weight=None, **options):
    return TANClassifier(structure, parameters, **{"random_state": 0, **options}).fit(X, y, weight)


def softmax(scores):
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


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
    monkeypatch.setattr(penalised_module, "_FINE", "an error if used")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 3))
    clf = fit(X, X[:, 0] + rng.normal(scale=0.3, size=500) > 0.5, parameters=TUNED)
    assert clf.options_["parameters"].max_groups == 12


def test_few_values_have_no_finer_groups(monkeypatch):
    X, y = wavy_pair(600, 0)
    calls, make = [], penalised_module.make_effects
    monkeypatch.setattr(
        penalised_module, "make_effects", lambda *args: calls.append(args[2].cards.max()) or make(*args)
    )
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

    monkeypatch.setattr(penalised_module, "hold_out", refuse)


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
    monkeypatch.setattr(penalised_module, "hold_out", None)
    assert tuned.tuned(lay_out, context, 0) is tuned


@pytest.mark.parametrize("name", ["main", "pairs"])
def test_a_strength_that_is_given_stays(name):
    tuned = PenalisedLikelihood(**{name: 0.123}).tuned(lay_out, make_context(), 0)
    assert getattr(tuned, name) == 0.123
    assert "auto" not in (tuned.main, tuned.pairs)


def test_rows_are_held_out_once_for_all_structures(monkeypatch):
    calls, context = [], make_context()
    hold_out = penalised_module.hold_out
    monkeypatch.setattr(penalised_module, "hold_out", lambda *args: calls.append(args) or hold_out(*args))
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


# Networks.


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
@pytest.mark.parametrize("parents", [[-1, -1, -1], [-1, 0, 1], [2, 0, -1], [1, 2, -1]])
def test_the_network_has_the_summed_effects_as_log_odds(n_classes, parents):
    context = make_context(n_classes=n_classes)
    layout = Recipe(parents, GIVEN).lay_out(context, 0)
    ((network, *_),) = GIVEN.learn([layout], context, 0, None)
    codes = context.rows.codes
    # The effects once more, fitted and added up by hand.
    effects = make_effects(context.merged_rows(), context.n_ordered, layout.groups, pairs_of([layout]))
    theta = effects.fit(1.0, 1.0)
    scores = effects.bias(theta) + sum(effects.main(theta, i)[codes[:, i]] for i in range(3))
    groups = [layout.groups.of(i)[codes[:, i]] for i in range(3)]
    scores = scores + sum(effects.pair(theta, p)[groups[a], groups[b]] for p, (a, b) in enumerate(effects.pairs))
    assert effects.pairs == sorted((min(i, j), max(i, j)) for i, j in enumerate(parents) if j >= 0)
    np.testing.assert_allclose(softmax(network.log_joint(codes)), softmax(scores), atol=2e-5)
    assert network.parents.tolist() == parents


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_the_network_is_normalised(n_classes):
    context = make_context(n_classes=n_classes)
    network = Recipe([-1, 0, 1], GIVEN).learn(context, 0).network
    for i in range(3):
        np.testing.assert_allclose(network.cpt(i).sum(axis=1), 1.0, atol=1e-4)
    assert np.exp(network.log_prior).sum() == pytest.approx(1.0)
    assert network.layout.groups.cards.max() <= 13
    every_row = np.stack(np.meshgrid(*map(np.arange, network.cards), indexing="ij"), axis=-1).reshape(-1, 3)
    assert np.exp(network.log_joint(every_row)).sum() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "structures",
    [[[-1, 0, 0], [-1, -1, 1]], [[-1, 0, 0], [1, -1, 1], [2, -1, -1]], [[-1, -1, -1], [-1, 0, -1]]],
    ids=["disjoint", "overlapping", "one without pairs"],
)
def test_the_average_of_several_trees_has_the_probabilities_of_all_effects(n_classes, structures):
    context = make_context(n_classes=n_classes)
    layouts = [Recipe(parents, GIVEN).lay_out(context, 0) for parents in structures]
    networks = [each.network for each in GIVEN.learn(layouts, context, 0, None)]
    rows = context.merged_rows()
    effects = make_effects(rows, context.n_ordered, layouts[0].groups, pairs_of(layouts))
    expected = effects.probabilities(effects.fit(1.0, 1.0))
    np.testing.assert_allclose(softmax(average_networks(networks).log_joint(rows.codes)), expected, atol=2e-5)
    for network in networks:
        for i in range(3):
            np.testing.assert_allclose(network.cpt(i).sum(axis=1), 1.0, atol=1e-4)


def test_unknown_values_are_summed_out():
    context = make_context()
    network = Recipe([-1, 0, 1], GIVEN).learn(context, 0).network
    row = np.array([[3, 21, 7]])
    filled = np.repeat(row, 21, axis=0)
    filled[:, 1] = np.arange(21)
    expected = np.logaddexp.reduce(network.log_joint(filled), axis=0)
    np.testing.assert_allclose(network.log_joint(row)[0], expected, atol=1e-5)


# Estimators.


ESTIMATORS = {
    "tree": lambda parameters, **options: TANClassifier("chow-liu", parameters, **options),
    "main effects": lambda parameters, **options: TANClassifier("none", parameters, **options),
    "open": lambda parameters, **options: TANClassifier("auto", parameters, **options),
    "joint trees": lambda parameters, **options: TANEnsembleClassifier(
        DisjointTrees(2), parameters, training="joint", **options
    ),
    "separate trees": lambda parameters, **options: TANEnsembleClassifier(
        DisjointTrees(2), parameters, training="separate", **options
    ),
    "joint paths": lambda parameters, **options: TANEnsembleClassifier(
        CoveringPaths(2), parameters, training="joint", **options
    ),
    "separate searches": lambda parameters, **options: TANEnsembleClassifier(
        IndependentSearches("random", 3), parameters, training="separate", **options
    ),
}


@pytest.fixture(params=ESTIMATORS)
def make(request):
    return ESTIMATORS[request.param]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_jobs(make, n_classes):
    X, y = numbers(n_classes=n_classes)
    fits = [make(TUNED, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 1, 2)]
    found = [clf.predict_proba(X).tobytes() for clf in fits]
    assert found[0] == found[1] == found[2]
    assert fits[0].options_ == fits[1].options_ == fits[2].options_


def test_whole_weights_are_repeated_rows(make):
    X, y = numbers()
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = make(GIVEN, random_state=0).fit(X, y, times)
    repeated = make(GIVEN, random_state=0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=0.01)


def test_other_weights_count_as_they_say():
    """Where the rows of one half weigh next to nothing, the other half is learned."""
    X, y = numbers(400)
    y[200:] = 1 - y[200:]
    weight = np.where(np.arange(400) < 200, 1.0, 1e-3)
    assert fit(X, y, weight=weight).score(X[:200], y[:200]) > 0.8
    assert fit(X, y, weight=weight[::-1]).score(X[200:], y[200:]) > 0.8


@pytest.mark.parametrize("parameters", [GIVEN, TUNED], ids=["given", "tuned"])
@pytest.mark.parametrize("missing", ["ignore", "value"])
def test_missing_cells(make, parameters, missing):
    X, y = numbers()
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    clf = make(parameters, missing=missing, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.65
    probability = clf.predict_proba(np.full((2, 4), np.nan))
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert np.isfinite(probability).all()


def test_a_row_without_any_value_has_the_shares_of_the_classes_where_cells_are_ignored():
    X, y = numbers(300)
    y = np.where(np.arange(300) % 3 == 0, 1, 0)
    X[:, 0] = y + np.random.default_rng(0).normal(size=300)
    probability = fit(X, y, "none", missing="ignore").predict_proba(np.full((1, 4), np.nan))
    np.testing.assert_allclose(probability[0], [2 / 3, 1 / 3], atol=0.1)


def test_a_column_may_have_its_few_values_in_a_held_out_part():
    X, y = numbers(60)
    X[:, 2] = np.nan
    X[5, 2] = 1.0
    TANClassifier(random_state=0, missing="ignore").fit(X, y)


@pytest.mark.parametrize("parameters", [GIVEN, TUNED], ids=["given", "tuned"])
class TestSmallData:
    def test_one_class(self, make, parameters):
        X, _ = numbers(50)
        clf = make(parameters, random_state=0).fit(X, np.full(50, "only"))
        assert clf.predict_proba(X).tolist() == [[1.0]] * 50
        assert set(clf.predict(X)) == {"only"}

    def test_one_row(self, make, parameters):
        X, _ = numbers(5)
        clf = make(parameters, random_state=0).fit(X[:1], [7])
        assert clf.predict(X).tolist() == [7] * 5

    @pytest.mark.parametrize("n_rows", [2, 3, 6, 7, 10])
    def test_few_rows(self, make, parameters, n_rows):
        X, _ = numbers(n_rows)
        y = np.arange(n_rows) % 3
        probability = make(parameters, random_state=0).fit(X, y).predict_proba(X)
        assert probability.shape == (n_rows, min(n_rows, 3))
        assert np.isfinite(probability).all()

    def test_one_feature(self, parameters):
        X, _ = numbers(200, n_features=2)
        y = X[:, 0] > 0
        for structure in ("none", "chow-liu", "random"):
            assert fit(X[:, :1], y, structure, parameters).score(X[:, :1], y) > 0.9
        ensemble = TANEnsembleClassifier(DisjointTrees(2), parameters, random_state=0).fit(X[:, :1], y)
        assert ensemble.score(X[:, :1], y) > 0.9

    def test_constant_columns_change_nothing(self, parameters):
        X, y = numbers(1000)
        constant = np.column_stack([X, np.ones(len(y)), np.full(len(y), np.nan)])
        plain = fit(X, y, [-1, 0, 0, 2], parameters)
        wide = fit(constant, y, [-1, 0, 0, 2, 1, 1], parameters)
        # Held-out rows are others, and may so choose other strengths.
        np.testing.assert_allclose(plain.predict_proba(X), wide.predict_proba(constant), atol=0.1)

    def test_only_constant_columns(self, make, parameters):
        X, y = np.ones((90, 3)), np.arange(90) % 3 == 0
        probability = make(parameters, random_state=0).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(probability, [[2 / 3, 1 / 3]] * 90, atol=0.02)


@pytest.mark.parametrize("parameters", [GIVEN, TUNED], ids=["given", "tuned"])
def test_a_category_of_a_thousand_values(parameters):
    """Each has an effect of its own, drawn towards none, and those that no row had have none."""
    rng = np.random.default_rng(0)
    value = rng.integers(0, 1000, 6000)
    y = (rng.random(6000) < np.where(value % 2 == 0, 0.9, 0.1)).astype(int)
    frame = pd.DataFrame({"code": value.astype(str), "noise": rng.normal(size=6000)})
    clf = fit(frame[:5000], y[:5000], "chow-liu", parameters)
    assert clf.network_.cards[0] > 900
    assert clf.score(frame[5000:], y[5000:]) > 0.8
    unseen = clf.predict_proba(pd.DataFrame({"code": ["never"], "noise": [0.0]}))
    assert 0.3 < unseen[0, 0] < 0.7


def test_options_show_the_strengths_that_were_used(make):
    clf = make(TUNED, random_state=0).fit(*numbers())
    ensemble = isinstance(clf, TANEnsembleClassifier)
    fitted = [clf] if not ensemble or clf.options_["is_joint"] else clf.estimators_
    for each in fitted:
        used = each.options_["parameters"]
        assert isinstance(used.main, float)
        assert isinstance(used.pairs, float)
    assert clf.parameters == TUNED


def test_joint_members_are_the_sum_of_their_effects_and_separate_ones_are_not():
    X, y = numbers(300)
    joint, separate = (
        TANEnsembleClassifier(DisjointTrees(2), GIVEN, training=training, random_state=0).fit(X, y)
        for training in ("joint", "separate")
    )
    assert len(joint.estimators_) == len(separate.estimators_) == 2
    # A member that was learned for itself is what it would be alone; joint ones have the other's effects to count on.
    for ensemble, is_alone in ((joint, False), (separate, True)):
        member = ensemble.estimators_[0]
        again = clone(member).fit(X, y)
        assert np.allclose(again.predict_proba(X), member.predict_proba(X), atol=1e-6) == is_alone


def test_joint_members_fit_at_least_as_well():
    X, y = numbers(500)
    losses = []
    for training in ("joint", "separate"):
        clf = TANEnsembleClassifier(DisjointTrees(2), GIVEN, training=training, random_state=0).fit(X, y)
        losses.append(-np.log(clf.predict_proba(X)[np.arange(500), y]).mean())
    assert losses[0] < losses[1]


def test_numbers_are_cut_finely_by_default():
    X, y = numbers(1000)
    assert fit(X, y).network_.cards.min() > 20
    assert fit(X, y, max_bins=5).network_.cards.max() <= 8
    assert fit(X, y, binning="quantile", max_bins=4).network_.cards.tolist() == [4] * 4


def test_more_groups_tell_more():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    y = (np.floor(X[:, 0] * 6) + np.floor(X[:, 1] * 6)) % 2
    few, many = (fit(X, y, [-1, 0], PenalisedLikelihood(0.1, 0.1, max_groups=n)).score(X, y) for n in (2, 12))
    assert few < 0.7 < many


# Options.


def test_parameters_are_options_of_the_classifier():
    clf = TANClassifier("none", PenalisedLikelihood(main=2.0))
    assert clf.get_params()["parameters__main"] == 2.0
    assert clf.get_params()["parameters__pairs"] == "auto"
    shared = clf.parameters
    clf.set_params(parameters__main=0.5, parameters__max_groups=4)
    assert clf.parameters == PenalisedLikelihood(0.5, max_groups=4)
    assert shared == PenalisedLikelihood(2.0)
    assert repr(clf.parameters) == "PenalisedLikelihood(main=0.5, max_groups=4)"


def test_a_clone_learns_the_same():
    X, y = numbers()
    clf = TANClassifier("chow-liu", PenalisedLikelihood(main=2.0), random_state=0)
    copy = clone(clf)
    assert copy.parameters == clf.parameters
    np.testing.assert_array_equal(clf.fit(X, y).predict_proba(X), copy.fit(X, y).predict_proba(X))
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(clf))


def test_a_word_stands_for_the_defaults():
    X, y = numbers()
    named, given = fit(X, y, parameters="penalised"), fit(X, y, parameters=TUNED)
    np.testing.assert_array_equal(named.predict_proba(X), given.predict_proba(X))
    assert named.options_ == given.options_


def test_a_grid_search_over_strengths():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = (np.sin(12 * X[:, 0]) > 0).astype(int)
    grid = {"parameters__main": [0.1, 1e4]}
    search = GridSearchCV(TANClassifier("none", GIVEN, random_state=0), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"parameters__main": 0.1}
    assert search.best_estimator_.options_["parameters"].main == 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"main": 0}, "main must be .*above 0, got 0"),
        ({"main": -1.0}, "main must be .*above 0"),
        ({"main": np.nan}, "main must be"),
        ({"main": np.inf}, "main must be"),
        ({"main": "strong"}, "main must be"),
        ({"main": None}, "main must be"),
        ({"main": True}, "main must be"),
        ({"pairs": 0.0}, "pairs must be .*above 0"),
        ({"pairs": "Auto"}, "pairs must be"),
        ({"max_groups": 1}, "max_groups must be a whole number of at least 2, got 1"),
        ({"max_groups": 2.5}, "max_groups must be a whole number"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        PenalisedLikelihood(**options)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        ("subset", "requires a fixed structure"),
        ("free", "requires a fixed structure"),
        ("k-dependence", "requires a fixed structure"),
        (ParentSets.from_lists([[-1], [-1], [(0, 1)], [-1]]), "two extra parents"),
        (ParentSets.from_lists([[1], [2], [0], [-1]]), "cycle"),
    ],
    ids=["subset", "free", "k-dependence", "pair", "cycle"],
)
def test_structures_that_are_refused(structure, message):
    clf = TANClassifier(structure, GIVEN)
    with pytest.raises(ValueError, match=message):
        clf.fit(*numbers(30))
    with pytest.raises(NotFittedError):
        check_is_fitted(clf)


# Interrupts.


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("call", [1, 10, -1], ids=["at first", "later", "at last"])
@pytest.mark.parametrize("kind", ["open", "joint trees", "separate trees"])
def test_a_fit_that_is_interrupted_leaves_the_classifier_as_it_was(kind, monkeypatch, n_jobs, call):
    (X, y), make = numbers(100), ESTIMATORS[kind]
    fit_effects, calls = Effects.fit, []

    def counting(self, *args, **options):
        calls.append(args)
        return fit_effects(self, *args, **options)

    monkeypatch.setattr(Effects, "fit", counting)
    clf = make(TUNED, random_state=0, n_jobs=n_jobs).fit(X, y)
    stop_at, fitted = len(calls) if call < 0 else call, dict(vars(clf))
    calls.clear()

    def stopping(self, *args, **options):
        calls.append(args)
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        return fit_effects(self, *args, **options)

    monkeypatch.setattr(Effects, "fit", stopping)
    fresh = make(TUNED, random_state=0, n_jobs=n_jobs)
    options = dict(vars(fresh))
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert vars(fresh) == options
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert all(vars(clf)[name] is value for name, value in fitted.items())


SCRIPT = """
    import numpy as np
    from sklearn.exceptions import NotFittedError
    from tanager import DisjointTrees, PenalisedLikelihood, TANClassifier, TANEnsembleClassifier
    from tanager.model import Effects

    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 50, (20_000, 10)), rng.integers(0, 9, 20_000)
    fit = Effects.fit

    def long_fit(self, *args, **options):
        print("begun", flush=True)
        while True:
            fit(self, *args, most_steps=10**9, tolerance=0.0)

    Effects.fit = long_fit
    clf = {make}
    try:
        clf.fit(X, y)
    except KeyboardInterrupt:
        try:
            clf.predict(X)
        except NotFittedError:
            print("interrupted and not fitted", flush=True)
"""


@pytest.mark.parametrize(
    "make",
    [
        "TANClassifier('none', PenalisedLikelihood(1.0, 1.0), n_jobs=1)",
        "TANEnsembleClassifier(DisjointTrees(2), PenalisedLikelihood(1.0, 1.0), n_jobs=2)",
    ],
    ids=["tree", "ensemble"],
)
def test_a_signal_ends_a_fit_between_two_steps(make):
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT).format(make=make)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout.readline() == "begun\n"
            time.sleep(0.5)
            started.send_signal(signal.SIGINT)
            output, messages = started.communicate(timeout=60)
        finally:
            if started.poll() is None:
                started.kill()
    assert output == "interrupted and not fitted\n", messages
    assert started.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("many_rows", "enough_rows", "many_cells", "n_folds"),
    [(300, 300, 0, 3), (299, 300, 900, 1), (300, 299, 900, 3), (300, 299, 899, 1)],
)
def test_one_part_is_held_out_where_rows_or_columns_are_many(monkeypatch, many_rows, enough_rows, many_cells, n_folds):
    limits = {"_MANY_ROWS": many_rows, "_ENOUGH_ROWS": enough_rows, "_MANY_CELLS": many_cells}
    for name, value in limits.items():
        monkeypatch.setattr(penalised_module, name, value)
    monkeypatch.setattr("tanager.learning.context._FEW_ROWS", 300)
    assert len(penalised_module._make_folds(make_context(n_rows=300), 0)) == n_folds


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
