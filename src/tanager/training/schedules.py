"""Values over the epochs of a training run."""

from __future__ import annotations

import numpy as np

from tanager._types import FloatArray


def geometric(first: float, last: float, n_epochs: int) -> FloatArray:
    """Values falling (or rising) by a constant factor, both ends included; one epoch has the first value.

    >>> geometric(10.0, 0.1, 3)
    array([10. ,  1. ,  0.1])
    """
    if n_epochs == 1:
        return np.array([first])
    return np.geomspace(first, last, n_epochs)
