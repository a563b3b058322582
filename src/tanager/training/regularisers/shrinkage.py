"""Shrinkage: CPTs with a parent are drawn towards naive Bayes.

Each step takes a drawn CPT ``theta_{i|j}`` a share ``rate * strength`` of the way to ``log p(x_i | c)``, whatever the
value of the parent. Where few rows have a value of the parent, the CPT says little more than naive Bayes. This is
weight decay, decoupled from Adam (Loshchilov and Hutter, 2019), with naive Bayes in place of zero.
"""

from __future__ import annotations

import math

import numpy as np

from tanager._options import check_number
from tanager.model import Layout
from tanager.training.problem import Problem
from tanager.training.regularisers.contract import FeatureCpts, Hooks, Regulariser, Run

_LARGEST_SHARE = 1.0  # above it a step would go beyond its goal


class Shrinkage(Regulariser):
    """Draw CPTs with a parent towards the relative frequencies without one.

    Parameters
    ----------
    strength : float, at least 0
    """

    strength: float = 0.0

    def __post_init__(self) -> None:
        check_number("shrinkage", self.strength, least=0)

    @property
    def largest_rate(self) -> float:
        """The learning rate at which one step would reach the goal."""
        return _LARGEST_SHARE / self.strength if self.strength else math.inf

    def prepare(self, run: Run) -> Hooks:
        """Hooks for one training run."""
        hooks = Hooks()
        goals = count_features(run.problem, run.layout)
        hooks.actions = {"shrinkage": (*goals, float(self.strength))}
        return hooks


def count_features(problem: Problem, layout: Layout) -> FeatureCpts:
    """Log of the relative frequencies of every feature given the class, with one added to every cell.

    Examples
    --------
    >>> from tanager.model import make_layout
    >>> from tanager.structure import naive_bayes
    >>> from tanager.training import make_problem
    >>> problem = make_problem(np.array([[0], [0], [1]]), np.array([0, 0, 1]), None, batch_size=1)
    >>> goals = count_features(problem, make_layout(naive_bayes(1), [2], n_classes=2))
    >>> np.exp(goals.value).round(3).tolist()  # [x = 0: c = 0, c = 1; x = 1: c = 0, c = 1]
    [0.75, 0.333, 0.25, 0.667]
    """
    cpts = []
    for card, column in zip(layout.cards.tolist(), problem.codes.T, strict=True):
        is_known = column < card
        weight = None if problem.weight is None else problem.weight[is_known]
        cells = column[is_known].astype(np.int64) * layout.n_classes + problem.y[is_known]
        counts = np.bincount(cells, weight, card * layout.n_classes).reshape(card, layout.n_classes) + 1.0
        cpts.append(np.log(counts / counts.sum(axis=0)).ravel())
    offset = np.concatenate([[0], np.cumsum([len(cpt) for cpt in cpts])])
    return FeatureCpts(np.concatenate(cpts).astype(np.float32), offset)
