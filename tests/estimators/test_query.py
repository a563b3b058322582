"""`query`: probabilities in the columns' own values."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from tanager import Counts, TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame

WIDTH = "petal width (cm)"


@pytest.fixture(scope="module")
def clf():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return TANClassifier("chow-liu", Counts(1.0)).fit(X, y)


def test_class_given_a_value_is_that_of_the_network(clf):
    found = clf.query("class", given={WIDTH: 0.2})
    codes = clf.network_.cards.copy()
    codes[3] = 0
    np.testing.assert_allclose(found, clf.network_.marginals(codes[None]).classes[0])
    assert found.index.tolist() == [0, 1, 2]


def test_values_given_the_class_sum_to_one(clf):
    found = clf.query(WIDTH, given={"class": 1})
    assert found.index.tolist() == clf.encoder_.value_labels(3)
    assert found.sum() == pytest.approx(1.0)
    assert found.idxmax() == "0.8 to 1.75"


def test_two_columns_and_the_class_make_a_joint_distribution(clf):
    found = clf.query([WIDTH, "class"])
    assert found.index.names == [WIDTH, "class"]
    assert found.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.groupby(level="class").sum(), clf.query("class"))


def test_more_than_two_columns_make_a_joint_distribution(clf):
    found = clf.query([0, WIDTH, "class", 1])
    np.testing.assert_allclose(
        found.groupby(level=["1", "class"], sort=False).sum().sort_index(),
        clf.query([1, "class"]).sort_index(),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        found.groupby(level=["0", WIDTH]).sum().sort_index(), clf.query([0, WIDTH]).sort_index(), atol=1e-12
    )
    assert clf.query([0, 1, 2], given={0: 5.0}).groupby(level="0").sum().max() == pytest.approx(1.0)


def test_the_class_has_the_name_of_the_target(clf):
    assert clf.target_name_ == "target"
    assert clf.query("target").equals(clf.query("class").rename_axis("target"))
    assert clf.query(WIDTH, given={"target": 2}).equals(clf.query(WIDTH, given={"class": 2}))


@pytest.mark.parametrize("name", ["species", None])
def test_a_column_called_class_makes_that_word_ambiguous(name):
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = TANClassifier("none", "ml").fit(X.rename(columns={WIDTH: "class"}), y.rename(name))
    word = name or "class (2)"
    for ask in (
        lambda: clf.query("class"),
        lambda: clf.query(0, given={"class": 1}),
        lambda: clf.sample(given={"class": 0}),
    ):
        with pytest.raises(ValueError, match=re.escape(f"write 3 for the column, and {word!r} for the class")):
            ask()
    assert clf.query(3).index.tolist() == clf.encoder_.value_labels(3)
    assert clf.query(word).index.tolist() == [0, 1, 2]


def test_values_are_those_of_the_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"code": rng.choice([3, 5], 60), "is_on": rng.random(60) < 0.5, "word": rng.choice(["a", None], 60)}
    )
    clf = TANClassifier("none", "ml", categorical_features=["code"]).fit(X, rng.choice([True, False], 60))
    assert clf.query("code").index.tolist() == [3, 5]
    assert clf.query("word").index.tolist() == ["a", "missing"]
    assert clf.query("class", given={"word": None}).index.tolist() == [False, True]
    assert clf.query("word", given={"code": 3, "class": True}).sum() == pytest.approx(1.0)


def test_an_ensemble_answers_from_its_best_description():
    X, y = load_iris(return_X_y=True, as_frame=True)
    ensemble = TANEnsembleClassifier(random_state=0).fit(X, y)
    codes = ensemble.encoder_.encode(as_frame(X))
    likelihood = [member.description_.log_likelihood(codes, y).mean() for member in ensemble.estimators_]
    assert ensemble.description_.log_likelihood(codes, y).mean() == max(likelihood)
    assert ensemble.query("class").sum() == pytest.approx(1.0)
    assert len(ensemble.sample(5, random_state=0)[0]) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "petal"}, "there is no column 'petal'"),
        ({"target": "class", "given": {"petal": 1.0}}, "there is no column 'petal'"),
        ({"target": 0, "given": {"class": 7}}, "7 is not a class"),
        ({"target": 0, "given": {"class": 1, "target": 1}}, "given twice"),
        ({"target": []}, "some of the features"),
        ({"target": [0, 0]}, "each at most once"),
    ],
)
def test_wrong_questions_are_refused(clf, options, message):
    with pytest.raises(ValueError, match=message):
        clf.query(**options)
