"""TANClassifier among scikit-learn's tools: checks, pipelines, searches, calibration, copies, tables of all kinds."""

import copy
import os
import pickle
import re
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tanager import ParentSets, TANClassifier

SHORT = {"epochs": 60, "batch_size": 100}
QUICK = {**SHORT, "epochs": 8, "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def numbers():
    """Enough distinct rows that training is by mini-batches."""
    X, y = make_classification(600, 10, n_informative=6, n_classes=3, random_state=0)
    return X, y


def same_predictions(first, second, X, X_second=None):
    return np.array_equal(first.predict_proba(X), second.predict_proba(X if X_second is None else X_second))


def test_check_estimator_without_exemption():
    report = check_estimator(TANClassifier(epochs=5), on_skip=None)  # chosen among presets, but in less time
    assert len(report) > 50
    # The one check that asks for an environment variable has a test of its own below.
    left_out = [entry["check_name"] for entry in report if entry["status"] != "passed"]
    assert left_out in ([], ["check_array_api_input"])


def test_check_estimator_with_array_api_inputs():
    """SCIPY_ARRAY_API is read when SciPy is imported, hence a process of its own; here nothing is left out."""
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from tanager import TANClassifier\n"
        "report = check_estimator(TANClassifier('subset', epochs=60, batch_size=100), on_skip=None)\n"
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
        TANClassifier("none", **SHORT),
        TANClassifier("none", parameters="ml"),
        TANClassifier("random", **SHORT),
        TANClassifier("chow-liu", **SHORT),
        TANClassifier("chow-liu", parameters="ml"),
        TANClassifier("all", **SHORT),
        TANClassifier("pseudo", **SHORT),
        TANClassifier("subset", loss="nll", **SHORT),
        TANClassifier("subset", loss="margin", **SHORT),
        TANClassifier("subset", loss="conditional", **SHORT),
        TANClassifier("subset", optimiser="dense", **SHORT),
        TANClassifier("subset", n_jobs=2, **SHORT),
    ]
)
def test_checks_of_other_configurations(estimator, check):
    check(estimator)


def test_pipeline(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), TANClassifier("subset", random_state=0, **SHORT))
    assert pipeline.fit(X, y).score(X, y) > 0.9
    # Quantiles do not see a change of scale.
    assert same_predictions(pipeline, TANClassifier("subset", random_state=0, **SHORT).fit(X, y), X)


def test_pipeline_passes_sample_weight(iris):
    X, y = iris
    weight = np.where(y == 2, 0.0, 1.0)
    pipeline = make_pipeline(StandardScaler(), TANClassifier("subset", **QUICK))
    pipeline.fit(X, y, tanclassifier__sample_weight=weight)
    assert pipeline.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(("n_jobs", "backend"), [(1, "loky"), (2, "threading")])
def test_grid_search(iris, n_jobs, backend):
    X, y = iris
    grid = {"structure": ["none", "chow-liu", "subset"], "lam": [0.0, 10.0]}
    search = GridSearchCV(TANClassifier("subset", **QUICK), grid, cv=3, n_jobs=n_jobs, error_score="raise")
    with joblib.parallel_backend(backend):
        search.fit(X, y)
    assert search.best_score_ > 0.85
    assert len(search.cv_results_["params"]) == 6


def test_grid_search_with_threads_equals_one_without(iris):
    X, y = iris
    scores = []
    for n_jobs in (1, 2):
        search = GridSearchCV(TANClassifier("subset", **QUICK), {"gamma": [0.5, 1.0, 5.0]}, cv=3, n_jobs=n_jobs)
        with joblib.parallel_backend("threading"):
            scores.append(search.fit(X, y).cv_results_["mean_test_score"])
    np.testing.assert_array_equal(scores[0], scores[1])


def test_calibration(numbers):
    X, y = numbers
    calibrated = CalibratedClassifierCV(
        TANClassifier("subset", epochs=15, random_state=0, binning="quantile"), cv=3, method="isotonic"
    ).fit(X, y)
    probabilities = calibrated.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert calibrated.score(X, y) > 0.75


def test_cross_validation_with_string_labels(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = TANClassifier("subset", random_state=0, **SHORT)
    as_text = cross_val_score(classifier, X, names, cv=3)
    assert as_text.min() > 0.85
    np.testing.assert_array_equal(as_text, cross_val_score(classifier, X, y, cv=3))


def test_string_labels_come_back_from_predict(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = TANClassifier("subset", **QUICK).fit(X, names.astype(object))
    assert classifier.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(classifier.predict(X)) == set(names)
    assert same_predictions(classifier, TANClassifier("subset", **QUICK).fit(X, y), X)


def test_is_a_classifier():
    assert is_classifier(TANClassifier())


def test_not_fitted(iris):
    for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        with pytest.raises(NotFittedError):
            getattr(TANClassifier(), method)(iris[0])
    with pytest.raises(NotFittedError):
        _ = TANClassifier().parent_probabilities_


def test_the_predict_methods_agree(numbers):
    X, y = numbers
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    joint = classifier.predict_joint_log_proba(X)
    assert joint.shape == (len(X), 3)
    conditional = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_log_proba(X), conditional)
    np.testing.assert_allclose(classifier.predict_proba(X), np.exp(conditional))
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[joint.argmax(axis=1)])
    assert classifier.score(X, y) == (classifier.predict(X) == y).mean()


def test_the_joint_is_that_of_the_network(numbers):
    X, y = numbers
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    network = classifier.network_
    codes = np.column_stack(
        [np.searchsorted(column.cuts, X[:, i], side="right") for i, column in enumerate(classifier.encoder_.columns)]
    )
    expected = np.tile(network.log_prior, (len(X), 1))
    for i, parent in enumerate(classifier.parents_):
        table = np.log(network.cpt(i))
        expected += table[codes[:, parent] if parent >= 0 else 0, codes[:, i]]
    np.testing.assert_allclose(classifier.predict_joint_log_proba(X), expected, rtol=1e-6)


@pytest.mark.parametrize("structure", ["none", "subset", ParentSets.from_lists([[-1], [-1, 0], [0], [2]])])
def test_pickle_and_copies_predict_the_same(iris, structure):
    X, y = iris
    classifier = TANClassifier(structure, **QUICK).fit(X, y)
    for other in (pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier)):
        assert same_predictions(classifier, other, X)
        np.testing.assert_array_equal(classifier.parents_, other.parents_)
        np.testing.assert_array_equal(classifier.parent_probabilities_, other.parent_probabilities_)


def test_clone_is_not_fitted_and_fits_the_same(iris):
    X, y = iris
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    other = clone(classifier)
    with pytest.raises(NotFittedError):
        other.predict(X)
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
    ["all", ParentSets.from_lists([[-1], [-1, 0]], order=[0, 1]), np.array([-1, 0, 1, 2]), [-1, 0, 1, 2]],
    ids=["name", "ParentSets", "array", "list"],
)
def test_parameters_make_a_round_trip(structure):
    classifier = TANClassifier(structure, max_parents=3, ordering=[3, 1, 0, 2], loss="nll", tau=(5.0, 0.5))
    parameters = classifier.get_params()
    assert parameters["structure"] is structure
    again = TANClassifier(**parameters)
    assert all(again.get_params()[name] is value for name, value in parameters.items())
    copied = clone(classifier).get_params()
    np.testing.assert_array_equal(copied.pop("structure"), structure)
    assert copied == {name: value for name, value in parameters.items() if name != "structure"}


def test_printing_shows_what_was_set():
    sets = ParentSets.from_lists([[-1], [-1, 0]])
    assert repr(TANClassifier(np.array([-1, 0]), lam=3.0)) == "TANClassifier(lam=3.0, structure=array([-1,  0]))"
    assert "ParentSets(n_features=2" in repr(TANClassifier(sets))


def test_set_params(iris):
    X, y = iris
    classifier = TANClassifier(**QUICK).set_params(structure="none", epochs=2)
    assert classifier.fit(X, y).parents_.tolist() == [-1] * 4
    assert len(classifier.history_["loss"]) == 2
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        classifier.set_params(depth=3)


def test_history_has_an_entry_for_each_epoch(numbers):
    classifier = TANClassifier("subset", epochs=5, random_state=0).fit(*numbers)
    assert set(classifier.history_) == {"loss", "error", "entropy", "learning_rate", "tau"}
    assert all(column.shape == (5,) for column in classifier.history_.values())
    assert classifier.history_["loss"][-1] < classifier.history_["loss"][0]
    closed_form = TANClassifier("none", parameters="ml").fit(*numbers)
    assert all(column.shape == (0,) for column in closed_form.history_.values())


@pytest.fixture(scope="module")
def mixed():
    """Numbers, text and booleans, in columns of their own."""
    rng = np.random.default_rng(0)
    n_rows = 200
    y = rng.integers(0, 3, n_rows)
    colour = np.array(["red", "green", "blue", "black"], dtype=object)[(y + rng.integers(0, 2, n_rows)) % 4]
    return {
        "length": rng.normal(size=n_rows) + y,
        "colour": colour,
        "is_new": (y == 1) ^ (rng.random(n_rows) < 0.2),
        "count": rng.integers(0, 5, n_rows),
    }, y


def as_numpy(columns):
    array = np.empty((len(columns["count"]), len(columns)), dtype=object)
    for index, column in enumerate(columns.values()):
        array[:, index] = column
    return array


def as_pandas_category(columns):
    return pd.DataFrame(columns).astype({"colour": "category"})


FRAMES = [pd.DataFrame, as_pandas_category, pl.DataFrame, pa.table]


@pytest.mark.parametrize("frame", FRAMES)
def test_tables_of_all_kinds_give_the_same_predictions(mixed, frame):
    columns, y = mixed
    from_array = TANClassifier("subset", **QUICK, binning="quantile").fit(as_numpy(columns), y)
    from_frame = TANClassifier("subset", **QUICK, binning="quantile").fit(frame(columns), y)
    np.testing.assert_array_equal(from_array.encoder_.cards, from_frame.encoder_.cards)
    assert from_array.encoder_.cards.tolist() == [10, 4, 2, 5]
    assert same_predictions(from_array, from_frame, as_numpy(columns), frame(columns))
    assert from_frame.feature_names_in_.tolist() == ["length", "colour", "is_new", "count"]
    assert from_frame.n_features_in_ == 4


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_model_predicts_on_the_other_kinds_of_frame(mixed, frame):
    columns, y = mixed
    classifier = TANClassifier("subset", **QUICK).fit(pd.DataFrame(columns), y)
    assert same_predictions(classifier, classifier, pd.DataFrame(columns), frame(columns))


def test_targets_as_series(mixed):
    columns, y = mixed
    labels = np.array(["a", "b", "c"])[y]
    expected = TANClassifier("subset", **QUICK).fit(pd.DataFrame(columns), labels)
    for series in (pd.Series(labels), pl.Series(labels), pa.array(labels), labels.tolist()):
        other = TANClassifier("subset", **QUICK).fit(pd.DataFrame(columns), series)
        assert other.classes_.tolist() == ["a", "b", "c"]
        assert same_predictions(expected, other, pd.DataFrame(columns))


def test_arrays_have_no_feature_names(iris):
    classifier = TANClassifier("subset", **QUICK).fit(*iris)
    assert classifier.n_features_in_ == 4
    assert not hasattr(classifier, "feature_names_in_")


@pytest.mark.parametrize("choice", [[3], ["count"], [False, False, False, True], np.array([3])])
def test_categorical_features_by_position_name_and_mask(mixed, choice):
    columns, y = mixed
    classifier = TANClassifier("subset", categorical_features=choice, **QUICK).fit(pd.DataFrame(columns), y)
    assert classifier.encoder_.columns[3].categories.tolist() == [0, 1, 2, 3, 4]
    assert hasattr(classifier.encoder_.columns[0], "cuts")


@pytest.mark.parametrize(
    ("structure", "parameters"),
    [("subset", "gradient"), ("all", "gradient"), ("pseudo", "gradient"), ("chow-liu", "gradient"), ("chow-liu", "ml")],
)
def test_the_number_of_threads_changes_no_bit(numbers, structure, parameters):
    X, y = numbers
    one, two, three = (
        TANClassifier(structure, parameters=parameters, n_jobs=n_jobs, **QUICK).fit(X, y) for n_jobs in (1, 2, 3)
    )
    for other in (two, three):
        assert one.network_.theta.tobytes() == other.network_.theta.tobytes()
        assert one.network_.log_prior.tobytes() == other.network_.log_prior.tobytes()
        assert one.parent_probabilities_.tobytes() == other.parent_probabilities_.tobytes()
        assert one.predict_proba(X).tobytes() == other.predict_proba(X).tobytes()
        assert one.history_["loss"].tobytes() == other.history_["loss"].tobytes()


def test_random_state_decides(numbers):
    X, y = numbers

    def probabilities(random_state):
        return TANClassifier("subset", epochs=5, random_state=random_state).fit(X, y).predict_proba(X)

    np.testing.assert_array_equal(probabilities(3), probabilities(3))
    np.testing.assert_array_equal(probabilities(np.random.RandomState(3)), probabilities(np.random.RandomState(3)))
    assert not np.array_equal(probabilities(3), probabilities(4))
    assert not np.array_equal(probabilities(None), probabilities(None))


def test_fitting_again_forgets_the_first_fit(iris, numbers):
    classifier = TANClassifier("subset", **QUICK).fit(*numbers).fit(*iris)
    assert same_predictions(classifier, TANClassifier("subset", **QUICK).fit(*iris), iris[0])


def test_integer_weights_equal_repeated_rows_in_closed_form(numbers):
    X, y = numbers
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    settings = {"structure": "chow-liu", "parameters": "ml"}
    weighted = TANClassifier(**settings).fit(X, y, sample_weight=weight)
    repeated = TANClassifier(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.parents_, repeated.parents_)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_verbose_prints_loss_error_and_entropy(numbers, capsys):
    classifier = TANClassifier("subset", epochs=3, random_state=0, verbose=1).fit(*numbers)
    printed = capsys.readouterr()
    assert printed.out == ""
    last = printed.err.rstrip("\n").split("\r")[-1]
    match = re.search(r"epoch 3/3 .*loss (\S+)  error (\S+)%  entropy (\S+)", last)
    assert match, printed.err
    loss, error, entropy = map(float, match.groups())
    history = classifier.history_
    assert loss == pytest.approx(history["loss"][-1], rel=1e-3)
    assert error == pytest.approx(100 * history["error"][-1], abs=0.006)
    assert entropy == pytest.approx(history["entropy"][-1], abs=6e-4)
    assert printed.err.endswith("\n")


def test_quiet_unless_asked(numbers, capsys):
    TANClassifier("subset", epochs=3, random_state=0).fit(*numbers)
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""
