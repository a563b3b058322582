"""The reference implementation in PyTorch against the oracles."""

import functools

import numpy as np
import pytest
import torch

from benchmarks.torch_tan import TorchTAN, fit, hybrid_loss, make_optimisers, train_step
from tests.oracles import loss_oracle, model_oracle

CARDS = (3, 2, 1, 4)
N_CLASSES = 3
CANDIDATES = [[-1], [-1, 0], [1, -1, 0], [2, 0, -1]]
HYPERPARAMETERS = {"lam": 5.0, "gamma": 1.7, "eta": 3.0}
TAU = 0.7


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    return rng.integers(0, CARDS, size=(9, len(CARDS))), rng.integers(0, N_CLASSES, size=9)


def unpack(model):
    """Parameters and structure of the model in the form of the oracles."""
    child, parent = [], []
    tables, row = [], 0
    for i, parents in enumerate(CANDIDATES):
        for j in parents:
            n_rows = 1 if j == -1 else CARDS[j]
            tables.append(as_frame(model.theta.detach()[: CARDS[i], row : row + n_rows]).astype(float))
            child.append(i)
            parent.append(j)
            row += n_rows
    ptr = [0, *np.cumsum([len(parents) for parents in CANDIDATES]).tolist()]
    return tables, model.prior.detach().numpy().astype(float), child, parent, ptr


def as_frame(values):
    """[R_child, R_parent, C] as the oracles' [R_parent, R_child, C]."""
    return values.numpy().swapaxes(0, 1)


def flatten(padded):
    """Values of the candidates out of an array [D, K + 1]."""
    return np.concatenate([row[: len(parents)] for row, parents in zip(padded, CANDIDATES, strict=True)])


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_step_equals_oracles(batch, dtype, tolerance):
    codes, y = batch
    model = TorchTAN(CANDIDATES, CARDS, N_CLASSES, seed=0, dtype=dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn(parameter.shape, generator=model.generator, dtype=dtype)
    noise = model.gumbel_noise()
    tables, prior, child, parent, ptr = unpack(model)
    phi = flatten(model.phi.detach().numpy())
    selected, soft = model_oracle.sample(phi, flatten(noise.numpy()), ptr, TAU)
    log_joint = model_oracle.log_joint(tables, prior, child, parent, selected, codes)
    value, grad = loss_oracle.hybrid(log_joint, y, **HYPERPARAMETERS)
    expected = model_oracle.gradients(tables, prior, child, parent, selected, soft, TAU, codes, grad, ptr)

    codes, y = torch.as_tensor(codes), torch.as_tensor(y)
    found = model.log_joint(codes, torch.as_tensor(selected - np.array(ptr[:-1])))
    np.testing.assert_allclose(found.detach(), log_joint, rtol=tolerance)
    loss = train_step(
        model,
        make_optimisers(model, learning_rate=0.1),
        codes,
        y,
        TAU,
        functools.partial(hybrid_loss, **HYPERPARAMETERS),
        noise,
    )
    assert loss.item() == pytest.approx(value, rel=tolerance)
    row = 0
    for table, i in zip(expected[0], child, strict=True):
        gradient = as_frame(model.theta.grad[:, row : row + len(table)])
        np.testing.assert_allclose(gradient[:, : CARDS[i]], table, atol=10 * tolerance)
        assert not gradient[:, CARDS[i] :].any()
        row += len(table)
    np.testing.assert_allclose(model.prior.grad, expected[1], atol=10 * tolerance)
    np.testing.assert_allclose(flatten(model.phi.grad.numpy()), expected[2], atol=10 * tolerance)

    # Where no gradient is as small as epsilon, its place makes no difference to the first step.
    stepped, _, _ = model_oracle.adam_step(prior, expected[1], np.zeros(N_CLASSES), np.zeros(N_CLASSES), t=1, lr=0.1)
    np.testing.assert_allclose(model.prior.detach(), stepped, atol=1e-5)
    assert not torch.isnan(model.theta).any()
    assert torch.equal(torch.isinf(model.phi), torch.isinf(TorchTAN(CANDIDATES, CARDS, N_CLASSES, seed=0).phi))


def test_fit_finds_the_parent_that_tells_the_classes_apart():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, size=(400, 4))
    y = codes[:, 1] ^ codes[:, 3]
    model = TorchTAN([[-1], [-1, 0], [-1, 0, 1], [-1, 0, 1, 2]], (2, 2, 2, 2), 2, seed=0)
    history = fit(
        model,
        codes,
        y,
        loss_fn=functools.partial(hybrid_loss, lam=10.0, gamma=1.0, eta=10.0),
        epochs=30,
        batch_size=50,
        learning_rate=0.1,
        phi_learning_rate=0.05,
    )
    assert model.most_probable()[3] == 2
    assert np.array_equal(model.predict(codes), y)
    assert history[-1] < 0.5 * history[0]
