"""Pulls on the tables of a step: towards naive Bayes, of neighbouring lines to each other, and to where they start.

``shrinkage``: each step takes a selected table ``theta_{i|j}`` a share ``rate * shrinkage`` of the way to
``log p(x_i | c)``, whatever the value of the parent. Where few rows have a value of the parent, the table says little
more than naive Bayes. This is weight decay, decoupled from Adam (Loshchilov and Hutter, 2019), with naive Bayes for
zero.

``smoothness``: where values have an order, as the bins of a number have, ``theta[x_j, x_i, c]`` and its neighbours, one
value up or down of x_i or x_j, exchange a share ``rate * smoothness`` of their difference. Rows so teach something
about neighbouring bins, too.

``ridge``: half of ``ridge / N`` times the squared distance of the selected tables from those of a trained naive Bayes
classifier is part of the mean loss; this is a Gaussian prior. Naive Bayes itself is pulled to no difference between the
classes, which with the conditional likelihood is logistic regression.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.model import Layout
from tanager.training.problem import Problem
from tanager.training.settings import TrainingSettings


class FeatureTables(NamedTuple):
    """Log-probabilities ``[x_i, c]`` of every feature, one table after the other."""

    value: FloatArray  # float32
    offset: IntArray  # int64[D + 1]

    @classmethod
    def empty(cls) -> FeatureTables:
        """Tables of no features."""
        return cls(np.zeros(0, np.float32), np.zeros(1, np.int64))

    @classmethod
    def zeros(cls, layout: Layout) -> FeatureTables:
        """Tables that make no difference."""
        offset = np.concatenate([[0], np.cumsum(layout.cards * layout.n_classes)]).astype(np.int64)
        return cls(np.zeros(offset[-1], np.float32), offset)


class Pulls(NamedTuple):
    """What the tables of a run are drawn to."""

    goals: FeatureTables | None = None  # for shrinkage
    n_ordered: IntArray | None = None  # int64[D + P + 1]: of each column, how many of the first values are in order
    base: FeatureTables | None = None  # for the ridge
    ridge: float = 0.0  # its weight in the mean loss


def make_pulls(
    problem: Problem, layout: Layout, settings: TrainingSettings, base: FeatureTables | None = None
) -> Pulls:
    """Prepare the pulls that the settings ask for; without a ``base`` the ridge pulls to no difference at all."""
    pulls = Pulls()
    if settings.shrinkage > 0:
        pulls = pulls._replace(goals=shrinkage_goals(problem, layout))
    if settings.smoothness > 0 and problem.n_ordered is not None:
        n_ordered = np.zeros(len(layout.tables.cards), np.int64)
        n_ordered[: len(problem.n_ordered)] = problem.n_ordered
        pulls = pulls._replace(n_ordered=n_ordered)
    if settings.ridge > 0:
        pulls = pulls._replace(base=base or FeatureTables.zeros(layout), ridge=settings.ridge / problem.n_counted)
    return pulls


def shrinkage_goals(problem: Problem, layout: Layout) -> FeatureTables:
    """Count the rows; one is added to every cell.

    Examples
    --------
    >>> from tanager.model import make_layout
    >>> from tanager.structure import naive_bayes
    >>> from tanager.training import make_problem
    >>> problem = make_problem(np.array([[0], [0], [1]]), np.array([0, 0, 1]), None, batch_size=1)
    >>> goals = shrinkage_goals(problem, make_layout(naive_bayes(1), [2], n_classes=2))
    >>> np.exp(goals.value).round(3).tolist()  # [x = 0: c = 0, c = 1; x = 1: c = 0, c = 1]
    [0.75, 0.333, 0.25, 0.667]
    """
    tables = []
    for card, column in zip(layout.cards.tolist(), problem.codes.T, strict=True):
        is_known = column < card
        weight = None if problem.weight is None else problem.weight[is_known]
        cells = column[is_known].astype(np.int64) * layout.n_classes + problem.y[is_known]
        counts = np.bincount(cells, weight, card * layout.n_classes).reshape(card, layout.n_classes) + 1.0
        tables.append(np.log(counts / counts.sum(axis=0)).ravel())
    offset = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
    return FeatureTables(np.concatenate(tables).astype(np.float32), offset)
