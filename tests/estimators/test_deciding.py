"""Decisions by expected cost."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from tanager import TANClassifier, TANEnsembleClassifier
from tanager.estimators.deciding import cost_matrix

CLASSES = np.array(["ill", "well"])


@pytest.fixture(scope="module", params=[TANClassifier, TANEnsembleClassifier])
def iris_classifier(request):
    return request.param(random_state=0).fit(*load_iris(return_X_y=True))


def test_decisions_have_the_least_expected_cost(iris_classifier):
    X, _ = load_iris(return_X_y=True)
    costs = np.random.default_rng(0).uniform(0, 3, (3, 3))
    proba = iris_classifier.predict_proba(X)
    expected = [[sum(p * costs[true, k] for true, p in enumerate(row)) for k in range(3)] for row in proba]
    np.testing.assert_array_equal(iris_classifier.decide(X, costs), np.argmin(expected, axis=1))


def test_equal_costs_decide_for_the_most_probable_class(iris_classifier):
    X, _ = load_iris(return_X_y=True)
    np.testing.assert_array_equal(iris_classifier.decide(X, 1 - np.eye(3)), iris_classifier.predict(X))


def test_decisions_cost_less_than_predictions_on_new_rows():
    X, y = load_breast_cancer(return_X_y=True)
    costs = np.array([[0.0, 30.0], [1.0, 0.0]])
    total = {"decided": 0.0, "predicted": 0.0}
    for seed in range(4):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        clf = TANClassifier(random_state=0).fit(X_train, y_train)
        total["decided"] += costs[y_test, clf.decide(X_test, costs)].sum()
        total["predicted"] += costs[y_test, clf.predict(X_test)].sum()
    assert total["decided"] < 0.7 * total["predicted"]


def test_costs_by_class():
    given = {"ill": {"well": 10}, "well": {"ill": 1, "well": -0.5}}
    np.testing.assert_array_equal(cost_matrix(given, CLASSES), [[0, 10], [1, -0.5]])


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1]], r"costs must have shape \(2, 2\), .* got shape \(1, 2\)"),
        ([[0, np.inf], [1, 0]], "costs must be finite"),
        ("free", "costs must be numbers, got 'free'"),
        ({"ill": {"well": 1}}, r"predict 'ill' where 'well' is true: give costs\['well'\]\['ill'\]"),
        ({"ill": {"wel": 1}}, r"costs name the class 'wel'; did you mean 'well'\?"),
        ({"ill": {"well": "10"}, "well": {"ill": 1}}, r"costs\['ill'\]\['well'\] must be a number, got '10'"),
        ({"ill": 5}, r"costs\['ill'\] must be a mapping"),
        ({"ill": {"well": np.nan}, "well": {"ill": 1}}, "costs must be finite"),
    ],
)
def test_wrong_costs(costs, message):
    with pytest.raises(ValueError, match=message):
        cost_matrix(costs, CLASSES)


def test_an_unfitted_classifier_does_not_decide():
    with pytest.raises(NotFittedError):
        TANClassifier().decide([[0]], np.eye(2))
