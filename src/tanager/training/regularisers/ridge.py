"""Ridge: a quadratic price on the distance of CPTs from where they started.

Half of ``strength / N`` times the squared distance of the drawn CPTs from their goal is part of the mean loss; this is
a Gaussian prior that weighs as much as ``strength`` rows. The goal is the naive Bayes classifier that training started
from, or no difference between the classes where it started at random; with the conditional likelihood and no parents,
the latter is logistic regression. Unlike shrinkage, cells with many rows give way less.
"""

from __future__ import annotations

from typing import ClassVar

from tanager._options import check_number
from tanager._types import Pull
from tanager.training.regularisers.contract import FeatureCpts, Hooks, Regulariser, Run


class Ridge(Regulariser):
    """Pull CPTs towards where they started with the weight of some rows.

    Parameters
    ----------
    strength : float, at least 0
        The number of rows that the pull weighs as much as.
    """

    needs_parents: ClassVar[bool] = False
    pulls_to_start: ClassVar[bool] = True

    strength: float = 0.0

    def __post_init__(self) -> None:
        check_number("ridge", self.strength, least=0)

    def prepare(self, run: Run) -> Hooks:
        """Hooks for one training run."""
        hooks = Hooks()
        goal = run.start or FeatureCpts.zeros(run.layout)
        # What a member's CPT says counts for one n-th of the mean, and so does its distance from the goal.
        hooks.pull = Pull(*goal, self.strength / run.problem.n_counted / run.layout.n_members**2)
        return hooks
