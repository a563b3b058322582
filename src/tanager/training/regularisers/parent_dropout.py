"""Parent dropout: in each step, each feature loses its extra parent with some probability.

A feature whose parent is dropped is read from its CPT without a parent, so every feature gets one. It makes up for CPTs
that are large for the number of rows.
"""

from __future__ import annotations

import numpy as np

from tanager._options import check_number
from tanager._types import FloatArray
from tanager.model import Layout, make_layout
from tanager.training.regularisers.contract import Hooks, Regulariser, Run


class ParentDropout(Regulariser):
    """Drop each feature's extra parent for one step with a probability.

    Parameters
    ----------
    probability : float, at least 0 and below 1
    """

    probability: float = 0.0

    def __post_init__(self) -> None:
        check_number("parent_dropout", self.probability, least=0, below=1)

    def extend(self, layout: Layout, phi: FloatArray | None) -> tuple[Layout, FloatArray | None]:
        """Give every feature a CPT without a parent; the added ones are read only where a parent is dropped.

        Examples
        --------
        >>> from tanager.structure import fixed_parents
        >>> layout = make_layout(fixed_parents([-1, 0]), [2, 3], n_classes=2)
        >>> wider, phi = ParentDropout(0.2).extend(layout, None)
        >>> wider.parent_sets.to_lists(), phi
        ([[-1], [-1, 0]], array([  0., -inf,   0.]))
        """
        old = layout.parent_sets
        new = old.with_no_parent()
        is_added = np.diff(new.ptr) > np.diff(old.ptr)
        wider = np.zeros(new.n_candidates)
        first_added = new.ptr[:-1][is_added]
        if phi is not None:
            wider[np.setdiff1d(np.arange(new.n_candidates), first_added)] = phi
        wider[first_added] = -np.inf
        return make_layout(new, layout.cards, layout.n_classes, layout.n_members), wider

    def prepare(self, run: Run) -> Hooks:
        """Hooks for one training run; the uniform draws that decide come with each epoch."""
        hooks = Hooks()
        hooks.actions = {"dropout": float(self.probability)}
        return hooks
