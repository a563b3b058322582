"""`query`: probabilities in the columns' own values."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tanager import Counts, TANClassifier

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
    assert found.index.tolist() == ["0", "1", "2"]


def test_values_given_the_class_sum_to_one(clf):
    found = clf.query(WIDTH, y=1)
    assert found.index.tolist() == clf.encoder_.value_labels(3)
    assert found.sum() == pytest.approx(1.0)
    assert found.idxmax() == "0.8 to 1.75"


def test_two_columns_and_the_class_make_a_joint_distribution(clf):
    found = clf.query([WIDTH, "class"])
    assert found.index.names == [WIDTH, "class"]
    assert found.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.groupby(level="class").sum(), clf.query("class"))


def test_a_column_may_be_called_class():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = TANClassifier("none", "ml").fit(X.rename(columns={WIDTH: "class"}), y)
    assert clf.query("class").index.tolist() == clf.encoder_.value_labels(3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "petal"}, "there is no column 'petal'"),
        ({"target": "class", "given": {"petal": 1.0}}, "there is no column 'petal'"),
        ({"target": "class", "y": 7}, "7 is not a class"),
        ({"target": [0, 1, 2]}, "one or two of the features"),
        ({"target": []}, "one or two of the features"),
    ],
)
def test_wrong_questions_are_refused(clf, options, message):
    with pytest.raises(ValueError, match=message):
        clf.query(**options)
