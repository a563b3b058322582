"""Input that is odd or wrong: a sensible result, or an error that says what is wrong."""

import itertools
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.datasets import load_iris

from tanager import ParentSets, TANClassifier
from tanager.training import TrainingDivergedError

QUICK = {"epochs": 4, "batch_size": 100, "random_state": 0}
STRUCTURES = ["none", "random", "chow-liu", "subset", "all", "pseudo"]
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    return TANClassifier("subset", **QUICK).fit(*iris)


@pytest.fixture(scope="module")
def fitted_to_frame(iris):
    X, y = iris
    return TANClassifier("subset", **QUICK).fit(pd.DataFrame(X, columns=NAMES), y)


def assert_probabilities(classifier, X, n_classes):
    probabilities = classifier.predict_proba(X)
    assert probabilities.shape == (len(X), n_classes)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


# Tables and classes that are odd but not wrong.


@pytest.mark.parametrize("structure", STRUCTURES)
def test_constant_column(iris, structure):
    X, y = iris
    X = np.column_stack([X[:, :2], np.full(len(y), 7.0), X[:, 2:]])
    classifier = TANClassifier(structure, epochs=30, random_state=0).fit(X, y)
    assert classifier.encoder_.cards[2] == 1
    assert_probabilities(classifier, X, 3)
    assert classifier.score(X, y) > 0.9
    # There is one bin, so other values change nothing.
    moved = X.copy()
    moved[:, 2] = -100.0
    np.testing.assert_array_equal(classifier.predict_proba(moved), classifier.predict_proba(X))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_all_columns_constant_leave_the_class_frequencies(structure):
    X, y = np.ones((100, 3)), np.repeat([0, 1], [75, 25])
    classifier = TANClassifier(structure, loss="nll", epochs=200, random_state=0).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X[:1]), [[0.75, 0.25]], atol=0.02)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", ["hybrid", "margin", "conditional", "nll"])
def test_one_class(iris, structure, loss):
    X, _ = iris
    classifier = TANClassifier(structure, loss=loss, **QUICK).fit(X, np.full(len(X), "only"))
    assert classifier.classes_.tolist() == ["only"]
    assert set(classifier.predict(X)) == {"only"}
    np.testing.assert_array_equal(classifier.predict_proba(X), np.ones((len(X), 1)))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_class_with_one_row(iris, structure):
    X, y = iris
    y = y.copy()
    y[17] = 9
    classifier = TANClassifier(structure, epochs=20, random_state=0).fit(X, y)
    assert classifier.classes_.tolist() == [0, 1, 2, 9]
    assert_probabilities(classifier, X, 4)
    assert classifier.score(X, y) > 0.9


@pytest.mark.parametrize("structure", STRUCTURES)
def test_one_feature(iris, structure):
    X, y = iris
    classifier = TANClassifier(structure, epochs=30, random_state=0).fit(X[:, 2:3], y)
    assert classifier.parents_.tolist() == [-1]
    np.testing.assert_array_equal(classifier.parent_probabilities_, [[0.0, 1.0]])
    assert classifier.score(X[:, 2:3], y) > 0.9


def test_one_feature_of_an_image(iris):
    X, y = iris
    assert TANClassifier("nearest", image_shape=(1, 1), **QUICK).fit(X[:, :1], y).parents_.tolist() == [-1]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_one_row(iris, structure):
    X, y = iris
    classifier = TANClassifier(structure, **QUICK).fit(X[:1], y[:1])
    assert classifier.predict(X).tolist() == [y[0]] * len(X)


def test_batch_larger_than_the_table(iris):
    X, y = iris
    assert TANClassifier("subset", batch_size=10**6, epochs=200, random_state=0).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("structure", ["subset", "pseudo"])
def test_max_parents_larger_than_possible_means_all(iris, structure):
    most, more = (TANClassifier(structure, max_parents=k, **QUICK).fit(*iris) for k in (3, 1000))
    np.testing.assert_array_equal(most.parent_probabilities_, more.parent_probabilities_)
    assert (more.parent_probabilities_ > 0).sum() == {"subset": 4 + 6, "pseudo": 16}[structure]


def test_max_parents_larger_than_possible_on_an_image(iris):
    X, y = iris
    classifier = TANClassifier("nearest", max_parents=1000, image_shape=(2, 2), ordering="A", **QUICK).fit(X, y)
    assert (classifier.parent_probabilities_ > 0).sum() == 10


@pytest.mark.parametrize(
    "labels",
    [["no", "yes", "perhaps"], [False, True, True], [-3, 0, 40], [1.0, 2.0, 3.0]],
    ids=["text", "bool", "int", "float"],
)
def test_labels_of_any_type(iris, labels):
    X, y = iris
    y = np.array(labels)[y]
    classifier = TANClassifier("subset", epochs=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(classifier.classes_, np.unique(y))
    assert classifier.predict(X).dtype == y.dtype
    assert classifier.score(X, y) > 0.9


# Values that training did not show.


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = (y[:, None] + rng.integers(0, 3, (300, 4))) % 4
    X[:, 1] = (X[:, 0] + X[:, 1] // 2) % 4
    return X, y


UNSEEN = 99


@pytest.mark.parametrize("structure", ["none", "chow-liu", "all", [-1, 0, 1, 2], [1, 2, 3, -1], [-1, 0, 0, 0]], ids=str)
@pytest.mark.parametrize("unseen", [[0], [1], [3], [0, 1], [0, 2], [1, 2, 3], [0, 1, 2, 3]], ids=str)
def test_an_unseen_value_is_summed_out(codes, structure, unseen):
    X, y = codes
    classifier = TANClassifier(structure, categorical_features=range(4), **QUICK).fit(X, y)
    rows = X[:20].copy()
    rows[:, unseen] = UNSEEN
    total = np.full((20, 3), -np.inf)
    for values in itertools.product(range(4), repeat=len(unseen)):
        filled = rows.copy()
        filled[:, unseen] = values
        total = np.logaddexp(total, classifier.predict_joint_log_proba(filled))
    np.testing.assert_allclose(classifier.predict_joint_log_proba(rows), total, rtol=1e-5)
    assert_probabilities(classifier, rows, 3)
    # Rows without such a value are not touched by those that have one.
    both = np.vstack([rows, X[:20]])
    np.testing.assert_array_equal(classifier.predict_proba(both)[20:], classifier.predict_proba(X[:20]))


def test_with_nothing_seen_the_class_prior_is_left(codes):
    X, y = codes
    classifier = TANClassifier("chow-liu", parameters="ml", categorical_features=range(4)).fit(X, y)
    prior = (np.bincount(y) + 1) / (len(y) + 3)
    np.testing.assert_allclose(classifier.predict_proba(np.full((1, 4), UNSEEN)), [prior], rtol=1e-5)


def test_an_unseen_value_of_a_cyclic_structure(codes):
    X, y = codes
    circle = ParentSets.from_lists([[1], [2], [3], [0]])
    classifier = TANClassifier(circle, categorical_features=range(4), **QUICK).fit(X, y)
    rows = X[:20].copy()
    rows[:, 1] = UNSEEN
    assert_probabilities(classifier, rows, 3)
    assert not np.allclose(classifier.predict_proba(rows), classifier.predict_proba(X[:20]))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_unseen_text_in_a_frame(frame):
    table = {"colour": ["red", "blue", "red", "blue"] * 10, "size": ["s", "m", "l", "l"] * 10}
    y = [0, 1, 0, 1] * 10
    classifier = TANClassifier("chow-liu", parameters="ml").fit(frame(table), y)
    new = {"colour": ["green", "red"], "size": ["l", "xl"]}
    assert_probabilities(classifier, frame(new), 2)
    assert classifier.predict(frame(new))[1] == 0


def test_numbers_beyond_those_seen_go_to_the_outer_bins(iris, fitted):
    X, _ = iris
    low, high = X.min(axis=0, keepdims=True), X.max(axis=0, keepdims=True)
    np.testing.assert_array_equal(fitted.predict_proba(low), fitted.predict_proba(low - 1e9))
    np.testing.assert_array_equal(fitted.predict_proba(high), fitted.predict_proba(high + 1e9))


# Tables that are wrong.


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 3)), [], r"0 sample\(s\)"),
        (np.empty((3, 0)), [0, 1, 2], r"0 feature\(s\)"),
        (pd.DataFrame({"a": [], "b": []}), [], r"0 sample\(s\)"),
        (pd.DataFrame(index=range(3)), [0, 1, 2], r"0 feature\(s\)"),
    ],
    ids=["no rows", "no columns", "frame without rows", "frame without columns"],
)
def test_empty_tables(X, y, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("value", "in_array", "in_frame"),
    [
        (np.inf, "column 1 has infinite values", "column 'b' has infinite values"),
        (-np.inf, "column 1 has infinite values", "column 'b' has infinite values"),
    ],
)
def test_values_that_are_not_finite(iris, fitted, fitted_to_frame, value, in_array, in_frame):
    X, y = iris
    X = X.copy()
    X[3, 1] = value
    frame = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(ValueError, match=in_array):
        TANClassifier("subset", **QUICK).fit(X, y)
    with pytest.raises(ValueError, match=in_array):
        fitted.predict(X)
    with pytest.raises(ValueError, match=in_frame):
        TANClassifier("subset", **QUICK).fit(frame, y)
    with pytest.raises(ValueError, match=in_frame):
        fitted_to_frame.predict(frame)


def test_wrong_number_of_columns_at_predict(iris, fitted):
    X, _ = iris
    for method in (fitted.predict, fitted.predict_proba, fitted.predict_joint_log_proba):
        with pytest.raises(ValueError, match="X has 3 features, but TANClassifier is expecting 4 features"):
            method(X[:, :3])
    with pytest.raises(ValueError, match="2D array"):
        fitted.predict(X[0])


def test_wrong_names_of_columns_at_predict(iris, fitted_to_frame):
    frame = pd.DataFrame(iris[0], columns=NAMES)
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing:\n- d"):
        fitted_to_frame.predict(frame[["a", "b", "c"]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- z"):
        fitted_to_frame.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="must be in the same order"):
        fitted_to_frame.predict(frame[["b", "a", "c", "d"]])


def test_sparse_tables(iris):
    with pytest.raises(TypeError, match="dense data is required"):
        TANClassifier("subset", **QUICK).fit(scipy.sparse.csr_matrix(iris[0]), iris[1])


def test_dates():
    with pytest.raises(TypeError, match="column 'day' holds dates"):
        TANClassifier("subset", **QUICK).fit(pd.DataFrame({"day": pd.date_range("2020", periods=4)}), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("make_y", "message"),
    [
        (lambda y: None, "requires y to be passed"),
        (lambda y: y[:9], r"inconsistent numbers of samples: \[150, 9\]"),
        (lambda y: np.where(y == 0, np.nan, y), "Input y contains NaN"),
        (lambda y: y + 0.5, "Unknown label type: continuous"),
        (lambda y: np.column_stack([y, y]), r"1d array, got an array of shape \(150, 2\)"),
    ],
    ids=["none", "short", "nan", "continuous", "two columns"],
)
def test_wrong_targets(iris, make_y, message):
    X, y = iris
    with pytest.raises(ValueError, match=message):
        TANClassifier("subset", **QUICK).fit(X, make_y(y))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[-1.0, np.ones(149)], "sample_weight must not be negative"),
        (np.ones(149), r"sample_weight must be 1D with one weight for each of 150 rows, got shape \(149,\)"),
        (np.ones((150, 1)), r"got shape \(150, 1\)"),
        (np.zeros(150), "sample_weight is zero for every row"),
        (np.r_[np.nan, np.ones(149)], "Input sample_weight contains NaN"),
        (np.r_[np.inf, np.ones(149)], "Input sample_weight contains infinity"),
    ],
    ids=["negative", "short", "two-dimensional", "all zero", "nan", "infinite"],
)
def test_wrong_weights(iris, weight, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier("subset", **QUICK).fit(*iris, sample_weight=weight)


def test_rows_without_weight_are_absent(iris):
    X, y = iris
    X = X.copy()
    X[y == 0] = 1e6
    weight = (y != 0).astype(float)
    weighted = TANClassifier("chow-liu", parameters="ml").fit(X, y, sample_weight=weight)
    absent = TANClassifier("chow-liu", parameters="ml").fit(X[y != 0], y[y != 0])
    assert weighted.classes_.tolist() == [1, 2]
    np.testing.assert_array_equal(weighted.predict_proba(X), absent.predict_proba(X))


# Options that are wrong.

NUMBERS = {
    "max_parents": [0, -1, 2.5],
    "lam": [-1.0],
    "gamma": [0.0, -1.0],
    "eta": [0.0, -1.0],
    "smoothing": [0.0, -1.0],
    "max_bins": [0, -1, 2.5],
    "max_categories": [0, 1, -1, 2.5],
    "epochs": [0, -1, 2.5],
    "batch_size": [0, -1, 2.5],
    "learning_rate": [0.0, -0.1],
    "learning_rate_decay": [0.0, -0.1],
    "structure_learning_rate": [0.0, -0.1],
    "parent_dropout": [1.0, -0.1],
    "shrinkage": [-0.1],
    "smoothness": [-0.1],
    "ridge": [-1.0],
    "base_ridge": [-1.0],
    "size_penalty": [-0.1],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_none_or_out_of_range(iris, name):
    needs_value = name in (
        "max_parents",
        "smoothing",
        "learning_rate_decay",
        "shrinkage",
        "size_penalty",
    )  # None is no limit or a default elsewhere
    for value in [np.nan, np.inf, -np.inf, *([None] if needs_value else []), "3", [1], *NUMBERS[name]]:
        with pytest.raises(ValueError, match=f"^{name} must be") as caught:
            TANClassifier(**{name: value}).fit(*iris)
        assert repr(value) in str(caught.value)


@pytest.mark.parametrize("name", ["lam", "gamma", "eta", "smoothing", "epochs", "learning_rate"])
@pytest.mark.parametrize("settings", [{"loss": "nll"}, {"structure": "none", "parameters": "ml"}], ids=["nll", "ml"])
def test_numbers_are_checked_also_where_they_are_not_used(iris, name, settings):
    with pytest.raises(ValueError, match=f"^{name} must be a finite number, got nan"):
        TANClassifier(**{name: np.nan}, **settings).fit(*iris)


@pytest.mark.parametrize("tau", [5.0, None, (1.0,), (1.0, 2.0, 3.0), (np.nan, 1.0), (1.0, np.inf), (0.0, 1.0), (1, -1)])
def test_temperatures(iris, tau):
    with pytest.raises(ValueError, match=r"^tau"):
        TANClassifier("subset", tau=tau).fit(*iris)


@pytest.mark.parametrize("scale", [np.float32, np.float64, int])
def test_numbers_of_any_type_will_do(iris, scale):
    TANClassifier("subset", lam=scale(2), gamma=scale(1), tau=(scale(2), scale(1)), epochs=np.int64(2)).fit(*iris)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("structure", "bush", "structure must be one of 'auto', 'none', 'random', 'chow-liu', .* got 'bush'"),
        ("structure", 5, "structure as a list must hold one integer for each feature"),
        ("structure", None, "structure as a list must hold one integer for each feature"),
        ("structure", [0.5] * 4, "structure as a list must hold one integer for each feature"),
        ("structure", [-1, 0], "structure lists the parents of 2 features, but X has 4"),
        ("structure", [-1, 0, 1, 7], "feature 3: parent 7 does not exist"),
        ("structure", [-2, 0, 1, 2], "feature 0: parent -2 does not exist"),
        ("ordering", "D", "ordering must be None, 'random', 'natural', 'A', 'B', 'C' or a permutation, got 'D'"),
        ("ordering", [0, 1, 2], "ordering as a list must hold each of the features 0 to 3 once"),
        ("ordering", [0, 1, 2, 2], "ordering as a list must hold each of the features 0 to 3 once"),
        ("ordering", 5, "ordering as a list must hold each of the features 0 to 3 once"),
        ("loss", "hinge", "loss must be 'hybrid', 'nll', 'margin', 'conditional' or a function, got 'hinge'"),
        ("parameters", "mle", "parameters must be 'gradient' or 'ml', got 'mle'"),
        ("choose", "sometimes", r"choose must be one of \(True, False\), got 'sometimes'"),
        ("calibrate", "yes", r"calibrate must be one of \(None, True, False\), got 'yes'"),
        ("binning", "halves", "binning must be 'auto', 'mdlp', 'quantile' or 'none', got 'halves'"),
        ("optimiser", "sgd", "optimiser must be 'dense' or 'selected', got 'sgd'"),
        ("categorical_features", "all", "categorical_features='all' is not understood"),
        ("categorical_features", [9], "categorical_features lists column 9, but X has 4 columns"),
        ("categorical_features", ["a"], "categorical_features lists the column name 'a', but X has no column names"),
        ("n_jobs", 0, "n_jobs == 0"),
    ],
)
def test_options_that_do_not_exist(iris, name, value, message):
    options = {"structure": "subset"} if name == "ordering" else {}  # by default there is no ordering
    with pytest.raises(ValueError, match=message):
        TANClassifier(**{name: value}, **options).fit(*iris)


@pytest.mark.parametrize(
    ("parents", "cycle"),
    [
        ([1, 2, 3, 0], "0 -> 3 -> 2 -> 1 -> 0"),
        ([-1, 2, 1, 0], "1 -> 2 -> 1"),
        ([-1, 0, 2, 0], "2 -> 2"),
    ],
)
def test_parents_with_a_cycle(iris, parents, cycle):
    with pytest.raises(ValueError, match=f"the parents form a cycle: features {cycle}$"):
        TANClassifier(parents).fit(*iris)


def test_search_space_of_another_table(iris):
    with pytest.raises(ValueError, match="the search space is of 2 features, but the table has 4"):
        TANClassifier(ParentSets.from_lists([[-1], [-1, 0]])).fit(*iris)


@pytest.mark.parametrize(
    "structure", ["subset", "all", "pseudo", ParentSets.from_lists([[-1], [-1, 0], [-1], [-1]])], ids=str
)
def test_closed_form_of_a_search(iris, structure):
    with pytest.raises(ValueError, match=r"parameters='ml' needs one fixed structure, .* is a search: use 'none'"):
        TANClassifier(structure, parameters="ml").fit(*iris)


@pytest.mark.parametrize("structure", ["all", "subset", "pseudo"])
def test_tables_that_would_not_fit_in_memory(structure):
    n_rows, n_features, n_classes, max_parents = 3000, 60, 30, 40
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(n_rows), (n_features, 1)), axis=1).T
    y = np.arange(n_rows) % n_classes
    classifier = TANClassifier(
        structure, max_parents=max_parents, categorical_features=range(n_features), max_categories=None
    )
    with pytest.raises(MemoryError) as caught:
        classifier.fit(X, y)
    message = str(caught.value)
    n_pairs = {
        "all": n_features * (n_features - 1) // 2,
        "subset": sum(min(max_parents, position) for position in range(n_features)),
        "pseudo": n_features * max_parents,
    }[structure]
    n_entries = (n_pairs * n_rows**2 + n_features * n_rows) * n_classes
    assert f"would take {n_entries * 12 / 2**30:,.1f} GiB" in message
    assert re.search(r"the machine has [\d,.]+ GiB", message)
    assert "lower max_parents, max_bins or max_categories, or leave out features with many values" in message
    assert f"the largest table has {n_rows**2 * n_classes:,} entries" in message


def test_training_that_diverges(iris):
    with pytest.raises(TrainingDivergedError, match="lower learning_rate, lam or gamma"):
        TANClassifier("subset", learning_rate=1e30, epochs=5, random_state=0).fit(*iris)
