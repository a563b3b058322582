"""One step of training against the loops and against automatic differentiation, for every kind of loss.

Adam starts with moments of zero, so after one step the first moment is (1 - beta1) times the gradient.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tanager._types import Adam
from tanager.losses import ConditionalLikelihood, Hybrid, Margin, NegativeLogLikelihood, torch_loss
from tanager.training import Schedule, Stepper, TrainingSettings
from tests.oracles import loss_oracle, model_oracle, torch_oracle
from tests.strategies import SEEDS, make_model, misses_the_kink, models

ADAM = Adam()
MARGIN = {"gamma": 1.7, "eta": 3.0}


def squared_error(log_joint, y, sample_weight):
    """A loss as a user may write it in NumPy: half the squared error of the class probabilities."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight / 1.0
    probability = np.exp(log_joint.astype(np.float64) - log_joint.max(axis=1, keepdims=True))
    probability /= probability.sum(axis=1, keepdims=True)
    error = probability - np.eye(log_joint.shape[1])[y]
    share = (weight / weight.sum())[:, None]
    slope = probability * (error - (probability * error).sum(axis=1, keepdims=True))
    return float((share * error**2).sum() / 2), share * slope


def squared_error_in_torch(log_joint, y, weight):
    error = torch.softmax(log_joint, dim=1) - torch.nn.functional.one_hot(y, log_joint.shape[1])
    return (weight * (error**2).sum(dim=1)).sum() / 2 / weight.sum()


def smoothed(log_joint, y, sample_weight=None):
    """A loss as a user may write it in PyTorch: cross entropy with smoothed labels."""
    rows = torch.nn.functional.cross_entropy(log_joint, y, reduction="none", label_smoothing=0.2)
    return rows.mean() if sample_weight is None else (sample_weight * rows).sum() / sample_weight.sum()


def smoothed_by_hand(log_joint, y, weight):
    value, grad = loss_oracle.conditional(log_joint, y, weight)
    weight = np.ones(len(y)) if weight is None else weight
    share = (weight / weight.sum())[:, None]
    # Of the weight of its own class, 0.2 is spread evenly over all classes.
    moved = 0.2 * (np.eye(log_joint.shape[1])[y] - 1 / log_joint.shape[1])
    return value + (share * moved * log_joint).sum(), grad + share * moved


@dataclass
class Kind:
    """A loss with the same loss in loops and in torch."""

    loss: Any
    oracle: Any
    in_torch: Any
    has_kink: bool = False


LOSSES = {
    "nll": Kind(NegativeLogLikelihood(), loss_oracle.nll, torch_oracle.nll),
    "conditional": Kind(ConditionalLikelihood(), loss_oracle.conditional, torch_oracle.conditional),
    "margin": Kind(
        Margin(**MARGIN), partial(loss_oracle.margin, **MARGIN), partial(torch_oracle.margin, **MARGIN), has_kink=True
    ),
    "hybrid": Kind(
        Hybrid(lam=5.0, **MARGIN),
        partial(loss_oracle.hybrid, lam=5.0, **MARGIN),
        partial(torch_oracle.hybrid, lam=5.0, **MARGIN),
        has_kink=True,
    ),
    "numpy": Kind(squared_error, squared_error, squared_error_in_torch),
    "torch": Kind(torch_loss(smoothed), smoothed_by_hand, smoothed),
}
BY_LOSS = pytest.mark.parametrize("name", LOSSES)


class Recorded:
    """A loss that keeps what it was called with."""

    def __init__(self, loss):
        self.loss, self.log_joint, self.y, self.weight = loss, None, None, None

    def __call__(self, log_joint, y, sample_weight):
        self.log_joint, self.y, self.weight = log_joint, y, sample_weight
        return self.loss(log_joint, y, sample_weight)


def assert_close_in_norm(found, expected, rounding):
    """To 1e-4 of the norm; where terms cancel, to the rounding of the terms, of which the oracles have some too."""
    assert np.linalg.norm(found - expected) <= 1e-4 * np.linalg.norm(expected) + rounding + 1e-12


def check_step(model, kind, *, is_weighted):
    """Compare log-joint, loss and all gradients of one step with both oracles."""
    weight = model.weight if is_weighted else None
    selected, soft = model.sample()
    log_joint = model.log_joint(selected)
    value, grad = kind.oracle(log_joint, model.y, weight)
    in_loops = model.gradients(grad)
    structure = (model.child, model.parent, model.ptr)
    batch = (model.noise, model.tau, model.wide_rows, model.y)
    by_torch = torch_oracle.gradients(model.tables(), model.prior, model.phi, *structure, *batch, kind.in_torch, weight)

    rounding = 1e-6 * np.linalg.norm(grad)
    highest = max(np.abs(table).max() for table in model.tables())
    phi_rounding = 1e-6 * np.abs(grad).sum() * highest * np.max(soft * (1 - soft)) / model.tau
    recorded = Recorded(kind.loss)
    for loss in (recorded, kind.loss):  # called from the core, and if it is a built-in one, inside the core
        state = model.state()
        stepper = model.stepper(state, loss, TrainingSettings(optimiser="dense"), is_weighted=is_weighted)
        info = model.take_step(stepper, 0.01)
        assert np.array_equal(stepper.selected, selected)
        assert info.loss == pytest.approx(value, rel=1e-5, abs=1e-5)
        assert info.loss == pytest.approx(by_torch.value, rel=1e-5, abs=1e-5)
        for tables, prior, phi in (in_loops, by_torch[2:]):
            for mean, expected in zip(model.split(state.theta.mean), tables, strict=True):
                assert_close_in_norm(mean / (1 - ADAM.beta1), expected, rounding)
            assert_close_in_norm(state.prior.mean / (1 - ADAM.beta1), prior, rounding)
            assert_close_in_norm(state.phi.mean / (1 - ADAM.beta1), phi, phi_rounding)
    np.testing.assert_allclose(recorded.log_joint, log_joint, rtol=1e-6, atol=1e-6)


@BY_LOSS
@given(model=st.one_of(models(), models(has_pairs=True)))
@settings(max_examples=15)
def test_gradients_equal_both_oracles(name, model):
    if LOSSES[name].has_kink:
        assume(misses_the_kink(model.log_joint(model.sample()[0]), model.y, **MARGIN))
    check_step(model, LOSSES[name], is_weighted=len(model.y) % 2 == 0)


SHAPES = {
    "ragged": ([[-1], [-1, 0], [1, -1, 0], [2, 0, -1]], [3, 2, 1, 4], 3),
    "constant features": ([[-1], [-1, 0], [0, 1]], [1, 3, 1], 2),
    "one feature": ([[-1]], [4], 3),
    "one class": ([[-1], [-1, 0], [0, 1]], [2, 3, 2], 1),
    "two classes": ([[-1, 1], [-1, 0], [0, 1]], [2, 3, 2], 2),
    "eight classes": ([[-1], [-1, 0]], [2, 3], 8),
    "nineteen classes": ([[-1], [-1, 0], [1, 0]], [2, 3, 2], 19),
    "fixed": ([[-1], [0], [0]], [2, 3, 2], 3),
    "pairs": ([[-1], [-1, 0], [(0, 1), 1], [-1, (0, 1), (1, 2), 2]], [2, 3, 2, 2], 3),
}


@BY_LOSS
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_rows", [1, 14])
def test_gradients_of_every_shape(name, shape, n_rows):
    model = make_model(*SHAPES[shape], seed=n_rows, n_rows=n_rows)
    check_step(model, LOSSES[name], is_weighted=True)
    check_step(model, LOSSES[name], is_weighted=False)


@pytest.mark.parametrize("optimiser", ["dense", "selected"])
@pytest.mark.parametrize(("name", "shape"), [("nll", "ragged"), ("conditional", "pairs"), ("numpy", "ragged")])
def test_several_steps_with_sampled_structures(name, shape, optimiser):
    """The whole step again and again, phi included, against the oracle with unnormalised CPTs."""
    kind, rate = LOSSES[name], 0.05
    model = make_model(*SHAPES[shape], seed=2, n_rows=12)
    rng = np.random.default_rng(3)
    options = TrainingSettings(optimiser=optimiser, structure_learning_rate=0.2)
    state = model.state()
    stepper = model.stepper(state, kind.loss, options)

    tables, prior, phi = model.tables(), model.prior.astype(np.float64), model.phi.copy()
    moments = [np.zeros((2, *shape)) for shape in model.shapes]
    prior_moments, phi_moments = np.zeros((2, len(prior))), np.zeros((2, len(phi)))
    counts, seen = np.zeros(len(tables), int), set()
    for t in range(1, 8):
        noise, tau = model_oracle.gumbel(rng.random(len(phi))), 2.0 / t
        model.take_step(stepper, rate, tau, noise=noise)

        selected, soft = model_oracle.sample(phi, noise, model.ptr, tau)
        seen.add(tuple(selected))
        structure = (model.child, model.parent, selected)
        log_joint = model_oracle.log_joint(tables, prior, *structure, model.wide_rows)
        _, grad = kind.oracle(log_joint, model.y, model.weight)
        table_slopes, prior_slope, phi_slope = model_oracle.gradients(
            tables, prior, *structure, soft, tau, model.wide_rows, grad, model.ptr
        )
        for e, slope in enumerate(table_slopes):
            if optimiser == "dense" or e in selected:
                counts[e] += 1
                tables[e], *moments[e] = model_oracle.adam_step(tables[e], slope, *moments[e], counts[e], rate)
        prior, *prior_moments = model_oracle.adam_step(prior, prior_slope, *prior_moments, t, rate)
        phi, *phi_moments = model_oracle.adam_step(phi, phi_slope, *phi_moments, t, 0.2)

    assert len(seen) > 2
    for found, expected in zip(model.split(state.theta.value), tables, strict=True):
        np.testing.assert_allclose(found, model_oracle.log_softmax_table(expected), atol=1e-4)
    np.testing.assert_allclose(state.prior.value, model_oracle.log_softmax_vector(prior), atol=1e-4)
    np.testing.assert_allclose(state.phi.value, phi, atol=1e-4)
    assert state.step == 7


@given(model=models(has_pairs=True), seed=SEEDS)
@settings(max_examples=25)
def test_terms_with_an_unknown_value_are_left_out(model, seed):
    """From the log-joint and from every gradient; the loss here is the sum of the log-joint times given numbers."""
    rng = np.random.default_rng(seed)
    grad = rng.normal(size=(len(model.y), model.n_classes)).astype(np.float32)
    is_hidden = rng.random(model.codes.shape) < 0.3
    of_pairs = [is_hidden[:, pair].any(axis=1) for pair in model.parent_sets.pairs]
    is_open = np.column_stack([is_hidden, *of_pairs])
    tables = model.tables()
    slopes, weight_gradient = [], []
    log_joint = np.tile(model.prior.astype(np.float64), (len(model.y), 1))
    selected, soft = model.sample()
    for e, (i, j) in enumerate(zip(model.child, model.parent, strict=True)):
        is_known = ~(is_open[:, i] | (j != -1) & is_open[:, j])
        known = (is_known[:, None] * grad).astype(np.float64)
        structure = (model.child, model.parent, [e], np.ones(len(tables)), 1.0)
        slope, *_ = model_oracle.gradients(tables, model.prior, *structure, model.wide_rows, known, model.ptr)
        slopes.append(slope[e] * (e in selected))
        cells = [model_oracle.cell(e, model.child, model.parent, row) for row in model.wide_rows]
        terms = np.array([model_oracle.log_softmax_table(tables[e])[cell] for cell in cells])
        weight_gradient.append((known * terms).sum())
        log_joint += (e in selected) * is_known[:, None] * terms
    phi_slope = model_oracle.soft_max_gradient(weight_gradient, soft, model.tau, model.ptr)

    model.codes = np.where(is_hidden, model.cards, model.codes).astype(np.int32)
    recorded, state = Recorded(lambda log_joint, y, w: (0.0, grad)), model.state()
    model.take_step(model.stepper(state, recorded, TrainingSettings(optimiser="dense")), 0.01)
    np.testing.assert_allclose(recorded.log_joint, log_joint, rtol=1e-6, atol=1e-6)
    for mean, expected in zip(model.split(state.theta.mean), slopes, strict=True):
        assert_close_in_norm(mean / (1 - ADAM.beta1), expected, 1e-6 * np.linalg.norm(grad))
    highest = max(np.abs(table).max() for table in tables)
    phi_rounding = 1e-6 * np.abs(grad).sum() * highest * np.max(soft * (1 - soft)) / model.tau
    assert_close_in_norm(state.phi.mean / (1 - ADAM.beta1), phi_slope, phi_rounding)


def test_rows_of_the_batch_are_taken_from_all_rows():
    model = make_model(*SHAPES["ragged"], seed=4, n_rows=10)
    rows = np.array([7, 2, 2, 9])
    recorded = Recorded(NegativeLogLikelihood())
    problem = replace(model.problem(), batch_size=len(rows))
    stepper = Stepper(model.state(), model.layout, problem, recorded, TrainingSettings())
    stepper.run(rows, model.noise[None], None, Schedule(0.1, model.tau))
    selected, _ = model.sample()
    np.testing.assert_allclose(recorded.log_joint, model.log_joint(selected)[rows], rtol=1e-6, atol=1e-6)
    assert recorded.y.tolist() == model.y[rows].tolist()
    assert recorded.weight.tolist() == model.weight[rows].tolist()


def test_error_is_the_weight_of_misclassified_rows():
    model = make_model(*SHAPES["ragged"], seed=5, n_rows=20)
    selected, _ = model.sample()
    is_wrong = model.log_joint(selected).argmax(axis=1) != model.y
    assert 0 < is_wrong.sum() < 20
    for is_weighted, weight in ((True, model.weight), (False, np.ones(20))):
        stepper = model.stepper(model.state(), NegativeLogLikelihood(), is_weighted=is_weighted)
        info = model.take_step(stepper, 0.1)
        assert info.error == pytest.approx(weight[is_wrong].sum() / weight.sum(), rel=1e-6)


@pytest.mark.parametrize("shape", [(9,), (3, 9), (9, 4), (8, 3), (1, 3), ()])
def test_gradient_of_the_wrong_shape_is_refused(shape):
    model = make_model(*SHAPES["ragged"], seed=6, n_rows=9)

    def loss(log_joint, y, sample_weight):
        return 1.0, np.zeros(shape)

    stepper = model.stepper(model.state(), loss)
    with pytest.raises(ValueError, match=r"gradient of the loss must have the shape \(9, 3\) of log_joint, got \("):
        model.take_step(stepper, 0.1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_gradient_of_any_type_and_layout_is_taken(dtype, layout):
    model = make_model(*SHAPES["ragged"], seed=7, n_rows=9)

    def loss(log_joint, y, sample_weight):
        value, grad = NegativeLogLikelihood()(log_joint, y, sample_weight)
        return value, np.array(grad, dtype=dtype, order=layout)

    states = []
    for candidate in (loss, NegativeLogLikelihood()):
        state = model.state()
        model.take_step(model.stepper(state, candidate), 0.1)
        states.append(state)
    assert np.array_equal(states[0].theta.value, states[1].theta.value)


@pytest.mark.parametrize("loss", [Hybrid(5.0, **MARGIN), Margin(**MARGIN), ConditionalLikelihood()], ids=repr)
@pytest.mark.parametrize("shape", ["ragged", "one class", "nineteen classes"])
def test_a_loss_that_python_calls_trains_like_the_built_in_one(loss, shape):
    """Rows that meet the margin are summed apart by the core, so the two agree to rounding."""
    model = make_model(*SHAPES[shape], seed=8, n_rows=30)
    states, infos = [], []
    for each in (loss, lambda log_joint, y, weight: loss(log_joint, y, weight)):
        state = model.state()
        stepper = model.stepper(state, each, TrainingSettings(adam=Adam(epsilon=1e-3)))
        infos.append([model.take_step(stepper, 0.05) for _ in range(5)])
        states.append(state)
    np.testing.assert_allclose(infos[0], infos[1], rtol=1e-5, atol=1e-6)
    for name in ("theta", "prior", "phi"):
        for found, expected in zip(getattr(states[0], name), getattr(states[1], name), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_loss_derived_from_a_built_in_one_is_called():
    class Twice(NegativeLogLikelihood):
        def __call__(self, log_joint, y, sample_weight=None):
            value, grad = super().__call__(log_joint, y, sample_weight)
            return 2 * value, 2 * grad

    model = make_model(*SHAPES["ragged"], seed=9)
    once, twice = (
        model.take_step(model.stepper(model.state(), loss), 0.1) for loss in (NegativeLogLikelihood(), Twice())
    )
    assert twice.loss == pytest.approx(2 * once.loss, rel=1e-6)


def test_a_run_takes_the_steps_one_after_the_other():
    """Several steps in one run are those of as many runs, with the rows and the noise of each."""
    model = make_model(*SHAPES["ragged"], seed=10, n_rows=12)
    rng = np.random.default_rng(0)
    rows, noise = rng.integers(0, 12, size=(6, 5)), model_oracle.gumbel(rng.random((6, len(model.phi))))
    problem = replace(model.problem(), batch_size=5)
    together, apart = model.state(), model.state()
    steppers = [Stepper(state, model.layout, problem, Hybrid(), TrainingSettings()) for state in (together, apart)]
    info = steppers[0].run(rows.ravel(), noise, None, Schedule(0.05, 0.7))
    infos = [steppers[1].run(rows[k], noise[k : k + 1], None, Schedule(0.05, 0.7)) for k in range(6)]
    np.testing.assert_allclose(info, np.mean(infos, axis=0), rtol=1e-6)
    assert together.step == apart.step == 6
    assert together.updates.tolist() == apart.updates.tolist()
    for found, expected in zip(together.theta + together.phi, apart.theta + apart.phi, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@given(model=models(max_classes=10))
@settings(max_examples=15)
def test_number_of_threads_does_not_change_a_bit(model):
    states = []
    for n_threads in (1, 2, 3):
        state = model.state()
        stepper = model.stepper(state, ConditionalLikelihood(), n_threads=n_threads)
        for _ in range(3):
            model.take_step(stepper, 0.1)
        states.append(state)
    for state in states[1:]:
        for moments, expected in zip(
            state.theta + state.prior + state.phi, states[0].theta + states[0].prior + states[0].phi, strict=True
        ):
            assert np.array_equal(moments, expected)
