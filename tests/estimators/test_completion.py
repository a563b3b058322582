"""`complete`: the most probable values of missing cells and classes, in the columns' own values and types."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from tanager import TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 500
    y = rng.choice(["no", "yes"], n)
    is_yes = y == "yes"
    X = pd.DataFrame(
        {
            "count": rng.poisson(2 + 6 * is_yes).astype(np.int32),
            "colour": pd.Categorical(np.where(rng.random(n) < 0.1 + 0.8 * is_yes, "red", "blue")),
            "is_old": rng.random(n) < 0.2 + 0.6 * is_yes,
            "note": np.where(rng.random(n) < 0.7, None, "seen"),
        }
    )
    return X, y


@pytest.mark.parametrize("classifier", [TANClassifier(random_state=0), TANEnsembleClassifier(random_state=0)])
def test_gaps_are_filled_and_nothing_else_changes(classifier, rows):
    X, y = rows
    clf = classifier.fit(X, y)
    holes = X.astype({"count": float}).copy()
    holes.loc[::3, "count"] = np.nan
    holes.loc[::5, "colour"] = None
    known = pd.Series(y, dtype=object).mask(np.arange(len(y)) % 2 == 0, None)
    filled, classes = clf.complete(holes, known)
    assert not filled.isna().any().any()
    assert (filled.dtypes == holes.dtypes).all()
    was_known = holes.notna()
    assert (filled.astype(object)[was_known] == holes.astype(object)[was_known]).sum().sum() == was_known.sum().sum()
    assert (classes[1::2] == y[1::2]).all()
    assert np.mean(classes == y) > 0.9
    assert filled["count"].between(X["count"].min(), X["count"].max()).all()
    assert (filled["count"] % 1 == 0).all()
    assert set(filled["note"]) == {"seen"}  # most cells were missing, but a gap is not filled with a gap


def test_completion_is_the_most_probable_one():
    X, y = load_iris(return_X_y=True)
    clf = TANClassifier("chow-liu", "ml").fit(X, y)
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.4] = np.nan
    filled, classes = clf.complete(holes)
    assert filled.dtype == X.dtype
    codes = clf.encoder_.encode(as_frame(holes)).astype(np.int64)
    expected, numbers, _ = clf.description_.most_probable(codes)
    np.testing.assert_array_equal(clf.encoder_.encode(as_frame(filled)), expected)
    np.testing.assert_array_equal(classes, clf.classes_[numbers])


def test_arrays_of_objects_and_lists():
    X = np.array([["red", 1.0], ["blue", 2.0], ["red", 1.0], [None, 1.0]] * 10, dtype=object)
    clf = TANClassifier("none", "ml").fit(X, ["a", "b", "a", "a"] * 10)
    filled, classes = clf.complete([["blue", None], [None, 1.0]])
    assert filled.tolist() == [["blue", 2.0], ["red", 1.0]]
    assert classes.tolist() == ["b", "a"]


def test_wrong_classes(rows):
    clf = TANClassifier("none", "ml").fit(*rows)
    with pytest.raises(ValueError, match="'perhaps' is not a class; the classes are 'no', 'yes'"):
        clf.complete(rows[0][:2], ["yes", "perhaps"])
    with pytest.raises(ValueError, match="X has 2 rows, but y has 1"):
        clf.complete(rows[0][:2], ["yes"])
