from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits

from benchmarks.beyond import left_out
from benchmarks.beyond.left_out import AveragedCPTs, WeightedEnsemble, fit_weights
from tanager import GradientDescent, IndependentSearches, TANClassifier, TANEnsembleClassifier
from tanager.training import train


@pytest.fixture
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600, 20:40], y[:600]


@pytest.fixture
def descent():
    return GradientDescent(epochs=20, batch_size=50, parent_dropout=0.2)


@pytest.fixture
def chow_liu(descent):
    return TANClassifier("chow-liu", descent, binning="quantile", random_state=0)


def test_averaged_cpts_are_those_of_a_network(digits, chow_liu):
    X, y = digits
    model = AveragedCPTs(chow_liu).fit(X, y)
    plain = TANClassifier(structure="chow-liu", parameters="ml", binning="quantile").fit(X, y)
    assert (model.network_.parents == plain.network_.parents).all()
    for feature in range(X.shape[1]):
        assert np.allclose(model.network_.cpt(feature).sum(axis=1), 1.0, atol=1e-5)
    assert np.mean(model.predict(X) == y) > 0.9


def test_only_the_second_half_is_averaged(digits, chow_liu, monkeypatch):
    X, y = digits
    priors = []

    def watched_train(*arguments, on_epoch, **options):
        def watch(state):
            priors.append(state.prior.value.astype(np.float64))
            on_epoch(state)

        return train(*arguments, on_epoch=watch, **options)

    monkeypatch.setattr(left_out, "train", watched_train)
    averaged = AveragedCPTs(chow_liu.set_params(parameters__epochs=5)).fit(X, y)
    mean = np.mean(priors[2:], axis=0)
    assert len(priors) == 5
    np.testing.assert_allclose(averaged.network_.log_prior, mean - np.log(np.exp(mean).sum()), atol=1e-6)


def test_weights_prefer_the_member_that_knows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    knows = np.log(np.full((400, 3), 0.2))
    knows[np.arange(400), np.where(rng.random(400) < 0.6, y, (y + 1) % 3)] = np.log(0.6)
    guesses = np.log(rng.dirichlet(np.ones(3), 400))
    weights = fit_weights(np.array([knows, guesses]), y)
    assert weights[0] == pytest.approx(1.0, abs=0.15)
    assert 0.0 <= weights[1] < 0.15


def test_weights_do_not_do_worse_than_equal_ones():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 300)
    log_joints = rng.normal(size=(5, 300, 4))
    log_joints[:, np.arange(300), y] += 1.0

    def loss(weights):
        summed = np.tensordot(weights, log_joints, 1)
        return np.mean(np.log(np.exp(summed).sum(axis=1)) - summed[np.arange(300), y])

    fitted = fit_weights(log_joints, y)
    assert loss(fitted) < loss(np.full(5, 0.2))
    for step in np.eye(5) * 1e-2:
        assert loss(fitted) <= loss(fitted + step)


def test_averaged_cpts_are_trained_with_the_options_of_the_classifier(digits, chow_liu):
    X, y = digits
    one_epoch = chow_liu.set_params(parameters__epochs=1)
    changes = [{}, {"loss__gamma": 7.0}, {"learning_rate": 0.2}, {"smoothness": 0.1}, {"parent_dropout": 0.0}]
    thetas = []
    for change in changes:
        one_epoch.set_params(parameters=one_epoch.parameters.set_params(**change))
        thetas.append(AveragedCPTs(one_epoch).fit(X, y).network_.theta)
    assert all(not np.array_equal(first, second) for first, second in pairwise(thetas))


def test_a_weighted_ensemble_predicts(digits, descent):
    X, y = digits
    members = IndependentSearches("subset", n_members=3)
    model = WeightedEnsemble(TANEnsembleClassifier(members, descent, binning="quantile", random_state=0)).fit(X, y)
    assert len(model.weights_) == 3
    assert (model.weights_ >= 0).all()
    assert np.mean(model.predict(X) == y) > 0.9
