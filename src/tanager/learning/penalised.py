"""Parameters at the optimum of a penalised conditional likelihood; held-out rows choose how strong the penalty is.

A structure of one or several forests says which pairs of features have an effect of their own; main effects are those
of all features (see `tanager.model.effects`). The network of a forest has the main effects and the effects of its
pairs in its CPTs; several forests share main effects, and the mean of their log-joints is the sum of all effects.

Effects say how the classes differ, not how often a value occurs. That is counted: the CPT of a feature also has the
frequencies of its values given the parent's, whatever the class. It changes no class posterior of a complete row, but
makes the network a description of the data, which queries, samples and unknown values need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from tanager._options import check_choice, check_count, check_number
from tanager._types import FloatArray
from tanager.learning.context import MOST_CLASSES, Context, Rows, hold_out
from tanager.learning.monotone import MonotoneEffects
from tanager.learning.parameters import Fitted, LayOut, ParameterOptions
from tanager.learning.structures import Forest
from tanager.learning.thinning import thin
from tanager.model import (
    CptCounts,
    Effects,
    Groups,
    Layout,
    Network,
    ParentDistribution,
    can_temper,
    count_rows,
    frequencies,
    make_layout,
    temper,
)
from tanager.training import History, ParentPath

_STRENGTHS = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
_N_PARTS = 3
_MANY_ROWS = 10_000  # with more of them one part is held out: strengths that suit fewer rows are too strong for all
_ENOUGH_ROWS, _MANY_CELLS = 5_000, 150_000  # one part is enough, too, where columns are many, and a fit takes long
_FIRST = 3.0  # the strength that is tried first
_FLAT = 0.01  # share of the loss that stronger penalties must save, or weaker ones are tried, too
_LEAST = 1e-4  # nats a row that another strength must save for the search to go on
_ERRORS = 0.5  # standard errors of a difference that do not outweigh a smoother model
_ERRORS_OF_OWN = 1.0  # the same for strengths of single features, which are many
_STEPS = 60
_COARSE, _FINE = 12, 32  # groups of values in pairs
_ROUNDS = 4  # of adapting the strengths of features
_MOST_CELLS = 60  # of all pairs, for each row, with which fine groups are tried
_WEAK = 3.0  # strength up to which fine groups may be better
_LEAST_GAINS = (0.0, 2.0)  # standard deviations of chance below which pairs may be left out
_TO_CHOOSE: dict[str, Any] = {"most_steps": 28, "tolerance": 3e-5}


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
        coarse, fine = (self.context.groups(most).cards for most in (_COARSE, _FINE))
        return bool((fine > coarse).any())

    def main_losses(self, strength: float) -> FloatArray:
        """Log-losses of the held-out rows with main effects alone."""
        if strength not in self._found:
            start = self._found[_nearest(strength, self._found)][0] if self._found else None
            theta = self._mains.fit(strength, 1.0, start, **_TO_CHOOSE)
            self._found[strength] = theta, self._judge.log_losses(theta)
        return self._found[strength][1]

    def own_losses(self, main: float) -> FloatArray:
        """Log-losses with main effects alone whose features have strengths of their own."""
        if main not in self._own:
            strengths, theta = adapt(self._mains, self._found[main][0], main, **_TO_CHOOSE)
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
            found[pair] = effects.fit(self._own[main][0] if is_adaptive else main, pair, start, **_TO_CHOOSE)
            return judge.log_losses(found[pair])

        return losses

    def _effects(self, rows: Rows, pairs: Sequence[tuple[int, int]], max_groups: int = _COARSE) -> Effects:
        return make_effects(rows, self.context.n_ordered, self.context.groups(max_groups), pairs)


class _Search:
    """Choices by the log-loss of all held-out rows of some folds."""

    def __init__(self, context: Context, folds: list[_Fold], layouts: list[list[Layout]]) -> None:
        self.context, self.folds, self.layouts = context, folds, layouts
        self.is_adaptive = False
        self._weight = np.concatenate([fold.held.full_weight() for fold in folds])

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
            return _COARSE, pairs
        better = self._better_with(_FINE, main, pairs, coarse)
        return (_COARSE, pairs) if better is None else (_FINE, better[0])

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


class PenalisedLikelihood(ParameterOptions):
    """The optimum of the conditional likelihood with a penalty on differences of neighbouring bins.

    This is the right choice for numbers: bins can be many, since neighbouring ones are pulled together, and features
    are fine as children and coarse as parents.

    Parameters
    ----------
    main : float, above 0, or "auto", default="auto"
        Strength of the penalty on the effects of single features; "auto" chooses it on held-out rows.
    pairs : float, above 0, or "auto", default="auto"
        Strength of the penalty on the effects of pairs of features, beyond those of single ones.
    max_groups : int, at least 2, or "auto", default="auto"
        Groups of values that a feature has in pairs; there are fewer where rows are few, down to 3. "auto" is 12, or 32
        where these are better on held-out rows; that is only tried if ``pairs`` is "auto", too.
    adaptive : bool or "auto", default="auto"
        Whether the strength of each feature is adapted, from ``main`` on, to how rough its effect is. "auto" does so
        where it is better on held-out rows; that is only tried if ``main`` is "auto", too.
    least_gain : float, None or "auto", default=None
        How many standard deviations above chance the gain of a pair must be; edges of other pairs are left out of the
        structure. None keeps all. "auto" is None, 0 or 2, whichever is best on held-out rows; that is only tried if
        ``pairs`` is "auto", too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import PenalisedLikelihood, TANClassifier
    >>> clf = TANClassifier("none", PenalisedLikelihood(), random_state=0).fit(*load_iris(return_X_y=True))
    >>> clf.options_["parameters"].main < 100
    True
    """

    is_fine: ClassVar[bool] = True
    can_be_monotone: ClassVar[bool] = True

    main: float | Literal["auto"] = "auto"
    pairs: float | Literal["auto"] = "auto"
    max_groups: int | Literal["auto"] = "auto"
    adaptive: bool | Literal["auto"] = "auto"
    least_gain: float | Literal["auto"] | None = None

    def __post_init__(self) -> None:
        for name in ("main", "pairs"):
            if not self._is_open(name):
                check_number(name, getattr(self, name), above=0)
        if not self._is_open("max_groups"):
            check_count("max_groups", self.max_groups, 2)
        check_choice("adaptive", self.adaptive, (True, False, "auto"))
        if self.least_gain is not None and not self._is_open("least_gain"):
            check_number("least_gain", self.least_gain)

    def training_bytes(self, layout: Layout) -> int:
        """Memory of the effects, their gradients and the steps that are remembered."""
        return 20 * 8 * layout.size

    def row_bytes(self, rows: Rows) -> int:
        """Memory of the merged rows, of their columns, once for Python and once for the core, and of residuals."""
        return len(rows.y) * (12 * len(rows.cards) + 8 * rows.n_classes + 200)

    def groups(self, context: Context) -> Groups:
        """Groups of values for where features are parents."""
        return context.groups(self._n_groups)

    def tuned(self, lay_out: LayOut, context: Context, seed: int) -> Self:
        """The same with strengths and groups that were chosen by the log-loss of held-out rows.

        Main effects come first, then pairs beside them, then main effects once more: pairs may make stronger penalties
        better. Among strengths that do about equally well the strongest is taken. Which pairs are kept, and the number
        of groups, come last.
        """
        is_open = [name for name in ("main", "pairs") if self._is_open(name)]
        if not is_open:
            return self
        untuned = {**dict.fromkeys(is_open, 1.0), "max_groups": self._n_groups, "adaptive": self.adaptive is True}
        least_gain = None if self._is_open("least_gain") else self.least_gain
        chosen: Any = self.set_params(**untuned, least_gain=least_gain)
        if context.rows.n_counted < 2 * _N_PARTS:
            return cast(Self, chosen)
        folds = context.remember(("folds of effects", seed), lambda: _make_folds(context.few_classes(seed), seed))
        search = _Search(
            context, folds, context.map(lambda fold: self._thinned(lay_out(fold.context), fold.context), folds)
        )
        main, pairs, groups = search.best_main() if "main" in is_open else float(self.main), 1.0, self._n_groups
        if self.adaptive is True or (self._is_open("adaptive") and "main" in is_open):
            search.is_adaptive = search.wants_own(main) or self.adaptive is True
        n_steps = _n_steps_stronger(context, main, seed) if "main" in is_open else 0
        if "pairs" not in is_open:
            return cast(Self, chosen.set_params(main=_stronger(main, n_steps), adaptive=search.is_adaptive))
        if search.has_pairs:
            main, pairs, losses = search.best_pairs(main, groups, is_main_open="main" in is_open)
            if self._is_open("least_gain"):
                least_gain, pairs, losses = search.best_gain(main, pairs, groups, losses)
            if self._is_open("max_groups"):
                groups, pairs = search.best_groups(main, pairs, losses)
        main, pairs = _stronger(main, n_steps), _stronger(pairs, n_steps)
        found = {"main": main, "pairs": pairs, "max_groups": groups, "adaptive": search.is_adaptive}
        return cast(Self, chosen.set_params(**found, least_gain=least_gain))

    def learn(self, layouts: Sequence[Layout], context: Context, seed: int, forest: Forest | None) -> list[Fitted]:
        """Fit the effects of the pairs of all layouts together, and put them into one network for each."""
        layouts = self._thinned(layouts, context)
        pairs, rows = pairs_of(layouts), context.merged_rows()
        given = (context.n_ordered, cast(Groups, layouts[0].groups), pairs)
        main: float | FloatArray = float(self.main)
        if self.adaptive is True:
            mains = make_effects(rows, *given[:2], [], context.n_threads)
            main, _ = adapt(mains, mains.fit(main, 1.0, **_TO_CHOOSE), float(self.main), **_TO_CHOOSE)
        effects: Effects | MonotoneEffects
        if context.directions is None:
            effects = make_effects(rows, *given, context.n_threads)
        else:
            effects = MonotoneEffects(rows, *given, context.directions, context.n_threads)
        most_steps = _TO_CHOOSE["most_steps"] if context.is_rough else _STEPS
        theta = effects.fit(main, float(self.pairs), most_steps=most_steps)
        n_shared = Counter(pair for layout in layouts for pair in _pairs(layout))
        shares = {pair: len(layouts) / n for pair, n in n_shared.items()}
        fitted = []
        for layout in layouts:
            network = _network(layout, rows, effects, theta, shares)
            distribution = ParentDistribution(layout.parent_sets, np.zeros(layout.parent_sets.n_candidates))
            fitted.append(Fitted(network, distribution, History(), ParentPath()))
        return fitted

    def _thinned(self, layouts: Sequence[Layout], context: Context) -> list[Layout]:
        """The structures without pairs whose gain is known to be asked too little for."""
        is_all = self.least_gain is None or self._is_open("least_gain")
        return list(layouts) if is_all else thin(layouts, context, float(cast(float, self.least_gain)))

    @property
    def _n_groups(self) -> int:
        return _COARSE if self._is_open("max_groups") else int(self.max_groups)

    def _is_open(self, name: str) -> bool:
        value = getattr(self, name)
        return isinstance(value, str) and value == "auto"


def _make_folds(context: Context, seed: int) -> list[_Fold]:
    if context.validation is not None:
        return [_Fold(context, context.validation.merged())]
    n_rows = context.rows.n_counted
    has_one = n_rows > _MANY_ROWS or (n_rows > _ENOUGH_ROWS and n_rows * context.n_features > _MANY_CELLS)
    parts = hold_out(context.rows, seed, None if has_one else _N_PARTS)
    rows = [(context.rows.take_part(kept), context.rows.take_part(held)) for kept, held in parts]
    return [_Fold(context.part(kept), held.merged()) for kept, held in rows]


def _n_steps_stronger(context: Context, main: float, seed: int) -> int:
    """By how many steps main effects of all classes want a stronger penalty than those of a few; 0 if these are all.

    A class that outweighs the others is rarely among a few, so that these make weak penalties look better than they
    are. One part is held out.
    """
    if context.few_classes(seed) is context:
        return 0
    rows = context.rows
    kept, held = (rows.take_part(part) for part in hold_out(rows, seed, _N_PARTS)[0])
    fold, weight, n_steps = _Fold(context.part(kept), held.merged()), held.merged().full_weight(), 0
    while _stronger(main, n_steps) < _STRENGTHS[0]:
        before, after = (fold.main_losses(_stronger(main, steps)) for steps in (n_steps, n_steps + 1))
        if np.average(after - before, weights=weight) >= 0:
            break
        n_steps += 1
    return n_steps


def _stronger(strength: float, n_steps: int) -> float:
    """The strength that is so many steps above a given one."""
    return _STRENGTHS[max(_STRENGTHS.index(strength) - n_steps, 0)] if n_steps else strength


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
    return sorted(set().union(*map(_pairs, layouts)))


def _pairs(layout: Layout) -> set[tuple[int, int]]:
    parents = layout.parent_sets.parents.tolist()
    return {(min(i, j), max(i, j)) for i, j in enumerate(parents) if j >= 0}


def _network(
    layout: Layout,
    rows: Rows,
    effects: Effects | MonotoneEffects,
    theta: FloatArray,
    shares: Mapping[tuple[int, int], float],
) -> Network:
    """The network with frequencies and effects in its CPTs, those of each pair times its share."""
    groups, arena = effects.groups, np.zeros(layout.arena_size, np.float32)
    numbers = {pair: p for p, pair in enumerate(effects.pairs)}
    for i, (j, of_values) in enumerate(
        zip(layout.parent_sets.parents.tolist(), _log_frequencies(layout, rows), strict=True)
    ):
        cpt = layout.cpt(arena, i)
        cpt[...] = effects.main(theta, i) + of_values[:, :, None]
        if j >= 0:
            pair = min(i, j), max(i, j)
            effect = effects.pair(theta, numbers[pair]) * shares[pair]
            of_parent = effect if j < i else effect.swapaxes(0, 1)
            cpt += of_parent[:, groups.of(i)]
    network = Network.from_arena(layout, arena, effects.bias(theta), np.arange(layout.parent_sets.n_features))
    if not can_temper(network):
        raise ValueError("PenalisedLikelihood requires a forest, but the parents form a cycle")
    return temper(network, 1.0)


def _log_frequencies(layout: Layout, rows: Rows) -> list[FloatArray]:
    """Log of the smoothed frequencies of each feature's values for each group of its parent's, float64[G, R]."""
    classless = make_layout(layout.parent_sets, layout.cards, 1, groups=layout.groups)
    counted = CptCounts.empty(classless)
    counted.add(rows.codes, np.zeros_like(rows.y), rows.weight)
    log_given = np.log(frequencies(counted).given)
    return [classless.cpt(log_given, i)[:, :, 0] for i in range(len(layout.cards))]
