"""The most probable classes of many rows, found with CPTs rounded to short integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.kernels.classes import IMPOSSIBLE, STEPS_PER_UNIT, network_classes, short_width, shorten_lines
from tanager.kernels.lanes import aligned_zeros
from tanager.model.layout import Layout

_MOST_ENTRIES = np.iinfo(np.int32).max


def pays_to_shorten(layout: Layout, n_rows: int) -> bool:
    """Whether so many rows read more CPT lines than there are, and there are few enough lines to index."""
    n_lines = layout.size // layout.n_classes
    is_small = n_lines * short_width(layout.n_classes) <= _MOST_ENTRIES
    return n_rows * layout.parent_sets.n_features >= n_lines and is_small


def settle_classes(
    layout: Layout, theta: FloatArray, log_prior: FloatArray, codes: IntArray, crew: Crew
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Most probable class of each row, and whether it is settled (see `tanager.kernels.classes`).

    Parameters
    ----------
    layout : Layout
        With one CPT for each feature.
    theta : float32 array
    log_prior : float64 array of shape (C,)
    codes : int array of shape (N, D), C-contiguous
    crew : Crew
    """
    n_classes = layout.n_classes
    width = short_width(n_classes)
    lines = aligned_zeros((layout.size // n_classes, width), np.int16)
    shorten_lines(theta[: layout.size].reshape(-1, n_classes), lines)
    prior = np.full(width, IMPOSSIBLE, np.int32)
    prior[:n_classes] = np.maximum(np.rint(log_prior * STEPS_PER_UNIT), IMPOSSIBLE)
    classes, is_settled = np.empty(len(codes), np.int64), np.empty(len(codes), np.bool_)
    model = (lines.reshape(-1), prior, layout.tables, n_classes)
    crew.run(network_classes(width), crew.split(len(codes)), *model, codes, classes, is_settled)
    return classes, is_settled
