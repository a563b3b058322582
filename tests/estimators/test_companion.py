"""Ensembles with a companion: chosen, given, left out, kept in files, explained."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

import tanager
from tanager import Companion, DisjointTrees, GradientDescent, Margin, PenalisedLikelihood, TANEnsembleClassifier
from tanager.estimators.inputs import TrainingData
from tanager.learning import ENSEMBLE_PRESETS, EnsembleRecipe, Trials
from tests.fine_bins import people, with_companion

QUICK = GradientDescent(epochs=5)


@pytest.fixture(scope="module")
def many_columns():
    """Classes that depend on more pairs of columns than three trees have."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 18))
    score = sum(X[:, i] * X[:, (5 * i + 3) % 18] for i in range(18)) + X[:, :6].sum(axis=1)
    y = np.digitize(score + rng.normal(size=3000), [-2.0, 2.0])
    return X[:1500], y[:1500], X[1500:], y[1500:]


@pytest.fixture(scope="module")
def many_classes():
    """Classes that depend on three columns at a time."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 4000)
    X = rng.normal(size=(10, 8))[y] + rng.normal(size=(4000, 8)) * (1 + (y[:, None] % 3))
    for i in range(8):
        X[:, i] += X[:, (3 * i + 1) % 8] * X[:, (5 * i + 2) % 8] * (y % 2 - 0.5) / 2
    return X, y


class Pieces:
    """A source of pieces of 100 rows, of which memory may hold few."""

    def __init__(self, X, y, memory):
        self.memory = memory
        self._pieces = [(X[start : start + 100], y[start : start + 100]) for start in range(0, len(X), 100)]

    def pieces(self):
        yield from self._pieces


@pytest.fixture(scope="module")
def chosen(many_columns):
    return TANEnsembleClassifier(random_state=0).fit(*many_columns[:2])


@pytest.fixture(scope="module")
def joined():
    return with_companion()


def test_a_companion_is_chosen_where_held_out_rows_ask_for_it(many_columns, chosen):
    X, y, X_test, y_test = many_columns
    alone = TANEnsembleClassifier(companion=None, random_state=0).fit(X, y)
    assert chosen.choice_["preset"] == "trees and smooth margin"
    assert chosen.choice_["tried"] == ["trees", "smooth margin", "trees and smooth margin"]
    assert alone.choice_["tried"] == ["trees"]
    assert alone.options_["companion"] is None
    losses = [log_loss(y_test, clf.predict_proba(X_test)) for clf in (alone, chosen)]
    assert losses[1] < losses[0]
    assert chosen.choice_["log_losses"][2] == min(chosen.choice_["log_losses"])
    assert "Preset 'trees and smooth margin' was best of 3" in chosen.summary()


def test_who_gives_what_was_used_gets_the_same(many_columns, chosen):
    X, y, X_test, _ = many_columns
    used = {name: value for name, value in chosen.options_.items() if name != "is_joint"}
    again = TANEnsembleClassifier(**used, training="joint", calibrate=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(again.predict_proba(X_test), chosen.predict_proba(X_test), atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"combine": "probability"},
        {"training": "separate"},
        {"parameters": "penalised", "calibrate": True},
        {"binning": "quantile"},
        {"max_bins": 20},
        {"max_categories": 5},
    ],
    ids=str,
)
def test_a_companion_is_not_tried_where_something_is_given(many_columns, options):
    X, y, _, _ = many_columns
    clf = TANEnsembleClassifier(**options, random_state=0).fit(X[:300], y[:300])
    assert len(clf.choice_["tried"]) == 1
    assert 300 * clf.choice_["errors"][0] > 15


def test_presets_of_given_members_are_not_combined(many_classes):
    assert " and " in TANEnsembleClassifier(random_state=0).fit(*many_classes).choice_["preset"]
    given = TANEnsembleClassifier("trees", random_state=0).fit(*many_classes)
    assert given.choice_["tried"] == ["penalised", "margin", "wide margin"]


def test_without_parents_means_the_first_of_two_kinds(chosen):
    assert "Without parents the log-loss of 'trees' is higher by" in chosen.choice_["why"]


def test_trials_are_shown_with_the_sum(many_columns, chosen, capsys):
    X, y, _, _ = many_columns
    TANEnsembleClassifier(random_state=0, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    error, log_loss = (chosen.choice_[name][2] for name in ("errors", "log_losses"))
    assert f"trees and smooth margin: {error:.2%} wrong on held-out rows, log-loss {log_loss:.3f}\n" in shown


def test_rows_of_a_source_teach_their_companion_by_a_sample(monkeypatch):
    X, y = people()
    learned_from = []
    learn = EnsembleRecipe.learn

    def watched(recipe, context, seed):
        if isinstance(recipe.parameters, GradientDescent):
            learned_from.append(context)
        return learn(recipe, context, seed)

    monkeypatch.setattr(EnsembleRecipe, "learn", watched)
    members = {"members": DisjointTrees(2, "residual"), "parameters": PenalisedLikelihood(1.0, 1.0)}
    clf = TANEnsembleClassifier(**members, companion=Companion(DisjointTrees(2), GradientDescent()), random_state=0)
    clf.fit(Pieces(X, y, memory=20_000))
    assert learned_from
    for context in learned_from:
        assert context.population is None
        assert len(context.rows.y) < len(y)
    # What members say of their training is what they had.
    companion, member = clf.options_["companion"].parameters, clf.estimators_[-1]
    assert member.options_["parameters"].epochs == companion.epochs == len(member.history_["loss"])


def test_a_source_that_fits_into_memory_gives_the_same():
    X, y = people()
    members = {"members": DisjointTrees(2, "residual"), "parameters": PenalisedLikelihood(1.0, 1.0)}
    clf = TANEnsembleClassifier(**members, companion=Companion(DisjointTrees(2), QUICK), random_state=0)
    in_memory = clone(clf).fit(X, y).predict_proba(X)
    streamed = clf.fit(Pieces(X, y, memory=10**9)).predict_proba(X)
    assert np.abs(streamed - in_memory).max() < 0.05


def test_room_for_two_kinds_of_trees_depends_on_their_number_and_on_words(many_columns):
    X, y, _, _ = many_columns
    words = np.random.default_rng(0).integers(0, 60, (3000, 16)).astype(str)
    for rows, classes, is_there in ((X, y, True), (words, np.arange(3000) % 100, False)):
        clf = TANEnsembleClassifier(random_state=0)
        data = TrainingData(clf, rows, classes, None, 1)
        trials = Trials(data, 0, 0, lambda learned: None)
        assert trials._has_room(list(ENSEMBLE_PRESETS.values())) is is_there


def test_bins_of_coarse_members_stay_coarse(many_columns):
    X, y, _, _ = many_columns
    options = {"members": DisjointTrees(2), "parameters": QUICK, "random_state": 0}
    alone = TANEnsembleClassifier(**options).fit(X, y)
    joined = TANEnsembleClassifier(**options, companion=Companion(DisjointTrees(2), QUICK)).fit(X, y)
    for mine, other in zip(alone.encoder_.columns, joined.encoder_.columns, strict=True):
        np.testing.assert_array_equal(mine.cuts, other.cuts)


def test_no_more_bins_than_were_asked_for(many_columns):
    X, y, _, _ = many_columns
    options = {"members": DisjointTrees(2), "parameters": PenalisedLikelihood(1.0, 1.0), "max_bins": 7}
    clf = TANEnsembleClassifier(**options, companion=Companion(DisjointTrees(2), QUICK), random_state=0).fit(X, y)
    alone = TANEnsembleClassifier(**options, random_state=0).fit(X, y)
    assert max(len(column.cuts) for column in clf.encoder_.columns) <= 6
    for column, other in zip(clf.encoder_.columns, alone.encoder_.columns, strict=True):
        np.testing.assert_array_equal(column.cuts, other.cuts)


def test_little_time_leaves_the_companion_out(many_columns, monkeypatch):
    X, y, _, _ = many_columns
    monkeypatch.setattr(
        "tanager.estimators.inputs.TrainingData.is_over", lambda self, what: "was left out" in what, raising=True
    )
    clf = TANEnsembleClassifier(random_state=0).fit(X, y)
    assert clf.choice_["preset"] == "trees"
    assert clf.choice_["tried"][2] == "trees and smooth margin"
    assert clf.options_["companion"] is None
    assert "was taken, since there was no time to learn 'trees and smooth margin'" in clf.choice_["why"]
    alone = TANEnsembleClassifier(companion=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("limit", ["_MOST_CELLS", "_MOST_ENTRIES"])
def test_large_tables_have_none(many_columns, monkeypatch, limit):
    X, y, _, _ = many_columns
    monkeypatch.setattr(f"tanager.learning.best_recipe.{limit}", 20_000)
    assert TANEnsembleClassifier(random_state=0).fit(X, y).choice_["tried"] == ["trees"]


def test_few_columns_have_none():
    X, y = make_classification(400, 15, n_informative=8, flip_y=0.2, random_state=0)
    assert TANEnsembleClassifier(random_state=0).fit(X, y).choice_["tried"] == ["trees"]


def test_few_errors_cannot_tell():
    X, y = make_classification(300, 16, n_informative=8, class_sep=4.0, flip_y=0.02, random_state=0)
    clf = TANEnsembleClassifier(random_state=0).fit(X, y)
    assert clf.choice_["tried"] == ["trees"]
    assert 0 < 300 * clf.choice_["errors"][0] < 15


def test_the_number_of_threads_has_no_influence(many_columns, chosen):
    X, y, X_test, _ = many_columns
    other = TANEnsembleClassifier(random_state=0, n_jobs=2).fit(X, y)
    assert other.choice_ == chosen.choice_
    np.testing.assert_array_equal(other.predict_proba(X_test), chosen.predict_proba(X_test))


def test_weights_add_up_the_log_odds_of_both():
    X, y = people()
    companion = Companion(DisjointTrees(2), QUICK, 0.8, 0.3)
    members, how = DisjointTrees(2, "residual"), {"calibrate": False, "random_state": 0}

    def odds(companion):
        clf = TANEnsembleClassifier(members, PenalisedLikelihood(1.0, 1.0), companion=companion, **how).fit(X, y)
        return np.diff(clf.predict_log_proba(X), axis=1)

    full, half, alone = (odds(each) for each in (companion, companion.set_params(own_weight=0.4, weight=0.15), None))
    np.testing.assert_allclose(full, 2 * half, atol=1e-3)
    assert np.abs(full - 0.8 * alone).max() > 0.1


def test_files_hold_companions(joined, tmp_path):
    X, _ = people()
    joined.save(tmp_path / "model.tanager")
    loaded = tanager.load(tmp_path / "model.tanager")
    assert loaded.companion == joined.companion
    assert loaded.options_ == joined.options_
    np.testing.assert_array_equal(loaded.predict_proba(X), joined.predict_proba(X))


def test_explanations_add_up_to_the_log_odds(joined):
    X, _ = people()
    log_proba = joined.predict_log_proba(X[:50])
    of_features = joined.explain_rows(X[:50], joined.classes_[:2])
    np.testing.assert_allclose(of_features.sum(axis=1), log_proba[:, 0] - log_proba[:, 1], atol=1e-4)


def test_every_value_of_the_options_can_be_reached():
    clf = TANEnsembleClassifier(companion=Companion()).set_params(companion__parameters__epochs=7)
    assert clf.companion.parameters.epochs == 7
    assert ENSEMBLE_PRESETS["smooth margin"].parameters.epochs == "auto"


@pytest.mark.parametrize("companion", ["always", 3, DisjointTrees(2), Companion], ids=str)
def test_what_is_not_a_companion_is_refused(companion):
    with pytest.raises(ValueError, match=r"companion must be 'auto', None or a value such as Companion\(\)"):
        TANEnsembleClassifier(companion=companion).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"combine": "probability"}, r"companion requires combine='log', got combine='probability'"),
        ({"monotonic_cst": {0: 1}}, r"monotonic_cst and companion exclude each other"),
    ],
)
def test_options_that_a_companion_excludes(options, message):
    with pytest.raises(ValueError, match=message):
        TANEnsembleClassifier(companion=Companion(parameters=GradientDescent(Margin())), **options).fit(
            [[0], [1]], [0, 1]
        )
