"""Prediction sets have the coverage that was asked for."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

import tanager
from tanager import DisjointTrees, TANClassifier, TANEnsembleClassifier
from tanager.estimators.conformal import ConformalScores
from tanager.files import ModelFileError


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:, 16:40], y


def split(X, y, seed):
    """Rows to train on, to take for sets, and to test."""
    X, X_train, y, y_train = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    return X_train, y_train, *train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)


@pytest.mark.parametrize(
    "clf",
    [TANClassifier("chow-liu", "ml"), TANEnsembleClassifier(DisjointTrees(3), "ml")],
    ids=["one", "several"],
)
@pytest.mark.parametrize("coverage", [0.7, 0.9, 0.99])
def test_sets_have_the_coverage_that_was_asked_for(clf, coverage, digits):
    found = []
    for seed in range(8):
        X_train, y_train, X_cal, X_test, y_cal, y_test = split(*digits, seed)
        clf.fit(X_train, y_train).conformalize(X_cal, y_cal)
        found.append(clf.evaluate_sets(X_test, y_test, coverage)["coverage"])
    # About 5,000 test rows in all; sets with the most probable class in any case may cover more.
    error = np.sqrt(coverage * (1 - coverage) / (8 * len(y_cal) / 2))
    assert np.mean(found) > coverage - 3 * error
    if coverage > 0.8:
        assert np.mean(found) < coverage + 3 * error + 1 / len(y_cal)


def test_by_class_every_class_is_covered(digits):
    X, y = digits
    y = np.where(y == 8, "eight", "other")  # a tenth of the rows, and hard to tell
    by_class, together = [], []
    for seed in range(6):
        X_train, y_train, X_cal, X_test, y_cal, y_test = split(X, y, seed)
        clf = TANClassifier("none", "ml").fit(X_train, y_train)
        for found, option in ((by_class, True), (together, False)):
            clf.conformalize(X_cal, y_cal, by_class=option)
            found.append(clf.evaluate_sets(X_test, y_test, 0.9)["coverage_by_class"]["eight"])
    assert np.mean(together) < 0.8
    assert np.mean(by_class) > 0.87


def test_sets_grow_with_the_coverage(digits):
    X_train, y_train, X_cal, X_test, y_cal, _ = split(*digits, 0)
    clf = TANClassifier("chow-liu", "ml").fit(X_train, y_train).conformalize(X_cal, y_cal)
    small, large = (clf.predict_set(X_test, coverage) for coverage in (0.8, 0.95))
    assert (small <= large).all()
    assert small.sum() < large.sum()
    assert (small[np.arange(len(small)), clf.predict_proba(X_test).argmax(axis=1)]).all()


def test_too_few_rows_rule_nothing_out(digits):
    X_train, y_train, X_cal, X_test, y_cal, _ = split(*digits, 0)
    clf = TANClassifier("chow-liu", "ml").fit(X_train, y_train).conformalize(X_cal[:8], y_cal[:8])
    assert clf.predict_set(X_test, 0.9).all()
    assert not clf.predict_set(X_test, 0.8).all()


def test_limits_are_the_right_ranks():
    scores = ConformalScores((np.linspace(0.1, 0.9, 9), np.array([0.5])))
    np.testing.assert_allclose(scores.limits(0.9, 2), [0.9, np.inf])
    np.testing.assert_allclose(scores.limits(0.5, 2), [0.5, 0.5])


@pytest.mark.parametrize("by_class", [False, True])
def test_sets_come_back_from_a_file(digits, by_class, tmp_path):
    X_train, y_train, X_cal, X_test, y_cal, _ = split(*digits, 0)
    for clf in (TANClassifier("chow-liu", "ml"), TANEnsembleClassifier(DisjointTrees(2), "ml")):
        clf.fit(X_train, y_train).conformalize(X_cal, y_cal, by_class=by_class).save(tmp_path / "model.tanager")
        loaded = tanager.load(tmp_path / "model.tanager")
        np.testing.assert_array_equal(loaded.predict_set(X_test), clf.predict_set(X_test))


def test_damaged_scores_in_a_file(digits, tmp_path):
    X_train, y_train, *_ = split(*digits, 0)
    clf, path = TANClassifier("chow-liu", "ml").fit(X_train, y_train), tmp_path / "model.tanager"
    clf.conformal_ = ConformalScores((np.array([0.9, 0.1]),))
    clf.save(path)
    with pytest.raises(ModelFileError, match=r"'sets.scores' must hold numbers from 0 to 1 that rise"):
        tanager.load(path)


def test_another_fit_forgets_the_rows(digits):
    X_train, y_train, X_cal, X_test, y_cal, _ = split(*digits, 0)
    clf = TANClassifier("chow-liu", "ml").fit(X_train, y_train).conformalize(X_cal, y_cal)
    with pytest.raises(ValueError, match=r"call conformalize\(X, y\) first"):
        clf.fit(X_train, y_train).predict_set(X_test)


def test_training_rows_are_warned_of(digits):
    X_train, y_train, *_ = split(*digits, 0)
    clf = TANClassifier("chow-liu", "ml").fit(X_train, y_train)
    with pytest.warns(UserWarning, match="of these rows are training rows"):
        clf.conformalize(X_train, y_train)


def test_wrong_input(digits):
    X_train, y_train, X_cal, X_test, y_cal, _ = split(*digits, 0)
    with pytest.raises(NotFittedError):
        TANClassifier().conformalize(X_cal, y_cal)
    clf = TANClassifier("chow-liu", "ml").fit(X_train, y_train)
    with pytest.raises(ValueError, match="y has the class 17, which was not trained on"):
        clf.conformalize(X_cal, np.where(y_cal == 3, 17, y_cal))
    with pytest.raises(ValueError, match="by_class must be True or False, got 1"):
        clf.conformalize(X_cal, y_cal, by_class=1)
    clf.conformalize(X_cal, y_cal)
    for coverage in (0, 1, 90, "most"):
        with pytest.raises(ValueError, match="coverage must be a finite number above 0 and below 1"):
            clf.predict_set(X_test, coverage)
