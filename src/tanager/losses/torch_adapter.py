"""Losses written in PyTorch, differentiated by PyTorch. The only module that imports it, and only when used."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tanager._types import FloatArray, IntArray


class TorchLoss:
    """A PyTorch function as a loss; made by `torch_loss`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.takes_weights = _takes_three_arguments(function)
        _import_torch()

    def __repr__(self) -> str:
        return f"torch_loss({getattr(self.function, '__name__', self.function)!s})"

    def __call__(
        self, log_joint: FloatArray, y: IntArray, sample_weight: FloatArray | None = None
    ) -> tuple[float, FloatArray]:
        torch = _import_torch()
        inputs = torch.from_numpy(np.ascontiguousarray(log_joint)).requires_grad_(True)
        arguments = [inputs, torch.from_numpy(np.ascontiguousarray(y, np.int64))]
        if sample_weight is not None:
            if not self.takes_weights:
                raise ValueError(
                    f"{self!r} cannot use sample_weight: give the function a third argument that takes the weights"
                )
            arguments.append(torch.from_numpy(np.ascontiguousarray(sample_weight)))
        elif self.takes_weights:
            arguments.append(None)
        with torch.enable_grad():
            value = self.function(*arguments)
            if not isinstance(value, torch.Tensor) or value.numel() != 1:
                raise TypeError(f"{self!r} must return one number, the mean loss of the batch, got {_describe(value)}")
            if not value.requires_grad:
                raise ValueError(
                    f"{self!r} must depend on log_joint through PyTorch operations, so that it has a gradient"
                )
            (grad,) = torch.autograd.grad(value.reshape(()), inputs)
        return float(value.detach()), grad.numpy()


def torch_loss(function: Callable[..., Any]) -> TorchLoss:
    """Make a loss from a PyTorch function; requires the extra ``tanager[torch]``.

    Parameters
    ----------
    function : callable
        ``function(log_joint, y)`` returns the mean loss of a batch as a tensor; ``log_joint`` is a float tensor of
        shape (B, C), ``y`` an integer tensor of class codes of shape (B,). To train with ``sample_weight``, take it
        as a third argument: a float tensor of shape (B,), or None.

    Returns
    -------
    loss : TorchLoss
        For ``GradientDescent(loss=...)``.
    """
    return TorchLoss(function)


def _takes_three_arguments(function: Callable[..., Any]) -> bool:
    """Whether the function takes weights: a third positional argument without a default, or named after weights."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 2 and (positional[2].default is inspect.Parameter.empty or "weight" in positional[2].name)


def _import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("torch_loss needs PyTorch: pip install 'tanager[torch]'") from error
    return torch


def _describe(value: Any) -> str:
    return f"shape {tuple(value.shape)}" if hasattr(value, "shape") else type(value).__name__
