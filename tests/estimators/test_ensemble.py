"""TANEnsembleClassifier: scikit-learn's rules, and what the average is."""

from functools import partial

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from tanager import (
    Counts,
    CoveringPaths,
    DisjointTrees,
    Free,
    GradientDescent,
    GreedySearch,
    Hybrid,
    IndependentSearches,
    NoParents,
    SampledStructures,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.data import as_frame
from tanager.learning import ENSEMBLE_PRESETS, NO_CHOICE, EnsembleRecipe, Recipe, ensembles
from tests.strategies import RowsOf

EVERY_KIND = [IndependentSearches("subset", 3), SampledStructures("subset", 3), DisjointTrees(3), CoveringPaths(3)]
subset_ensemble = partial(
    TANEnsembleClassifier, IndependentSearches("subset", 6), GradientDescent(epochs=15), random_state=0
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600], X[600:1000], y[600:1000]


@pytest.fixture(scope="module")
def ensemble(digits):
    X, y, _, _ = digits
    return subset_ensemble().fit(X, y)


def test_check_estimator():
    check_estimator(TANEnsembleClassifier(IndependentSearches("subset", 3), GradientDescent(epochs=20)), on_skip=None)


def test_merged_cpts_average_the_log_joints(digits, ensemble):
    _, _, X, _ = digits
    mean = np.mean([member.predict_joint_log_proba(X) for member in ensemble.estimators_], axis=0)
    codes = ensemble.encoder_.encode(as_frame(X))
    np.testing.assert_allclose(ensemble.average_.log_joint(codes), mean, rtol=1e-5)
    expected = np.exp(mean - logsumexp(mean, axis=1, keepdims=True))
    np.testing.assert_allclose(ensemble.predict_proba(X), expected, atol=1e-3)


def test_averaging_log_probabilities_is_the_same_up_to_scale(digits, ensemble):
    _, _, X, _ = digits
    mean = np.mean([member.predict_log_proba(X) for member in ensemble.estimators_], axis=0)
    expected = np.exp(mean - logsumexp(mean, axis=1, keepdims=True))
    np.testing.assert_allclose(ensemble.predict_proba(X), expected, atol=1e-3)


def test_averaged_probabilities(digits, ensemble):
    _, _, X, _ = digits
    mean = np.mean([member.predict_proba(X) for member in ensemble.estimators_], axis=0)
    proba = _with(ensemble, combine="probability").predict_proba(X)
    np.testing.assert_allclose(proba, mean, atol=1e-12)


def _with(ensemble, **options):
    other = clone(ensemble).set_params(**options)
    for name, value in vars(ensemble).items():
        if name.endswith("_"):
            setattr(other, name, value)
    return other


def test_members_differ_and_the_average_beats_them(digits, ensemble):
    _, _, X, y = digits
    assert len({tuple(member.parents_) for member in ensemble.estimators_}) == 6
    singles = [member.score(X, y) for member in ensemble.estimators_]
    assert ensemble.score(X, y) > np.mean(singles) + 0.02


def test_cpts_of_the_same_pair_are_one(digits):
    X, y, _, _ = digits
    same = TANEnsembleClassifier(IndependentSearches("chow-liu", 4), GradientDescent(epochs=3), random_state=0).fit(
        X, y
    )
    assert len(same.average_.cpts.child) == X.shape[1]
    assert same.average_.n_parameters == same.estimators_[0].network_.n_parameters


def test_missing_values_are_summed_out_by_every_member(digits, ensemble):
    _, _, X, _ = digits
    holed = X[:20].copy()
    holed[:, ::3] = np.nan
    mean = np.mean([member.predict_joint_log_proba(holed) for member in ensemble.estimators_], axis=0)
    expected = np.exp(mean - logsumexp(mean, axis=1, keepdims=True))
    np.testing.assert_allclose(ensemble.predict_proba(holed), expected, atol=1e-3)


def test_number_of_workers_does_not_matter(digits, ensemble):
    X, y, X_test, _ = digits
    other = subset_ensemble(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X_test), ensemble.predict_proba(X_test))


def test_a_member_is_a_classifier_that_fits_the_same_again(digits, ensemble):
    X, y, X_test, _ = digits
    member = ensemble.estimators_[2]
    assert member.get_params(deep=False) == TANClassifier(
        Subset(), GradientDescent(epochs=15), random_state=member.random_state
    ).get_params(deep=False)
    assert member.choice_ == NO_CHOICE.to_dict()
    assert member.options_ == {"structure": Subset(), "parameters": GradientDescent(epochs=15).sized(600)}
    np.testing.assert_array_equal(clone(member).fit(X, y).predict_proba(X_test), member.predict_proba(X_test))


def test_members_share_the_encoding_and_its_options(digits):
    X, y, _, _ = digits
    options = {"binning": "quantile", "max_bins": 3, "missing": "ignore", "max_categories": 9}
    several = TANEnsembleClassifier("trees", "ml", **options).fit(X, y)
    for member in several.estimators_:
        assert member.encoder_ is several.encoder_
        assert {name: getattr(member, name) for name in options} == options
        np.testing.assert_array_equal(member.classes_, several.classes_)


@pytest.mark.parametrize("training", ["separate", "joint"])
@pytest.mark.parametrize("members", EVERY_KIND, ids=repr)
def test_every_way_makes_valid_members_and_beats_chance(digits, members, training):
    X, y, X_test, y_test = digits
    parameters = GradientDescent(Hybrid(gamma=5.0), epochs=6, parent_dropout=0.1, shrinkage=0.01)
    make = partial(TANEnsembleClassifier, members, parameters, training=training, random_state=0)
    ensembles = [make(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*(ensemble.predict_proba(X_test) for ensemble in ensembles))
    assert ensembles[0].score(X_test, y_test) > 0.8
    assert ensembles[0].options_["is_joint"] == (training == "joint")
    assert len({tuple(member.parents_) for member in ensembles[0].estimators_}) == 3
    for member in ensembles[0].estimators_:
        assert member.network_.is_bayesian_network
        np.testing.assert_allclose(member.network_.cpt(5).sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("members", "parameters", "is_joint"),
    [
        *((DisjointTrees(2), GradientDescent(epochs=2), True), (CoveringPaths(2), GradientDescent(epochs=2), True)),
        *((DisjointTrees(2), "ml", False), (IndependentSearches("chow-liu", 2), GradientDescent(epochs=2), False)),
        (SampledStructures("subset", 2), GradientDescent(epochs=2), False),
    ],
    ids=repr,
)
def test_training_is_joint_by_default_where_trees_share_no_pair(digits, members, parameters, is_joint):
    X, y, X_test, _ = digits
    automatic = TANEnsembleClassifier(members, parameters, random_state=0).fit(X, y)
    assert automatic.options_["is_joint"] == is_joint
    spelt_out = clone(automatic).set_params(training="joint" if is_joint else "separate").fit(X, y)
    np.testing.assert_array_equal(automatic.predict_proba(X_test), spelt_out.predict_proba(X_test))


def test_joint_training_minimises_the_loss_of_the_average(digits):
    X, y, _, _ = digits
    joint = TANEnsembleClassifier(
        IndependentSearches("random", 4), GradientDescent("conditional", epochs=12), training="joint", random_state=0
    ).fit(X, y)
    of_average = -joint.predict_log_proba(X)[np.arange(len(y)), y].mean()
    of_members = [-member.predict_log_proba(X)[np.arange(len(y)), y].mean() for member in joint.estimators_]
    # What falls in training is the loss of the average; that of the members is nobody's concern.
    assert joint.estimators_[0].history_["loss"][-1] == pytest.approx(of_average, rel=0.5)
    assert min(of_members) > 5 * of_average
    singles = [member.score(X, y) for member in joint.estimators_]
    assert joint.score(X, y) > np.mean(singles)


@pytest.mark.parametrize("make", [IndependentSearches, SampledStructures])
def test_joint_free_members_are_forests(digits, make):
    X, y, _, _ = digits
    joint = TANEnsembleClassifier(make(Free(3), 2), GradientDescent(epochs=4), training="joint").fit(X[:200], y[:200])
    assert all(member.network_.is_bayesian_network for member in joint.estimators_)


def test_a_cover_of_all_pairs_has_every_pair_once(digits):
    X, y, _, _ = digits
    cover = TANEnsembleClassifier(CoveringPaths(9), GradientDescent(epochs=1)).fit(X[:, 20:27], y)
    pairs = [
        tuple(sorted((i, j))) for member in cover.estimators_ for i, j in enumerate(member.parents_.tolist()) if j >= 0
    ]
    assert len(cover.estimators_) == 4
    assert sorted(pairs) == sorted({(i, j) for j in range(7) for i in range(j)})


@pytest.mark.usefixtures("margins_for_three_classes")
@pytest.mark.parametrize("name", ENSEMBLE_PRESETS)
def test_every_preset_of_several_trees_fits(monkeypatch, name):
    recipes = ensembles.ensemble_recipes_for("auto", "auto", "auto")
    preset = recipes[name]
    if isinstance(preset.parameters, GradientDescent):
        preset = preset.set_params(parameters=preset.parameters.set_params(epochs=10))
    monkeypatch.setattr("tanager.estimators.ensemble.ensemble_recipes_for", lambda *options: {name: preset})
    X, y = (np.concatenate([each] * 20) for each in load_iris(return_X_y=True))  # margins are for many rows
    clf = TANEnsembleClassifier(random_state=0).fit(X, y)
    assert clf.choice_["preset"] == name
    assert clf.choice_["tried"] == [name]
    used = EnsembleRecipe(**clf.options_)
    if isinstance(preset.parameters, GradientDescent):
        assert used == preset.used(RowsOf(len(y)))
    else:
        assert "auto" not in used.parameters.get_params().values()
        assert used == preset.set_params(parameters=used.parameters)
    assert len(clf.estimators_) == {"trees": 3}.get(name, 2)
    assert clf.score(X, y) > 0.9


def test_members_drawn_from_a_search_that_allows_cycles(digits):
    X, y, _, _ = digits
    several = TANEnsembleClassifier(SampledStructures("pseudo", 3), GradientDescent(epochs=2), random_state=0).fit(X, y)
    assert not all(member.network_.is_bayesian_network for member in several.estimators_)
    assert several.score(X, y) > 0.5


@pytest.mark.parametrize("option", [{"smoothness": 1.0}, {"shrinkage": 5.0}], ids=str)
def test_regularisers_that_one_tree_takes_are_not_an_error_of_the_ensemble(option):
    X, y = load_iris(return_X_y=True)
    parameters = GradientDescent(epochs=2, **option)
    TANClassifier(parameters=parameters, random_state=0).fit(X, y)
    TANEnsembleClassifier(DisjointTrees(2), parameters, random_state=0).fit(X, y)


def test_regularisers_that_no_rate_allows_are_refused_at_once():
    with pytest.raises(ValueError, match=r"Smoothness\(strength=9.0\) allows a learning_rate of at most .*, got 0.1"):
        GradientDescent(smoothness=9.0)
    slow = GradientDescent(smoothness=9.0, learning_rate=0.01)
    with pytest.raises(ValueError, match="allows a learning_rate of at most"):
        TANEnsembleClassifier("trees", slow).set_params(parameters__learning_rate=0.1)


@pytest.mark.parametrize("combine", ["log", "probability"])
def test_log_probabilities_of_clear_cases_stay_finite(combine):
    X, y = np.repeat([[0], [1]], 300, axis=1), [0, 1]
    X, y = np.repeat(X, 20, axis=0), np.repeat(y, 20)
    clear = TANEnsembleClassifier(IndependentSearches("none", 2), Counts(1.0), binning="none", combine=combine).fit(
        X, y
    )
    expected = clear.estimators_[0].predict_log_proba(X)
    assert expected.min() < -800
    np.testing.assert_allclose(clear.predict_log_proba(X), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(
    "members", [IndependentSearches(GreedySearch("margin", max_moves=3), 2), SampledStructures(Subset(4), 2), "trees"]
)
def test_jobs_do_not_change_joint_searches(digits, members):
    X, y, _, _ = digits
    joint = TANEnsembleClassifier(members, GradientDescent(epochs=2), training="joint", random_state=0)
    runs = [clone(joint).set_params(n_jobs=n_jobs).fit(X[:150], y[:150]).predict_proba(X) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*runs)


# What is refused, before anything is read.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"combine": "vote"}, "^combine must be 'log' or 'probability', got 'vote'"),
        ({"members": "all"}, "^members must be 'auto', 'searches', 'sampled', 'trees' or 'cover', got 'all'"),
        ({"training": "alone"}, "^training must be 'auto', 'joint' or 'separate', got 'alone'"),
        ({"calibrate": "sometimes"}, "^calibrate must be 'auto', True or False, got 'sometimes'"),
        ({"calibrate": True, "combine": "probability"}, "calibrate=True requires combine='log'"),
        (
            {"members": IndependentSearches("chow-liu"), "parameters": "ml", "training": "joint"},
            "training='joint' requires",
        ),
        (
            {"parameters": "ml", "training": "joint"},
            "training='joint' requires GradientDescent or PenalisedLikelihood, got parameters='ml'",
        ),
        ({"members": IndependentSearches("subset"), "parameters": "ml"}, "requires a fixed structure"),
        ({"members": TANClassifier()}, "members must be .* got TANClassifier"),
        ({"members": LogisticRegression()}, "members must be .* got LogisticRegression"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TANEnsembleClassifier(**options).fit(None, None)


@pytest.mark.parametrize("make", [IndependentSearches, SampledStructures])
@pytest.mark.parametrize("structure", ["pseudo", "k-dependence"])
def test_members_that_may_have_cycles_are_not_calibrated(make, structure):
    with pytest.raises(ValueError, match="calibrate=True requires a forest"):
        TANEnsembleClassifier(make(structure, 2), calibrate=True).fit(None, None)


@pytest.mark.parametrize(
    ("option", "place"),
    [
        *(("estimator", "its options are the ensemble.s"), ("n_members", r"DisjointTrees\(n_members=...\)")),
        *(("epochs", r"GradientDescent\(...\)"), ("candidates", r"Free\(candidates=...\)")),
        *(("screening", r"Screened\(score=...\)"), ("max_parents", r"Subset\(max_parents=...\)")),
    ],
)
def test_options_of_earlier_versions_are_refused_by_their_new_place(option, place):
    with pytest.raises(TypeError, match=f"TANEnsembleClassifier has no option '{option}'; it is now .*{place}"):
        TANEnsembleClassifier(**{option: 3})
    with pytest.raises(ValueError, match=f"TANEnsembleClassifier has no option '{option}'; it is now .*{place}"):
        TANEnsembleClassifier().set_params(**{option: 3})


def test_a_recipe_of_one_tree_gives_members_of_it(digits):
    X, y, _, _ = digits
    recipe = Recipe(NoParents(), "ml")
    several = TANEnsembleClassifier(IndependentSearches(recipe.structure, 2), recipe.parameters).fit(X, y)
    alone = TANClassifier(**recipe.get_params(deep=False)).fit(X, y)
    np.testing.assert_allclose(several.predict_proba(X), alone.predict_proba(X), atol=1e-4)
