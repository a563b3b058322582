"""Gradients of the CPTs and Adam on them, for any gradient of the log-joint and any structure; and normalising.

A step of training is led by a loss that returns a gradient chosen beforehand, and by noise that selects a structure
chosen beforehand. The oracle keeps the unnormalised parameters of the paper and the package keeps them normalised, so
both are compared after log-softmax, which is all that the model sees.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tanager._types import Adam
from tanager.training import TrainingSettings
from tests.oracles import model_oracle
from tests.strategies import SEEDS, make_model, models

ADAM = Adam()
RATE = 0.05
OPTIMISERS = pytest.mark.parametrize("optimiser", ["dense", "selected"])

# Steps without a gradient after which a CPT rests: momentum has shrunk to 7.1e-10, which moves no float32.
REST_AFTER = math.ceil(math.log(7.1e-10) / math.log(0.9))


class Led:
    """Steps of the package with given structures and gradients of the log-joint."""

    def __init__(self, model, optimiser, adam=ADAM, n_threads=1):
        self.model, self.state = model, model.state()
        plan = TrainingSettings(optimiser=optimiser, adam=adam)
        self._stepper = model.stepper(self.state, self._loss, plan, n_threads=n_threads)

    def _loss(self, log_joint, y, sample_weight):
        return 0.0, self._grad

    def step(self, selected, grad):
        self._grad = grad.astype(np.float32)
        noise = np.zeros(len(self.model.phi))
        noise[selected] = 1e3
        self.model.take_step(self._stepper, RATE, 1.0, noise=noise)

    def tables(self):
        return self.model.split(self.state.theta.value)


class Oracle:
    """The same by the oracle, with unnormalised parameters in double precision."""

    def __init__(self, model, optimiser, adam=ADAM):
        self.model, self.is_dense, self.adam = model, optimiser == "dense", adam
        self.tables = model.tables()
        self.moments = [(np.zeros(shape), np.zeros(shape)) for shape in model.shapes]
        self.prior = (model.prior.astype(np.float64), np.zeros(model.n_classes), np.zeros(model.n_classes))
        self.counts = [0] * len(self.tables)
        self.n_steps = 0

    def gradients(self, selected, grad):
        """Gradients of CPTs and prior; that of phi has no part here."""
        model = self.model
        structure = (model.child, model.parent, selected, np.ones(len(self.tables)), 1.0)
        return model_oracle.gradients(self.tables, self.prior[0], *structure, model.codes, grad, model.ptr)[:2]

    def step(self, selected, grad):
        self.n_steps += 1
        table_gradients, prior_gradient = self.gradients(selected, grad)
        for e, gradient in enumerate(table_gradients):
            if self.is_dense or e in selected:
                self.counts[e] += 1
                t = self.n_steps if self.is_dense else self.counts[e]
                arguments = (self.tables[e], gradient, *self.moments[e], t, RATE, *self.adam)
                self.tables[e], *self.moments[e] = model_oracle.adam_step(*arguments)
        prior, *moments = self.prior
        self.prior = model_oracle.adam_step(prior, prior_gradient, *moments, self.n_steps, RATE, *self.adam)


def assert_same_parameters(led, oracle, atol=2e-5):
    for found, expected in zip(led.tables(), oracle.tables, strict=True):
        np.testing.assert_allclose(found, model_oracle.log_softmax_table(expected), rtol=1e-5, atol=atol)
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, atol=2e-6)
    expected = model_oracle.log_softmax_vector(oracle.prior[0])
    np.testing.assert_allclose(led.state.prior.value, expected, rtol=1e-5, atol=atol)


def draw_grad(model, rng):
    return rng.normal(size=(len(model.y), model.n_classes)) / len(model.y)


def draw_selected(model, rng):
    return np.array([rng.integers(start, stop) for start, stop in pairwise(model.ptr)])


def assert_close_in_norm(found, expected, grad):
    """To 1e-4 of the norm; a gradient whose terms cancel, as of a constant feature, to the rounding of the terms."""
    error = np.linalg.norm(found - expected)
    assert error <= 1e-4 * np.linalg.norm(expected) + 1e-6 * np.linalg.norm(grad)


@given(models(max_classes=10), SEEDS)
@settings(max_examples=60)
def test_moments_of_the_first_step_show_the_gradient(model, seed):
    rng = np.random.default_rng(seed)
    grad, selected = draw_grad(model, rng), draw_selected(model, rng)
    tables, prior = Oracle(model, "dense").gradients(selected, grad)
    led = Led(model, "dense")
    led.step(selected, grad)
    for e, mean in enumerate(model.split(led.state.theta.mean)):
        assert_close_in_norm(mean / (1 - ADAM.beta1), tables[e], grad)
        assert e in selected or not mean.any()
    assert_close_in_norm(led.state.prior.mean / (1 - ADAM.beta1), prior, grad)


@OPTIMISERS
@given(model=models(max_classes=10), seed=SEEDS)
@settings(max_examples=20)
def test_several_steps_equal_adam_of_the_oracle(optimiser, model, seed):
    # With the small epsilon of the default, the sign of a gradient that happens to cancel makes a whole step.
    adam = Adam(beta1=0.8, beta2=0.99, epsilon=1e-3)
    rng = np.random.default_rng(seed)
    led, oracle = Led(model, optimiser, adam), Oracle(model, optimiser, adam)
    for _ in range(6):
        grad, selected = draw_grad(model, rng), draw_selected(model, rng)
        led.step(selected, grad)
        oracle.step(selected, grad)
        assert_same_parameters(led, oracle)


@OPTIMISERS
def test_several_steps_of_adam_as_published(optimiser):
    model = make_model([[-1], [-1, 0], [1, -1, 0], [2, 0, -1]], [3, 2, 1, 4], 3, seed=1)
    rng = np.random.default_rng(2)
    led, oracle = Led(model, optimiser), Oracle(model, optimiser)
    for _ in range(12):
        grad, selected = draw_grad(model, rng), draw_selected(model, rng)
        led.step(selected, grad)
        oracle.step(selected, grad)
        assert_same_parameters(led, oracle)


def small_model(seed=0):
    """Feature 1 chooses between no parent (candidate 1) and feature 0 (candidate 2)."""
    return make_model([[-1], [-1, 0]], [2, 3], 2, seed=seed, n_rows=5)


@pytest.mark.parametrize(("optimiser", "moves"), [("dense", True), ("selected", False)])
def test_unselected_cpts_move_on_their_momentum_if_dense(optimiser, moves):
    model = small_model()
    grad = draw_grad(model, np.random.default_rng(1))
    led = Led(model, optimiser)
    led.step([0, 1], grad)
    before = led.tables()[1]
    led.step([0, 2], grad)
    assert (np.abs(led.tables()[1] - before).max() > 0.01) == moves
    assert np.array_equal(led.tables()[1], before) != moves


@OPTIMISERS
def test_cpt_that_never_had_a_gradient_stays_as_it_is(optimiser):
    model = small_model()
    grad = draw_grad(model, np.random.default_rng(1))
    led = Led(model, optimiser)
    for _ in range(3):
        led.step([0, 1], grad)
    assert np.array_equal(led.tables()[2], model.tables()[2])
    assert led.state.updates.tolist() == [3, 3, 0]
    assert led.state.last.tolist() == [3, 3, 0]


@pytest.mark.parametrize("n_unselected", [REST_AFTER - 1, REST_AFTER, REST_AFTER + 1, 2 * REST_AFTER])
def test_cpt_that_rested_wakes_with_decayed_moments(n_unselected):
    """Dense Adam goes on as if it had moved the CPT all the time that it was not selected."""
    model = small_model(seed=3)
    rng = np.random.default_rng(4)
    led, oracle = Led(model, "dense"), Oracle(model, "dense")
    for k, chosen in enumerate([2] * 3 + [1] * n_unselected + [2] * 3):
        grad = draw_grad(model, rng)
        led.step([0, chosen], grad)
        oracle.step([0, chosen], grad)
        if k >= 2 + n_unselected:
            assert_same_parameters(led, oracle, atol=1e-4)
    mean, square = (model.split(moment)[2] for moment in led.state.theta[1:])
    expected_mean, expected_square = oracle.moments[2]
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-3, atol=1e-5 * np.abs(expected_mean).max())
    np.testing.assert_allclose(square, expected_square, rtol=1e-3)


def test_resting_cpt_is_not_touched():
    model = small_model(seed=3)
    grad = draw_grad(model, np.random.default_rng(4))
    led = Led(model, "dense")
    led.step([0, 2], grad)
    squares = []
    for _ in range(REST_AFTER + 2):
        led.step([0, 1], grad)
        squares.append(model.split(led.state.theta.square)[2])
    assert np.all(squares[REST_AFTER - 1] < squares[REST_AFTER - 2])
    assert np.array_equal(squares[REST_AFTER + 1], squares[REST_AFTER - 1])


def test_moments_never_become_denormal():
    model = small_model(seed=5)
    grad = draw_grad(model, np.random.default_rng(6))
    led = Led(model, "dense")
    led.step([0, 2], 1e-16 * grad)
    for _ in range(150):
        led.step([0, 1], grad)
        for moment in led.state.theta[1:]:
            assert np.all((moment == 0.0) | (np.abs(moment) >= np.finfo(np.float32).tiny))


@OPTIMISERS
@given(model=models(max_classes=10), seed=SEEDS)
@settings(max_examples=10)
def test_number_of_threads_does_not_change_a_bit(optimiser, model, seed):
    states = []
    for n_threads in (1, 2, 3):
        rng = np.random.default_rng(seed)
        led = Led(model, optimiser, n_threads=n_threads)
        for _ in range(3):
            led.step(draw_selected(model, rng), draw_grad(model, rng))
        states.append(led.state)
    for state in states[1:]:
        for found, expected in zip(state.theta + state.prior, states[0].theta + states[0].prior, strict=True):
            assert np.array_equal(found, expected)


# Normalising.


def normalise(model, values):
    """Normalise an arena, which like that of training ends in some slack; return its CPTs."""
    arena = np.append(values, np.full(model.n_classes + 8, 9.0)).astype(np.float32)
    core.normalise_cpts(arena, tuple(model.layout.cpts), model.n_classes)
    assert np.all(arena[len(values) :] == 9.0)
    return model.split(arena)


@given(models(max_rows=1, max_classes=10), SEEDS, st.sampled_from([0.1, 3.0, 15.0]))
@settings(max_examples=40)
def test_every_cpt_becomes_its_log_softmax(model, seed, spread):
    values = np.random.default_rng(seed).uniform(-spread, spread, size=model.layout.size).astype(np.float32)
    for table, unnormalised in zip(normalise(model, values), model.split(values), strict=True):
        expected = model_oracle.log_softmax_table(unnormalised)
        np.testing.assert_allclose(table, expected, rtol=1e-6, atol=2e-6)
        np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0, atol=2e-6)


@pytest.mark.parametrize("n_classes", [*range(1, 19), 26, 33])
def test_cpts_of_every_number_of_classes_are_normalised(n_classes):
    model = make_model([[-1], [-1, 0], [0, 1]], [3, 2, 5], n_classes, seed=0)
    values = np.random.default_rng(1).normal(size=model.layout.size).astype(np.float32)
    for table, unnormalised in zip(normalise(model, values), model.split(values), strict=True):
        np.testing.assert_allclose(table, model_oracle.log_softmax_table(unnormalised), rtol=1e-6, atol=2e-6)


def test_constant_feature_has_exactly_probability_one():
    model = make_model([[-1]], [1], 2, seed=0)
    (table,) = normalise(model, np.array([3.0, -5.0], np.float32))
    assert not table.any()


def log_normaliser(*values):
    """What normalising subtracts from a feature of as many values, one class for each entry of the arrays."""
    values = np.array(values, np.float32)
    model = make_model([[-1]], [len(values)], values.shape[1], seed=0)
    (table,) = normalise(model, values.ravel())
    return values[-1].astype(np.float64) - table[0, -1]


def test_exp_and_log_over_their_range():
    """The logarithm undoes the exponential; the other value of the feature is too small to count."""
    x = np.concatenate([np.linspace(-60, 87, 20_001), np.linspace(-1, 1, 5_001)]).astype(np.float32)
    found = log_normaliser(np.full_like(x, -200.0), x)
    np.testing.assert_allclose(found, x.astype(np.float64), rtol=2e-7, atol=4e-7)


def test_sum_of_two_exponentials():
    x = np.linspace(-20, 20, 20_001).astype(np.float32)
    found = log_normaliser(x, np.zeros_like(x))
    np.testing.assert_allclose(found, np.logaddexp(0.0, x.astype(np.float64)), rtol=2e-7, atol=2e-7)


def test_exp_of_zero_is_one_and_log_of_one_is_zero():
    assert log_normaliser([-200.0, -np.inf], [0.0, -0.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n_values", [2, 4, 1024, 2**17])
def test_log_of_powers_of_two(n_values):
    assert log_normaliser(*np.zeros((n_values, 1))) == pytest.approx(math.log(n_values), rel=2e-7, abs=0.0)


def test_values_that_are_out_of_the_range_of_exp_leave_the_rest_alone():
    model = make_model([[-1]], [4], 1, seed=0)
    (table,) = normalise(model, np.array([-1e30, -np.inf, 0.0, 0.0], np.float32))
    np.testing.assert_allclose(table.ravel(), [-1e30, -np.inf, -math.log(2), -math.log(2)], rtol=1e-6)
