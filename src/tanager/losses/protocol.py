"""What training requires of a loss: its value and its gradient with respect to the log-joint, and no more."""

from __future__ import annotations

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
