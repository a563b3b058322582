"""The frontier between the network that describes the data and the one that classifies."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

from tanager import GradientDescent, ParentSets, TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def test_ends_are_the_two_networks_and_both_together_have_the_best_of_them(rows):
    X, y, X_test, y_test = rows
    clf = TANClassifier(random_state=0).fit(X, y)
    first, middle, last, alone = clf.frontier(X_test, y_test, dials=(0, 0.5, 1))
    codes = clf.encoder_.encode(as_frame(X_test))
    for point, network in ((first, clf.description_), (alone, clf.network_)):
        surprise = -network.log_likelihood(codes, y_test).mean() / 30
        assert point.surprise == pytest.approx(surprise, rel=1e-5)
    assert last.error == alone.error == pytest.approx(1 - clf.score(X_test, y_test))
    assert last.log_loss == pytest.approx(log_loss(y_test, clf.predict_proba(X_test)), rel=1e-4)
    assert last.error <= middle.error <= first.error
    assert last.surprise < middle.surprise < first.surprise < alone.surprise


@pytest.mark.parametrize("dial", [0.3, 1.0])
def test_both_networks_together_are_a_joint_distribution(dial):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (200, 2)).astype(str), rng.integers(0, 2, 200)
    clf = TANClassifier("chow-liu", "penalised", random_state=0).fit(X, y)
    grid = np.array([[a, b] for a in "012" for b in "012" for _ in range(2)])
    classes = np.tile([0, 1], 9)
    total = sum(
        np.exp(-2 * clf.frontier(grid[k : k + 1], classes[k : k + 1], dials=(dial,))[0].surprise) for k in range(18)
    )
    assert total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("combine", ["log", "probability"])
def test_ensembles_have_a_dial_too(rows, combine):
    X, y, X_test, y_test = rows
    clf = TANEnsembleClassifier(combine=combine, random_state=0).fit(X, y)
    first, last = clf.frontier(X_test, y_test, dials=(0, 1))
    assert last.error == pytest.approx(1 - clf.score(X_test, y_test))
    assert last.surprise < first.surprise
    assert clf.plot_frontier(X_test, y_test).get_ylabel() == "error, %"
    matplotlib.pyplot.close("all")


def test_what_is_refused(rows):
    X, y, X_test, y_test = rows
    clf = TANClassifier("none", "ml").fit(X, y)
    with pytest.raises(ValueError, match="dials must be from 0 to 1, got 2"):
        clf.frontier(X_test, y_test, dials=[2])
    circle = ParentSets.from_lists([[1], [0]])
    cyclic = TANClassifier(circle, GradientDescent(epochs=1), random_state=0).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="the frontier requires a forest"):
        cyclic.frontier(X[:, :2], y)
