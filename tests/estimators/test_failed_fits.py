"""A fit that fails or is interrupted leaves the classifier as it was: not fitted, or with all that it had learned."""

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tanager import (
    ConditionalLikelihood,
    CoveringPaths,
    GradientDescent,
    IndependentSearches,
    SampledStructures,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.model import layout

NAMES = ["a", "b", "c", "d"]


class StoppingLoss:
    """The conditional likelihood, but one of its calls raises an error."""

    def __init__(self):
        self.n_calls = 0
        self.stop_at, self.error = None, None

    def __call__(self, log_joint, y, sample_weight):
        self.n_calls += 1
        if self.n_calls == self.stop_at:
            raise self.error
        return ConditionalLikelihood()(log_joint, y, sample_weight)

    def stop(self, call, error):
        self.n_calls, self.stop_at, self.error = 0, call, error

    def go_on(self):
        self.stop(None, None)


def short(loss, **options):
    return GradientDescent(loss, epochs=2, batch_size=50, **options)


MAKERS = {
    "one search": lambda loss: TANClassifier("subset", short(loss), random_state=0),
    "projected": lambda loss: TANClassifier("free", short(loss, start="naive-bayes"), random_state=0),
    "calibrated": lambda loss: TANClassifier("none", short(loss), calibrate=True, random_state=0),
    "chosen": lambda loss: TANClassifier(parameters=short(loss), random_state=0),
    "joint members": lambda loss: TANEnsembleClassifier(CoveringPaths(2), short(loss), random_state=0),
    "separate members": lambda loss: TANEnsembleClassifier(
        IndependentSearches("subset", 2), short(loss), random_state=0, n_jobs=2
    ),
    "drawn members": lambda loss: TANEnsembleClassifier(SampledStructures("subset", 2), short(loss), random_state=0),
    "chosen members": lambda loss: TANEnsembleClassifier(IndependentSearches(n_members=2), short(loss), random_state=0),
}
ERRORS = [KeyboardInterrupt("stop"), ZeroDivisionError("in the loss")]
MOMENTS = {"at first": 0.0, "half way": 0.5, "at last": 1.0}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return pd.DataFrame(X, columns=NAMES), y


@pytest.fixture(params=MAKERS)
def make(request):
    """A function from a loss to a classifier."""
    return MAKERS[request.param]


# Rows that differ from those of the first fit in everything that a fit keeps of them.
OTHER_ROWS = {
    "the same": lambda X, y: (X, y),
    "other columns": lambda X, y: (X.rename(columns={"a": "z"})[["d", "z", "b", "c"]], y),
    "other classes": lambda X, y: (X, np.array(["no", "yes"])[(y > 1).astype(int)]),
    "fewer features": lambda X, y: (X[["c", "b"]], y),
    "an array": lambda X, y: (X.to_numpy()[:, ::-1], y + 5),
}


@functools.cache
def count_calls(make, change):
    """How often a whole fit asks for the loss."""
    loss, (X, y) = StoppingLoss(), load_iris(return_X_y=True)
    make(loss).fit(*OTHER_ROWS[change](pd.DataFrame(X, columns=NAMES), y))
    return loss.n_calls


def state_of(classifier):
    """All attributes, to be compared by identity."""
    return dict(vars(classifier))


def assert_unchanged(classifier, before):
    now = vars(classifier)
    assert now.keys() == before.keys()
    assert all(now[name] is value for name, value in before.items())


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_first_fit_that_fails_leaves_the_classifier_unfitted(iris, make, error, moment):
    X, y = iris
    n_calls = count_calls(make, "the same")
    loss = StoppingLoss()
    classifier = make(loss)
    options = state_of(classifier)
    loss.stop(max(1, round(MOMENTS[moment] * n_calls)), error)
    with pytest.raises(type(error)) as caught:
        classifier.fit(X, y)
    assert caught.value is error
    with pytest.raises(NotFittedError):
        check_is_fitted(classifier)
    assert_unchanged(classifier, options)
    with pytest.raises(NotFittedError):
        classifier.predict_proba(X)
    # What was begun has no influence on the next fit.
    loss.go_on()
    expected = make(StoppingLoss()).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(classifier.fit(X, y).predict_proba(X), expected)


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("change", OTHER_ROWS)
def test_a_later_fit_that_fails_leaves_the_first_one(iris, make, error, moment, change):
    X, y = iris
    other = OTHER_ROWS[change](X, y)
    n_calls = count_calls(make, change)
    loss = StoppingLoss()
    classifier = make(loss).fit(X, y)
    before, probabilities = state_of(classifier), classifier.predict_proba(X)
    loss.stop(max(1, round(MOMENTS[moment] * n_calls)), error)
    with pytest.raises(type(error)) as caught:
        classifier.fit(*other)
    assert caught.value is error
    assert_unchanged(classifier, before)
    assert classifier.predict_proba(X).tobytes() == probabilities.tobytes()
    assert classifier.feature_names_in_.tolist() == NAMES
    assert (classifier.n_features_in_, classifier.classes_.tolist()) == (4, [0, 1, 2])
    assert set(classifier.predict(X)) <= {0, 1, 2}


def infinite(X):
    X = X.copy()
    X.iloc[3, 1] = np.inf
    return X


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda X, y: (infinite(X), y), ValueError),
        (lambda X, y: (X[["a", "b"]], y[:9]), ValueError),
        (lambda X, y: (X.rename(columns={"a": "z"}), y + 0.5), ValueError),
        (lambda X, y: (X[["b", "a"]], None), ValueError),
        (lambda X, y: (X[["b", "a"]], y, -np.ones(len(y))), ValueError),
        (lambda X, y: (X.assign(a=pd.Timestamp("2020")), y), TypeError),
        (lambda X, y: (X.iloc[:0], y[:0]), ValueError),
    ],
    ids=["infinite", "short y", "continuous y", "no y", "negative weights", "dates", "no rows"],
)
def test_rows_that_are_refused_change_nothing(iris, make, spoil, error):
    X, y = iris
    classifier = make(StoppingLoss())
    options = state_of(classifier)
    with pytest.raises(error):
        classifier.fit(*spoil(X, y))
    assert_unchanged(classifier, options)
    classifier.fit(X, y)
    before, probabilities = state_of(classifier), classifier.predict_proba(X)
    with pytest.raises(error):
        classifier.fit(*spoil(X, y))
    assert_unchanged(classifier, before)
    assert classifier.predict_proba(X).tobytes() == probabilities.tobytes()


@pytest.mark.parametrize("option", [{"binning": "halves"}, {"calibrate": "never"}, {"parameters": "mle"}], ids=str)
def test_options_that_are_refused_change_nothing(iris, make, option):
    X, y = iris
    classifier = make(StoppingLoss()).fit(X, y)
    probabilities = classifier.predict_proba(X)
    before = state_of(classifier.set_params(**option))
    with pytest.raises(ValueError, match="must be"):
        classifier.fit(X[["a"]], y)
    assert_unchanged(classifier, before)
    assert classifier.predict_proba(X).tobytes() == probabilities.tobytes()


def test_too_little_memory_changes_nothing(iris, make, monkeypatch):
    X, y = iris
    classifier = make(StoppingLoss()).fit(X, y)
    before, probabilities = state_of(classifier), classifier.predict_proba(X)
    monkeypatch.setattr(layout, "allowed_memory", lambda: 1)
    monkeypatch.setattr(layout, "_WORTH_ASKING", 0)
    with pytest.raises(MemoryError):
        classifier.fit(X[["a", "b"]], y)
    assert_unchanged(classifier, before)
    assert classifier.predict_proba(X).tobytes() == probabilities.tobytes()


def test_an_interrupt_after_all_is_learned_changes_nothing(iris, make, monkeypatch):
    X, y = iris
    classifier = make(StoppingLoss()).fit(X, y)
    before, probabilities = state_of(classifier), classifier.predict_proba(X)

    def interrupt(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"{type(classifier).__module__}.calibrated", interrupt)
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(X[["a", "b"]], y > 0)
    assert_unchanged(classifier, before)
    assert classifier.predict_proba(X).tobytes() == probabilities.tobytes()


def test_asking_for_memory_changes_nothing(iris):
    X, y = iris
    classifier = TANClassifier("subset", short("hybrid"), random_state=0).fit(X, y)
    before = state_of(classifier)
    assert classifier.memory_needed(X.to_numpy()[:, :2], y > 0) > 0
    assert_unchanged(classifier, before)


def test_names_are_those_of_the_last_fit(iris, make):
    X, y = iris
    classifier = make(StoppingLoss()).fit(X, y)
    assert classifier.feature_names_in_.tolist() == NAMES
    classifier.fit(X.to_numpy()[:, :3], y)
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.n_features_in_ == 3
    # No warning that X has no names, and no error that it has too few features.
    assert classifier.predict(X.to_numpy()[:, :3]).shape == (150,)
    classifier.fit(X[["d", "a"]], y)
    assert classifier.feature_names_in_.tolist() == ["d", "a"]
    assert classifier.n_features_in_ == 2


def test_names_of_an_ensemble_are_those_of_its_members(iris):
    X, y = iris
    ensemble = MAKERS["joint members"](StoppingLoss()).fit(X, y)
    for member in ensemble.estimators_:
        assert member.feature_names_in_.tolist() == NAMES
        assert member.predict_proba(X).shape == (150, 3)
    ensemble.fit(X.to_numpy(), y)
    assert not any(hasattr(member, "feature_names_in_") for member in ensemble.estimators_)
