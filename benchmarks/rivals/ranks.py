"""Ranks of methods over data sets, the Friedman test, and Nemenyi's critical difference (Demsar, 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.05


class Ranking(NamedTuple):
    """Mean ranks of methods over the data sets that all of them finished.

    Attributes
    ----------
    mean_ranks : ndarray of shape (k,)
        1 is the best.
    n_tables : int
    p_value : float
        Of the Friedman test, whose null hypothesis is that all methods are alike. NaN for fewer than three methods or
        two data sets.
    critical_difference : float
        Mean ranks that differ by less are not significantly different, at the level of 0.05.
    """

    mean_ranks: np.ndarray
    n_tables: int
    p_value: float
    critical_difference: float


def rank_methods(values: Sequence[Sequence[float]]) -> Ranking:
    """Rank the methods, one for each column, on each data set, one for each row: lower values first, ties share ranks.

    >>> ranking = rank_methods([[1.0, 2.0, 3.0], [4.0, 4.0, 5.0]])
    >>> ranking.mean_ranks
    array([1.25, 1.75, 3.  ])
    """
    table = np.asarray(values, dtype=float)
    n_tables, n_methods = table.shape
    ranks = stats.rankdata(table, axis=1)
    return Ranking(ranks.mean(axis=0), n_tables, _friedman(table, ranks), critical_difference(n_methods, n_tables))


def critical_difference(n_methods: int, n_tables: int) -> float:
    """Nemenyi's critical difference of mean ranks at the level of 0.05.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    studentized = stats.studentized_range.ppf(1.0 - LEVEL, n_methods, np.inf) / np.sqrt(2.0)
    return float(studentized * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_tables)))


def alike(mean_ranks: Sequence[float], difference: float) -> list[list[int]]:
    """Largest groups of methods whose mean ranks differ by no more than the critical difference; at least two each.

    >>> alike([1.0, 1.5, 2.2, 4.0], 1.0)
    [[0, 1], [1, 2]]
    """
    order = sorted(range(len(mean_ranks)), key=lambda method: mean_ranks[method])
    groups: list[list[int]] = []
    last_end = 0
    for start, first in enumerate(order):
        end = max(place for place, other in enumerate(order) if mean_ranks[other] - mean_ranks[first] <= difference) + 1
        if end > last_end and end - start > 1:
            groups.append(order[start:end])
        last_end = max(end, last_end)
    return groups


def _friedman(table: np.ndarray, ranks: np.ndarray) -> float:
    n_tables, n_methods = table.shape
    if n_methods < 3 or n_tables < 2:
        return float("nan")
    if (ranks == ranks[0, 0]).all():
        return 1.0
    return float(stats.friedmanchisquare(*table.T).pvalue)
