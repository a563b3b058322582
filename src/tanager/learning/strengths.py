"""Strengths of penalties on effects, the pairs that are kept, and their groups, by the log-loss of held-out rows.

Strengths are tried one after the other, from one in the middle on, and each fit starts from the effects of the nearest
strength. Main effects have a strength of their own, all of them together or each feature, and pairs another.

A tree joins all features, whether pairs of them tell anything about the class or not. Since all pairs share one
strength, many that tell nothing make it strong for the few that tell much. Where held-out rows want it, only pairs that
clearly add to the main effects are kept, and what is left of a tree is a forest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.learning.context import MOST_CLASSES, RESIDUAL, Context
from tanager.learning.parameters import LayOut
from tanager.learning.rows import Rows, hold_out
from tanager.model import Effects, Groups, Layout, count_rows, make_layout
from tanager.structure import NO_PARENT, fixed_parents

_STRENGTHS = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
N_PARTS = 3  # each of which is held out once, where rows are few
_MANY_ROWS = 10_000  # with more of them one part is held out: strengths that suit fewer rows are too strong for all
_ENOUGH_ROWS, _MANY_CELLS = 5_000, 150_000  # one part is enough, too, where columns are many, and a fit takes long
_FIRST = 3.0  # the strength that is tried first
_FLAT = 0.01  # share of the loss that stronger penalties must save, or weaker ones are tried, too
_LEAST = 1e-4  # nats a row that another strength must save for the search to go on
_ERRORS = 0.5  # standard errors of a difference that do not outweigh a smoother model
_ERRORS_OF_OWN = 1.0  # the same for strengths of single features, which are many
COARSE, _FINE = 12, 32  # groups of values in pairs
_ROUNDS = 4  # of adapting the strengths of features
_MOST_CELLS = 60  # of all pairs, for each row, with which fine groups are tried
_LEAST_GAINS = (0.0, 2.0)  # standard deviations of chance below which pairs may be left out
_WEAK = 3.0  # strength up to which fine groups may be better
TO_CHOOSE: dict[str, Any] = {"most_steps": 28, "tolerance": 3e-5}


class _Fold:
    """Rows to fit effects to, and rows to judge them by."""

    def __init__(self, kept: Context, held: Rows) -> None:
        self.context, self.held = kept, held
        self._mains = self._effects(kept.merged_rows(), [])
        self._judge = self._effects(held, [])
        self._found: dict[float, tuple[FloatArray, FloatArray]] = {}
        self._own: dict[float, tuple[FloatArray, FloatArray]] = {}

    @property
    def has_more_groups(self) -> bool:
        """Whether a feature has more values than coarse groups tell apart."""
        coarse, fine = (self.context.groups(most).cards for most in (COARSE, _FINE))
        return bool((fine > coarse).any())

    def main_losses(self, strength: float) -> FloatArray:
        """Log-losses of the held-out rows with main effects alone."""
        if strength not in self._found:
            start = self._found[_nearest(strength, self._found)][0] if self._found else None
            theta = self._mains.fit(strength, 1.0, start, **TO_CHOOSE)
            self._found[strength] = theta, self._judge.log_losses(theta)
        return self._found[strength][1]

    def own_losses(self, main: float) -> FloatArray:
        """Log-losses with main effects alone whose features have strengths of their own."""
        if main not in self._own:
            strengths, theta = adapt(self._mains, self._found[main][0], main, **TO_CHOOSE)
            self._own[main] = strengths, self._judge.log_losses(theta)
        return self._own[main][1]

    def pair_losses(
        self, layouts: list[Layout], max_groups: int, *, is_adaptive: bool
    ) -> Callable[[float, float], FloatArray]:
        """The log-losses with the pairs of layouts, as a function of both strengths."""
        effects, judge = (
            self._effects(rows, pairs_of(layouts), max_groups) for rows in (self.context.merged_rows(), self.held)
        )
        found: dict[float, FloatArray] = {}

        def losses(main: float, pair: float) -> FloatArray:
            start = self._found[main][0] if main in self._found else None
            start = found[_nearest(pair, found)] if found else start
            found[pair] = effects.fit(self._own[main][0] if is_adaptive else main, pair, start, **TO_CHOOSE)
            return judge.log_losses(found[pair])

        return losses

    def _effects(self, rows: Rows, pairs: Sequence[tuple[int, int]], max_groups: int = COARSE) -> Effects:
        context = self.context
        return make_effects(rows, context.n_ordered, context.groups(max_groups), pairs, context.n_threads)


class Search:
    """Choices by the log-loss of all held-out rows of some folds, which all structures with the same seed share."""

    def __init__(self, context: Context, lay_out: LayOut, seed: int) -> None:
        self.context, self.is_adaptive, self._seed = context, False, seed
        self.folds = context.remember(("folds of effects", seed), lambda: _make_folds(context.few_classes(seed), seed))
        self.layouts = context.map(lambda fold: lay_out(fold.context), self.folds)
        self._weight = np.concatenate([fold.held.full_weight() for fold in self.folds])

    @property
    def has_pairs(self) -> bool:
        """Whether there is a pair in any fold."""
        return any((each.parent_sets.parents >= 0).any() for layouts in self.layouts for each in layouts)

    def best_main(self) -> float:
        """Strength for main effects alone."""

        def losses(strength: float) -> FloatArray:
            return self._map(lambda fold: fold.main_losses(strength), self.folds)

        return smoothest(self._strengths(losses), self._weight)

    def wants_own(self, main: float) -> bool:
        """Whether main effects are better if each feature has a strength of its own."""
        of_all = self._map(lambda fold: fold.main_losses(main), self.folds)
        if np.average(of_all, weights=self._weight) < _LEAST:
            return False
        own = self._map(lambda fold: fold.own_losses(main), self.folds)
        return smoothest({0: of_all, 1: own}, self._weight, _ERRORS_OF_OWN) == 1

    def best_pairs(self, main: float, max_groups: int, *, is_main_open: bool) -> tuple[float, float, FloatArray]:
        """Strengths for main effects and pairs beside each other, where main effects alone have one, and the losses."""
        losses = self._with_pairs(max_groups)
        found = self._strengths(lambda strength: losses(main, strength))
        pairs = smoothest(found, self._weight)
        if is_main_open and main in _STRENGTHS[1:] and not self.is_adaptive:
            stronger = _STRENGTHS[_STRENGTHS.index(main) - 1]
            with_stronger = losses(stronger, pairs)
            if self._is_better(with_stronger, found[pairs]):
                return stronger, pairs, with_stronger
        return main, pairs, found[pairs]

    def best_gain(
        self, main: float, pairs: float, max_groups: int, of_all: FloatArray
    ) -> tuple[float | None, float, FloatArray]:
        """How clear the gain of a pair must be for it to be kept, the strength of those that are, and their losses.

        Others are left out from then on. Fewer pairs are tried as long as held-out rows are better, first with the
        strength that was the best of more.
        """
        least, best = None, of_all
        for clearer in _LEAST_GAINS:
            fuller = self.layouts
            self.layouts = [thin(each, fold.context, clearer) for fold, each in zip(self.folds, fuller, strict=True)]
            better = self._better_with(max_groups, main, pairs, best)
            if better is None:
                self.layouts = fuller
                break
            least, (pairs, best) = clearer, better
        return least, pairs, best

    def best_groups(self, main: float, pairs: float, coarse: FloatArray) -> tuple[int, float]:
        """Groups and strength of pairs.

        Fine groups are only tried where the penalty of coarse ones is weak, and other strengths of them only where they
        are better at that one. With many classes they would have millions of entries for each pair, and take minutes;
        with few rows and many pairs, rows could not tell which are better.
        """
        is_large = self.context.rows.n_classes > MOST_CLASSES
        if is_large or pairs > _WEAK or not any(fold.has_more_groups for fold in self.folds) or self._has_many_cells():
            return COARSE, pairs
        better = self._better_with(_FINE, main, pairs, coarse)
        return (COARSE, pairs) if better is None else (_FINE, better[0])

    def _better_with(
        self, max_groups: int, main: float, pairs: float, before: FloatArray
    ) -> tuple[float, FloatArray] | None:
        """Strength of other pairs or groups than before and their losses; None if they are not clearly better.

        Strengths beside that of before are only tried where they are better with this one.
        """
        losses = self._with_pairs(max_groups)
        at_first = losses(main, pairs)
        if not self._is_better(at_first, before):
            return None
        found = self._strengths(lambda strength: at_first if strength == pairs else losses(main, strength), pairs)
        best = smoothest(found, self._weight)
        is_worth_it = smoothest({0: before, 1: found[best]}, self._weight) == 1
        return (best, found[best]) if is_worth_it else None

    def n_steps_stronger(self, main: float) -> int:
        """By how many steps main effects of all classes want a stronger penalty than those of a few, if these differ.

        A class that outweighs the others is rarely among a few, so that these make weak penalties look better than they
        are. One part is held out.
        """
        context, rows, n_steps = self.context, self.context.rows, 0
        if context.few_classes(self._seed) is context:
            return 0
        kept, held = (rows.take_part(part) for part in hold_out(rows, self._seed, N_PARTS)[0])
        fold = _Fold(context.part(kept).with_options(n_threads=context.n_threads), held.merged())
        weight = fold.held.full_weight()
        while stronger(main, n_steps) < _STRENGTHS[0]:
            before, after = (fold.main_losses(stronger(main, steps)) for steps in (n_steps, n_steps + 1))
            if np.average(after - before, weights=weight) >= 0:
                break
            n_steps += 1
        return n_steps

    def _has_many_cells(self) -> bool:
        """Whether pairs of fine groups would have many times more cells than there are rows."""
        fold, pairs = self.folds[0], pairs_of(self.layouts[0])
        cards = fold.context.groups(_FINE).cards
        n_cells = sum(int(cards[i] * cards[j]) for i, j in pairs)
        return n_cells > _MOST_CELLS * fold.context.rows.n_counted

    def _strengths(self, losses: Callable[[float], FloatArray], first: float = _FIRST) -> dict[float, FloatArray]:
        def is_over() -> bool:
            return self.context.limits.is_over("fewer strengths of penalties were tried")

        return search_strengths(losses, self._weight, first, is_over)

    def _with_pairs(self, max_groups: int) -> Callable[[float, float], FloatArray]:
        folds = list(zip(self.folds, self.layouts, strict=True))
        of_fold = self.context.map(
            lambda each: each[0].pair_losses(each[1], max_groups, is_adaptive=self.is_adaptive), folds
        )
        return lambda main, pairs: self._map(lambda losses: losses(main, pairs), of_fold)

    def _map(self, function: Callable[[Any], FloatArray], items: list[Any]) -> FloatArray:
        return np.concatenate(self.context.map(function, items))

    def _is_better(self, losses: FloatArray, others: FloatArray) -> bool:
        return bool(np.average(losses - others, weights=self._weight) < 0)


def _make_folds(context: Context, seed: int) -> list[_Fold]:
    if context.validation is not None:
        return [_Fold(context, context.validation.merged())]
    n_rows = context.rows.n_counted
    has_one = n_rows > _MANY_ROWS or (n_rows > _ENOUGH_ROWS and n_rows * context.n_features > _MANY_CELLS)
    parts = hold_out(context.rows, seed, None if has_one else N_PARTS)
    rows = [(context.rows.take_part(kept), context.rows.take_part(held)) for kept, held in parts]
    n_each = max(1, context.n_threads // len(parts))
    return [_Fold(context.part(kept).with_options(n_threads=n_each), held.merged()) for kept, held in rows]


def stronger(strength: float, n_steps: int) -> float:
    """The strength that is so many steps above a given one."""
    return _STRENGTHS[max(_STRENGTHS.index(strength) - n_steps, 0)] if n_steps else strength


def clearness(context: Context) -> FloatArray:
    """What each pair of features adds to the main effects, in standard deviations of what chance adds, float64[D, D].

    By chance a cell's residual G has the mean square H, its curvature, and G^2 the variance 2 H^2. So the gain, half
    the sum of (G^2 - H) / H over the cells and classes, has half their number as its variance.
    """

    def compute() -> FloatArray:
        cards = context.groups().cards
        width = 1 if context.rows.n_classes == 2 else context.rows.n_classes
        return context.scores(RESIDUAL) / np.sqrt(np.outer(cards, cards) * width / 2)

    return context.remember("clearness of pairs", compute)


def thin(layouts: Sequence[Layout], context: Context, least: float) -> list[Layout]:
    """The structures of layouts without pairs whose gain is less clear than ``least``.

    The clearest pair of all stays, and so do edges that are required.
    """
    clear = clearness(context)
    parents = np.stack([each.parent_sets.parents for each in layouts]).astype(np.int64)  # one candidate for each
    children, is_edge = np.arange(parents.shape[1]), parents != NO_PARENT
    of_edge = np.where(is_edge, clear[children, parents], -np.inf)
    is_kept = is_edge & (of_edge >= min(least, float(of_edge.max())))
    if context.rules is not None:
        is_kept |= is_edge & (context.rules.required == parents)
    return [
        _with_parents(layout, np.where(kept, own, NO_PARENT))
        for layout, kept, own in zip(layouts, is_kept, parents, strict=True)
    ]


def _with_parents(layout: Layout, parents: IntArray) -> Layout:
    return make_layout(fixed_parents(parents), layout.cards, layout.n_classes, groups=layout.groups)


def adapt(effects: Effects, theta: FloatArray, main: float, **options: Any) -> tuple[FloatArray, FloatArray]:
    """Strengths of main effects for each feature, float64[D], and the effects with them; all start from ``main``."""
    strengths = np.full(len(effects.groups.cards), main)
    for _ in range(_ROUNDS):
        strengths = effects.own_strengths(theta, strengths)
        theta = effects.fit(strengths, 1.0, theta, **options)
    return strengths, theta


def search_strengths(
    losses: Callable[[float], FloatArray],
    weight: FloatArray,
    first: float = _FIRST,
    is_over: Callable[[], bool] = lambda: False,
) -> dict[float, FloatArray]:
    """Losses of the rows with some of the strengths, the strongest first.

    From the first one the search goes on to stronger ones as long as the mean loss falls, by more than nothing worth
    mentioning, and if it hardly does, to weaker ones. ``is_over`` may end it after the first.
    """
    found: dict[int, FloatArray] = {}
    means: dict[int, float] = {}

    def try_next(place: int) -> None:
        found[place] = losses(_STRENGTHS[place])
        means[place] = float(np.average(found[place], weights=weight))

    start = _STRENGTHS.index(first)
    try_next(start)
    for step in (-1, 1):
        place = start
        while 0 <= place + step < len(_STRENGTHS) and not is_over():
            try_next(place + step)
            if means[place + step] >= means[place] - _LEAST:
                break
            place += step
        if means[place] < (1.0 - _FLAT) * means[start]:
            break
    return {_STRENGTHS[place]: found[place] for place in sorted(found)}


def _nearest(strength: float, found: Mapping[float, Any]) -> float:
    """The strength with the nearest logarithm, the first of equals; to start from its effects saves steps."""
    return min(found, key=lambda other: abs(np.log(other / strength)))


def smoothest(losses: Mapping[float, FloatArray], weight: FloatArray, n_errors: float = _ERRORS) -> float:
    """The first key whose losses do not exceed the best ones by more than half a standard error, or so many."""
    means = {strength: float(np.average(each, weights=weight)) for strength, each in losses.items()}
    best = min(means, key=lambda strength: means[strength])
    for strength, each in losses.items():
        excess = each - losses[best]
        deviation = (excess - np.average(excess, weights=weight)) ** 2
        spread = np.sqrt(np.average(deviation, weights=weight) / count_rows(weight))
        if means[strength] - means[best] <= n_errors * spread:
            return strength
    return best


def make_effects(
    rows: Rows, n_ordered: Any, groups: Groups, pairs: Sequence[tuple[int, int]], n_threads: int = 1
) -> Effects:
    """The effects of features and pairs over rows."""
    given = (rows.codes, rows.y, rows.full_weight(), rows.n_classes, n_ordered, groups, pairs, n_threads)
    return Effects(*given, rows.class_copies)


def pairs_of(layouts: Sequence[Layout]) -> list[tuple[int, int]]:
    """All pairs of a feature and its parent, the smaller number first."""
    return sorted(set().union(*map(pairs_in, layouts)))


def pairs_in(layout: Layout) -> set[tuple[int, int]]:
    """The pairs of one layout."""
    parents = layout.parent_sets.parents.tolist()
    return {(min(i, j), max(i, j)) for i, j in enumerate(parents) if j >= 0}
