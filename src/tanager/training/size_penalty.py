"""A price on parameters: the expected size of the model under the parent distribution, as a term of the loss.

With p_e the probability of candidate e and R_e the entries of its table, the term is

    ``size_penalty * sum_e p_e R_e / sum_i max_e R_e``

where the last sum is over the largest table of each feature: a share of the largest model, so that the weight means the
same for all data sets. It is in the units of the mean loss of a row. Its gradient with respect to phi is exact and
needs no draws.
"""

from __future__ import annotations

import numpy as np

from tanager._types import FloatArray
from tanager.kernels.parents import parent_probabilities, phi_gradient
from tanager.model import Layout


class SizePenalty:
    """The term and its gradient for one layout.

    Parameters
    ----------
    layout : Layout
    weight : float

    Examples
    --------
    >>> from tanager.model import make_layout
    >>> from tanager.structure import ParentSets
    >>> layout = make_layout(ParentSets.from_lists([[-1], [-1, 0]]), [3, 3], n_classes=2)
    >>> penalty = SizePenalty(layout, weight=2.0)
    >>> float(penalty.value(np.zeros(3))), penalty.gradient(np.zeros(3)).tolist()
    (1.5, [0.0, -0.25, 0.25])
    """

    def __init__(self, layout: Layout, weight: float) -> None:
        self._ptr = layout.tables.ptr
        sizes = np.diff(layout.tables.offset)
        self._cost = weight * sizes / np.maximum.reduceat(sizes, self._ptr[:-1]).sum()
        self._probabilities = np.empty(len(sizes))

    def value(self, phi: FloatArray) -> float:
        """Weight times the expected size, as a share of the largest."""
        parent_probabilities(phi, self._ptr, self._probabilities)
        return float(self._cost @ self._probabilities)

    def gradient(self, phi: FloatArray) -> FloatArray:
        """Gradient with respect to phi, float64[E]."""
        parent_probabilities(phi, self._ptr, self._probabilities)
        gradient = np.empty_like(self._cost)
        phi_gradient(self._cost, self._probabilities, self._ptr, 1.0, gradient)
        return gradient
