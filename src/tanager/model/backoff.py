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

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from tanager import core
from tanager._types import Cpts, FloatArray, IntArray
from tanager.model.cpt_counts import CptCounts, log_prior
from tanager.model.layout import Layout, grouped_codes, wide_codes
from tanager.model.network import Network
from tanager.model.tempering import best_temperature, can_temper, log_losses, temper

_PRIOR_ROWS = 10.0 ** np.arange(0.0, 3.1, 0.5)  # fewer than one would trust bins too much that the classes have cut
_FACTORS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_FIRST = 3  # place of the factor that is tried first
_MOST_ROWS = 2_000  # that factor and temperature are chosen on


class Smoothed(NamedTuple):
    """Smoothed frequencies in the CPTs of a layout."""

    values: FloatArray  # float64[size], an arena: sums to one along the child's values
    left_out: FloatArray  # the same for a row of each cell, without that row
    gains: (
        FloatArray  # float64[E]: how much more probable the parent makes the value of a row that is left out, in nats
    )


@dataclass(frozen=True)
class Counted:
    """Counts of all CPTs of a fixed structure, in rows."""

    layout: Layout
    cells: FloatArray  # float64[size]
    prior_rows: FloatArray  # float64[E, 2]: what frequencies of values alone and given the class count for, of each CPT
    classes: FloatArray  # float64[C]

    @classmethod
    def of(cls, counts: CptCounts) -> Counted:
        """Counts of a layout that has one candidate for each feature; weights that are no counts are scaled."""
        layout, in_rows = counts.layout, counts.n_counted / counts.of_class.sum()
        cells = counts.cells * in_rows
        return cls(layout, cells, best_prior_rows(layout.cpts, cells, layout.n_classes), counts.of_class * in_rows)

    def smoothed(self, factor: float = 1.0) -> Smoothed:
        """All CPTs, pulled to coarser frequencies by a multiple of what is best for each."""
        return smooth(self.layout.cpts, self.cells, self.layout.n_classes, factor * self.prior_rows)

    def tempered(self, smoothed: Smoothed, temperature: float) -> Network:
        """The network whose log-odds between classes are divided by the temperature."""
        log_cpts = np.log(smoothed.values)
        if temperature == 1.0:
            return self.network(log_cpts)
        n_rows = float(self.classes.sum())
        counts = CptCounts(self.layout, self.cells, self.classes, round(n_rows), is_whole=True)
        alone = np.repeat(np.log(Counted.of(counts.without_classes()).smoothed().values), self.layout.n_classes)
        network = self.network(alone + (log_cpts - alone) / temperature)
        return temper(replace(network, log_prior=network.log_prior / temperature), 1.0)

    def network(self, log_cpts: FloatArray) -> Network:
        """The network with these logarithms in the arena of its CPTs."""
        prior = log_prior(self.classes, 1.0)
        return Network.from_arena(self.layout, log_cpts, prior, np.arange(self.layout.parent_sets.n_features))


def best_prior_rows(cpts: Cpts, cells: FloatArray, n_classes: int) -> FloatArray:
    """What frequencies of values alone, and those given the class, count for in each CPT, float64[E, 2]."""
    prior_rows = np.zeros((len(cpts.parent), 2))
    core.best_prior_rows(0, len(cpts.child), cpts, cells, n_classes, _PRIOR_ROWS, prior_rows)
    return prior_rows


def smooth(cpts: Cpts, cells: FloatArray, n_classes: int, prior_rows: FloatArray) -> Smoothed:
    """The counts of CPTs as frequencies that are pulled to coarser ones."""
    found = Smoothed(np.empty(len(cells)), np.empty(len(cells)), np.zeros(len(prior_rows)))
    core.back_off(0, len(cpts.child), cpts, cells, n_classes, prior_rows, *found)
    return found


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
        self._places = _places(counted.layout, self._codes, self._y)

    def trial(self, smoothed: Smoothed) -> _Trial:
        """The log-loss at the best temperature."""
        network, y = self._counted.tempered(smoothed, 1.0), self._y
        classes = self._counted.classes
        scores = network.log_joint(self._codes)
        # What a row's log-joint with its own class loses if the row is left out.
        losses = np.append(np.log(smoothed.left_out / smoothed.values), 0.0)[self._places].sum(axis=1)
        scores[np.arange(len(y)), y] += np.log(np.maximum(classes, 1.0) / (classes + 1.0))[y] + losses
        may_temper = self._is_complete and can_temper(network)
        temperature = best_temperature(scores, y, self._weight) if may_temper else 1.0
        return _Trial(float(np.average(log_losses(scores / temperature, y), weights=self._weight)), temperature)


def _places(layout: Layout, codes: IntArray, y: IntArray) -> IntArray:
    """Where the cells of rows and their classes are in an arena, int64[N, D]; its end where a value is unknown."""
    cpts = layout.cpts
    wide = grouped_codes(codes, layout.groups) if layout.groups else wide_codes(codes, layout.pairs, cpts.cards)
    wide = np.concatenate([wide, np.zeros((len(wide), 1), wide.dtype)], axis=1).astype(np.int64)  # no parent is last
    above, own = wide[:, cpts.parent], wide[:, : len(layout.cards)]
    places = cpts.offset[:-1] + (above * layout.cards + own) * layout.n_classes + y[:, None]
    is_known = (own < layout.cards) & (above < cpts.cards[cpts.parent])
    return np.where(is_known, places, layout.size)
