"""How often rows occur in a network that classifies: posteriors stay, frequencies are those of the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_breast_cancer, load_wine

from tanager import GradientDescent, TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame
from tanager.model import CptCounts, Network, describe, log_losses, make_layout, settle
from tanager.structure import fixed_parents
from tests.strategies import models

FORESTS = models(is_ordered=True, is_fixed=True)


def log_odds(network, codes):
    log_joint = network.log_joint(codes)
    return log_joint - log_joint[:, :1]


def drawn_counts(network, n, seed=0):
    codes, y = network.sample(n, random_state=seed)
    counts = CptCounts.empty(network.layout)
    counts.add(codes, y)
    return counts


@given(FORESTS)
@settings(max_examples=30)
def test_posteriors_of_complete_rows_stay(model):
    network = Network.from_arena(model.layout, model.theta, model.prior, np.arange(len(model.cards)))
    rng = np.random.default_rng(0)
    counts = CptCounts.empty(network.layout)
    counts.add(rng.integers(0, model.cards, (50, len(model.cards))), rng.integers(0, network.n_classes, 50))
    settled = settle(network, counts)
    every_row = np.array(list(np.ndindex(*model.cards)), dtype=np.int32)
    np.testing.assert_allclose(log_odds(settled, every_row), log_odds(network, every_row), atol=1e-4)
    assert np.exp(settled.log_joint(every_row)).sum() == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_values_and_classes_occur_as_in_the_data(load):
    X, y = load(return_X_y=True)
    clf = TANClassifier(random_state=0).fit(X, y)
    shares = np.bincount(y) / len(y)
    unknown = clf.predict_proba(np.full((1, X.shape[1]), np.nan))[0]
    np.testing.assert_allclose(unknown, shares, atol=0.5 * np.sqrt(shares.max() / len(y)))
    codes = clf.encoder_.encode(as_frame(X))
    for i, found in enumerate(clf.network_.marginals().features):
        frequencies = np.bincount(codes[:, i], minlength=found.shape[1]) / len(y)
        assert np.abs(found[0] - frequencies).sum() / 2 < 0.12


def test_unknown_cells_cost_less_than_before():
    X, y = load_breast_cancer(return_X_y=True)
    clf = TANClassifier(random_state=0).fit(X[::2], y[::2])
    codes = clf.encoder_.encode(as_frame(X[1::2])).astype(np.int64)
    cards = clf.network_.cards
    masked = np.where(np.random.default_rng(0).random(codes.shape) < 0.9, cards, codes)
    flat = CptCounts.empty(clf.network_.layout)
    flat.add(np.random.default_rng(0).integers(0, cards, (500, 30)), np.random.default_rng(0).integers(0, 2, 500))
    losses = [log_losses(net.log_joint(masked), y[1::2]).mean() for net in (clf.network_, settle(clf.network_, flat))]
    assert losses[0] < 0.45 < losses[1]


def test_counts_of_the_network_itself_change_little():
    X, y = load_wine(return_X_y=True)
    network = TANClassifier("chow-liu", GradientDescent(epochs=5), random_state=0).fit(X, y).network_
    settled = settle(network, drawn_counts(network, 20_000))
    np.testing.assert_allclose(settled.log_prior, network.log_prior, atol=0.1)


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}])
def test_members_of_ensembles_and_class_weights(options):
    X, y = load_breast_cancer(return_X_y=True)
    clf = TANEnsembleClassifier(random_state=0, **options).fit(X, y)
    shares = np.full(2, 0.5) if options else np.bincount(y) / len(y)
    np.testing.assert_allclose(clf.predict_proba(np.full((1, 30), np.nan))[0], shares, atol=0.03)


def test_a_long_chain_of_features_needs_no_recursion():
    rng = np.random.default_rng(0)
    layout = make_layout(fixed_parents([-1, *range(1999)]), [2] * 2000, n_classes=2)
    counts = CptCounts.empty(layout)
    counts.add(rng.integers(0, 2, (40, 2000)), rng.integers(0, 2, 40))
    settled = settle(describe(counts).network, counts)
    assert settled.marginals().classes.shape == (1, 2)
