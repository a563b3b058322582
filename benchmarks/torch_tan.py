"""Differentiable TAN structure learning in plain PyTorch: what Tanager's speed and errors are compared with.

All candidate CPTs lie in one parameter `theta` [R_max, rows, C]: candidate e owns one row for each value of its parent,
and the child's values are padded to the largest number of any feature by minus infinity, which has probability zero and
gets no gradient. So a step is one `log_softmax`, one `index_select` for the sampled structure, which carries the
gradient of the CPTs, and one for all candidates, which carries only the straight-through gradient of `phi`.

This is the fastest of the layouts that were tried. Milliseconds of processor time per step (median; K = 8, float32, one
thread of an AMD EPYC with AVX-512, torch 2.13, fused Adam, random data of `benchmarks.shapes`):

    layout of the CPTs                                            letter  satimage    usps   mnist
    list of [R_j, R_i, C], one for each candidate                   10.1      25.2   206.4   219.3
    list of [K + 1, R_max, R_i, C], one for each feature             7.4      11.9    80.8   131.7
    one [D, K + 1, R_max, R_max, C]                                  7.3       6.7    33.9   260.3
    one [R_max, D, K + 1, R_max, C], child's value first             4.8       2.8    12.0   129.9
    one [rows, R_max, C]                                             2.7       3.8    12.3    58.3
    one [R_max, rows, C], child's value first                        2.1       1.9    10.5    33.8
    the same, CPTs detached in the straight-through term: here       1.8       1.8     6.4    26.1
    here, with the default Adam in place of the fused one            2.3       2.5     7.3    37.5
    here, after `model.compile()`, which takes 5 to 30 s             1.5       1.7     5.0    20.1
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, pad

Loss = Callable[[Tensor, Tensor], Tensor]


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
        Of the initial values and of the noise that the model draws itself.
    dtype : torch.dtype
    """

    def __init__(self, candidates, cards, n_classes, seed, dtype=torch.float32):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)
        self.n_features, self.n_classes = len(cards), n_classes
        parent = [j for parents in candidates for j in parents]
        n_rows = torch.tensor([1 if j == -1 else cards[j] for j in parent])
        n_candidates = torch.tensor([len(parents) for parents in candidates])
        child = torch.arange(self.n_features).repeat_interleave(n_candidates)
        self.register_buffer("child", child)
        # Feature number D is a column of zeros: the parent of those without.
        self.register_buffer("parent", torch.tensor([self.n_features if j == -1 else j for j in parent]))
        self.register_buffer("first_row", n_rows.cumsum(0) - n_rows)
        self.register_buffer("first_candidate", n_candidates.cumsum(0) - n_candidates)
        # Position of each candidate in phi [D, K + 1].
        self.register_buffer("place", torch.arange(len(parent)) - self.first_candidate[child])

        n_values = torch.tensor(cards)[child].repeat_interleave(n_rows)
        theta = self._uniform((max(cards), len(n_values), n_classes), dtype)
        theta[torch.arange(max(cards))[:, None] >= n_values] = -torch.inf
        phi = torch.full((self.n_features, int(n_candidates.max())), -torch.inf, dtype=dtype)
        phi[child, self.place] = 0.0
        self.theta = nn.Parameter(theta)
        self.prior = nn.Parameter(self._uniform((n_classes,), dtype))
        self.phi = nn.Parameter(phi)

    def _uniform(self, size, dtype):
        """Initial values from U(-0.1, 0.1)."""
        return torch.empty(size, dtype=dtype).uniform_(-0.1, 0.1, generator=self.generator)

    def gumbel_noise(self) -> Tensor:
        """Draw noise for one batch, [D, K + 1]."""
        u = torch.rand(self.phi.shape, generator=self.generator, dtype=self.phi.dtype)
        return -torch.log(-torch.log(u + 1e-6) + 1e-6)

    def most_probable(self) -> Tensor:
        """Position of the most probable candidate of each feature, [D]; the first of equals."""
        return self.phi.argmax(dim=1)

    def log_joint(self, codes: Tensor, selected: Tensor) -> Tensor:
        """Log of p(x, c), [B, C], of codes [B, D] with the candidate at position `selected` [D] of each feature."""
        return self._log_joint(log_softmax(self.theta, dim=0), self._cells(codes), selected)

    def forward(self, codes: Tensor, noise: Tensor, tau: float | Tensor) -> Tensor:
        """Log-joint [B, C] of a sampled structure, with the straight-through gradient of phi (equations 9 to 13).

        The weight of a candidate is hard + soft - soft.detach(). Its hard part selects one CPT of each feature. The
        rest is zero: it adds nothing to the value or to the gradient of the CPTs, so they are detached there.
        """
        scores = self.phi + noise
        soft = torch.softmax(scores / tau, dim=1)[self.child, self.place]
        log_theta, cells = log_softmax(self.theta, dim=0), self._cells(codes)
        hard = self._log_joint(log_theta, cells, scores.argmax(dim=1))
        rows = self._gather(log_theta.detach(), cells).view(len(cells), -1)
        return hard + ((soft - soft.detach()) @ rows).view_as(hard)

    @torch.no_grad()
    def predict(self, codes) -> np.ndarray:
        """Most probable class of each row under the most probable structure."""
        return self.log_joint(torch.as_tensor(codes).long(), self.most_probable()).argmax(dim=1).numpy()

    def _cells(self, codes):
        """Number of the row of C values that each candidate reads for each row of the batch, [E, B]."""
        columns = pad(codes, (0, 1)).T
        return columns[self.child] * self.theta.shape[1] + self.first_row[:, None] + columns[self.parent]

    def _gather(self, log_theta, cells):
        """Read the rows of C values, [E, B, C]."""
        return log_theta.view(-1, self.n_classes).index_select(0, cells.flatten()).view(*cells.shape, self.n_classes)

    def _log_joint(self, log_theta, cells, selected):
        """Sum the selected rows and the prior."""
        return log_softmax(self.prior, dim=0) + self._gather(log_theta, cells[self.first_candidate + selected]).sum(0)


def hybrid_loss(log_joint: Tensor, y: Tensor, lam: float, gamma: float, eta: float) -> Tensor:
    """Batch mean of the hybrid loss (equation 8)."""
    own = log_joint.gather(1, y[:, None])
    others = torch.logsumexp(eta * log_joint.scatter(1, y[:, None], -torch.inf), dim=1, keepdim=True) / eta
    return (lam * torch.relu(gamma - own + others) - own).mean()


class Optimisers(NamedTuple):
    """One Adam for the CPTs and the prior, one for phi."""

    theta: torch.optim.Adam
    phi: torch.optim.Adam


def make_optimisers(model: TorchTAN, learning_rate: float, phi_learning_rate: float = 1e-3) -> Optimisers:
    """Make the two optimisers of the paper.

    The place of epsilon differs: torch divides by sqrt(v / (1 - beta2^t)) + eps, the published experiments in effect by
    sqrt(v / (1 - beta2^t)) + eps / sqrt(1 - beta2^t), 32 times larger in the first step and the same in the end.
    """
    return Optimisers(
        torch.optim.Adam([model.theta, model.prior], lr=learning_rate, eps=1e-7, fused=True),
        torch.optim.Adam([model.phi], lr=phi_learning_rate, eps=1e-7, fused=True),
    )


def train_step(
    model: TorchTAN,
    optimisers: Optimisers,
    codes_batch: Tensor,
    y_batch: Tensor,
    tau: float,
    loss_fn: Loss,
    noise: Tensor | None = None,
) -> Tensor:
    """One step of both optimisers on codes [B, D] and labels [B] (int64); returns the loss.

    `noise` [D, K + 1] is Gumbel noise, drawn by the model if None.
    """
    log_joint = model(codes_batch, model.gumbel_noise() if noise is None else noise, tau)
    loss = loss_fn(log_joint, y_batch)
    for optimiser in optimisers:
        optimiser.zero_grad()
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()
    return loss.detach()


def fit(
    model: TorchTAN,
    codes: np.ndarray,
    y: np.ndarray,
    *,
    loss_fn: Loss,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    phi_learning_rate: float = 1e-3,
) -> list[float]:
    """Train as in the paper (section 4.2); returns the mean loss of each epoch.

    The learning rate falls to a thousandth and tau from 10 to 0.1, both by a constant factor from epoch to epoch. Rows
    are shuffled in every epoch, and an incomplete last batch is left out.
    """
    codes, y = torch.as_tensor(codes).long(), torch.as_tensor(y).long()
    optimisers = make_optimisers(model, learning_rate, phi_learning_rate)
    history = []
    for rate, tau in zip(np.geomspace(1.0, 1e-3, epochs), np.geomspace(10.0, 0.1, epochs), strict=True):
        optimisers.theta.param_groups[0]["lr"] = learning_rate * float(rate)
        order = torch.randperm(len(codes), generator=model.generator)
        batches = [batch for batch in order.split(batch_size) if len(batch) == batch_size]
        losses = [train_step(model, optimisers, codes[rows], y[rows], float(tau), loss_fn) for rows in batches]
        history.append(torch.stack(losses).mean().item())
    return history
