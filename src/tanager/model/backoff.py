"""Closed-form CPTs whose smoothing the rows decide: they back off to coarser frequencies.

A CPT ``[x_j, x_i, c]`` has few rows in most cells. Its frequencies are pulled to those given the class alone, and these
to those of the values whatever the class, each as if m rows of the coarser ones had been seen:

    p_k = (n_k + m_k p_{k-1}) / (N_k + m_k)

The m of a CPT are those for which its rows, each left out in turn, are most probable. One factor for all of them, and a
temperature, are those for which the classes of the rows that are left out have the smallest log-loss. The temperature
pulls CPTs to those without the class, in the geometric mean: features that repeat each other would otherwise make the
network far too sure. As in `tanager.model.tempering` it is exact for complete rows, and moves the class prior. So where
cells are unknown, and classes are told from some of the features, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.model.cpt_counts import CptCounts
from tanager.model.layout import Layout, grouped_codes, wide_codes
from tanager.model.maximum_likelihood import log_prior
from tanager.model.network import Network
from tanager.model.tempering import best_temperature, can_temper, log_losses, temper

_PRIOR_ROWS = 10.0 ** np.arange(0.0, 3.1, 0.5)  # fewer than one would trust bins too much that the classes have cut
_FACTORS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_FIRST = 3  # place of the factor that is tried first
_MOST_ROWS = 2_000  # that factor and temperature are chosen on


class Smoothed(NamedTuple):
    """Smoothed frequencies of the values for each line of parents' values and each class."""

    values: FloatArray  # float64[G, R, C], sums to one along the second axis
    left_out: FloatArray  # the same for a row of each cell, without that row


@dataclass(frozen=True)
class Counted:
    """Counts of all CPTs of a fixed structure, in rows."""

    layout: Layout
    cpts: list[FloatArray]  # float64[G, R, C] each
    prior_rows: list[tuple[float, float]]  # what coarser frequencies count for, of each CPT
    classes: FloatArray  # float64[C]

    @classmethod
    def of(cls, counts: CptCounts) -> Counted:
        """Counts of a layout that has one candidate for each feature; weights that are no counts are scaled."""
        layout, in_rows = counts.layout, counts.n_counted / counts.of_class.sum()
        cpts = [layout.cpt(counts.cells, i) * in_rows for i in range(layout.parent_sets.n_features)]
        return cls(layout, cpts, [best_prior_rows(each) for each in cpts], counts.of_class * in_rows)

    def smoothed(self, factor: float = 1.0) -> list[Smoothed]:
        """All CPTs, pulled to coarser frequencies by a multiple of what is best for each."""
        return [
            backed_off(counts, (factor * of_class, factor * of_parent))
            for counts, (of_class, of_parent) in zip(self.cpts, self.prior_rows, strict=True)
        ]

    def tempered(self, smoothed: list[Smoothed], temperature: float) -> Network:
        """The network whose log-odds between classes are divided by the temperature."""
        cpts = [np.log(each.values) for each in smoothed]
        if temperature == 1.0:
            return self.network(cpts)
        classless = [np.log(backed_off(counts.sum(axis=2, keepdims=True)).values) for counts in self.cpts]
        network = self.network(
            [alone + (cpt - alone) / temperature for cpt, alone in zip(cpts, classless, strict=True)]
        )
        return temper(replace(network, log_prior=network.log_prior / temperature), 1.0)

    def network(self, log_cpts: Sequence[FloatArray]) -> Network:
        """The network with these logarithms in its CPTs."""
        arena = np.concatenate([log_cpt.ravel() for log_cpt in log_cpts])
        prior = log_prior(self.classes, 1.0)
        return Network.from_arena(self.layout, arena, prior, np.arange(len(self.cpts)))


def back_off(counts: CptCounts, codes: IntArray, y: IntArray, weight: FloatArray) -> Network:
    """The network of counts that are smoothed as much as the rows say.

    Parameters
    ----------
    counts : CptCounts
        Of all rows, in a layout with one candidate for each feature.
    codes : int array of shape (N, D)
        All rows, or some of them.
    y : int array of shape (N,)
    weight : float array of shape (N,)
    """
    counted = Counted.of(counts)
    judge = _Judge(counted, codes, y, weight)
    trials = cache(lambda place: judge.trial(counted.smoothed(_FACTORS[place])))
    best = _FIRST
    for step in (-1, 1):
        while 0 <= best + step < len(_FACTORS) and trials(best + step) < trials(best):
            best += step
    return counted.tempered(counted.smoothed(_FACTORS[best]), trials(best).temperature)


def backed_off(counts: FloatArray, prior_rows: tuple[float, float] | None = None) -> Smoothed:
    """Frequencies of the values, pulled to those given the class and these to those of the values alone.

    Parameters
    ----------
    counts : float array of shape (G, R, C)
    prior_rows : (float, float), optional
        Rows that the frequencies of the values alone and those given the class count for; defaults to the best.

    Examples
    --------
    >>> counts = np.array([[[8.0], [2.0]], [[0.0], [0.0]]])
    >>> backed_off(counts).values.sum(axis=1).ravel()
    array([1., 1.])
    """
    of_class, of_parent = prior_rows or best_prior_rows(counts)
    given_class = _pulled(counts.sum(axis=0, keepdims=True), _alone(counts), of_class)
    return given_class if len(counts) == 1 else _pulled(counts, given_class, of_parent)


def best_prior_rows(counts: FloatArray) -> tuple[float, float]:
    """Rows that coarser frequencies count for where rows that are left out are most probable."""
    alone, whole = _alone(counts), counts.sum(axis=0, keepdims=True)
    of_class = _best_rows(whole, alone)
    return of_class, 0.0 if len(counts) == 1 else _best_rows(counts, _pulled(whole, alone, of_class))


def _alone(counts: FloatArray) -> Smoothed:
    """Frequencies of the values whatever parent and class, with one row added for each value."""
    of_value = counts.sum(axis=(0, 2))[None, :, None]
    total = of_value.sum() + of_value.size
    return Smoothed((of_value + 1.0) / total, np.maximum(of_value, 1.0) / max(total - 1.0, 1.0))


def _pulled(counts: FloatArray, goal: Smoothed, rows: float) -> Smoothed:
    """Frequencies along the second axis, pulled to a goal that counts for some rows."""
    total = counts.sum(axis=1, keepdims=True)
    left_out = np.maximum(counts - 1.0, 0.0) + rows * goal.left_out
    return Smoothed((counts + rows * goal.values) / (total + rows), left_out / (np.maximum(total - 1.0, 0.0) + rows))


def _best_rows(counts: FloatArray, goal: Smoothed) -> float:
    """Weight of the goal for which rows that are left out are most probable."""
    is_seen = counts > 0
    seen, total = counts[is_seen], np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)[is_seen]
    of_goal = np.broadcast_to(goal.left_out, counts.shape)[is_seen]
    others, all_others = np.maximum(seen - 1.0, 0.0), np.maximum(total - 1.0, 0.0)
    return max(
        _PRIOR_ROWS.tolist(),
        key=lambda rows: float((seen * np.log((others + rows * of_goal) / (all_others + rows))).sum()),
    )


class _Trial(NamedTuple):
    log_loss: float
    temperature: float


class _Judge:
    """Rows that are left out in turn, to judge smoothing by the log-loss of their classes."""

    def __init__(self, counted: Counted, codes: IntArray, y: IntArray, weight: FloatArray) -> None:
        # Drawn, since the order of rows may have a rhythm.
        rows = np.random.default_rng(0).permutation(len(y))[:_MOST_ROWS]
        self._counted, self._codes, self._y, self._weight = counted, codes[rows], y[rows], weight[rows]
        self._is_complete = bool((codes < counted.layout.cards).all())

    def trial(self, smoothed: list[Smoothed]) -> _Trial:
        """The log-loss at the best temperature."""
        network, y = self._counted.tempered(smoothed, 1.0), self._y
        classes = self._counted.classes
        scores = network.log_joint(self._codes)
        scores[np.arange(len(y)), y] += np.log(np.maximum(classes, 1.0) / (classes + 1.0))[y]
        scores[np.arange(len(y)), y] += self._left_out_terms(smoothed)
        may_temper = self._is_complete and can_temper(network)
        temperature = best_temperature(scores, y, self._weight) if may_temper else 1.0
        return _Trial(float(np.average(log_losses(scores / temperature, y), weights=self._weight)), temperature)

    def _left_out_terms(self, smoothed: list[Smoothed]) -> FloatArray:
        """What each row's log-joint with its own class loses in the CPTs if the row is left out."""
        layout, y = self._counted.layout, self._y
        cpts = layout.cpts
        if layout.groups:
            wide = grouped_codes(self._codes, layout.groups)
        else:
            wide = wide_codes(self._codes, layout.pairs, cpts.cards)
        terms = np.zeros(len(y))
        for i, (each, parent) in enumerate(zip(smoothed, cpts.parent.tolist(), strict=True)):
            above = wide[:, parent].astype(np.int64) if parent < wide.shape[1] else np.zeros(len(y), np.int64)
            is_known = (wide[:, i] < layout.cards[i]) & (above < cpts.cards[parent])
            cells = above[is_known], wide[is_known, i].astype(np.int64), y[is_known]
            terms[is_known] += np.log(each.left_out[cells] / each.values[cells])
        return terms
