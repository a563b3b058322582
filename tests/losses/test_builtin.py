"""The losses of the paper against loops, and the properties that the paper claims for them."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tanager.losses import LOSSES as BY_WORD
from tanager.losses import ConditionalLikelihood, Hybrid, Margin, NegativeLogLikelihood
from tests.oracles import loss_oracle
from tests.strategies import SEEDS, loss_batches, misses_the_kink

HYPERPARAMETERS = {"gamma": 1.7, "eta": 3.0}
LOSSES = {
    "nll": (NegativeLogLikelihood(), loss_oracle.nll),
    "conditional": (ConditionalLikelihood(), loss_oracle.conditional),
    "margin": (Margin(**HYPERPARAMETERS), partial(loss_oracle.margin, **HYPERPARAMETERS)),
    "hybrid": (Hybrid(lam=5.0, **HYPERPARAMETERS), partial(loss_oracle.hybrid, lam=5.0, **HYPERPARAMETERS)),
    "wide": (Margin(gamma=60.0, eta=10.0), partial(loss_oracle.margin, gamma=60.0, eta=10.0)),
    "sharp": (Margin(gamma=0.1, eta=20.0), partial(loss_oracle.margin, gamma=0.1, eta=20.0)),
}
BY_NAME = pytest.mark.parametrize("name", LOSSES)


@BY_NAME
@given(batch=loss_batches(), is_weighted=st.booleans())
@settings(max_examples=60)
def test_value_and_gradient_equal_oracle(name, batch, is_weighted):
    log_joint, y, weight = batch
    loss, oracle = LOSSES[name]
    if hasattr(loss, "gamma"):
        assume(misses_the_kink(log_joint, y, loss.gamma, loss.eta))
    value, grad = loss(log_joint, y, weight if is_weighted else None)
    expected, expected_grad = oracle(log_joint, y, weight if is_weighted else None)
    assert value == pytest.approx(expected, rel=1e-5, abs=1e-5)
    # The oracle computes p - 1, which cancels below 1e-12 even in double precision.
    np.testing.assert_allclose(grad, expected_grad, rtol=1e-5, atol=1e-5 * np.abs(expected_grad).max() + 1e-12)
    assert grad.dtype == np.float32
    assert grad.shape == log_joint.shape


@BY_NAME
def test_inputs_are_left_as_they_are(name):
    arrays = (np.zeros((3, 2), np.float32), np.array([0, 1, 1]), np.ones(3, np.float32))
    kept = [array.copy() for array in arrays]
    _, grad = LOSSES[name][0](*arrays)
    for array, copy in zip(arrays, kept, strict=True):
        assert np.array_equal(array, copy)
    assert not np.shares_memory(grad, arrays[0])


@given(loss_batches())
def test_hybrid_without_the_margin_is_the_likelihood(batch):
    value, grad = Hybrid(lam=0.0, gamma=2.0, eta=5.0)(*batch)
    expected, expected_grad = NegativeLogLikelihood()(*batch)
    assert value == expected
    assert np.array_equal(grad, expected_grad)


@given(loss_batches(), st.floats(0.01, 100.0))
def test_hybrid_is_the_sum_of_its_parts(batch, lam):
    value, grad = Hybrid(lam=lam, **HYPERPARAMETERS)(*batch)
    nll, nll_grad = NegativeLogLikelihood()(*batch)
    margin, margin_grad = Margin(**HYPERPARAMETERS)(*batch)
    assert value == pytest.approx(nll + lam * margin, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(grad, nll_grad + lam * margin_grad, rtol=1e-5, atol=1e-6 * lam)


@pytest.mark.parametrize("loss", [Margin(gamma=1.3, eta=3.0), ConditionalLikelihood()], ids=repr)
@given(seed=SEEDS, n_rows=st.integers(1, 9), n_classes=st.integers(1, 5))
def test_gradient_is_unchanged_by_a_constant_for_each_row(loss, seed, n_rows, n_classes):
    rng = np.random.default_rng(seed)
    # Multiples of 1/64 and whole constants, whose sums are exact in single precision.
    log_joint = (rng.integers(-640, 0, size=(n_rows, n_classes)) / 64).astype(np.float32)
    shifted = log_joint + rng.integers(-100, 100, size=(n_rows, 1)).astype(np.float32)
    y = rng.integers(0, n_classes, size=n_rows)
    value, grad = loss(log_joint, y, None)
    shifted_value, shifted_grad = loss(shifted, y, None)
    assert shifted_value == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert np.array_equal(shifted_grad, grad)


def test_likelihood_is_changed_by_a_constant():
    log_joint, y = np.zeros((1, 2), np.float32), np.array([0])
    value, _ = NegativeLogLikelihood()(log_joint, y)
    shifted, _ = NegativeLogLikelihood()(log_joint - 1, y)
    assert shifted - value == 1.0


@BY_NAME
@given(batch=loss_batches(), data=st.data())
@settings(max_examples=40)
def test_integer_weights_equal_repeated_rows(name, batch, data):
    log_joint, y, _ = batch
    repeats = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    if repeats.sum() == 0:
        repeats[0] = 1
    loss = LOSSES[name][0]
    value, grad = loss(log_joint, y, repeats.astype(np.float32))
    repeated_value, repeated_grad = loss(np.repeat(log_joint, repeats, axis=0), np.repeat(y, repeats), None)
    assert value == pytest.approx(repeated_value, rel=1e-6, abs=1e-9)
    summed = np.zeros_like(grad)
    np.add.at(summed, np.repeat(np.arange(len(y)), repeats), repeated_grad)
    np.testing.assert_allclose(grad, summed, rtol=1e-5, atol=1e-7)


@BY_NAME
def test_no_weights_means_equal_weights(name):
    rng = np.random.default_rng(0)
    log_joint, y = rng.normal(size=(6, 3)).astype(np.float32), rng.integers(0, 3, size=6)
    loss = LOSSES[name][0]
    value, grad = loss(log_joint, y)
    weighted_value, weighted_grad = loss(log_joint, y, np.ones(6, np.float32))
    assert value == weighted_value
    assert np.array_equal(grad, weighted_grad)


@pytest.mark.parametrize("loss", [Margin(), Hybrid()], ids=repr)
def test_one_class_has_no_margin_to_keep(loss):
    log_joint, y = np.array([[-1.0], [-3.0]], np.float32), np.zeros(2, np.int64)
    value, grad = loss(log_joint, y, None)
    is_hybrid = isinstance(loss, Hybrid)
    assert value == (2.0 if is_hybrid else 0.0)
    assert grad.tolist() == ([[-0.5], [-0.5]] if is_hybrid else [[0.0], [0.0]])


def test_row_beyond_the_margin_has_no_gradient():
    value, grad = Margin(gamma=1.0, eta=10.0)(np.array([[0.0, -5.0, -6.0]], np.float32), np.array([0]), None)
    assert value == 0.0
    assert not grad.any()


def test_own_class_far_ahead_leaves_the_others_apart():
    """The softened maximum is over the others alone, however small they are beside the class of the row."""
    log_joint, y = np.array([[0.0, -30.0, -30.1, -31.0]], np.float32), np.array([0])
    _, grad = Margin(gamma=100.0, eta=10.0)(log_joint, y, None)
    _, expected = loss_oracle.margin(log_joint, y, gamma=100.0, eta=10.0)
    np.testing.assert_allclose(grad, expected, rtol=1e-5, atol=1e-7)


@BY_NAME
def test_far_apart_classes_stay_finite(name):
    log_joint = np.array([[-1e4, -1.0, -5e3], [-1e4, -1e4, -1e4]], np.float32)
    y = np.array([0, 1])
    loss, oracle = LOSSES[name]
    value, grad = loss(log_joint, y, None)
    expected, expected_grad = oracle(log_joint, y)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(grad, expected_grad, atol=1e-6)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, -math.inf, 0.0])
@pytest.mark.parametrize("option", ["gamma", "eta"])
@pytest.mark.parametrize("loss", [Margin, Hybrid])
def test_hyperparameter_must_be_positive_and_finite(loss, option, bad):
    with pytest.raises(ValueError, match=rf"^{option} must be a finite number above 0, got {bad!r}"):
        loss(**{option: bad})


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf, -math.inf])
def test_lam_must_be_finite_and_not_negative(bad):
    with pytest.raises(ValueError, match=rf"^lam must be a finite number of at least 0, got {bad!r}"):
        Hybrid(lam=bad)


def test_losses_are_values():
    assert Hybrid(1.0, 2.0, 3.0) == Hybrid(lam=1.0, gamma=2.0, eta=3.0)
    assert Margin(2.0) != Margin(3.0)
    with pytest.raises(AttributeError):
        Margin().gamma = 2.0


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("hybrid", Hybrid()),
        ("nll", NegativeLogLikelihood()),
        ("margin", Margin()),
        ("conditional", ConditionalLikelihood()),
    ],
)
def test_words_stand_for_losses(word, expected):
    assert BY_WORD.resolve(word) == expected


def test_a_mistyped_word_is_answered_by_a_close_one():
    message = r"^loss must be 'hybrid', 'nll', 'margin' or 'conditional', got 'hybird'; did you mean 'hybrid'\?"
    with pytest.raises(ValueError, match=message):
        BY_WORD.resolve("hybird")


def test_an_unknown_hyperparameter_is_answered_by_a_close_one():
    with pytest.raises(TypeError, match=r"^Margin has no option 'gama'; did you mean 'gamma'\?"):
        Margin(gama=2.0)


def test_a_changed_copy_is_checked_too():
    assert Hybrid(lam=30.0).set_params(gamma=5.0) == Hybrid(30.0, 5.0)
    with pytest.raises(ValueError, match=r"^eta must be a finite number above 0, got 0"):
        Hybrid().set_params(eta=0)
