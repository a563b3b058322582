"""What training requires of a loss: its value and its gradient with respect to the log-joint, and no more."""

from __future__ import annotations

import inspect
from typing import Protocol

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
