"""Gradients by automatic differentiation: a second oracle, independent of the loops (section 3.2).

Shapes and names are those of `model_oracle`; everything is float64. A loss here is a function of the tensors
(log_joint [N, C], y [N], weight [N]) that returns the weighted mean as a scalar tensor.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch.nn.functional import log_softmax, one_hot


class Gradients(NamedTuple):
    """Value, log-joint [N, C] and gradients of one step with a sampled structure."""

    value: float
    log_joint: np.ndarray
    tables: list[np.ndarray]
    prior: np.ndarray
    phi: np.ndarray


def nll(log_joint, y, weight):
    """Negative log-likelihood."""
    return (weight * -log_joint[torch.arange(len(y)), y]).sum() / weight.sum()


def conditional(log_joint, y, weight):
    """Negative conditional log-likelihood."""
    return (weight * torch.nn.functional.cross_entropy(log_joint, y, reduction="none")).sum() / weight.sum()


def margin(log_joint, y, weight, gamma=1.0, eta=10.0):
    """Large margin loss with the softened maximum over the other classes."""
    is_own = one_hot(y, log_joint.shape[1]).bool()
    others = torch.logsumexp((eta * log_joint).masked_fill(is_own, -torch.inf), dim=1) / eta
    return (weight * torch.relu(gamma - log_joint[is_own] + others)).sum() / weight.sum()


def hybrid(log_joint, y, weight, lam=1.0, gamma=1.0, eta=10.0):
    """Hybrid loss."""
    return nll(log_joint, y, weight) + lam * margin(log_joint, y, weight, gamma, eta)


def loss_gradient(loss, log_joint, y, weight=None):
    """Value of a loss and its gradient with respect to the log-joint."""
    leaf = _leaf(log_joint)
    value = loss(leaf, *_targets(y, weight))
    (gradient,) = torch.autograd.grad(value, leaf)
    return value.item(), gradient.numpy()


def gradients(tables, prior, phi, child, parent, ptr, noise, tau, codes, y, loss, weight=None):
    """Differentiate a loss with the straight-through Gumbel soft-max under the given noise [E].

    Every candidate is in the sum, multiplied by its weight hard + soft - soft.detach(): zero or one in the forward
    pass, the soft-max in the backward pass.
    """
    tables, prior, phi = [_leaf(table) for table in tables], _leaf(prior), _leaf(phi)
    codes, noise = torch.as_tensor(codes).long(), torch.as_tensor(noise)
    log_joint = log_softmax(prior, dim=0).expand(len(codes), -1)
    for i in range(len(ptr) - 1):
        weights = straight_through(phi[ptr[i] : ptr[i + 1]] + noise[ptr[i] : ptr[i + 1]], tau)
        for k, e in enumerate(range(ptr[i], ptr[i + 1])):
            parent_codes = torch.zeros_like(codes[:, 0]) if parent[e] == -1 else codes[:, parent[e]]
            log_joint = log_joint + weights[k] * log_softmax(tables[e], dim=1)[parent_codes, codes[:, child[e]]]
    value = loss(log_joint, *_targets(y, weight))
    value.backward()
    return Gradients(
        value.item(),
        log_joint.detach().numpy(),
        [table.grad.numpy() for table in tables],
        prior.grad.numpy(),
        phi.grad.numpy(),
    )


def straight_through(scores, tau):
    """One-hot of the best score, with the gradient of the soft-max at temperature tau."""
    soft = torch.softmax(scores / tau, dim=0)
    hard = one_hot(scores.argmax(), len(scores)).to(soft.dtype)
    return hard + soft - soft.detach()


def _leaf(array):
    """Copy an array into a float64 tensor that records its gradient."""
    return torch.tensor(np.asarray(array), dtype=torch.float64, requires_grad=True)


def _targets(y, weight):
    """Labels and weights as tensors."""
    y = torch.as_tensor(y).long()
    return y, torch.ones(len(y), dtype=torch.float64) if weight is None else torch.as_tensor(weight)
