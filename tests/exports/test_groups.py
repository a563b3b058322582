"""Classifiers whose parents' values are grouped, as ONNX models and as networks of another program."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import DisjointTrees, IndependentSearches, PenalisedLikelihood, TANClassifier, TANEnsembleClassifier
from tanager.data import CategoryColumn, FrameEncoder, as_frame
from tanager.estimators.base import softmax
from tanager.exports import evidence, to_onnx, to_pyagrum
from tanager.model import ParentDistribution
from tests.exports.classifiers import mixed_frame, pyagrum_probabilities, with_unknown_cells
from tests.exports.test_onnx_model import CLOSE, assert_equal, cells, knocked_out, run
from tests.model.test_groups import grouped, hidden, make_grouped

GIVEN = PenalisedLikelihood(main=1.0, pairs=1.0, max_groups=4)


def numbers(n_rows=150, n_classes=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    score = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(scale=0.3, size=n_rows)
    return X, np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)


def has_groups(network):
    groups = network.layout.groups
    return groups is not None and bool((groups.cards < network.cards).any())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("missing", ["value", "ignore"])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_numbers(n_classes, missing, share):
    X, y = numbers(n_classes=n_classes)
    clf = TANClassifier("chow-liu", GIVEN, missing=missing, random_state=0).fit(knocked_out(X, 0.1), y)
    assert has_groups(clf.network_)
    X = knocked_out(X, share)
    assert_equal(run(to_onnx(clf), X), clf, X)


def test_codes():
    X, y = numbers()
    clf = TANClassifier("chow-liu", GIVEN, random_state=0).fit(X, y)
    model, codes = to_onnx(clf, inputs="codes"), clf.encoder_.encode(as_frame(X)).astype(np.int64)
    assert_equal(run(model, codes), clf, X)
    X[::2, 1] = np.nan
    codes[::2, 1] = np.resize([-1, 99, clf.encoder_.cards[1]], len(codes[::2]))
    assert_equal(run(model, codes), clf, X)


@pytest.mark.parametrize("is_unknown", [False, True])
@pytest.mark.parametrize("missing", ["value", "ignore"])
def test_mixed_columns(missing, is_unknown):
    frame, y = mixed_frame()
    clf = TANClassifier(
        "chow-liu", GIVEN, categorical_features=["table1", "class"], missing=missing, random_state=0
    ).fit(frame, y)
    if is_unknown:
        frame = with_unknown_cells(frame)
    assert_equal(run(to_onnx(clf), *cells(frame)), clf, frame)


@pytest.mark.parametrize("combine", ["log", "probability"])
@pytest.mark.parametrize("training", ["joint", "separate"])
@pytest.mark.parametrize("members", [DisjointTrees(2), IndependentSearches("random", 3)], ids=["trees", "random"])
def test_ensembles(members, training, combine):
    X, y = numbers()
    clf = TANEnsembleClassifier(members, GIVEN, training=training, combine=combine, random_state=0).fit(X, y)
    assert all(has_groups(member.network_) for member in clf.estimators_)
    model = to_onnx(clf)
    assert_equal(run(model, X), clf, X)
    assert_equal(run(model, knocked_out(X, 0.2)), clf, knocked_out(X, 0.2))


def test_no_rows():
    clf = TANClassifier("chow-liu", GIVEN, random_state=0).fit(*numbers())
    label, probabilities = run(to_onnx(clf), np.empty((0, 4)))
    assert label.shape == (0,)
    assert probabilities.shape == (0, 3)


def classifier_of(network):
    """A classifier of a network, whose values are codes."""
    clf = TANClassifier()
    clf.encoder_ = FrameEncoder(tuple(CategoryColumn(np.arange(card)) for card in network.cards), None)
    clf.classes_, clf.network_ = np.arange(network.n_classes), network
    clf._distribution = ParentDistribution(network.layout.parent_sets, np.zeros(network.n_features))
    clf.n_features_in_ = network.n_features
    return clf


def assert_exported(model, seed):
    exported = to_onnx(classifier_of(model.network), inputs="codes")
    for codes in (model.codes, hidden(model, seed)):
        _, probabilities = run(exported, codes.astype(np.int64))
        np.testing.assert_allclose(probabilities, softmax(model.network.log_joint(codes)), atol=CLOSE, rtol=0)


@given(grouped(), st.integers(0, 100))
@settings(max_examples=20)
def test_random_networks(model, seed):
    assert_exported(model, seed)


@pytest.mark.parametrize("seed", range(5))
def test_cycles_leave_terms_of_unknown_values_out(seed):
    assert_exported(make_grouped([1, 2, 0], [[0, 0, 1], [0, 1], [1, 0, 1, 2]], 3, seed), seed)


def test_a_network_of_another_program_has_a_line_for_each_value():
    X, y = numbers(80)
    frame = pd.DataFrame(X, columns=list("abcd"))
    clf = TANClassifier("chow-liu", GIVEN, max_bins=8, random_state=0).fit(frame, y)
    assert has_groups(clf.network_)
    found = pyagrum_probabilities(to_pyagrum(clf), evidence(clf, frame[:20]))
    codes = clf.encoder_.encode(as_frame(frame[:20]))
    np.testing.assert_allclose(found, softmax(clf.description_.log_joint(codes)), atol=CLOSE, rtol=0)
