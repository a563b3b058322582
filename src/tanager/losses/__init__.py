"""Losses: functions of the log-joint, the classes and the weights that give a value and a gradient."""

from tanager.losses.builtin import (
    LOSSES,
    ConditionalLikelihood,
    Hybrid,
    Loss,
    Margin,
    NegativeLogLikelihood,
    check_loss,
)
from tanager.losses.torch_adapter import TorchLoss, torch_loss

__all__ = [
    "LOSSES",
    "ConditionalLikelihood",
    "Hybrid",
    "Loss",
    "Margin",
    "NegativeLogLikelihood",
    "TorchLoss",
    "check_loss",
    "torch_loss",
]
