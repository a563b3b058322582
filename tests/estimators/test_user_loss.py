"""Losses that the user brings: a function of NumPy arrays with its gradient, or one that PyTorch differentiates."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification

from tanager import GradientDescent, TANClassifier
from tanager.losses import torch_loss

WEIGHT_MESSAGE = r"torch_loss\(cross_entropy\) cannot use sample_weight: give the function a third argument"


def make(loss):
    parameters = GradientDescent(loss, epochs=10, batch_size=100)
    return TANClassifier("all", parameters, binning="quantile", random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return make_classification(500, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def weight(numbers):
    return np.random.default_rng(0).uniform(0.1, 3.0, len(numbers[1]))


def conditional_in_numpy(log_joint, y, sample_weight):
    """Mean of -log p(y | x), and its gradient."""
    log_joint = log_joint.astype(np.float64)
    probabilities = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    share = np.full(len(y), 1.0) if sample_weight is None else sample_weight.astype(np.float64)
    share = share / share.sum()
    rows = np.arange(len(y))
    value = -(share * np.log(probabilities[rows, y])).sum()
    probabilities[rows, y] -= 1.0
    return value, probabilities * share[:, None]


def cross_entropy(log_joint, y):
    return torch.nn.functional.cross_entropy(log_joint, y)


def weighted_cross_entropy(log_joint, y, sample_weight):
    losses = torch.nn.functional.cross_entropy(log_joint, y, reduction="none")
    return losses.mean() if sample_weight is None else (losses * sample_weight).sum() / sample_weight.sum()


def assert_same_fit(first, second, X):
    np.testing.assert_array_equal(first.parents_, second.parents_)
    np.testing.assert_allclose(first.parent_probabilities_, second.parent_probabilities_, atol=1e-3)
    np.testing.assert_allclose(first.history_["loss"], second.history_["loss"], rtol=1e-4)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize(
    "loss",
    [conditional_in_numpy, torch_loss(cross_entropy), torch_loss(weighted_cross_entropy)],
    ids=["numpy", "torch", "torch with weights"],
)
def test_own_loss_gives_the_result_of_the_built_in_one(numbers, loss):
    X, y = numbers
    built_in = make("conditional").fit(X, y)
    own = make(loss).fit(X, y)
    assert_same_fit(built_in, own, X)
    assert own.score(X, y) > 0.7
    other = make("hybrid").fit(X, y)
    assert not np.allclose(own.predict_proba(X), other.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("loss", [conditional_in_numpy, torch_loss(weighted_cross_entropy)], ids=["numpy", "torch"])
def test_own_loss_gets_the_weights(numbers, weight, loss):
    X, y = numbers
    built_in = make("conditional").fit(X, y, sample_weight=weight)
    own = make(loss).fit(X, y, sample_weight=weight)
    assert_same_fit(built_in, own, X)
    unweighted = make(loss).fit(X, y)
    assert not np.allclose(own.predict_proba(X), unweighted.predict_proba(X), atol=1e-3)


def test_torch_loss_without_weights_refuses_them(numbers, weight):
    X, y = numbers
    classifier = make(torch_loss(cross_entropy))
    with pytest.raises(ValueError, match=WEIGHT_MESSAGE):
        classifier.fit(X, y, sample_weight=weight)


def test_torch_loss_without_weights_refuses_them_also_for_few_rows():
    """Rows that fit into one batch are not merged then, since that would need weights."""
    X, y = np.repeat([[0], [1]], 30, axis=0), np.repeat([0, 1], 30)
    parameters = GradientDescent(torch_loss(cross_entropy), epochs=50, batch_size=100)
    classifier = TANClassifier("none", parameters, random_state=0)
    assert classifier.fit(X, y).score(X, y) == 1.0
    with pytest.raises(ValueError, match=WEIGHT_MESSAGE):
        classifier.fit(X, y, sample_weight=np.ones(60))


def test_torch_module_as_a_loss(numbers):
    X, y = numbers
    built_in = make("conditional").fit(X, y)
    own = make(torch_loss(torch.nn.CrossEntropyLoss())).fit(X, y)
    assert_same_fit(built_in, own, X)


def test_a_loss_that_is_not_built_in_trains():
    """Half the mean squared error of the class probabilities, as nobody has written it here."""
    X, y = load_digits(return_X_y=True)

    def brier(log_joint, y):
        off = torch.softmax(log_joint, dim=1) - torch.nn.functional.one_hot(y, log_joint.shape[1])
        return (off**2).sum(dim=1).mean() / 2

    parameters = GradientDescent(torch_loss(brier), epochs=15, batch_size=100)
    classifier = TANClassifier("chow-liu", parameters, binning="mdlp", random_state=0).fit(X[:1200], y[:1200])
    assert classifier.history_["loss"][-1] < 0.1 * classifier.history_["loss"][0]
    assert classifier.score(X[1200:], y[1200:]) > 0.8


def test_classifier_with_own_loss_can_be_cloned(numbers):
    loss = torch_loss(cross_entropy)
    copied = clone(make(loss))
    assert repr(copied.parameters.loss) == "torch_loss(cross_entropy)"
    assert copied.fit(*numbers).score(*numbers) > 0.7


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (lambda log_joint, y, weight: 1.0, TypeError, "the loss must return two things, .* got float"),
        (lambda log_joint, y, weight: (0.0, np.zeros(3)), ValueError, "the gradient of the loss must have the shape"),
        (torch_loss(lambda log_joint, y: 1.0), TypeError, "must return one number, .* got float"),
        (torch_loss(lambda log_joint, y: log_joint), TypeError, r"must return one number, .* got shape \(100, 3\)"),
        (lambda log_joint, y, weight: (np.nan, log_joint), ArithmeticError, "check the gradient of a loss of your own"),
    ],
    ids=["no gradient", "gradient of wrong shape", "no tensor", "not reduced", "nan"],
)
def test_losses_that_do_not_keep_to_the_rules(numbers, loss, error, message):
    with pytest.raises(error, match=message):
        make(loss).fit(*numbers)
