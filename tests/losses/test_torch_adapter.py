"""Losses written in PyTorch."""

import sys
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings

from tanager.losses import ConditionalLikelihood, Hybrid, Margin, NegativeLogLikelihood, torch_loss
from tests.oracles import torch_oracle
from tests.strategies import loss_batches, misses_the_kink

HYPERPARAMETERS = {"gamma": 1.7, "eta": 3.0}
PAIRS = {
    "nll": (torch_oracle.nll, NegativeLogLikelihood()),
    "conditional": (torch_oracle.conditional, ConditionalLikelihood()),
    "margin": (partial(torch_oracle.margin, **HYPERPARAMETERS), Margin(**HYPERPARAMETERS)),
    "hybrid": (partial(torch_oracle.hybrid, lam=5.0, **HYPERPARAMETERS), Hybrid(lam=5.0, **HYPERPARAMETERS)),
}


def mean_loss(log_joint, y):
    return torch.nn.functional.cross_entropy(log_joint, y)


def a_batch():
    rng = np.random.default_rng(0)
    return rng.normal(size=(4, 3)).astype(np.float32), rng.integers(0, 3, size=4)


@pytest.mark.parametrize("name", PAIRS)
@given(batch=loss_batches())
@settings(max_examples=25)
def test_same_formula_gives_the_built_in_loss(name, batch):
    log_joint, y, weight = batch
    assume(misses_the_kink(log_joint, y, **HYPERPARAMETERS))
    function, built_in = PAIRS[name]
    value, grad = torch_loss(function)(log_joint, y, weight)
    expected, expected_grad = built_in(log_joint, y, weight)
    assert value == pytest.approx(expected, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(grad, expected_grad, rtol=1e-5, atol=5e-6)
    assert grad.dtype == np.float32


def test_two_arguments_without_weights():
    log_joint, y = a_batch()
    value, grad = torch_loss(mean_loss)(log_joint, y, None)
    expected, expected_grad = ConditionalLikelihood()(log_joint, y)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(grad, expected_grad, atol=1e-6)


def test_third_argument_gets_the_weights_or_none():
    seen = []

    def loss(log_joint, y, sample_weight):
        seen.append(sample_weight)
        return log_joint.mean()

    log_joint, y = a_batch()
    adapter = torch_loss(loss)
    adapter(log_joint, y, None)
    adapter(log_joint, y, np.arange(4, dtype=np.float32))
    assert seen[0] is None
    assert seen[1].tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("function", "takes_weights"),
    [
        (mean_loss, False),
        (lambda log_joint, y, w: log_joint.mean(), True),
        (lambda log_joint, y, sample_weight=None: log_joint.mean(), True),
        (lambda log_joint, y, temperature=2.0: log_joint.mean(), False),
        (lambda *arguments: arguments[0].mean(), False),
        (torch_oracle.nll, True),
        (partial(torch_oracle.margin, gamma=2.0), True),
        (torch.nn.NLLLoss(), False),
    ],
)
def test_whether_a_function_takes_weights(function, takes_weights):
    assert torch_loss(function).takes_weights is takes_weights


def test_weights_that_cannot_be_used_are_refused():
    log_joint, y = a_batch()
    with pytest.raises(ValueError, match=r"torch_loss\(mean_loss\) cannot use sample_weight: give .* a third argument"):
        torch_loss(mean_loss)(log_joint, y, np.ones(4, np.float32))


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda log_joint, y: log_joint[:, 0], r"shape \(4,\)"),
        (lambda log_joint, y: 1.0, "float"),
        (lambda log_joint, y: None, "NoneType"),
    ],
)
def test_result_must_be_one_number(function, what):
    log_joint, y = a_batch()
    with pytest.raises(TypeError, match=rf"must return one number, the mean loss of the batch, got {what}"):
        torch_loss(function)(log_joint, y, None)


def test_one_number_may_have_dimensions():
    log_joint, y = a_batch()
    value, grad = torch_loss(lambda log_joint, y: log_joint.mean().reshape(1, 1))(log_joint, y, None)
    assert value == pytest.approx(float(log_joint.mean()), abs=1e-6)
    np.testing.assert_allclose(grad, 1 / 12)


def test_gradient_is_taken_where_gradients_are_switched_off():
    log_joint, y = a_batch()
    with torch.no_grad():
        _, grad = torch_loss(mean_loss)(log_joint, y, None)
    assert np.abs(grad).max() > 0


def test_missing_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"torch_loss needs PyTorch: pip install 'tanager\[torch\]'"):
        torch_loss(mean_loss)


def test_name_of_the_function_is_shown():
    assert repr(torch_loss(mean_loss)) == "torch_loss(mean_loss)"


def test_a_function_without_a_gradient_is_refused():
    loss = torch_loss(lambda log_joint, y: torch.tensor(1.0))
    with pytest.raises(ValueError, match="must depend on log_joint"):
        loss(np.zeros((2, 3), np.float32), np.array([0, 1]), None)
