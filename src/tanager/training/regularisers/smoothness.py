"""Smoothness: neighbouring lines of a CPT are drawn together where values have an order, as the bins of a number have.

In each step ``theta[x_j, x_i, c]`` and its neighbours, one value up or down in x_i or x_j, exchange a share
``rate * strength`` of their difference. A row thereby also teaches something about neighbouring bins.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tanager._options import check_number
from tanager.training.regularisers.contract import Hooks, Regulariser, Run

_LARGEST_SHARE = 0.2  # above it diffusion over two axes is no longer stable


class Smoothness(Regulariser):
    """Draw neighbouring bins together.

    Parameters
    ----------
    strength : float, at least 0
    """

    needs_parents: ClassVar[bool] = False

    strength: float = 0.0

    def __post_init__(self) -> None:
        check_number("smoothness", self.strength, least=0)

    @property
    def largest_rate(self) -> float:
        """The learning rate up to which the exchange is stable."""
        return _LARGEST_SHARE / self.strength if self.strength else math.inf

    def prepare(self, run: Run) -> Hooks:
        """Hooks for one training run; they do nothing if no feature has an order."""
        hooks, n_ordered = Hooks(), run.problem.n_ordered
        if n_ordered is not None:
            of_columns = np.zeros(len(run.layout.cpts.cards), np.int64)
            of_columns[: len(n_ordered)] = n_ordered
            hooks.actions = {"smoothness": (of_columns, float(self.strength))}
        return hooks
