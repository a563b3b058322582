"""Rows drawn from a classifier, as values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tanager import GradientDescent, ParentSets, TANClassifier
from tanager.data import as_frame


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 300
    y = rng.choice(["yes", "no"], size=n)
    is_yes = y == "yes"
    frame = pd.DataFrame(
        {
            "size": rng.normal(3.0 * is_yes, 1.0),
            "colour": np.where(rng.random(n) < 0.2 + 0.6 * is_yes, "red", "blue"),
            "count": rng.integers(0, 3, n) + is_yes,
        }
    )
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame, y


@pytest.fixture(scope="module")
def fitted(rows):
    return TANClassifier("chow-liu", parameters="ml", binning="quantile", max_bins=3).fit(*rows)


def test_drawn_frame_looks_like_the_training_frame(fitted, rows):
    X, y = fitted.sample(4000, random_state=0)
    assert isinstance(X, pd.DataFrame)
    assert X.columns.tolist() == ["size", "colour", "count"]
    assert X["size"].dtype == np.float64
    assert set(X["colour"].dropna()) == {"red", "blue"}
    assert X["colour"].isna().mean() == pytest.approx(rows[0]["colour"].isna().mean(), abs=0.03)
    assert set(y) == {"yes", "no"}
    share = (rows[0]["colour"] == "red")[rows[1] == "yes"].mean()
    assert (X["colour"] == "red")[y == "yes"].mean() == pytest.approx(share, abs=0.04)
    assert fitted.score(X, y) > 0.7


def test_given_values_and_class_hold(fitted):
    X, y = fitted.sample(500, given={"colour": "red", 2: 1, "class": "no"}, random_state=1)
    assert (X["colour"] == "red").all()
    assert set(y) == {"no"}
    codes = fitted.encoder_.encode(as_frame(X))
    assert len(set(codes[:, 2])) == 1
    assert len(set(codes[:, 0])) == 3


def test_given_values_change_the_class(fitted):
    _, low = fitted.sample(1000, given={"size": -1.0}, random_state=2)
    _, high = fitted.sample(1000, given={"size": 4.0}, random_state=2)
    assert (low == "yes").mean() < 0.2 < 0.8 < (high == "yes").mean()
    X = pd.DataFrame({"size": [4.0], "colour": [None], "count": [np.nan]})
    codes = np.array([[fitted.encoder_.encode(as_frame(X))[0, 0], *fitted.encoder_.cards[1:]]])
    assert (high == "yes").mean() == pytest.approx(fitted.network_.marginals(codes).classes[0, 1], abs=0.05)


def test_a_missing_value_can_be_given(fitted):
    X, _ = fitted.sample(20, given={"colour": None}, random_state=0)
    assert X["colour"].isna().all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_without_names_it_is_an_array_of_the_type_of_x(dtype):
    X, y = load_iris(return_X_y=True)
    classifier = TANClassifier("chow-liu", parameters="ml").fit(X.astype(dtype), y)
    drawn, classes = classifier.sample(50, random_state=0)
    assert isinstance(drawn, np.ndarray)
    assert (drawn.shape, drawn.dtype, classes.shape) == ((50, 4), np.dtype(dtype), (50,))
    assert classifier.predict(drawn).shape == (50,)


def test_without_pandas_it_is_an_array_of_objects(fitted, monkeypatch):
    monkeypatch.setattr("tanager.data.restoring.has_pandas", lambda: False)
    assert isinstance(fitted.sample(3, random_state=0)[0], np.ndarray)


@pytest.mark.parametrize("options", [{}, {"structure": "chow-liu", "parameters": "ml", "binning": "quantile"}])
def test_drawn_values_are_such_as_training_showed(options):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "whole": rng.poisson(3.0, 400).astype(np.int16),
            "tenths": rng.integers(0, 50, 400) / 10,
            "skewed": rng.exponential(100.0, 400) ** 2,
            "flag": rng.random(400) < 0.3,
            "word": pd.Categorical(rng.choice(["a", "b", "c"], 400)),
            "code": pd.array(rng.integers(10, 13, 400), dtype="Int64"),
        }
    )
    y = np.where(frame["whole"] + rng.normal(size=400) > 3, "high", "low")
    drawn, _ = TANClassifier(**options, random_state=0).fit(frame, y).sample(3000, random_state=0)
    assert drawn.dtypes.to_dict() == frame.dtypes.to_dict()
    for name in ("whole", "tenths", "skewed", "code"):
        assert drawn[name].min() >= frame[name].min()
        assert drawn[name].max() <= frame[name].max()
    np.testing.assert_array_equal(drawn["tenths"], drawn["tenths"].round(1))
    for share in (0.1, 0.5, 0.9):
        expected = frame["skewed"].quantile(share)
        assert (drawn["skewed"] < expected).mean() == pytest.approx(share, abs=0.05)


def test_given_numbers_are_kept(fitted):
    X, _ = fitted.sample(10, given={"size": 0.123}, random_state=0)
    assert (X["size"] == 0.123).all()


def test_seeds(fitted):
    first, again, other = (fitted.sample(50, random_state=seed)[0] for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)
    assert len(fitted.sample(random_state=0)[1]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"given": {"shape": 1}}, "there is no column 'shape'"),
        ({"given": {"colour": "green"}}, "training did not show the value 'green' of column 'colour'"),
        ({"given": {"size": "big"}}, "column 'size' is numeric"),
        ({"given": {"size": None}}, "training did not show the value None of column 'size'"),
        ({"given": {"class": "perhaps"}}, "'perhaps' is not a class; the classes are 'no', 'yes'"),
        ({"n_samples": -1}, "the number of rows to draw must be a whole number of at least 0, got -1"),
    ],
)
def test_wrong_input(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        fitted.sample(**options)


def test_cyclic_network_is_refused():
    X, y = load_iris(return_X_y=True)
    circles = ParentSets.from_lists([[1], [0], [3], [2]])
    classifier = TANClassifier(circles, GradientDescent(epochs=1), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="not a joint distribution and has no marginals, completions or samples"):
        classifier.sample(3)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        TANClassifier().sample()
