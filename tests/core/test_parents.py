"""Sampling of structures, the straight-through gradient and Adam on phi, as they show in a step of training."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tests.core.trainers import LOSSES, make_case, take_step
from tests.oracles import model_oracle
from tests.oracles.training_oracle import Options
from tests.strategies import SEEDS

TAUS = st.sampled_from([10.0, 1.0, 0.1])


@st.composite
def segments(draw):
    """Numbers of candidates of up to six features, as ptr."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    return np.cumsum([0, *sizes])


def case_of(ptr):
    """Features with as many candidates; each is a feature of its own."""
    sizes = np.diff(ptr)
    n_features = max(len(sizes), int(sizes.max()))
    candidates = [[-1, *(j for j in range(n_features) if j != i)][:size] for i, size in enumerate(sizes)]
    return make_case([*candidates, *([-1] for _ in range(n_features - len(sizes)))], [2] * n_features, 2, seed=0)


def sample(phi, noise, ptr, tau):
    """Selected candidates and soft weights of the first features, from what a callback sees of a step."""
    case, seen = case_of(ptr), []
    case.phi[:] = 0.0
    case.phi[: len(phi)] = phi
    padded = np.append(noise, np.zeros(case.n_candidates - len(phi)))
    callbacks = {"change_structure": lambda step, selected, soft: seen.extend([selected.copy(), soft.copy()])}
    trainer = case.trainer(case.state(), LOSSES["nll"][0])
    take_step(trainer, case, 0, noise=padded, tau=tau, callbacks=callbacks)
    assert trainer.selected.tolist() == seen[0].tolist()
    return seen[0][: len(ptr) - 1], seen[1][: len(phi)]


@given(segments(), TAUS, SEEDS)
@settings(max_examples=60)
def test_sample_equals_oracle(ptr, tau, seed):
    rng = np.random.default_rng(seed)
    phi, noise = rng.normal(scale=2.0, size=ptr[-1]), model_oracle.gumbel(rng.random(ptr[-1]))
    selected, soft = sample(phi, noise, ptr, tau)
    expected, expected_soft = model_oracle.sample(phi, noise, ptr, tau)
    assert selected.tolist() == expected.tolist()
    np.testing.assert_allclose(soft, expected_soft, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(np.add.reduceat(soft, ptr[:-1]), 1.0)


@given(segments(), SEEDS)
@settings(max_examples=30)
def test_temperature_does_not_change_what_is_selected(ptr, seed):
    rng = np.random.default_rng(seed)
    phi, noise = rng.normal(size=ptr[-1]), rng.normal(size=ptr[-1])
    draws = {tuple(sample(phi, noise, ptr, tau)[0]) for tau in (100.0, 1.0, 1e-3)}
    assert len(draws) == 1


def test_first_of_equal_candidates_is_selected():
    selected, soft = sample([0.0, 2.0, 1.0, 3.0], [5.0, 0.0, 1.0, -1.0], [0, 1, 4], tau=0.5)
    assert selected.tolist() == [0, 1]
    np.testing.assert_allclose(soft, [1.0, 1 / 3, 1 / 3, 1 / 3])


def test_far_apart_logits_neither_overflow_nor_lose_the_sum():
    selected, soft = sample([1e4, -1e4, 0.0], np.zeros(3), [0, 3], tau=0.1)
    assert selected.tolist() == [0]
    assert soft.tolist() == [1.0, 0.0, 0.0]


def test_candidates_of_no_probability_are_never_drawn():
    selected, soft = sample([-np.inf, 0.0, -np.inf], [50.0, -50.0, 50.0], [0, 3], tau=1.0)
    assert selected.tolist() == [1]
    assert soft.tolist() == [0.0, 1.0, 0.0]


def phi_gradient(case, grad, soft, tau):
    """Gradient of phi in a step with given soft weights and a given gradient of the log-joint."""
    seen = []

    def set_soft(step, selected, weights):
        weights[:] = soft

    callbacks = {
        "loss": lambda log_joint, y, weight: (0.0, grad),
        "change_structure": set_soft,
        "add_phi_gradient": lambda gradient: seen.append(gradient.copy()),
    }
    take_step(case.trainer(case.state()), case, 0, tau=tau, callbacks=callbacks)
    return seen[0]


@given(segments().filter(lambda ptr: ptr[-1] > len(ptr) - 1), TAUS, SEEDS)
@settings(max_examples=60)
def test_gradient_equals_oracle(ptr, tau, seed):
    case, rng = case_of(ptr), np.random.default_rng(seed)
    ptr = case.layout.cpts.ptr
    grad = rng.normal(size=(len(case.y), 2)).astype(np.float32)
    # A soft weight of a half that stands alone lets a quarter of a candidate's own gradient through, and no other's.
    weight_gradient = np.zeros(case.n_candidates)
    for k in range(np.diff(ptr).max()):
        of_slots = ptr[:-1][np.diff(ptr) > k] + k
        alone = np.zeros(case.n_candidates)
        alone[of_slots] = 0.5
        weight_gradient[of_slots] = 4 * phi_gradient(case, grad, alone, 1.0)[of_slots]
    oracle, rows = case.oracle(Options(loss=None)), np.arange(len(case.y))
    for slot, (start, stop) in enumerate(pairwise(ptr)):
        for e in range(start, stop):
            expected = (oracle.sums_of_cells(slot, e, rows, grad) * oracle.tables[e]).sum()
            if stop - start > 1:
                assert weight_gradient[e] == pytest.approx(expected, rel=1e-5, abs=1e-5 * float(np.abs(grad).sum()))
    soft = rng.random(case.n_candidates)
    soft /= np.repeat(np.add.reduceat(soft, ptr[:-1]), np.diff(ptr))
    expected = model_oracle.soft_max_gradient(weight_gradient, soft, tau, ptr)
    scale = max(1.0, np.abs(weight_gradient).max() / tau)
    np.testing.assert_allclose(phi_gradient(case, grad, soft, tau), expected, atol=1e-13 * scale)


def test_without_a_choice_phi_has_no_gradient():
    case, seen = case_of(np.array([0, 1, 2])), []
    trainer = case.trainer(case.state(), LOSSES["nll"][0])
    take_step(trainer, case, 0, callbacks={"add_phi_gradient": seen.append})
    assert not seen


@given(SEEDS)
@settings(max_examples=20)
def test_descent_equals_adam_of_the_oracle(seed):
    """The gradient of phi is replaced by given numbers; everything is in double precision."""
    case, rng = case_of(np.array([0, 3, 4])), np.random.default_rng(seed)
    adam = (0.8, 0.99, 1e-3)
    state, value = case.state(), case.phi.copy()
    m, v = np.zeros(len(value)), np.zeros(len(value))
    trainer = case.trainer(state, LOSSES["nll"][0], adam=adam)
    for step in range(1, 6):
        gradient = rng.normal(size=len(value))

        def replace_gradient(out, gradient=gradient):
            out[:] = gradient

        take_step(trainer, case, step - 1, phi_rate=0.05, callbacks={"add_phi_gradient": replace_gradient})
        value, m, v = model_oracle.adam_step(value, gradient, m, v, step, 0.05, *adam)
        for found, expected in zip(state.phi, (value, m, v), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@given(segments(), SEEDS, st.sampled_from([1.0, 1e3]))
def test_probabilities_are_the_softmax_of_phi(ptr, seed, scale):
    phi = np.random.default_rng(seed).normal(scale=scale, size=ptr[-1])
    probabilities = np.empty(ptr[-1])
    core.parent_probabilities(phi, ptr, probabilities)
    for start, stop in pairwise(ptr):
        expected = np.exp(model_oracle.log_softmax_vector(phi[start:stop]))
        np.testing.assert_allclose(probabilities[start:stop], expected, rtol=1e-9, atol=1e-300)
        assert probabilities[start:stop].sum() == pytest.approx(1.0)


# What the border refuses.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phi": np.zeros(4, np.float32)}, "phi has the wrong type of numbers"),
        ({"phi": np.zeros(5)}, "ptr must end at the number of candidates"),
        ({"phi": np.zeros((4, 1))}, "phi must have 1 dimension"),
        ({"phi": np.zeros(8)[::2]}, "phi must be C-contiguous"),
        ({"phi": [0.0] * 4}, "phi must be an array"),
        ({"ptr": np.array([0, 1, 4], np.int32)}, "ptr has the wrong type of numbers"),
        ({"ptr": np.array([0, 5, 4])}, "ptr must not fall"),
        ({"ptr": np.array([1, 2, 4])}, "ptr must start at 0"),
        ({"ptr": np.array([], np.int64)}, "ptr must start at 0"),
        ({"probabilities": np.zeros(3)}, "probabilities must have 4 entries, not 3"),
        ({"probabilities": np.frombuffer(bytes(32))}, "probabilities must be an array that can be written to"),
    ],
)
def test_wrong_arguments_of_the_probabilities(changes, message):
    right = {"phi": np.zeros(4), "ptr": np.array([0, 1, 4]), "probabilities": np.zeros(4)}
    core.parent_probabilities(**right)
    assert right["probabilities"].tolist() == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])
    with pytest.raises(ValueError, match=message):
        core.parent_probabilities(**{**right, **changes})
