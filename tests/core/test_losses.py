"""Losses inside the core: value, gradient and error of a batch. Their mathematics is tested in tests/losses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import core
from tests.core.trainers import LOSSES, make_case, take_step
from tests.oracles import loss_oracle
from tests.strategies import SEEDS, loss_batches, misses_the_kink


def evaluate(loss, log_joint, y, weight):
    grad = np.full_like(log_joint, 7.0)
    return core.evaluate_loss(loss, log_joint, y, weight, grad), grad


@pytest.mark.parametrize("name", LOSSES)
@given(batch=loss_batches())
def test_value_and_gradient_equal_oracle(name, batch):
    compiled, oracle = LOSSES[name]
    log_joint, y, _ = batch
    if name in ("margin", "hybrid") and not misses_the_kink(log_joint, y, compiled[3], compiled[4]):
        return
    value, grad = evaluate(compiled, *batch)
    expected, expected_grad = oracle(*batch)
    assert value == pytest.approx(expected, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(grad, expected_grad, rtol=1e-5, atol=1e-5 * np.abs(expected_grad).max() + 1e-12)


@pytest.mark.parametrize("n_classes", [*range(1, 19), 26, 33])
@pytest.mark.parametrize("name", LOSSES)
def test_every_number_of_classes(name, n_classes):
    compiled, oracle = LOSSES[name]
    rng = np.random.default_rng(n_classes)
    batch = rng.normal(size=(20, n_classes)).astype(np.float32), rng.integers(n_classes, size=20)
    weight = rng.uniform(0.1, 2.0, size=20).astype(np.float32)
    value, grad = evaluate(compiled, *batch, weight)
    expected, expected_grad = oracle(*batch, weight)
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(grad, expected_grad, rtol=1e-5, atol=1e-6)


def test_exp_over_the_range_of_a_softmax():
    """The share of the rival is e^x / (1 + e^x); below 1e-19 it is zero."""
    x = np.linspace(-43, 0, 20_001).astype(np.float32)
    log_joint, y, weight = np.stack([0 * x, x], axis=1), np.zeros(len(x), np.int64), np.ones(len(x), np.float32)
    _, grad = evaluate(("conditional", 0.0, 0.0, 1.0, 1.0), log_joint, y, weight)
    shares = grad[:, 1].astype(np.float64) * len(x)
    expected = 1 / (1 + np.exp(-x.astype(np.float64)))
    np.testing.assert_allclose(shares, expected, rtol=5e-7)
    assert np.all(np.diff(shares) > 0)
    _, far = evaluate(("conditional", 0.0, 0.0, 1.0, 1.0), log_joint - np.float32([0, 10]), y, weight)
    assert np.all((far == 0) | (np.abs(far) > np.finfo(np.float32).tiny))


@given(st.integers(1, 10), st.integers(1, 5), SEEDS)
def test_error_is_the_weight_of_the_misclassified(n_rows, n_classes, seed):
    """Constant features leave the prior, which ties; argmax takes the first of equal classes too."""
    case = make_case([[-1]], [1], n_classes, seed, n_rows=n_rows)
    case.prior[:] = np.random.default_rng(seed).integers(-3, 0, size=n_classes)
    expected = case.weight[case.prior.argmax() != case.y].sum() / case.weight.sum()
    for compiled, _ in LOSSES.values():
        _, error = take_step(case.trainer(case.state(), compiled), case, 0)
        assert error == pytest.approx(expected, rel=1e-6)


def test_a_row_that_just_meets_the_margin_has_no_gradient():
    _, grad = evaluate(("margin", 0.0, 1.0, 1.0, 10.0), *rows([[0.0, -1.0]]))
    _, expected = loss_oracle.margin(np.array([[0.0, -1.0]]), np.array([0]), None, gamma=1.0, eta=10.0)
    assert grad.tolist() == expected.tolist() == [[0.0, 0.0]]


def rows(log_joint):
    log_joint = np.array(log_joint, np.float32)
    return log_joint, np.zeros(len(log_joint), np.int64), np.ones(len(log_joint), np.float32)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_shows_in_the_value(bad):
    for compiled, _ in LOSSES.values():
        value, _ = evaluate(compiled, *rows([[bad, 0.0], [0.0, 0.0]]))
        assert not math.isfinite(value)


# What the border refuses.

MARGIN = ("margin", 1.0, 5.0, 1.0, 10.0)
UNWRITABLE = np.frombuffer(bytes(24), np.float32).reshape(3, 2)
MISALIGNED = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(3, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "margin"}, "loss must be a tuple"),
        ({"loss": MARGIN[:4]}, "loss must have 5 fields, not 4"),
        ({"loss": ()}, "loss must have 5 fields, not 0"),
        ({"loss": ("hinge", *MARGIN[1:])}, "loss must be of the kind margin, conditional or callback"),
        ({"loss": (1, *MARGIN[1:])}, "loss must be of the kind margin, conditional or callback"),
        ({"loss": ("callback", *MARGIN[1:])}, "loss must be margin or conditional"),
        ({"loss": (*MARGIN[:4], "10")}, "loss must be a number"),
        ({"loss": (*MARGIN[:4], 0.0)}, "eta of the loss must be above 0"),
        ({"loss": (*MARGIN[:4], math.nan)}, "eta of the loss must be above 0"),
        ({"log_joint": np.zeros((3, 2))}, "log_joint has the wrong type of numbers"),
        ({"log_joint": np.zeros(6, np.float32)}, "log_joint must have 2 dimension"),
        ({"log_joint": np.zeros((3, 4), np.float32)[:, ::2]}, "log_joint must be C-contiguous"),
        ({"log_joint": np.zeros((2, 3), np.float32).T}, "log_joint must be C-contiguous"),
        ({"log_joint": MISALIGNED}, "log_joint must be aligned"),
        ({"log_joint": [[0.0, 0.0]] * 3}, "log_joint must be an array"),
        ({"y": np.array([0, 1])}, "y must have 3 entries, not 2"),
        ({"y": np.array([0, 1, 2])}, "y holds 2, which is outside 0 to 1"),
        ({"y": np.array([0, -1, 1])}, "y holds -1, which is outside 0 to 1"),
        ({"y": np.array([0, 1, 1], np.int32)}, "y has the wrong type of numbers"),
        ({"weight": np.ones(4, np.float32)}, "weight must have 3 entries, not 4"),
        ({"weight": np.ones(3)}, "weight has the wrong type of numbers"),
        ({"grad": np.zeros((3, 3), np.float32)}, r"grad has the wrong shape \(3, 3\)"),
        ({"grad": np.zeros((3, 2))}, "grad has the wrong type of numbers"),
        ({"grad": UNWRITABLE}, "grad must be an array that can be written to"),
        ({"grad": np.zeros((3, 4), np.float32)[:, :2]}, "grad must be C-contiguous"),
    ],
)
def test_wrong_arguments(changes, message):
    right = {"loss": MARGIN, "log_joint": np.zeros((3, 2), np.float32), "y": np.array([0, 1, 1])}
    right |= {"weight": np.ones(3, np.float32), "grad": np.zeros((3, 2), np.float32)}
    assert math.isfinite(core.evaluate_loss(**right))
    with pytest.raises(ValueError, match=message):
        core.evaluate_loss(**{**right, **changes})
    with pytest.raises(TypeError, match=f"{next(iter(changes))}: NoneType"):
        core.evaluate_loss(**{**right, **dict.fromkeys(changes)})


def test_no_rows():
    empty = np.zeros((0, 2), np.float32)
    value, _ = evaluate(MARGIN, empty, np.zeros(0, np.int64), np.zeros(0, np.float32))
    assert value == 0.0
