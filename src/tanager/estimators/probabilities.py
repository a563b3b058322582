"""From log-joints to probabilities."""

from __future__ import annotations

import numpy as np

from tanager._types import FloatArray


def log_softmax_rows(log_joint: FloatArray) -> FloatArray:
    """Logarithm of the softmax of each row, in place."""
    log_joint -= log_joint.max(axis=1, keepdims=True)
    log_joint -= np.log(np.exp(log_joint).sum(axis=1, keepdims=True))
    return log_joint


def softmax_rows(log_joint: FloatArray) -> FloatArray:
    """Softmax of each row, in place."""
    log_joint -= log_joint.max(axis=1, keepdims=True)
    np.exp(log_joint, out=log_joint)
    log_joint /= log_joint.sum(axis=1, keepdims=True)
    return log_joint
