"""The oracles against finite differences, automatic differentiation and cases worked out by hand."""

import functools
import math

import numpy as np
import pytest
import torch

from tests.oracles import counting_oracle, loss_oracle, model_oracle, torch_oracle

CARDS = (3, 2, 1, 4)
N_CLASSES = 3
CANDIDATES = ((-1,), (-1, 0), (1, -1, 0), (2, 0, -1))
LOSSES = {
    "nll": (loss_oracle.nll, torch_oracle.nll),
    "conditional": (loss_oracle.conditional, torch_oracle.conditional),
    "margin": tuple(functools.partial(m.margin, gamma=1.7, eta=3.0) for m in (loss_oracle, torch_oracle)),
    "hybrid": tuple(functools.partial(m.hybrid, lam=5.0, gamma=1.7, eta=3.0) for m in (loss_oracle, torch_oracle)),
}


class Problem:
    """A small random model with a batch of rows."""

    def __init__(self, seed, n_rows=7):
        rng = np.random.default_rng(seed)
        self.child = [i for i, parents in enumerate(CANDIDATES) for _ in parents]
        self.parent = [j for parents in CANDIDATES for j in parents]
        self.ptr = [0, *np.cumsum([len(parents) for parents in CANDIDATES]).tolist()]
        self.tables = [
            rng.normal(size=(1 if j == -1 else CARDS[j], CARDS[i], N_CLASSES))
            for i, j in zip(self.child, self.parent, strict=True)
        ]
        self.prior = rng.normal(size=N_CLASSES)
        self.phi = rng.normal(size=len(self.child))
        self.noise = model_oracle.gumbel(rng.random(len(self.child)))
        self.codes = rng.integers(0, CARDS, size=(n_rows, len(CARDS)))
        self.y = rng.integers(0, N_CLASSES, size=n_rows)
        self.weight = rng.uniform(0.2, 2.0, size=n_rows)

    def log_joint(self, selected):
        return model_oracle.log_joint(self.tables, self.prior, self.child, self.parent, selected, self.codes)

    def gradients(self, selected, soft, tau, grad):
        structure = (self.child, self.parent, selected)
        return model_oracle.gradients(self.tables, self.prior, *structure, soft, tau, self.codes, grad, self.ptr)

    def torch_gradients(self, tau, loss):
        structure = (self.child, self.parent, self.ptr)
        noise_and_batch = (self.noise, tau, self.codes, self.y)
        return torch_oracle.gradients(
            self.tables, self.prior, self.phi, *structure, *noise_and_batch, loss, self.weight
        )


def finite_difference(function, array, step=1e-6):
    """Central differences of a scalar function that reads `array` in place."""
    gradient = np.zeros(array.shape)
    for k in np.ndindex(array.shape):
        kept = array[k]
        array[k] = kept + step
        above = function()
        array[k] = kept - step
        gradient[k] = (above - function()) / (2 * step)
        array[k] = kept
    return gradient


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_loss_gradient(name, is_weighted):
    problem = Problem(seed=1)
    weight = problem.weight if is_weighted else None
    log_joint = np.random.default_rng(2).normal(scale=2.0, size=(7, N_CLASSES))
    loss, torch_loss = LOSSES[name]
    value, gradient = loss(log_joint, problem.y, weight)
    expected = finite_difference(lambda: loss(log_joint, problem.y, weight)[0], log_joint)
    np.testing.assert_allclose(gradient, expected, atol=1e-8)
    torch_value, torch_gradient = torch_oracle.loss_gradient(torch_loss, log_joint, problem.y, weight)
    assert value == pytest.approx(torch_value, rel=1e-12)
    np.testing.assert_allclose(gradient, torch_gradient, atol=1e-12)


def test_losses_by_hand():
    log_joint = np.log([[0.1, 0.3, 0.2]])
    y = np.array([2])
    assert loss_oracle.nll(log_joint, y)[0] == pytest.approx(-math.log(0.2))
    assert loss_oracle.conditional(log_joint, y)[0] == pytest.approx(math.log(3))
    # With eta = 1 the softened maximum is log(0.1 + 0.3).
    assert loss_oracle.margin(log_joint, y, gamma=1.0, eta=1.0)[0] == pytest.approx(1 + math.log(2))
    assert loss_oracle.margin(log_joint, y, gamma=-2.0, eta=1.0) == (0.0, pytest.approx(np.zeros((1, 3))))
    hybrid, _ = loss_oracle.hybrid(log_joint, y, lam=3.0, gamma=1.0, eta=1.0)
    assert hybrid == pytest.approx(-math.log(0.2) + 3 * (1 + math.log(2)))


def test_integer_weights_repeat_rows():
    problem = Problem(seed=3)
    repeats = np.array([2, 1, 0, 3, 1, 1, 2])
    log_joint = np.random.default_rng(4).normal(size=(7, N_CLASSES))
    for loss, _ in LOSSES.values():
        weighted, _ = loss(log_joint, problem.y, repeats)
        repeated, _ = loss(np.repeat(log_joint, repeats, axis=0), np.repeat(problem.y, repeats))
        assert weighted == pytest.approx(repeated)


def test_cpt_and_prior_gradients_by_finite_differences():
    problem = Problem(seed=5)
    selected, soft = model_oracle.sample(problem.phi, problem.noise, problem.ptr, tau=0.7)

    def value():
        return loss_oracle.conditional(problem.log_joint(selected), problem.y, problem.weight)[0]

    _, grad = loss_oracle.conditional(problem.log_joint(selected), problem.y, problem.weight)
    tables, prior, _ = problem.gradients(selected, soft, 0.7, grad)
    for e, table in enumerate(problem.tables):
        np.testing.assert_allclose(tables[e], finite_difference(value, table), atol=1e-8)
        assert np.any(tables[e]) == (e in selected and table.shape[1] > 1)
    np.testing.assert_allclose(prior, finite_difference(value, problem.prior), atol=1e-8)


@pytest.mark.parametrize("tau", [10.0, 0.7, 0.3])
@pytest.mark.parametrize("name", LOSSES)
def test_all_gradients_by_automatic_differentiation(name, tau):
    problem = Problem(seed=6)
    loss, torch_loss = LOSSES[name]
    selected, soft = model_oracle.sample(problem.phi, problem.noise, problem.ptr, tau)
    log_joint = problem.log_joint(selected)
    value, grad = loss(log_joint, problem.y, problem.weight)
    tables, prior, phi = problem.gradients(selected, soft, tau, grad)
    expected = problem.torch_gradients(tau, torch_loss)
    assert value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(log_joint, expected.log_joint, atol=1e-12)
    for table, expected_table in zip(tables, expected.tables, strict=True):
        np.testing.assert_allclose(table, expected_table, atol=1e-12)
    np.testing.assert_allclose(prior, expected.prior, atol=1e-12)
    np.testing.assert_allclose(phi, expected.phi, rtol=1e-9, atol=1e-15)
    # Feature 0 has one candidate and feature 2 one value, so neither has anything to choose.
    has_choice = np.array([i in (1, 3) for i in problem.child])
    assert np.array_equal(phi != 0.0, has_choice)


def test_log_joint_is_a_distribution():
    problem = Problem(seed=7)
    problem.codes = np.array(list(np.ndindex(CARDS)))
    for noise_seed in range(3):
        noise = model_oracle.gumbel(np.random.default_rng(noise_seed).random(len(problem.phi)))
        selected, _ = model_oracle.sample(problem.phi, noise, problem.ptr, tau=1.0)
        assert np.exp(problem.log_joint(selected)).sum() == pytest.approx(1.0)


def test_sample():
    selected, soft = model_oracle.sample([0.0, 1.0, 1.0, 0.0, 5.0], np.zeros(5), [0, 1, 4, 5], tau=0.5)
    assert selected.tolist() == [0, 1, 4]
    total = 2 * math.exp(2) + 1
    np.testing.assert_allclose(soft, [1, math.exp(2) / total, math.exp(2) / total, 1 / total, 1])


def test_gumbel_is_finite_at_both_ends():
    assert np.all(np.isfinite(model_oracle.gumbel([0.0, 0.5, np.nextafter(1.0, 0.0)])))
    assert model_oracle.gumbel([0.5])[0] == pytest.approx(-math.log(math.log(2)), abs=1e-5)


def test_first_adam_step_has_the_length_of_the_rate():
    value, m, v = model_oracle.adam_step(np.ones(2), np.array([3.0, -0.5]), np.zeros(2), np.zeros(2), t=1, lr=0.1)
    np.testing.assert_allclose(value, [0.9, 1.1], atol=1e-6)
    np.testing.assert_allclose(m, [0.3, -0.05])
    np.testing.assert_allclose(v, [0.009, 0.00025])


def test_adam_with_little_epsilon_is_that_of_torch():
    leaf = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([leaf], lr=0.05, eps=1e-16)
    value, m, v = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    for t, gradient in enumerate(np.random.default_rng(8).normal(size=(5, 2)), start=1):
        leaf.grad = torch.tensor(gradient)
        optimiser.step()
        value, m, v = model_oracle.adam_step(value, gradient, m, v, t, lr=0.05, eps=1e-16)
    np.testing.assert_allclose(value, leaf.detach().numpy(), rtol=1e-12)


def test_counts_and_cpts():
    parent, child, y = np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([0, 0, 1])
    counts = counting_oracle.pair_counts(parent, child, y, 2, 2, 2)
    assert counts[0, 1, 0] == 2
    assert counts[1, 0, 1] == 1
    assert counts.sum() == 3
    table = counting_oracle.maximum_likelihood_table(counts, smoothing=1.0)
    np.testing.assert_allclose(table[0, :, 0], [1 / 4, 3 / 4])
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    np.testing.assert_allclose(counting_oracle.maximum_likelihood_table(counts, smoothing=0.0)[1, :, 0], 0.5)
    assert counting_oracle.pair_counts(None, child, y, 2, 2, 2, weight=[1, 2, 3])[0].tolist() == [[0, 3], [3, 0]]
    prior = counting_oracle.maximum_likelihood_prior(counting_oracle.class_counts(y, 3), smoothing=1.0)
    np.testing.assert_allclose(prior, [3 / 6, 2 / 6, 1 / 6])


def test_conditional_mutual_information_of_copies_and_of_independent_features():
    grid = np.array(list(np.ndindex(2, 2, 2)))
    codes = np.column_stack([grid[:, 0], grid[:, 0], grid[:, 1]])
    information = counting_oracle.conditional_mutual_information(codes, grid[:, 2], (2, 2, 2), 2)
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = math.log(2)
    np.testing.assert_allclose(information, expected, atol=1e-15)


def test_conditional_mutual_information_is_a_difference_of_entropies():
    rng = np.random.default_rng(9)
    counts = rng.integers(0, 5, size=(3, 4, 2)).astype(float)
    p = counts / counts.sum()

    def entropy(q):
        return -sum(value * math.log(value) for value in q.ravel() if value > 0)

    expected = entropy(p.sum(axis=1)) + entropy(p.sum(axis=0)) - entropy(p) - entropy(p.sum(axis=(0, 1)))
    assert counting_oracle.conditional_information_of_table(counts) == pytest.approx(expected)


def test_maximum_spanning_tree():
    weight = np.zeros((4, 4))
    for i, j, w in [(0, 1, 3.0), (1, 2, 5.0), (0, 2, 4.0), (2, 3, 1.0), (0, 3, 0.5)]:
        weight[i, j] = weight[j, i] = w
    assert counting_oracle.maximum_spanning_tree(weight) == ([-1, 2, 0, 2], 10.0)
    assert counting_oracle.maximum_spanning_tree(weight, root=3) == ([2, 2, 3, -1], 10.0)
    assert counting_oracle.maximum_spanning_tree(np.zeros((1, 1))) == ([-1], 0)


def test_chow_liu_finds_a_chain():
    rng = np.random.default_rng(10)
    codes = np.empty((300, 4), dtype=int)
    codes[:, 0] = rng.integers(0, 2, size=300)
    for i, parent in ((3, 0), (1, 3), (2, 1)):
        codes[:, i] = np.where(rng.random(300) < 0.9, codes[:, parent], 1 - codes[:, parent])
    parents, total = counting_oracle.chow_liu(codes, rng.integers(0, 2, size=300), (2, 2, 2, 2), 2)
    assert parents == [-1, 3, 1, 0]
    assert total > 0.5


def test_marginal_log_joint():
    problem = Problem(seed=11)
    selected, _ = model_oracle.sample(problem.phi, problem.noise, problem.ptr, tau=1.0)
    arguments = (problem.tables, problem.prior, problem.child, problem.parent, selected)
    np.testing.assert_allclose(
        counting_oracle.marginal_log_joint(*arguments, problem.codes), problem.log_joint(selected)
    )
    all_missing = counting_oracle.marginal_log_joint(*arguments, np.full((1, len(CARDS)), -1))
    np.testing.assert_allclose(all_missing[0], model_oracle.log_softmax_vector(problem.prior), atol=1e-12)
    row = problem.codes[0].copy()
    row[0] = -1
    filled = np.array([[value, *row[1:]] for value in range(CARDS[0])])
    expected = np.log(np.exp(model_oracle.log_joint(*arguments, filled)).sum(axis=0))
    np.testing.assert_allclose(counting_oracle.marginal_log_joint(*arguments, row[None])[0], expected)
