"""The method in PyTorch as one would write it from the paper: a loop over features, autograd, `torch.optim.Adam`.

Each feature has one parameter with the CPTs of all its candidates, ``[K + 1, R_parent, R_child, C]``, padded to the
candidate with the most values. `benchmarks.torch_tan` is the same model rearranged for speed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, one_hot

from benchmarks.torch_tan import Loss, Optimisers, hybrid_loss

__all__ = ["TorchTAN", "hybrid_loss", "make_optimisers", "train_step"]


class TorchTAN(nn.Module):
    """All candidate CPTs, the class prior and the parent distribution.

    Parameters
    ----------
    candidates : list of list of int
        Candidate parents of each feature; -1 is no parent.
    cards : sequence of int
        Number of values of each feature.
    n_classes : int
    seed : int
        Of the initial values; the noise comes from torch's global generator.
    """

    def __init__(self, candidates: list[list[int]], cards: tuple[int, ...], n_classes: int, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.candidates = candidates
        sizes = [max([1, *(cards[j] for j in parents if j >= 0)]) for parents in candidates]
        shapes = [(len(candidates[i]), sizes[i], cards[i], n_classes) for i in range(len(cards))]
        self.theta = nn.ParameterList([torch.empty(shape).uniform_(-0.1, 0.1) for shape in shapes])
        self.prior = nn.Parameter(torch.empty(n_classes).uniform_(-0.1, 0.1))
        self.phi = nn.ParameterList([torch.zeros(len(parents)) for parents in candidates])

    def forward(self, codes: Tensor, tau: float) -> Tensor:
        """Log-joint [B, C] of a sampled structure, with the straight-through gradient of phi (equations 9 to 13)."""
        log_joint = log_softmax(self.prior, dim=0)
        for i, parents in enumerate(self.candidates):
            log_theta = log_softmax(self.theta[i], dim=2)
            x_parent = torch.stack([codes[:, j] if j >= 0 else torch.zeros_like(codes[:, 0]) for j in parents])
            rows = log_theta[torch.arange(len(parents))[:, None], x_parent, codes[:, i]]
            u = torch.rand(len(parents))
            noise = -torch.log(-torch.log(u + 1e-6) + 1e-6)
            soft = torch.softmax((self.phi[i] + noise) / tau, dim=0)
            hard = one_hot(soft.argmax(), len(parents)).to(soft.dtype)
            weight = hard + soft - soft.detach()
            log_joint = log_joint + (weight[:, None, None] * rows).sum(dim=0)
        return log_joint


def make_optimisers(model: TorchTAN, learning_rate: float, phi_learning_rate: float = 1e-3) -> Optimisers:
    """Make the two optimisers of the paper."""
    return Optimisers(
        torch.optim.Adam([*model.theta, model.prior], lr=learning_rate, eps=1e-7),
        torch.optim.Adam(list(model.phi), lr=phi_learning_rate, eps=1e-7),
    )


def train_step(model: TorchTAN, optimisers: Optimisers, codes: Tensor, y: Tensor, tau: float, loss_fn: Loss) -> Tensor:
    """One step of both optimisers on codes [B, D] and labels [B]; returns the loss."""
    loss = loss_fn(model(codes, tau), y)
    for optimiser in optimisers:
        optimiser.zero_grad()
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()
    return loss.detach()
