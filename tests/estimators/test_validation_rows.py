"""Validation rows, early stopping, call-backs and limits of time."""

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

import tanager
from tanager import (
    AnnealedSearch,
    DisjointTrees,
    Free,
    GradientDescent,
    GreedySearch,
    PenalisedLikelihood,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.learning import Epoch

KINDS = [TANClassifier, TANEnsembleClassifier]


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return train_test_split(X.iloc[:, 20:26], y, test_size=0.4, random_state=0, stratify=y)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X[:600, :40], y[:600], test_size=0.3, random_state=0, stratify=y[:600])


@pytest.mark.parametrize("kind", KINDS)
def test_validation_rows_decide_what_held_out_rows_decided(kind, tumours):
    X, X_val, y, y_val = tumours
    clf = kind(random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    uncalibrated = kind(random_state=0, calibrate=False).fit(X, y, X_val=X_val, y_val=y_val)
    error = (uncalibrated.predict(X_val) != y_val).mean()
    assert clf.choice_["errors"][0] == pytest.approx(error)
    rest = clone(clf).fit(X, y)
    assert clf.choice_["errors"] != rest.choice_["errors"]
    np.testing.assert_array_equal(clf.encoder_.cards, rest.encoder_.cards)


def test_penalties_are_chosen_by_the_validation_rows(tumours):
    """Classes at random in the validation rows ask for the strongest penalty."""
    X, X_val, y, y_val = tumours
    noise = np.random.default_rng(0).permutation(y_val)
    for given, is_right in ((y_val, lambda main: main < 30), (noise, lambda main: main == 300)):
        clf = TANClassifier("none", "penalised", random_state=0).fit(X, y, X_val=X_val, y_val=given)
        assert is_right(clf.options_["parameters"].main)
    assert clf.choice_["temperature"] > 2


def test_weights_of_validation_rows_count(tumours):
    X, X_val, y, y_val = tumours
    options = {"structure": "none", "parameters": PenalisedLikelihood(1.0), "random_state": 0}
    twice = pd.concat([X_val, X_val.iloc[:50]]), np.concatenate([y_val, y_val[:50]])
    weight = np.where(np.arange(len(y_val)) < 50, 2.0, 1.0)
    repeated = TANClassifier(**options).fit(X, y, X_val=twice[0], y_val=twice[1])
    weighted = TANClassifier(**options).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    assert repeated.choice_["temperature"] == pytest.approx(weighted.choice_["temperature"], rel=1e-3)
    plain = TANClassifier(**options).fit(X, y, X_val=X_val, y_val=y_val)
    assert plain.choice_["temperature"] != weighted.choice_["temperature"]


@pytest.mark.parametrize("structure", [Subset(3), Free(3)])
def test_early_stopping_keeps_the_best_epoch(digits, structure):
    X, X_val, y, y_val = digits
    parameters = GradientDescent("conditional", epochs=60, learning_rate=0.3, learning_rate_decay=0.5, early_stopping=3)
    clf = TANClassifier(structure, parameters, calibrate=False, random_state=0).fit(X, y, X_val=X_val, y_val=y_val)
    losses = clf.history_["validation_loss"]
    assert len(losses) == len(clf.history_["loss"]) < 60
    found = -np.log(clf.predict_proba(X_val)[np.arange(len(y_val)), y_val]).mean()
    assert found == pytest.approx(losses[-4], rel=1e-3)  # three epochs without anything better came after it
    longer = TANClassifier(structure, parameters.set_params(early_stopping=None), calibrate=False, random_state=0)
    longer.fit(X, y)
    late = -np.log(longer.predict_proba(X_val)[np.arange(len(y_val)), y_val]).mean()
    assert found < late


def test_early_stopping_holds_out_rows_by_itself(digits):
    X, X_val, y, y_val = digits
    parameters = GradientDescent("conditional", epochs=60, learning_rate=0.3, learning_rate_decay=0.5, early_stopping=3)
    for kind, source in ((TANClassifier, "subset"), (TANEnsembleClassifier, DisjointTrees(2))):
        clf = kind(source, parameters, random_state=0).fit(X, y)
        history = getattr(clf, "estimators_", [clf])[0].history_
        assert len(history["validation_loss"]) == len(history["loss"]) < 60
        assert clf.score(X_val, y_val) > 0.7


def test_the_history_of_validation_rows_comes_back_from_a_file(digits, tmp_path):
    X, X_val, y, y_val = digits
    clf = TANClassifier("subset", GradientDescent(epochs=3, early_stopping=2), random_state=0)
    clf.fit(X, y, X_val=X_val, y_val=y_val).save(tmp_path / "model.tanager")
    loaded = tanager.load(tmp_path / "model.tanager")
    np.testing.assert_array_equal(loaded.history_["validation_loss"], clf.history_["validation_loss"])
    assert loaded.choice_ == clf.choice_


def test_a_call_back_is_told_of_each_epoch_and_can_end_training(digits):
    X, X_val, y, y_val = digits
    told = []

    def callback(epoch):
        told.append(epoch)
        return epoch.stage == "search" and epoch.epoch == 4

    clf = TANClassifier(Free(3), GradientDescent(epochs=10), random_state=0)
    clf.fit(X, y, X_val=X_val, y_val=y_val, callback=callback)
    assert [(each.stage, each.epoch) for each in told] == [("search", k) for k in range(1, 5)] + [
        ("refit", k) for k in range(1, 6)
    ]
    assert all(isinstance(each, Epoch) and each.validation_loss > 0 for each in told)
    assert told[0].n_epochs == 10
    assert clf.choice_["notes"] == ["call-back: search ended after 4 of 10 epochs"]
    plain = TANClassifier(Free(3), GradientDescent(epochs=10), random_state=0).fit(X, y, callback=lambda epoch: None)
    unwatched = TANClassifier(Free(3), GradientDescent(epochs=10), random_state=0).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), unwatched.predict_proba(X))


@pytest.mark.parametrize(
    ("kind", "options", "limit"),
    [
        (TANClassifier, {"structure": Free(8), "parameters": GradientDescent(epochs=100_000)}, 0.5),
        (TANClassifier, {"structure": AnnealedSearch(n_moves=5_000_000), "parameters": "ml"}, 0.5),
        (TANClassifier, {"structure": GreedySearch(lazy=False), "parameters": "ml"}, 0.02),
        (TANEnsembleClassifier, {"members": DisjointTrees(3), "parameters": GradientDescent(epochs=100_000)}, 0.5),
    ],
)
def test_a_fit_ends_soon_after_its_time(kind, options, limit, digits):
    X, X_val, y, y_val = digits
    start = time.monotonic()
    clf = kind(**options, time_limit=limit, random_state=0).fit(X, y)
    assert time.monotonic() - start < 60  # without the limit most would take many minutes
    assert any(note.startswith("time limit: ") for note in clf.choice_["notes"])
    assert clf.score(X_val, y_val) > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_presets_that_there_is_no_time_for_are_not_tried(kind):
    X, y = load_wine(return_X_y=True)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    clf = kind(time_limit=1e-6, random_state=0).fit(X, y)
    assert clf.choice_["tried"] == []
    assert "time limit: nothing was tried on held-out rows" in clf.choice_["notes"]
    assert clf.score(X, y) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_no_limit_leaves_no_notes(kind):
    X, y = load_wine(return_X_y=True)
    assert kind("auto", "penalised", time_limit=1000, random_state=0).fit(X, y).choice_["notes"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_validation_rows(kind, tumours):
    X, X_val, y, y_val = tumours
    clf = kind(random_state=0)
    cases = [
        ({"X_val": X_val}, "validation rows require X_val and y_val, but y_val is missing"),
        ({"y_val": y_val}, "but X_val is missing"),
        ({"X_val": X_val.iloc[:, 1:], "y_val": y_val}, "X_val: "),
        ({"X_val": X_val.rename(columns={"worst radius": "radius"}), "y_val": y_val}, "(?s)X_val: .*worst radius"),
        (
            {"X_val": X_val, "y_val": y_val.replace(0, 7)},
            "y_val has the class 7, which was not trained on",
        ),
        ({"X_val": X_val, "y_val": y_val[1:]}, "inconsistent numbers of samples"),
        ({"X_val": X_val, "y_val": y_val, "sample_weight_val": [1.0]}, "sample_weight_val must be 1D"),
    ]
    for given, message in cases:
        with pytest.raises(ValueError, match=message):
            clf.fit(X, y, **given)
        assert not hasattr(clf, "classes_")


@pytest.mark.parametrize("value", [0, -1, "long", np.inf, True])
def test_wrong_limits_are_refused_before_X_is_read(value):
    with pytest.raises(ValueError, match="time_limit must be a finite number above 0"):
        TANClassifier(time_limit=value).fit(None, None)


@pytest.mark.parametrize("value", [0, 1.5, True])
def test_wrong_patience(value):
    with pytest.raises(ValueError, match="early_stopping must be a whole number"):
        GradientDescent(early_stopping=value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_back_that_cannot_be_called_is_refused(kind, tumours):
    with pytest.raises(TypeError, match="callback must be a function that takes an Epoch, got 3"):
        kind().fit(*tumours[:2], callback=3)
