"""The meaning of row weights."""

from __future__ import annotations

import numpy as np

from tanager._types import FloatArray


def count_rows(weight: FloatArray) -> float:
    """Number of rows that the weights represent: their sum if they are whole numbers, otherwise their count.

    Examples
    --------
    >>> count_rows(np.array([2.0, 3.0])), count_rows(np.array([0.2, 0.3]))
    (5.0, 2.0)
    """
    return float(weight.sum()) if (weight == np.floor(weight)).all() else float(len(weight))
