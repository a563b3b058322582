"""What training requires of a loss; the losses of the paper, section 2.3, and the conditional likelihood.

With ``L = log_joint`` and the class ``y`` of a row:

* negative log-likelihood: ``-L[y]``;
* conditional likelihood: ``logsumexp(L) - L[y]``;
* margin: ``max(0, gamma - L[y] + logsumexp(eta * L[c] for c != y) / eta)``;
* hybrid: negative log-likelihood plus ``lam`` times the margin loss.

Each is the weighted mean over the rows of a batch. The paper writes sums, but its figures come from means.
"""

from __future__ import annotations

import inspect
from typing import Protocol

import numpy as np

from tanager import core
from tanager._options import Options, ShortNames, check_number
from tanager._types import FloatArray, IntArray


class Loss(Protocol):
    """A differentiable loss of a batch.

    Called with ``log_joint`` float32[B, C], the class codes ``y`` int64[B] and ``sample_weight`` float32[B] or None, it
    returns the (weighted) mean loss and its gradient, an array of the shape of ``log_joint``. Any function of this
    form works. One that cannot use weights says so with an attribute ``takes_weights = False``.
    """

    def __call__(
        self, log_joint: FloatArray, y: IntArray, sample_weight: FloatArray | None, /
    ) -> tuple[float, FloatArray]: ...


def check_loss(loss: Loss) -> None:
    """Require that a loss can be called with its three arguments, before any data are read."""
    try:
        signature = inspect.signature(loss)
    except (TypeError, ValueError):  # compiled code may not tell
        return
    try:
        signature.bind(None, None, None)
    except TypeError:
        raise ValueError(
            f"loss is called as loss(log_joint, y, sample_weight), but this one takes {signature}; "
            "tanager.losses.torch_loss makes a loss of a function of log_joint and y that PyTorch can differentiate"
        ) from None


Compiled = tuple[str, float, float, float, float]
"""A loss of the compiled core: its kind ("margin" or "conditional"), and the weight of the negative log-likelihood,
lambda, gamma and eta of the margin kind."""


class CompiledLoss(Options):
    """Base of the losses that the compiled core has built in."""

    @property
    def compiled(self) -> Compiled:
        """The loss as the core takes it; training with it never calls back into Python."""
        raise NotImplementedError

    def __call__(
        self, log_joint: FloatArray, y: IntArray, sample_weight: FloatArray | None = None
    ) -> tuple[float, FloatArray]:
        """Mean loss of a batch, and its gradient with respect to ``log_joint``."""
        values = np.ascontiguousarray(log_joint, np.float32)
        weight = (
            np.ones(len(y), np.float32) if sample_weight is None else np.ascontiguousarray(sample_weight, np.float32)
        )
        grad = np.empty_like(values)
        return core.evaluate_loss(self.compiled, values, np.ascontiguousarray(y, np.int64), weight, grad), grad


class NegativeLogLikelihood(CompiledLoss):
    """Negative log-likelihood of rows and classes, the generative loss.

    >>> import numpy as np
    >>> value, grad = NegativeLogLikelihood()(np.log([[0.25, 0.5]]).astype("f4"), np.array([0]), None)
    >>> round(value, 4), grad.tolist()
    (1.3863, [[-1.0, 0.0]])
    """

    @property
    def compiled(self) -> Compiled:
        """The loss as the core takes it."""
        return ("margin", 1.0, 0.0, 1.0, 1.0)


class ConditionalLikelihood(CompiledLoss):
    """Negative conditional log-likelihood of the classes given the rows.

    >>> import numpy as np
    >>> value, grad = ConditionalLikelihood()(np.log([[0.25, 0.75]]).astype("f4"), np.array([0]), None)
    >>> round(value, 4), grad.tolist()
    (1.3863, [[-0.75, 0.75]])
    """

    @property
    def compiled(self) -> Compiled:
        """The loss as the core takes it."""
        return ("conditional", 0.0, 0.0, 1.0, 1.0)


class Margin(CompiledLoss):
    """Probabilistic margin loss: a row whose log-margin over the best other class is below ``gamma`` pays the rest.

    Parameters
    ----------
    gamma : float, above 0
        The log-margin to reach.
    eta : float, above 0
        How sharp the softened maximum over the other classes is; the paper uses values above 1.

    Examples
    --------
    >>> import numpy as np
    >>> value, grad = Margin(gamma=1.0, eta=1.0)(np.zeros((1, 2), "f4"), np.array([0]), None)
    >>> value, grad.tolist()
    (1.0, [[-1.0, 1.0]])
    """

    gamma: float = 1.0
    eta: float = 10.0

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, above=0)
        check_number("eta", self.eta, above=0)

    @property
    def compiled(self) -> Compiled:
        """The loss as the core takes it."""
        return ("margin", 0.0, 1.0, float(self.gamma), float(self.eta))


class Hybrid(CompiledLoss):
    """Negative log-likelihood plus ``lam`` times the margin loss; the loss of the paper's experiments.

    Parameters
    ----------
    lam : float, at least 0
        Weight of the margin loss (lambda in the paper); 0 leaves the negative log-likelihood.
    gamma, eta : float, above 0
        As in `Margin`.

    Examples
    --------
    >>> import numpy as np
    >>> value, grad = Hybrid(lam=2.0, gamma=1.0, eta=1.0)(np.log([[0.5, 0.5]]).astype("f4"), np.array([0]), None)
    >>> round(value, 4), grad.tolist()
    (2.6931, [[-3.0, 2.0]])
    """

    lam: float = 10.0
    gamma: float = 1.0
    eta: float = 10.0

    def __post_init__(self) -> None:
        check_number("lam", self.lam, least=0)
        check_number("gamma", self.gamma, above=0)
        check_number("eta", self.eta, above=0)

    @property
    def compiled(self) -> Compiled:
        """The loss as the core takes it."""
        return ("margin", 1.0, float(self.lam), float(self.gamma), float(self.eta))


LOSSES = ShortNames(
    "loss",
    {"hybrid": Hybrid, "nll": NegativeLogLikelihood, "margin": Margin, "conditional": ConditionalLikelihood},
    method="__call__",
    others="a value such as Hybrid(...) or a function",
)
"""Losses by their short names."""
