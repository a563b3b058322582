"""What the classifiers do without being told: training length, presets, and options that the user gives."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from tanager import TANClassifier, TANEnsembleClassifier
from tanager.estimators import defaults, ensemble
from tanager.estimators.choosing import NO_CHOICE
from tanager.estimators.defaults import (
    GIVEN,
    GIVEN_STRUCTURE,
    ONE_TREE,
    SEVERAL_TREES,
    default_members,
    missing_options,
    presets_of,
    training_length,
    with_preset,
)
from tanager.estimators.options import check_options, make_loss, make_settings


def named(presets):
    return pytest.mark.parametrize("preset", presets, ids=lambda preset: preset.name)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@given(st.floats(1, 1e8), st.floats(1, 1e8))
def test_batches_grow_with_the_rows(first, second):
    fewer, more = (training_length(n)["batch_size"] for n in sorted([first, second]))
    assert 16 <= fewer <= more <= 1000


@given(st.floats(1, 1e8))
def test_steps_are_neither_few_nor_many(n_rows):
    length = training_length(n_rows)
    n_batches = max(1, n_rows // length["batch_size"])
    wanted = min(max(50 * math.sqrt(n_rows), 300), 2000)
    assert 10 <= length["epochs"] <= 500
    assert length["epochs"] * n_batches >= wanted
    if length["epochs"] > 10:  # else there are many steps even in the fewest epochs
        assert (length["epochs"] - 1) * n_batches < wanted


@given(st.integers(1, 3000), st.sampled_from(["trees", "cover"]))
def test_members_hold_each_pair_at_most_once(n_features, how):
    n_members = default_members(n_features, how)
    assert 1 <= n_members <= min(30, (n_features + 1) // 2)
    assert n_members <= 4 or n_members * n_features <= 700
    assert default_members(n_features, "search") == default_members(n_features, "distribution") == 10


@named([*ONE_TREE, GIVEN])
def test_a_plan_has_a_value_for_every_option(preset):
    plan = with_preset(TANClassifier("auto" if preset.options else "subset"), preset, n_rows=500)
    assert plan.structure != "auto"
    assert {plan.epochs, plan.batch_size} == set(training_length(500).values())
    make_settings(plan), make_loss(plan)
    assert all(getattr(plan, name) == value for name, value in preset.options.items())
    assert all(getattr(plan, name) is not None for name in GIVEN_STRUCTURE)


@named(ONE_TREE)
def test_every_preset_of_one_tree_fits(iris, monkeypatch, preset):
    monkeypatch.setattr(defaults, "ONE_TREE", (preset,))
    X, y = iris
    clf = TANClassifier(random_state=0, epochs=10).fit(X, y)
    assert clf.choice_ == {**NO_CHOICE.to_dict(), "preset": preset.name}
    assert set(preset.options) <= set(clf.options_)
    assert clf.score(X, y) > 0.9
    # The options say all: who gives them gets the same.
    again = TANClassifier(random_state=0, epochs=10, **clf.options_).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@named(SEVERAL_TREES)
def test_every_preset_of_several_trees_fits(iris, monkeypatch, preset):
    monkeypatch.setattr(ensemble, "SEVERAL_TREES", (preset,))
    X, y = iris
    clf = TANEnsembleClassifier(TANClassifier(epochs=10), random_state=0).fit(X, y)
    assert clf.choice_ == {**NO_CHOICE.to_dict(), "preset": preset.name}
    assert set(preset.options) <= set(clf.options_)
    assert len(clf.estimators_) == (1 if preset.is_single else 2)
    assert clf.score(X, y) > 0.9


@pytest.mark.parametrize(
    "option",
    [
        *({"loss": "nll"}, {"lam": 3.0}, {"gamma": 3.0}, {"eta": 3.0}, {"candidates": "all"}, {"epochs": 7}),
        *({"batch_size": 9}, {"learning_rate": 0.2}, {"structure_learning_rate": 0.02}, {"parent_dropout": 0.3}),
        *({"smoothness": 0.0}, {"ridge": 0.0}, {"base_ridge": 0.0}, {"parameters": "gradient"}, {"max_parents": 2}),
    ],
    ids=lambda option: next(iter(option)),
)
def test_what_the_user_gives_holds_in_all_presets(option):
    ((name, value),) = option.items()
    estimator = TANClassifier(**option)
    check_options(estimator)
    presets = presets_of(estimator)
    assert len(presets) > 1
    for preset in presets:
        assert getattr(with_preset(estimator, preset, 500), name) == value
        assert name not in missing_options(estimator, preset, 500)


def test_a_loss_leaves_no_preset_without_one():
    assert all(not preset.is_closed_form for preset in presets_of(TANClassifier(loss="nll")))
    assert any(preset.is_closed_form for preset in presets_of(TANClassifier()))
    for preset in presets_of(TANClassifier(loss="nll")):
        assert make_loss(with_preset(TANClassifier(loss="nll"), preset, 500)).__class__.__name__ == (
            "NegativeLogLikelihood"
        )


@pytest.mark.parametrize("learning_rate", [1e-6, 0.1, 5.0, 100.0])
def test_a_learning_rate_does_not_make_other_options_wrong(learning_rate):
    check_options(TANClassifier(learning_rate=learning_rate))
    with pytest.raises(ValueError, match=r"^learning_rate must be"):
        check_options(TANClassifier(learning_rate=-learning_rate))


def test_a_fit_leaves_the_options_as_they_are(iris):
    X, y = iris
    clf = TANClassifier(choose=False, epochs=2)
    before = clf.get_params()
    clf.fit(X, y)
    assert clf.get_params() == before
    assert clf.options_["structure"] == ONE_TREE[0].options["structure"]
    assert "epochs" not in clf.options_


def test_a_structure_that_is_given_leaves_nothing_to_choose(iris):
    X, y = iris
    clf = TANClassifier("chow-liu", random_state=0).fit(X, y)
    assert clf.choice_ == NO_CHOICE.to_dict()
    assert clf.options_ == {**GIVEN_STRUCTURE, **training_length(150)}
    assert len(clf.history_["loss"]) == training_length(150)["epochs"]
    spelt_out = {"lam": 10.0, "gamma": 1.0, "eta": 10.0, "learning_rate": 0.1, "loss": "hybrid", "batch_size": 16}
    again = TANClassifier("chow-liu", random_state=0, epochs=69, **spelt_out).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_training_goes_by_the_number_of_rows_with_their_weights():
    X, y = np.tile([[0.0], [1.0]], (40, 1)), np.tile([0, 1], 40)
    weighted = TANClassifier("none", random_state=0).fit(X, y, sample_weight=np.full(80, 100.0))
    assert weighted.options_["epochs"] == training_length(8000)["epochs"]
    halves = TANClassifier("none", random_state=0).fit(X, y, sample_weight=np.full(80, 0.5))
    assert halves.options_["epochs"] == training_length(80)["epochs"]
