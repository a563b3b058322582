"""Effects that make the log-odds of two classes rise, or fall, along a feature, whatever the other features are.

The log-odds of a row are a sum of effects of features and of pairs. They rise from one value of a feature to the next
for all values of the others if the step of its main effect and the smallest step of each of its pairs sum to more than
zero. Where they do not, the two values share one effect, in the pairs or, if the main effect itself falls, everywhere;
then all effects are fitted again, until nothing falls. As in isotonic regression, the optimum within the constraints
has equal effects where they bind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.learning.rows import Rows
from tanager.model import Effects, Groups, make_groups

_RISE = 2e-4  # of the log-odds from each value to the next: more than single precision rounds, less than matters


class MonotoneEffects:
    """Effects over merged values that are read as effects over all values.

    Parameters
    ----------
    rows : Rows
        Of two classes.
    n_ordered : int array of shape (D,)
        How many of the first values of each feature are in order.
    groups : Groups
    pairs : sequence of (int, int)
    directions : int array of shape (D,)
        1 where the log-odds of the second class must rise, -1 where they must fall, 0 elsewhere.
    n_threads : int
    """

    def __init__(
        self,
        rows: Rows,
        n_ordered: IntArray,
        groups: Groups,
        pairs: Sequence[tuple[int, int]],
        directions: NDArray[np.int64],
        n_threads: int = 1,
    ) -> None:
        self.groups, self.pairs, self._directions, self._n_threads = groups, list(pairs), directions, n_threads
        self._rows, self._n_ordered = rows, np.asarray(n_ordered, np.int64)
        self._bins: list[IntArray] = [np.arange(len(groups.of(i))) for i in range(len(directions))]
        self._merged: list[IntArray] = [np.arange(card) for card in groups.cards.tolist()]
        self._effects = self._make()

    def fit(self, main: float | FloatArray, pair: float, most_steps: int) -> FloatArray:
        """The effects of smallest loss, with penalties of these strengths, that keep to the directions."""
        while True:
            theta = self._effects.fit(main, pair, most_steps=most_steps)
            falling = {i: self._falling(theta, i) for i in np.flatnonzero(self._directions).tolist()}
            if not any(mask.any() for masks in falling.values() for mask in masks):
                return theta
            for i, (in_pairs, everywhere) in falling.items():
                self._merge(i, in_pairs, everywhere)
            self._effects = self._make()

    def main(self, theta: FloatArray, feature: int) -> FloatArray:
        """Effect of a feature's values on the classes, float64[R_i, 2]; along a direction it rises strictly."""
        effect: FloatArray = self._effects.main(theta, feature)[self._bins[feature]]
        place = np.minimum(np.arange(len(effect)), self._n_ordered[feature])
        tilt = self._directions[feature] * _RISE / 2 * place
        return effect + np.stack([-tilt, tilt], axis=1)

    def pair(self, theta: FloatArray, pair: int) -> FloatArray:
        """Effect of a pair's groups of values on the classes, float64[G_a, G_b, 2]."""
        a, b = self.pairs[pair]
        effect: FloatArray = self._effects.pair(theta, pair)[np.ix_(self._merged[a], self._merged[b])]
        return effect

    def bias(self, theta: FloatArray) -> FloatArray:
        """Score of the classes before any effect, float64[2]."""
        return self._effects.bias(theta)

    def _make(self) -> Effects:
        """Effects of the rows with values and groups merged as they are now."""
        n_features, cards = len(self._bins), self._rows.cards
        codes = np.empty_like(self._rows.codes)
        for i in range(n_features):
            of_code = np.append(self._bins[i], self._bins[i].max() + 1)  # the last is unknown
            codes[:, i] = of_code[np.minimum(self._rows.codes[:, i], cards[i])]
        n_ordered = [int(bins[n - 1]) + 1 if n else 0 for bins, n in zip(self._bins, self._n_ordered, strict=True)]
        groups = make_groups([self._groups_of_bins(i) for i in range(n_features)])
        arrays = (codes, self._rows.y, self._rows.full_weight(), self._rows.n_classes)
        return Effects(*arrays, np.array(n_ordered), groups, self.pairs, self._n_threads)

    def _groups_of_bins(self, feature: int) -> IntArray:
        """Merged group of each merged value."""
        groups = np.empty(self._bins[feature].max() + 1, np.int64)
        groups[self._bins[feature]] = self._merged[feature][self.groups.of(feature)]
        return groups

    def _falling(self, theta: FloatArray, feature: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """After which of the merged values the sum falls, because of pairs, or because of the main effect itself."""
        sign, n_values = self._directions[feature], self._bins[feature][max(self._n_ordered[feature] - 1, 0)] + 1
        step = sign * np.diff(_log_odds(self._effects.main(theta, feature))[:n_values])
        groups = self._groups_of_bins(feature)[:n_values]
        total = step.copy()
        for p, (a, b) in enumerate(self.pairs):
            if feature in (a, b):
                odds = sign * _log_odds(self._effects.pair(theta, p))
                odds = odds if feature == a else odds.T
                smallest = np.append(np.diff(odds, axis=0).min(axis=1), 0.0)
                total += np.where(np.diff(groups) > 0, smallest[groups[:-1]], 0.0)
        falls = total < 0
        return falls & (step >= 0), falls & (step < 0)

    def _merge(self, feature: int, in_pairs: NDArray[np.bool_], everywhere: NDArray[np.bool_]) -> None:
        """Merge each of the merged values after which a mask is true with the next."""
        groups, bins, n_steps = self._groups_of_bins(feature), self._bins[feature], len(in_pairs)
        # A step inside a group says nothing about whether the group and the next may differ.
        crosses = (in_pairs | everywhere) & (np.diff(groups[: n_steps + 1]) > 0)
        keeps_apart = np.ones(int(groups.max()), np.bool_)
        keeps_apart[groups[:n_steps][crosses]] = False
        self._merged[feature] = _renumbered(self._merged[feature], keeps_apart)
        separate = np.ones(int(bins.max()), np.bool_)
        separate[:n_steps][everywhere] = False
        self._bins[feature] = _renumbered(bins, separate)


def _log_odds(effect: FloatArray) -> FloatArray:
    odds: FloatArray = effect[..., 1] - effect[..., 0]
    return odds


def _renumbered(numbers: IntArray, keeps_apart: NDArray[np.bool_]) -> IntArray:
    """Numbers from 0 on, of which n and n + 1 become one where they are not kept apart."""
    return np.concatenate([[0], np.cumsum(keeps_apart)])[numbers]
