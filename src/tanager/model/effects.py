"""Sums of main effects and of effects of pairs of features, fitted to the conditional likelihood with a penalty.

The score of a class is a sum of tables: one for each feature, over all its values, and one for each pair of features,
over the groups of their values. The penalty pulls neighbouring bins of numbers together and other values towards zero,
so that many bins cost little. Loss and penalty are convex, and are minimised to the optimum (see ``effects.h``).

A sum over the pairs of a forest is a Bayesian network classifier: the CPT of a feature is the sum of its main effect
and the effect of the pair with its parent, normalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tanager import core
from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.model.layout import Groups, make_groups

# Penalties for a strength of one, in units of the summed loss of rows; they scale with the numbers of values so that a
# curve costs the same whether it is cut into few bins or many. docs/defaults.md says how they were chosen.
_STEP, _BEND, _LEVEL = 0.3, 20.0, 0.005  # differences of main effects, of their differences, and the effects themselves
_PAIR_STEP, _PAIR_BEND, _PAIR_LEVEL = 2.0, 1.0, 0.3  # the same of pairs of numbers
_WORD_LEVEL = 1.0  # effects of pairs with values without an order
_CATEGORY = 0.3  # main effects of values without an order
_STANDARD_BINS, _STANDARD_CELLS = 32, 144
_HEAVY, _LOOSE = 0.2, 0.1  # beside a bin with this share of the rows, differences cost this much of the usual

_FEWEST_FREE, _LARGEST_CHANGE = 0.1, 10.0  # of a feature's own strength: degrees of freedom, and factor of one step

# With more classes than these a fit starts from naive Bayes, from which 20 steps come as far as 60 from nothing (1,000
# classes of 5 rows), and ends where steps gain less than this share of the loss: a tenth of it
# lowered the log-loss of new rows by 0.4 % at most, and takes a quarter more time.
_MANY_CLASSES, _MANY_TOLERANCE = 100, 2e-4
_NAIVE_WIDTH, _NAIVE_ROWS = 0.15, 2.0  # of naive Bayes: how far bins are smoothed, of all, and rows of no class

_MOST_VALUES = 65_534
_CELLS_AT_ONCE = 200_000
_RESIDUAL_RIDGE = 3.0
_RESIDUAL_STRENGTH = 1.0
_RESIDUAL_ROWS, _RESIDUAL_STEPS = 5000, 24  # enough to rank pairs


def group_values(codes: IntArray, cards: IntArray, n_ordered: IntArray, weight: FloatArray, most: int) -> Groups:
    """Put the values of each feature into at most ``most`` groups of about equal weight.

    Neighbouring bins of numbers share a group; of values without an order, the heaviest keep one of their own and the
    others share the last. The bin of missing cells, which comes after those of numbers, stays alone.

    Parameters
    ----------
    codes : int array of shape (N, D)
    cards, n_ordered : int arrays of shape (D,)
        Numbers of values, and how many of the first are in order.
    weight : float array of shape (N,)
    most : int
    """
    maps: dict[int, IntArray] = {}
    counts, first = _count_values(codes.T, cards, weight), np.cumsum(cards) - cards
    for card, ordered in sorted(set(zip(cards.tolist(), n_ordered.tolist(), strict=True))):
        alike = np.flatnonzero((cards == card) & (n_ordered == ordered))
        of_values = counts[first[alike, None] + np.arange(card)]
        maps.update(zip(alike.tolist(), _groups_of(of_values, ordered, most), strict=True))
    return make_groups([maps[i] for i in range(len(cards))])


def _groups_of(counts: FloatArray, n_ordered: int, most: int) -> IntArray:
    """Groups of the values of features that have as many of them, int64[F, R], from their weights [F, R]."""
    card = counts.shape[1]
    if card <= most or 0 < n_ordered <= most:
        return np.broadcast_to(np.arange(card), counts.shape)
    if n_ordered == 0:
        rank = np.argsort(np.argsort(-counts, axis=1, kind="stable"), axis=1)
        return np.minimum(rank, most - 1)
    of_ordered = counts[:, :n_ordered]
    below = np.cumsum(of_ordered, axis=1)
    total = np.maximum(below[:, -1:], np.finfo(float).tiny)
    place = np.minimum((below - of_ordered / 2) * most / total, most - 1).astype(np.int64)
    groups = np.zeros(counts.shape, np.int64)
    np.cumsum(np.diff(place, axis=1) > 0, axis=1, out=groups[:, 1:n_ordered])
    groups[:, n_ordered:] = groups[:, n_ordered - 1, None] + 1 + np.arange(card - n_ordered)
    return groups


class Effects:
    """Main effects of all features and effects of some pairs, over some rows.

    Parameters
    ----------
    codes : int array of shape (N, D)
        A code equal to the number of values is unknown; it takes part as a value of its own.
    y : int64 array of shape (N,)
    weight : float array of shape (N,)
    n_classes : int
    n_ordered : int array of shape (D,)
    groups : Groups
    pairs : sequence of (int, int)
        Pairs of features.
    n_threads : int, default=1
        Does not change the result.
    class_copies : float, default=1
        Number of classes that any but a row's own stands for, where only some of them were drawn.
    """

    def __init__(
        self,
        codes: IntArray,
        y: IntArray,
        weight: FloatArray,
        n_classes: int,
        n_ordered: IntArray,
        groups: Groups,
        pairs: Sequence[tuple[int, int]] = (),
        n_threads: int = 1,
        class_copies: float = 1.0,
    ) -> None:
        self.groups, self.pairs, self.n_classes = groups, list(pairs), n_classes
        n_features = len(groups.cards)
        values = np.diff(groups.start)
        if values.max() > _MOST_VALUES:
            raise ValueError(
                f"feature {values.argmax()} has {values.max():,} values, more than the {_MOST_VALUES:,} that effects "
                "can have: lower max_categories"
            )
        self._cards = np.concatenate([values, groups.cards]) + 1
        self._columns = np.empty((2 * n_features, len(codes)), np.uint16)
        # Groups of all values in sequence, that of the unknown one being the last of each feature.
        of_value = np.insert(groups.of_value, groups.start[1:], groups.cards).astype(np.uint16)
        first = groups.start[:-1] + np.arange(n_features)
        for part in _parts(n_features, len(codes)):
            np.minimum(codes[:, part].T, values[part, None], out=self._columns[part], casting="unsafe")
            np.take(of_value, self._columns[part] + first[part, None], out=self._columns[n_features:][part])
        last = groups.of_value[np.maximum(groups.start[:-1] + n_ordered - 1, 0)]  # group of the last value in order
        self._n_ordered = np.concatenate([n_ordered, np.where(n_ordered > 0, last + 1, 0)]).astype(np.int64)
        mains = np.stack([np.arange(n_features), np.full(n_features, -1)], axis=1)
        self._tables = np.concatenate([mains, n_features + np.array(self.pairs, np.int64).reshape(-1, 2)])
        # With two classes an effect is the difference between them.
        self._width = 1 if n_classes == 2 else n_classes
        cards = np.where(self._tables < 0, 1, self._cards[self._tables])
        self._offset = np.concatenate([[0], np.cumsum(cards.prod(axis=1) * self._width)])
        self._y, self._weight = np.ascontiguousarray(y, np.int64), np.ascontiguousarray(weight, np.float64)
        self._edge_weights = self._edges()
        self._core = core.Effects(
            self._columns,
            self._y,
            self._weight,
            n_classes,
            self._cards,
            self._edge_weights,
            self._tables,
            class_copies,
            n_threads,
        )

    def fit(
        self,
        main: float | FloatArray,
        pair: float,
        start: FloatArray | None = None,
        *,
        most_steps: int = 100,
        tolerance: float = 1e-5,
    ) -> FloatArray:
        """Find the effects of smallest loss with penalties of given strengths.

        Parameters
        ----------
        main : float, or float array of shape (D,)
            Strength of the penalty of main effects, or one for each feature.
        pair : float
            Strength of the penalty of pairs.
        start : float array, optional
            Effects to start from: of this fit, or of one with the same features and no pairs.
        most_steps : int
        tolerance : float
            The search ends with a step that lowers the loss by less than this share of it, or of 0.3 nats a row if
            that is more; from naive Bayes on, by less than 0.02 %.

        Returns
        -------
        float64 array
            All tables in sequence, and the bias of the classes.
        """
        theta = np.zeros(self._core.n_entries)
        if start is None and self.n_classes > _MANY_CLASSES:
            start, tolerance = self._naive(), max(tolerance, _MANY_TOLERANCE)
        if start is not None:
            n_tables = len(start) - self._width
            theta[:n_tables], theta[-self._width :] = start[:n_tables], start[-self._width :]
        self._core.minimise(theta, self._penalties(main, pair), most_steps, tolerance)
        return theta

    def _naive(self) -> FloatArray:
        """Main effects and bias of naive Bayes, with bins of numbers smoothed by a bell curve."""
        n_features, n_classes = len(self.groups.cards), self.n_classes
        of_class = np.bincount(self._y, self._weight, minlength=n_classes) + _NAIVE_ROWS
        effects = []
        for column, card, n_ordered in zip(self._columns[:n_features], self._cards, self._n_ordered, strict=False):
            cells = column.astype(np.int64) * n_classes + self._y
            counts = np.bincount(cells, self._weight, minlength=card * n_classes).reshape(card, n_classes)
            share = (counts.sum(axis=1) + 1.0) / (counts.sum() + card)
            place = np.arange(n_ordered) / max(_NAIVE_WIDTH * n_ordered, 1.0)
            bell = np.exp(-(np.subtract.outer(place, place) ** 2) / 2)
            counts[:n_ordered], share[:n_ordered] = bell @ counts[:n_ordered], bell @ share[:n_ordered]
            effects.append(np.log((counts / share[:, None] + _NAIVE_ROWS) / of_class))
        return np.concatenate(
            [(each - each.mean(axis=-1, keepdims=True)).ravel() for each in [*effects, np.log(of_class)]]
        )

    def own_strengths(self, theta: FloatArray, strengths: FloatArray) -> FloatArray:
        """Strengths for the main effects, float64[D], each by how rough the effect of its feature is.

        A step of the method of Fellner and Schall, for each feature by itself: with curvature H of the loss and the
        penalty S of strength one, the strength becomes tr((H + strength S)^-1 H) / theta' S theta, the degrees of
        freedom that the rows decide on over the penalty of what they decided.

        Parameters
        ----------
        theta : float array
            Effects that were fitted with ``strengths``.
        strengths : float array of shape (D,)
        """
        degrees, pulls = np.empty(len(self._tables)), np.empty(len(self._tables))
        self._core.freedom(theta, self._penalties(strengths, 1.0), degrees, pulls)
        n_features = len(strengths)
        # One degree is that of all values together, which the bias has.
        n_free = self._width * np.maximum(degrees[:n_features] - 1.0, _FEWEST_FREE)
        # A pull has the strength in it already.
        change = n_free / np.maximum(pulls[:n_features], np.finfo(float).tiny)
        return strengths * np.clip(change, 1 / _LARGEST_CHANGE, _LARGEST_CHANGE)

    def probabilities(self, theta: FloatArray) -> FloatArray:
        """Probability of each class for each row, float64[N, C]."""
        found = np.empty((len(self._y), self.n_classes))
        self._core.probabilities(theta, found)
        return found

    def log_losses(self, theta: FloatArray) -> FloatArray:
        """Log-loss of each row, float64[N]."""
        of_class = self.probabilities(theta)[np.arange(len(self._y)), self._y]
        losses: FloatArray = -np.log(np.maximum(of_class, np.finfo(np.float32).tiny))
        return losses

    def pair_gains(self, theta: FloatArray, crew: Crew) -> FloatArray:
        """How much each pair of features would lower the loss beside these effects, float64[D, D], symmetric.

        It is what one step of Newton's method for the table of the pair alone would gain, less what it would gain by
        chance (see ``effects.h``).
        """
        used = slice(1, None) if self.n_classes == 2 else slice(None)
        probability = self.probabilities(theta)
        residual, curvature = probability.copy(), probability * (1 - probability) * self._weight[:, None]
        residual[np.arange(len(self._y)), self._y] -= 1.0
        residual *= self._weight[:, None]
        n_features = len(self.groups.cards)
        columns = self._columns[n_features:]
        cards = columns.max(axis=1, initial=0).astype(np.int64) + 1  # without the unknown value where no row has it
        gains = np.zeros((n_features, n_features))
        arrays = (np.ascontiguousarray(each[:, used], np.float32) for each in (residual, curvature))
        ranges = crew.split_by_cost(np.arange(n_features) + 1.0)
        crew.run(core.pair_gains, ranges, columns, cards, *arrays, _RESIDUAL_RIDGE, gains)
        return gains

    def main(self, theta: FloatArray, feature: int) -> FloatArray:
        """Effect of a feature's values on the classes, float64[R_i, C]."""
        return self._table(theta, feature)[:-1, 0]

    def pair(self, theta: FloatArray, pair: int) -> FloatArray:
        """Effect of a pair's groups of values on the classes, float64[G_a, G_b, C]."""
        return self._table(theta, len(self.groups.cards) + pair)[:-1, :-1]

    def bias(self, theta: FloatArray) -> FloatArray:
        """Score of the classes before any effect, float64[C]."""
        return self._of_classes(theta[self._offset[-1] :])

    @cached_property
    def _sizes(self) -> IntArray:
        return np.where(self._tables < 0, 1, self._cards[self._tables])

    def _table(self, theta: FloatArray, table: int) -> FloatArray:
        entries = theta[self._offset[table] : self._offset[table + 1]]
        return self._of_classes(entries.reshape(*self._sizes[table], self._width))

    def _of_classes(self, entries: FloatArray) -> FloatArray:
        return np.concatenate([-entries / 2, entries / 2], axis=-1) if self.n_classes == 2 else entries

    def _edges(self) -> FloatArray:
        """Weight of the difference between each value of a column and the next: none where they are not in order."""
        first = np.concatenate([[0], np.cumsum(self._cards)])
        counts = _count_values(self._columns, self._cards, self._weight)
        value = np.arange(first[-1]) - np.repeat(first[:-1], self._cards)
        n_ordered, cards = np.repeat(self._n_ordered, self._cards), np.repeat(self._cards, self._cards)
        is_heavy = (counts > _HEAVY * self._weight.sum()) & (value < n_ordered)
        is_loose = is_heavy | np.append(is_heavy[1:], False)
        edges = np.where(value + 1 < n_ordered, np.where(is_loose, _LOOSE, 1.0), 0.0)
        return edges[value < cards - 1]

    def _penalties(self, main: float | FloatArray, pair: float) -> FloatArray:
        """Strengths of ridge, of differences and of bends along both axes, of each table, float64[T, 5]."""
        of_mains = np.append(np.broadcast_to(main, len(self.groups.cards)), np.ones(len(self.pairs)))
        card, card_other = np.maximum(self._sizes - 1, 1).T
        is_pair, is_ordered = self._tables[:, 1] >= 0, self._n_ordered[self._tables] > 0
        ratio, fine, none = card / card_other, card / _STANDARD_BINS, np.zeros(len(card))
        level = np.minimum(_STANDARD_CELLS / (card * card_other), 1.0)
        level *= np.where(is_ordered.all(axis=1), _PAIR_LEVEL, _WORD_LEVEL)
        bends = [_PAIR_BEND * each**2 / _STANDARD_CELLS for each in (card, card_other)]
        of_pairs = [level, _PAIR_STEP * ratio, _PAIR_STEP / ratio, bends[0] * ratio, bends[1] / ratio]
        of_numbers = [_LEVEL / fine, _STEP * fine, none, _BEND * fine**3, none]
        of_words = [none + _CATEGORY, none, none, none, none]
        of_features = of_mains * np.where(is_ordered[:, 0], of_numbers, of_words)
        strengths = np.where(is_pair, pair * np.array(of_pairs), of_features)
        # The difference of two classes has twice the square that their two effects have together.
        return np.ascontiguousarray(strengths.T * (0.5 if self._width == 1 else 1.0))


def _count_values(columns: IntArray, cards: IntArray, weight: FloatArray) -> FloatArray:
    """Weight of each value of each column [K, N], all in sequence; codes beyond the last value do not count."""
    counts = []
    for part in _parts(*columns.shape):
        first = np.cumsum(cards[part] + 1) - cards[part] - 1
        cells = np.minimum(columns[part], cards[part, None]) + first[:, None]
        found = np.bincount(cells.ravel(), np.tile(weight, len(cells)), minlength=int(first[-1] + cards[part][-1] + 1))
        counts.append(np.delete(found, first + cards[part]))
    return np.concatenate(counts)


def _parts(n_columns: int, n_rows: int) -> list[slice]:
    """Columns to work on at a time: many where rows are few, and never more than memory has room for."""
    step = max(1, _CELLS_AT_ONCE // max(n_rows, 1))
    return [slice(start, min(start + step, n_columns)) for start in range(0, n_columns, step)]


def residual_gains(
    codes: IntArray,
    y: IntArray,
    weight: FloatArray,
    n_classes: int,
    n_ordered: IntArray,
    groups: Groups,
    crew: Crew,
    class_copies: float = 1.0,
) -> FloatArray:
    """How much each pair of features would add to the main effects of all, float64[D, D]; from some of the rows."""
    # Drawn, since the order of rows may have a rhythm: every other row could be of the same class.
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:_RESIDUAL_ROWS])
    given = (codes[rows], y[rows], weight[rows], n_classes, n_ordered, groups)
    effects = Effects(*given, n_threads=crew.n_threads, class_copies=class_copies)
    return effects.pair_gains(effects.fit(_RESIDUAL_STRENGTH, 1.0, most_steps=_RESIDUAL_STEPS), crew)
