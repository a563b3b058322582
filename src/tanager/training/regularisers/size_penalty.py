"""Size penalty: the expected size of the model under the parent distribution, as a term of the loss.

With p_e the probability of candidate e and R_e the entries of its CPT, the term is

    ``weight * sum_e p_e R_e / sum_i max_e R_e``

where the last sum is over the largest CPT of each feature: a share of the largest model, so that the weight means the
same for all data sets. It is in the units of the mean loss of a row. Its gradient with respect to phi is exact and
needs no draws.
"""

from __future__ import annotations

import numpy as np

from tanager._options import check_number
from tanager._types import FloatArray
from tanager.kernels.parents import parent_probabilities, phi_gradient
from tanager.model import Layout
from tanager.training.regularisers.contract import Hooks, Regulariser, Run


class SizePenalty(Regulariser):
    """Add the expected size of the model, as a share of the largest, to the loss.

    Parameters
    ----------
    weight : float, at least 0
    """

    weight: float = 0.0

    def __post_init__(self) -> None:
        check_number("size_penalty", self.weight, least=0)

    def prepare(self, run: Run) -> Hooks:
        """Hooks for one training run."""
        return ExpectedSize(run.layout, self.weight)


class ExpectedSize(Hooks):
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
    >>> term = ExpectedSize(layout, weight=2.0)
    >>> float(term.value(np.zeros(3))), term.gradient(np.zeros(3)).tolist()
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

    def add_phi_gradient(self, phi: FloatArray, gradient: FloatArray) -> None:
        """Add the gradient of the term."""
        gradient += self.gradient(phi)
