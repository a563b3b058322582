"""MDLPDiscretizer as a scikit-learn transformer; the cuts themselves are tested in tests/data/test_mdlp.py."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tanager import GradientDescent, MDLPDiscretizer, TANClassifier
from tests.oracles.mdlp_oracle import mdlp_cuts

RULES = ["textbook", "best-passing"]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def iris_frame():
    return load_iris(return_X_y=True, as_frame=True)


def test_check_estimator_without_exemption():
    report = check_estimator(MDLPDiscretizer(), on_skip=None)
    assert len(report) > 40
    # The one check that asks for an environment variable has a test of its own below.
    left_out = [entry["check_name"] for entry in report if entry["status"] != "passed"]
    assert left_out in ([], ["check_array_api_input"])


def test_check_estimator_with_array_api_inputs():
    """SCIPY_ARRAY_API is read when SciPy is imported, hence a process of its own; here nothing is left out."""
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from tanager import MDLPDiscretizer\n"
        "report = check_estimator(MDLPDiscretizer(), on_skip=None)\n"
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


@parametrize_with_checks([MDLPDiscretizer("best-passing"), MDLPDiscretizer(max_bins=3), MDLPDiscretizer(n_jobs=2)])
def test_checks_of_other_configurations(estimator, check):
    check(estimator)


# Cuts and codes.


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("max_bins", [None, 1, 2, 3])
def test_cuts_are_those_of_the_oracle(iris, rule, max_bins):
    X, y = iris
    discretizer = MDLPDiscretizer(rule, max_bins=max_bins).fit(X, y)
    for j, cuts in enumerate(discretizer.cuts_):
        np.testing.assert_allclose(cuts, mdlp_cuts(X[:, j], y, rule=rule, max_bins=max_bins), rtol=1e-12)
    assert discretizer.n_bins_.tolist() == [len(cuts) + 1 for cuts in discretizer.cuts_]
    if max_bins is not None:
        assert discretizer.n_bins_.max() <= max_bins


def test_the_rules_differ():
    """The best cut fails the test and a lesser one passes, so that one rule stops and the other goes on."""
    X, y = np.array([[0], [1], [2], [3], [3], [6]]), [0, 1, 3, 2, 2, 2]
    textbook, passing = (MDLPDiscretizer(rule).fit(X, y) for rule in RULES)
    assert textbook.cuts_[0].tolist() == []
    assert passing.cuts_[0].tolist() == [0.5, 1.5, 2.5]


def test_codes_are_bins_from_zero_and_a_value_on_a_cut_goes_up(iris):
    X, y = iris
    discretizer = MDLPDiscretizer().fit(X, y)
    codes = discretizer.transform(X)
    assert codes.dtype == np.int64
    for j, cuts in enumerate(discretizer.cuts_):
        np.testing.assert_array_equal(codes[:, j], (X[:, [j]] >= cuts).sum(axis=1))
        assert np.unique(codes[:, j]).tolist() == list(range(discretizer.n_bins_[j]))
    on_cuts = np.array([[cuts[0] for cuts in discretizer.cuts_]])
    np.testing.assert_array_equal(discretizer.transform(on_cuts), np.ones((1, 4)))
    np.testing.assert_array_equal(discretizer.transform(np.nextafter(on_cuts, -np.inf)), np.zeros((1, 4)))


def test_values_beyond_those_seen_go_to_the_outer_bins(iris):
    X, y = iris
    discretizer = MDLPDiscretizer().fit(X, y)
    np.testing.assert_array_equal(discretizer.transform([[-1e300] * 4]), np.zeros((1, 4)))
    np.testing.assert_array_equal(discretizer.transform([[1e300] * 4]), [discretizer.n_bins_ - 1])


@given(st.data(), st.sampled_from(RULES), st.integers(0, 2**32 - 1))
def test_weights_equal_repeated_rows(data, rule, seed):
    n_rows = data.draw(st.integers(2, 40))
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 8, (n_rows, 2)).astype(float), rng.integers(0, 3, n_rows)
    weight = rng.integers(0, 9, n_rows)
    weight[0] = 1
    weighted = MDLPDiscretizer(rule).fit(X, y, sample_weight=weight)
    repeated = MDLPDiscretizer(rule).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for first, second in zip(weighted.cuts_, repeated.cuts_, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("rule", RULES)
def test_the_number_of_threads_changes_nothing(rule):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    X = rng.normal(size=(3000, 30)) + y[:, None] * rng.random(30)
    one, two, many = (MDLPDiscretizer(rule, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2, 7))
    for other in (two, many):
        assert [cuts.tobytes() for cuts in one.cuts_] == [cuts.tobytes() for cuts in other.cuts_]


@pytest.mark.parametrize("labels", [["no", "yes", "perhaps"], [False, True, True], [-3, 0, 40], [1.0, 2.0, 3.0]])
def test_classes_of_any_type(iris, labels):
    X, y = iris
    y = np.array(labels)[y]
    as_numbers = MDLPDiscretizer().fit(X, np.unique(y, return_inverse=True)[1])
    for classes in (y, y.astype(object) if y.dtype.kind == "U" else y.tolist(), pd.Series(y), pl.Series(y)):
        discretizer = MDLPDiscretizer().fit(X, classes)
        assert [cuts.tolist() for cuts in discretizer.cuts_] == [cuts.tolist() for cuts in as_numbers.cuts_]


def test_columns_that_tell_nothing_have_one_bin():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), np.full(300, 3.0)])
    discretizer = MDLPDiscretizer().fit(X, rng.integers(0, 2, 300))
    assert discretizer.n_bins_.tolist() == [1, 1]
    assert not discretizer.transform(X).any()
    assert discretizer.bin_edges_[1].tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, bool])
def test_numbers_of_any_type(dtype):
    y = np.repeat([0, 1], 50)
    X = np.repeat([[0], [1]], 50, axis=0).astype(dtype)
    assert MDLPDiscretizer().fit(X, y).cuts_[0].tolist() == [0.5]


# Back to edges.


def test_inverse_gives_the_edges_around_each_value(iris):
    X, y = iris
    discretizer = MDLPDiscretizer().fit(X, y)
    edges = discretizer.inverse_transform(discretizer.transform(X))
    assert edges.shape == (150, 4, 2)
    assert (edges[..., 0] <= X).all()
    assert (edges[..., 1] > X).all()
    for j, cuts in enumerate(discretizer.cuts_):
        assert set(edges[:, j].ravel()) == {-np.inf, *cuts, np.inf}


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_inverse_takes_what_transform_gave(iris_frame, container):
    X, y = iris_frame
    discretizer = MDLPDiscretizer().fit(X, y)
    plain = discretizer.inverse_transform(discretizer.transform(X))
    codes = discretizer.set_output(transform=container).transform(X)
    np.testing.assert_array_equal(discretizer.inverse_transform(codes), plain)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([[0, 0, 0]], "X has 3 columns, but 4 were fitted"),
        ([[0, 0, 0, 3]], "column 3 holds 3, which is none of its bins: they go from 0 to 2"),
        ([[0, -1, 0, 0]], "column 1 holds -1, which is none of its bins"),
        ([[0.0, 0.5, 0.0, 0.0]], "column 1 holds 0.5, which is none of its bins"),
    ],
)
def test_what_is_no_bin_has_no_edges(iris, codes, message):
    discretizer = MDLPDiscretizer().fit(*iris)
    with pytest.raises(ValueError, match=message):
        discretizer.inverse_transform(codes)


def test_whole_numbers_of_any_type_are_bins(iris):
    discretizer = MDLPDiscretizer().fit(*iris)
    expected = discretizer.inverse_transform([[0, 1, 2, 1]])
    np.testing.assert_array_equal(discretizer.inverse_transform(np.array([[0.0, 1.0, 2.0, 1.0]])), expected)
    np.testing.assert_array_equal(discretizer.inverse_transform(np.array([[0, 1, 2, 1]], dtype=np.uint8)), expected)


# Names and frames.


def test_feature_names(iris, iris_frame):
    assert MDLPDiscretizer().fit(*iris).get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    X, y = iris_frame
    discretizer = MDLPDiscretizer().fit(X, y)
    assert discretizer.feature_names_in_.tolist() == list(X.columns)
    assert discretizer.get_feature_names_out().tolist() == list(X.columns)
    with pytest.raises(ValueError, match="input_features"):
        discretizer.get_feature_names_out(["other"] * 4)


@pytest.mark.parametrize(("container", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(iris_frame, container, frame):
    X, y = iris_frame
    X = frame(X) if container == "pandas" else pl.from_pandas(X)
    discretizer = MDLPDiscretizer().set_output(transform=container)
    codes = discretizer.fit_transform(X, y)
    assert isinstance(codes, frame)
    assert list(codes.columns) == list(X.columns)
    np.testing.assert_array_equal(codes.to_numpy(), MDLPDiscretizer().fit_transform(np.asarray(X), y))


def test_other_columns_than_in_fit(iris_frame):
    X, y = iris_frame
    discretizer = MDLPDiscretizer().fit(X, y)
    with pytest.raises(ValueError, match="must be in the same order"):
        discretizer.transform(X[X.columns[::-1]])
    with pytest.raises(ValueError, match=r"yet now missing:\n- petal width"):
        discretizer.transform(X.iloc[:, :3])
    with pytest.raises(ValueError, match="X has 3 features, but MDLPDiscretizer is expecting 4"):
        MDLPDiscretizer().fit(X.to_numpy(), y).transform(X.to_numpy()[:, :3])


def test_copies_and_pipelines(iris):
    X, y = iris
    discretizer = MDLPDiscretizer("best-passing", max_bins=5, n_jobs=2).fit(X, y)
    again = pickle.loads(pickle.dumps(discretizer))
    np.testing.assert_array_equal(discretizer.transform(X), again.transform(X))
    assert clone(discretizer).get_params() == {"rule": "best-passing", "max_bins": 5, "n_jobs": 2}
    with pytest.raises(NotFittedError):
        clone(discretizer).transform(X)
    with pytest.raises(NotFittedError):
        clone(discretizer).inverse_transform([[0, 0, 0, 0]])
    assert make_pipeline(MDLPDiscretizer(), CategoricalNB()).fit(X, y).score(X, y) > 0.9


def test_the_classifier_cuts_in_the_same_places(iris):
    X, y = iris
    classifier = TANClassifier("subset", GradientDescent(epochs=1), random_state=0).fit(X, y)
    discretizer = MDLPDiscretizer().fit(X, y)
    assert [column.cuts.tolist() for column in classifier.encoder_.columns] == [
        cuts.tolist() for cuts in discretizer.cuts_
    ]


# Errors.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "other"}, "rule must be one of 'textbook', 'best-passing', got 'other'"),
        ({"max_bins": 0}, "max_bins must be an integer from 1 on, got 0"),
        ({"max_bins": 2.5}, "max_bins must be an integer from 1 on, got 2.5"),
    ],
)
def test_options_that_make_no_sense(iris, options, message):
    with pytest.raises(ValueError, match=message):
        MDLPDiscretizer(**options).fit(*iris)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (np.where(X > 5, np.nan, X), y), "Input X contains NaN"),
        (lambda X, y: (np.where(X > 5, np.inf, X), y), "Input X contains infinity"),
        (lambda X, y: (X[0], y), "2D array"),
        (lambda X, y: (X[:0], y[:0]), r"0 sample\(s\)"),
        (lambda X, y: (X.astype(str) + "a", y), "could not convert string to float"),
        (lambda X, y: (X, y[:9]), r"inconsistent numbers of samples: \[150, 9\]"),
        (lambda X, y: (X, None), "requires y to be passed"),
        (lambda X, y: (X, y + 0.5), "Unknown label type: continuous"),
        (lambda X, y: (X, np.where(y == 0, np.nan, y)), "Input y contains NaN"),
        (lambda X, y: (X, np.where(y == 0, None, "a")), "Input y contains NaN or None"),
    ],
)
def test_wrong_rows_and_classes(iris, change, message):
    with pytest.raises(ValueError, match=message):
        MDLPDiscretizer().fit(*change(*iris))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[-1.0, np.ones(149)], "sample_weight must not be negative"),
        (np.ones(149), r"sample_weight must be 1D with one weight for each of 150 rows, got shape \(149,\)"),
        (np.zeros(150), "sample_weight is zero for every row"),
        (np.r_[np.nan, np.ones(149)], "Input sample_weight contains NaN"),
    ],
)
def test_wrong_weights(iris, weight, message):
    with pytest.raises(ValueError, match=message):
        MDLPDiscretizer().fit(*iris, sample_weight=weight)
