"""TANEnsembleClassifier: scikit-learn's rules, and what the average is."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from tanager import TANClassifier, TANEnsembleClassifier
from tanager.data import as_table
from tanager.estimators.defaults import SEVERAL_TREES, Preset, missing_options
from tanager.training import GreedySearch


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600], X[600:1000], y[600:1000]


@pytest.fixture(scope="module")
def ensemble(digits):
    X, y, _, _ = digits
    return TANEnsembleClassifier(TANClassifier("subset", epochs=15), n_members=6, random_state=0).fit(X, y)


def test_check_estimator():
    check_estimator(TANEnsembleClassifier(TANClassifier("subset", epochs=20), n_members=3), on_skip=None)


def test_merged_tables_average_the_log_joints(digits, ensemble):
    _, _, X, _ = digits
    members = [member.predict_joint_log_proba(X) for member in ensemble.estimators_]
    mean = np.mean(members, axis=0)
    codes = ensemble.encoder_.encode(as_table(X))
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
    proba = TANEnsembleClassifier.predict_proba(_with(ensemble, combine="probability"), X)
    np.testing.assert_allclose(proba, mean, atol=1e-12)


def _with(ensemble, **options):
    other = TANEnsembleClassifier(ensemble.estimator, **options)
    for name, value in vars(ensemble).items():
        if name.endswith("_"):
            setattr(other, name, value)
    return other


def test_members_differ_and_the_average_beats_them(digits, ensemble):
    _, _, X, y = digits
    assert len({tuple(member.parents_) for member in ensemble.estimators_}) == 6
    singles = [member.score(X, y) for member in ensemble.estimators_]
    assert ensemble.score(X, y) > np.mean(singles) + 0.02


def test_tables_of_the_same_pair_are_one(digits):
    X, y, _, _ = digits
    template = TANClassifier("chow-liu", epochs=3)
    ensemble = TANEnsembleClassifier(template, n_members=4, random_state=0).fit(X, y)
    assert len(ensemble.average_.tables.child) == X.shape[1]
    assert ensemble.average_.n_parameters == ensemble.estimators_[0].network_.n_parameters


def test_missing_values_are_summed_out_by_every_member(digits, ensemble):
    _, _, X, _ = digits
    holed = X[:20].copy()
    holed[:, ::3] = np.nan
    mean = np.mean([member.predict_joint_log_proba(holed) for member in ensemble.estimators_], axis=0)
    expected = np.exp(mean - logsumexp(mean, axis=1, keepdims=True))
    np.testing.assert_allclose(ensemble.predict_proba(holed), expected, atol=1e-3)


def test_number_of_workers_does_not_matter(digits, ensemble):
    X, y, X_test, _ = digits
    other = TANEnsembleClassifier(TANClassifier("subset", epochs=15), n_members=6, random_state=0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X_test), ensemble.predict_proba(X_test))


@pytest.mark.parametrize("training", ["separate", "joint"])
@pytest.mark.parametrize("members", ["search", "distribution", "trees", "cover"])
def test_every_way_makes_valid_members_and_beats_chance(digits, members, training):
    X, y, X_test, y_test = digits
    template = TANClassifier("subset", epochs=6, gamma=5.0, parent_dropout=0.1, shrinkage=0.01)
    options = {"n_members": 3, "members": members, "training": training, "random_state": 0}
    ensembles = [TANEnsembleClassifier(template, n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*(ensemble.predict_proba(X_test) for ensemble in ensembles))
    assert ensembles[0].score(X_test, y_test) > 0.8
    assert len({tuple(member.parents_) for member in ensembles[0].estimators_}) == 3
    for member in ensembles[0].estimators_:
        assert member.network_.is_bayesian_network
        np.testing.assert_allclose(member.network_.cpt(5).sum(axis=1), 1.0, atol=1e-5)


def test_joint_training_minimises_the_loss_of_the_average(digits):
    X, y, _, _ = digits
    template = TANClassifier("random", loss="conditional", epochs=12)
    ensemble = TANEnsembleClassifier(template, n_members=4, training="joint", random_state=0).fit(X, y)
    of_average = -ensemble.predict_log_proba(X)[np.arange(len(y)), y].mean()
    of_members = [-member.predict_log_proba(X)[np.arange(len(y)), y].mean() for member in ensemble.estimators_]
    # What falls in training is the loss of the average; that of the members is nobody's concern.
    assert ensemble.estimators_[0].history_["loss"][-1] == pytest.approx(of_average, rel=0.5)
    assert min(of_members) > 5 * of_average
    singles = [member.score(X, y) for member in ensemble.estimators_]
    assert ensemble.score(X, y) > np.mean(singles)


def test_joint_free_members_are_forests(digits):
    X, y, _, _ = digits
    template = TANClassifier("free", max_parents=3, epochs=4)
    for members in ("search", "distribution"):
        ensemble = TANEnsembleClassifier(template, n_members=2, members=members, training="joint").fit(X[:200], y[:200])
        assert all(member.network_.is_bayesian_network for member in ensemble.estimators_)


def test_a_cover_of_all_pairs_has_every_pair_once(digits):
    X, y, _, _ = digits
    ensemble = TANEnsembleClassifier(TANClassifier("subset", epochs=1), n_members=9, members="cover").fit(
        X[:, 20:27], y
    )
    pairs = [
        tuple(sorted((i, j)))
        for member in ensemble.estimators_
        for i, j in enumerate(member.parents_.tolist())
        if j >= 0
    ]
    assert len(ensemble.estimators_) == 4
    assert sorted(pairs) == sorted({(i, j) for j in range(7) for i in range(j)})


def test_joint_training_needs_gradients(digits):
    X, y, _, _ = digits
    template = TANClassifier("chow-liu", parameters="ml")
    with pytest.raises(ValueError, match="training='joint' needs parameters='gradient'"):
        TANEnsembleClassifier(template, training="joint").fit(X, y)


WRONG = [{"n_members": 0}, {"n_members": 2.5}, {"combine": "vote"}, {"members": "all"}, {"training": "alone"}]


@pytest.mark.parametrize("options", WRONG)
def test_wrong_options_are_named(digits, options):
    X, y, _, _ = digits
    with pytest.raises(ValueError, match=f"^{next(iter(options))} must be"):
        TANEnsembleClassifier(**options).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (TANClassifier(choose="sometimes"), {}, "choose must be one of"),
        (TANClassifier("none", calibrate=True), {"combine": "probability"}, "calibrate=True needs combine='log'"),
        (TANClassifier("pseudo", calibrate=True), {}, "calibrate=True needs a forest"),
    ],
)
def test_options_that_do_not_go_together(estimator, options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        TANEnsembleClassifier(estimator, **options).fit(X, y)


def test_members_drawn_from_a_search_that_allows_cycles(digits):
    X, y, _, _ = digits
    ensemble = TANEnsembleClassifier(
        TANClassifier("pseudo", epochs=2), members="distribution", n_members=3, random_state=0
    ).fit(X, y)
    assert not all(member.network_.is_bayesian_network for member in ensemble.estimators_)
    assert ensemble.score(X, y) > 0.5


@pytest.mark.parametrize("option", [{"smoothness": 1.0}, {"shrinkage": 5.0}])
def test_pulls_that_one_tree_takes_are_no_error_of_the_ensemble(option):
    X, y = load_iris(return_X_y=True)
    member = TANClassifier(epochs=2, **option)
    member.fit(X, y)
    TANEnsembleClassifier(member, n_members=2, random_state=0).fit(X, y)
    margin = next(preset for preset in SEVERAL_TREES if preset.name == "margin")
    assert missing_options(TANClassifier(), margin, 100)["learning_rate"] == pytest.approx(0.3)
    assert missing_options(member, margin, 100)["learning_rate"] == pytest.approx(0.2)


def test_a_rate_that_is_low_is_not_raised():
    slow = Preset("slow", {"learning_rate": 0.01})
    assert missing_options(TANClassifier(smoothness=1.0), slow, 100)["learning_rate"] == pytest.approx(0.01)


def test_pulls_that_no_tree_takes_are_refused_at_once():
    with pytest.raises(ValueError, match=r"smoothness=9.0 and learning_rate="):
        TANEnsembleClassifier(TANClassifier(smoothness=9.0)).fit(np.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize("combine", ["log", "probability"])
def test_log_probabilities_of_clear_cases_stay_finite(combine):
    X, y = np.repeat([[0], [1]], 300, axis=1), [0, 1]
    X, y = np.repeat(X, 20, axis=0), np.repeat(y, 20)
    member = TANClassifier("none", parameters="ml", binning="none")
    ensemble = TANEnsembleClassifier(member, n_members=2, combine=combine).fit(X, y)
    expected = ensemble.estimators_[0].predict_log_proba(X)
    assert expected.min() < -800
    np.testing.assert_allclose(ensemble.predict_log_proba(X), expected, rtol=1e-5, atol=1e-9)


def test_wrong_options_are_named_though_the_structure_does_not_need_them(digits):
    X, y, _, _ = digits
    for option, message in {"candidates": "foo", "screening": "bar", "max_parents": -3}.items():
        with pytest.raises(ValueError, match=f"{option} must be .*{message!r}"):
            TANEnsembleClassifier(TANClassifier(**{option: message}), members="cover").fit(X, y)
    with pytest.raises(TypeError, match="estimator must be a TANClassifier or None, got LogisticRegression"):
        TANEnsembleClassifier(LogisticRegression()).fit(X, y)


@pytest.mark.parametrize("members", ["search", "distribution", "trees"])
def test_jobs_do_not_change_joint_searches(digits, members):
    X, y, _, _ = digits
    runs = []
    for n_jobs in (1, 2):
        search = GreedySearch("margin", max_moves=3) if members == "search" else "subset"
        template = TANClassifier(search, candidates="random", max_parents=4, epochs=2)
        ensemble = TANEnsembleClassifier(
            template, n_members=2, members=members, training="joint", random_state=0, n_jobs=n_jobs
        ).fit(X[:150], y[:150])
        runs.append(ensemble.predict_proba(X))
    np.testing.assert_array_equal(*runs)
