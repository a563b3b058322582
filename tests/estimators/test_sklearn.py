"""The classifiers among scikit-learn's tools: checks, pipelines, searches for options, calibration, and copies."""

import copy
import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tanager import (
    AllPredecessors,
    CoveringPaths,
    DisjointTrees,
    Free,
    GradientDescent,
    Hybrid,
    IndependentSearches,
    ParentSets,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)

SHORT = GradientDescent(epochs=60, batch_size=100)
QUICK = {"parameters": GradientDescent(epochs=8, batch_size=100), "random_state": 0}
CLASSIFIERS = [TANClassifier, TANEnsembleClassifier]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def numbers():
    """Enough distinct rows that training is by mini-batches."""
    return make_classification(600, 10, n_informative=6, n_classes=3, random_state=0)


def same_predictions(first, second, X):
    return np.array_equal(first.predict_proba(X), second.predict_proba(X))


# scikit-learn's own checks.


@pytest.mark.parametrize(
    "classifier",
    [TANClassifier(parameters=GradientDescent(epochs=5)), TANEnsembleClassifier("trees", GradientDescent(epochs=5))],
    ids=["one tree", "several trees"],
)
def test_check_estimator_without_exemption(classifier):
    """What is left open is chosen on held-out rows."""
    report = check_estimator(classifier, on_skip=None)
    assert len(report) > 50
    # The one check that asks for an environment variable has a test of its own below.
    left_out = [entry["check_name"] for entry in report if entry["status"] != "passed"]
    assert left_out in ([], ["check_array_api_input"])


@pytest.mark.slow
@pytest.mark.parametrize("classifier", [TANClassifier(), TANEnsembleClassifier()])
def test_check_estimator_without_options(classifier):
    report = check_estimator(classifier, on_skip=None)
    left_out = [entry["check_name"] for entry in report if entry["status"] != "passed"]
    assert left_out in ([], ["check_array_api_input"])


def test_check_estimator_with_array_api_inputs():
    """SCIPY_ARRAY_API is read when SciPy is imported, hence a process of its own; here nothing is left out."""
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from tanager import GradientDescent, TANClassifier\n"
        "classifier = TANClassifier('subset', GradientDescent(epochs=60, batch_size=100))\n"
        "report = check_estimator(classifier, on_skip=None)\n"
        "print(sorted({entry['status'] for entry in report}))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['passed']"


@parametrize_with_checks(
    [
        TANClassifier("none", SHORT),
        TANClassifier("none", "ml"),
        TANClassifier(parameters="ml"),
        TANClassifier("random", SHORT),
        TANClassifier("chow-liu", SHORT),
        TANClassifier("chow-liu", "ml"),
        TANClassifier("all", SHORT),
        TANClassifier("pseudo", SHORT),
        TANClassifier("subset", SHORT.set_params(loss="nll")),
        TANClassifier("subset", SHORT.set_params(loss="margin")),
        TANClassifier("subset", SHORT.set_params(loss="conditional")),
        TANClassifier("subset", SHORT.set_params(optimiser="dense")),
        TANClassifier(Free(2, "mixed"), SHORT.set_params(start="naive-bayes", ridge=0.3)),
        TANClassifier("subset", SHORT, n_jobs=2),
        TANEnsembleClassifier(CoveringPaths(3), SHORT),
        TANEnsembleClassifier(DisjointTrees(3), "ml"),
        TANEnsembleClassifier(IndependentSearches("subset", 2), SHORT, combine="probability"),
    ]
)
def test_checks_of_other_configurations(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_is_a_classifier(kind):
    assert is_classifier(kind())


def test_not_fitted(iris):
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        with pytest.raises(NotFittedError):
            getattr(TANClassifier(), method)(iris[0])


# Pipelines, searches and calibration.


def test_pipeline(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), TANClassifier("subset", SHORT, random_state=0))
    assert pipeline.fit(X, y).score(X, y) > 0.9
    # Quantiles do not see a change of scale.
    assert same_predictions(pipeline, TANClassifier("subset", SHORT, random_state=0).fit(X, y), X)


def test_pipeline_passes_sample_weight(iris):
    X, y = iris
    weight = np.where(y == 2, 0.0, 1.0)
    pipeline = make_pipeline(StandardScaler(), TANClassifier("subset", **QUICK))
    pipeline.fit(X, y, tanclassifier__sample_weight=weight)
    assert pipeline.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(("n_jobs", "backend"), [(1, "loky"), (2, "threading")])
def test_grid_search(iris, n_jobs, backend):
    X, y = iris
    grid = {"structure": ["none", "chow-liu", "subset"], "parameters__loss__lam": [0.0, 10.0]}
    search = GridSearchCV(TANClassifier("subset", **QUICK), grid, cv=3, n_jobs=n_jobs, error_score="raise")
    with joblib.parallel_backend(backend):
        search.fit(X, y)
    assert search.best_score_ > 0.85
    assert len(search.cv_results_["params"]) == 6
    lam = search.best_params_["parameters__loss__lam"]
    assert search.best_estimator_.parameters == QUICK["parameters"].set_params(loss=Hybrid(lam=lam))


def test_grid_search_with_threads_equals_one_without(iris):
    X, y = iris
    scores = []
    for n_jobs in (1, 2):
        grid = {"parameters__loss__gamma": [0.5, 1.0, 5.0]}
        search = GridSearchCV(TANClassifier("subset", **QUICK), grid, cv=3, n_jobs=n_jobs)
        with joblib.parallel_backend("threading"):
            scores.append(search.fit(X, y).cv_results_["mean_test_score"])
    np.testing.assert_array_equal(scores[0], scores[1])


def test_search_over_values_in_a_pipeline(iris):
    """Values and their own options are points of one grid, for a classifier that is itself a step."""
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), TANEnsembleClassifier("cover", **QUICK))
    options = {
        "tanensembleclassifier__members": [CoveringPaths(2), DisjointTrees()],
        "tanensembleclassifier__members__n_members": [1, 2],
        "tanensembleclassifier__parameters__smoothness": [0.0, 0.01],
    }
    search = RandomizedSearchCV(pipeline, options, n_iter=4, cv=2, random_state=0, error_score="raise").fit(X, y)
    best = search.best_estimator_[-1]
    assert best.members.n_members == search.best_params_["tanensembleclassifier__members__n_members"]
    assert len(best.estimators_) == best.members.n_members


def test_calibration(numbers):
    X, y = numbers
    classifier = TANClassifier("subset", GradientDescent(epochs=15), binning="quantile", random_state=0)
    calibrated = CalibratedClassifierCV(classifier, cv=3, method="isotonic").fit(X, y)
    probabilities = calibrated.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert calibrated.score(X, y) > 0.75


def test_cross_validation_with_string_labels(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = TANClassifier("subset", SHORT, random_state=0)
    as_text = cross_val_score(classifier, X, names, cv=3)
    assert as_text.min() > 0.85
    np.testing.assert_array_equal(as_text, cross_val_score(classifier, X, y, cv=3))


# Copies.


@pytest.mark.parametrize("structure", ["none", "subset", ParentSets.from_lists([[-1], [-1, 0], [0], [2]])])
def test_pickle_and_copies_predict_the_same(iris, structure):
    X, y = iris
    classifier = TANClassifier(structure, **QUICK).fit(X, y)
    for other in (pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier)):
        assert same_predictions(classifier, other, X)
        np.testing.assert_array_equal(classifier.parents_, other.parents_)
        np.testing.assert_array_equal(classifier.parent_probabilities_, other.parent_probabilities_)


@pytest.mark.parametrize("members", [CoveringPaths(2), IndependentSearches(Subset(2), 2)], ids=str)
def test_pickle_and_copies_of_an_ensemble(iris, members):
    X, y = iris
    ensemble = TANEnsembleClassifier(members, **QUICK).fit(X, y)
    for other in (pickle.loads(pickle.dumps(ensemble)), copy.deepcopy(ensemble)):
        assert same_predictions(ensemble, other, X)
        assert other.members == members
        assert same_predictions(ensemble, other.fit(X, y), X)


@pytest.mark.parametrize(
    "classifier",
    [TANClassifier("subset", **QUICK), TANEnsembleClassifier(CoveringPaths(2), **QUICK)],
    ids=["one tree", "several trees"],
)
def test_clone_is_not_fitted_and_fits_the_same(iris, classifier):
    X, y = iris
    other = clone(classifier.fit(X, y))
    with pytest.raises(NotFittedError):
        other.predict_proba(X)
    assert same_predictions(classifier, other.fit(X, y), X)


def test_fit_does_not_change_the_parameters(iris):
    X, y = iris
    parents = [-1, 0, 1, 2]
    classifier = TANClassifier(parents, **QUICK)
    before = classifier.get_params()
    classifier.fit(X, y)
    assert classifier.get_params() == before
    assert classifier.structure is parents
    assert parents == [-1, 0, 1, 2]


@pytest.mark.parametrize(
    "structure",
    [
        "all",
        AllPredecessors(ordering=np.array([3, 1, 0, 2])),
        ParentSets.from_lists([[-1], [-1, 0]], order=[0, 1]),
        np.array([-1, 0, 1, 2]),
        [-1, 0, 1, 2],
    ],
    ids=["name", "value", "ParentSets", "array", "list"],
)
def test_parameters_make_a_round_trip(structure):
    parameters = GradientDescent("nll", tau=(5.0, 0.5))
    classifier = TANClassifier(structure, parameters, max_bins=3, categorical_features=[3, 1])
    params = classifier.get_params(deep=False)
    assert params["structure"] is structure
    assert params["parameters"] is parameters
    again = TANClassifier(**params)
    assert all(again.get_params()[name] is value for name, value in params.items())
    copied = clone(classifier).get_params(deep=False)
    copy_of_structure = copied.pop("structure")
    assert type(copy_of_structure) is type(structure)
    assert np.array_equal(copy_of_structure, structure)
    assert copied == {name: value for name, value in params.items() if name != "structure"}


def test_printing_shows_what_was_set():
    classifier = TANClassifier(np.array([-1, 0]), GradientDescent(Hybrid(lam=3.0)))
    assert " ".join(repr(classifier).split()) == (
        "TANClassifier(parameters=GradientDescent(loss=Hybrid(lam=3.0)), structure=array([-1, 0]))"
    )
    assert "ParentSets(n_features=2" in repr(TANClassifier(ParentSets.from_lists([[-1], [-1, 0]])))
    assert repr(TANClassifier()) == "TANClassifier()"
    assert repr(TANEnsembleClassifier(DisjointTrees(3))) == "TANEnsembleClassifier(members=DisjointTrees(n_members=3))"


def test_set_params(iris):
    X, y = iris
    classifier = TANClassifier(**QUICK).set_params(structure="none", parameters__epochs=2)
    assert classifier.fit(X, y).parents_.tolist() == [-1] * 4
    assert len(classifier.history_["loss"]) == 2
    with pytest.raises(ValueError, match="TANClassifier has no option 'depth'"):
        classifier.set_params(depth=3)
