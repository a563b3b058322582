"""Weights of rows and of classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split

import tanager
from tanager import GradientDescent, TANClassifier, TANEnsembleClassifier

CLASSIFIERS = [TANClassifier, TANEnsembleClassifier]


@pytest.fixture(scope="module")
def rare_tumours():
    """Breast cancer with one malignant tumour for every fifteen benign ones."""
    X, y = load_breast_cancer(return_X_y=True)
    rare = np.flatnonzero(y == 0)[:24]
    rows = np.sort(np.concatenate([rare, np.flatnonzero(y == 1)]))
    names = np.array(["malignant", "benign"])
    return X[rows][:, 20:24], names[y[rows]]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_balanced_weights_find_more_of_the_rare_class(kind, rare_tumours):
    X, y = rare_tumours
    parts = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    plain = kind(random_state=0).fit(X_train, y_train).predict(X_test)
    weighted = kind(random_state=0, class_weight="balanced").fit(X_train, y_train).predict(X_test)
    assert (weighted == "malignant").sum() > (plain == "malignant").sum()
    assert balanced_accuracy_score(y_test, weighted) > balanced_accuracy_score(y_test, plain)


@pytest.mark.parametrize("parameters", ["ml", "penalised", GradientDescent(epochs=5)])
def test_only_ratios_of_class_weights_count(parameters, rare_tumours):
    X, y = rare_tumours
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    ways = ["balanced", {label: 1 / n for label, n in counts.items()}, {label: 7000 / n for label, n in counts.items()}]
    found = [TANClassifier("chow-liu", parameters, class_weight=way, random_state=0).fit(X, y) for way in ways]
    for other in found[1:]:
        np.testing.assert_allclose(other.predict_proba(X), found[0].predict_proba(X), rtol=1e-4)


def test_class_weights_are_weights_of_rows(rare_tumours):
    X, y = rare_tumours
    by_class = TANClassifier("chow-liu", "ml", class_weight={"malignant": 15}, random_state=0).fit(X, y)
    weight = np.where(y == "malignant", 15.0, 1.0)
    by_row = TANClassifier("chow-liu", "ml", random_state=0).fit(X, y, weight * len(y) / weight.sum())
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


@pytest.mark.parametrize("parameters", ["ml", "penalised"])
def test_the_description_is_of_the_data_without_class_weights(parameters, rare_tumours):
    X, y = rare_tumours
    clf = TANClassifier("chow-liu", parameters, class_weight="balanced", random_state=0).fit(X, y)
    share = (y == "benign").mean()
    assert clf.description_.marginals().classes[0, 0] == pytest.approx(share, abs=0.01)
    assert clf.predict_proba(X)[:, 0].mean() < share - 0.02


def test_a_weight_for_a_class_that_does_not_exist(rare_tumours):
    X, y = rare_tumours
    with pytest.raises(ValueError, match=r"class_weight names the class 'malign', .* did you mean 'malignant'\?"):
        TANClassifier(class_weight={"malign": 3}).fit(X, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("even", "class_weight must be None, 'balanced' or a dict from classes to weights, got 'even'"),
        ([1, 2], "class_weight must be None, 'balanced' or a dict"),
        ({"ill": 0}, "class_weight of class 'ill' must be a finite number above 0, got 0"),
        ({"ill": np.nan}, "class_weight of class 'ill' must be a finite number above 0, got nan"),
        ({"ill": "much"}, "class_weight of class 'ill' must be a finite number above 0, got 'much'"),
    ],
)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_wrong_class_weights_are_refused_before_X_is_read(kind, given, message):
    with pytest.raises(ValueError, match=message):
        kind(class_weight=given).fit(None, None)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 2, 2: 0.5}])
def test_class_weights_are_kept_by_clones_and_model_files(kind, class_weight, tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = kind(class_weight=class_weight, parameters="ml", random_state=0).fit(X, y)
    clf.save(tmp_path / "model.tanager")
    loaded = tanager.load(tmp_path / "model.tanager")
    assert loaded.class_weight == clone(clf).class_weight == class_weight
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(clone(loaded).fit(X, y).predict_proba(X), clf.predict_proba(X))


def test_a_grid_over_class_weights(rare_tumours):
    X, y = rare_tumours
    grid = {"class_weight": [None, "balanced", {"malignant": 5}]}
    clf = TANClassifier("none", "ml", random_state=0)
    search = GridSearchCV(clf, grid, scoring="balanced_accuracy", cv=3).fit(pd.DataFrame(X), y)
    assert search.best_params_["class_weight"] is not None
