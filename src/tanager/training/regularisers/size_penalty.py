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
        hooks = Hooks()
        hooks.actions = {"size_cost": size_cost(run.layout, self.weight)}
        return hooks


def size_cost(layout: Layout, weight: float) -> FloatArray:
    """What the probability of each candidate costs, float64[E]: ``weight R_e / sum_i max_e R_e``.

    Examples
    --------
    >>> from tanager.model import make_layout
    >>> from tanager.structure import ParentSets
    >>> layout = make_layout(ParentSets.from_lists([[-1], [-1, 0]]), [3, 3], n_classes=2)
    >>> size_cost(layout, weight=2.0)
    array([0.5, 0.5, 1.5])
    """
    sizes = np.diff(layout.cpts.offset)
    cost: FloatArray = weight * sizes / np.maximum.reduceat(sizes, layout.cpts.ptr[:-1]).sum()
    return cost
