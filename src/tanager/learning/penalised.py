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

from tanager._options import check_count, check_number
from tanager._types import FloatArray
from tanager.learning.context import Context, Rows, hold_out
from tanager.learning.monotone import MonotoneEffects
from tanager.learning.parameters import Fitted, LayOut, ParameterOptions
from tanager.learning.structures import Forest
from tanager.model import Effects, Groups, Layout, Network, ParentDistribution, can_temper, count_rows, temper
from tanager.training import History, ParentPath

_STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
_N_PARTS = 3
_MOST_ROWS = 10_000  # that strengths are chosen on
_PRIOR_ROWS = 10.0  # that a feature's frequencies alone count for beside those given its parent
_FIRST = 3  # place of the strength that is tried first
_ERRORS = 0.5  # standard errors of a difference that do not outweigh a smoother model
_STEPS = 100
_TO_CHOOSE: dict[str, Any] = {"most_steps": 40, "tolerance": 1e-5}


class _Fold:
    """Rows to fit effects to, and rows to judge them by."""

    def __init__(self, kept: Context, held: Rows, max_groups: int) -> None:
        self.context, self.held = kept, held
        self.groups = kept.groups(max_groups)
        self._mains = self._effects(kept.merged_rows(), [])
        self._judge = self._effects(held, [])
        self._found: dict[float, tuple[FloatArray, FloatArray]] = {}

    def main_losses(self, strength: float) -> FloatArray:
        """Log-losses of the held-out rows with main effects alone."""
        if strength not in self._found:
            start = self._found[next(reversed(self._found))][0] if self._found else None
            theta = self._mains.fit(strength, 1.0, start, **_TO_CHOOSE)
            self._found[strength] = theta, self._judge.log_losses(theta)
        return self._found[strength][1]

    def pair_losses(self, layouts: list[Layout]) -> Callable[[float, float], FloatArray]:
        """The log-losses with the pairs of layouts, as a function of both strengths."""
        pairs = pairs_of(layouts)
        effects, judge = self._effects(self.context.merged_rows(), pairs), self._effects(self.held, pairs)
        last: list[FloatArray] = []

        def losses(main: float, pair: float) -> FloatArray:
            start = last[-1] if last else self._found[main][0] if main in self._found else None
            last[:] = [effects.fit(main, pair, start, **_TO_CHOOSE)]
            return judge.log_losses(last[0])

        return losses

    def _effects(self, rows: Rows, pairs: Sequence[tuple[int, int]]) -> Effects:
        return make_effects(rows, self.context.n_ordered, self.groups, pairs)


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
    max_groups : int, at least 2, default=12
        Groups of values that a feature has in pairs; there are fewer where rows are few, down to 3.

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
    max_groups: int = 12

    def __post_init__(self) -> None:
        for name in ("main", "pairs"):
            if not (isinstance(getattr(self, name), str) and getattr(self, name) == "auto"):
                check_number(name, getattr(self, name), above=0)
        check_count("max_groups", self.max_groups, 2)

    def training_bytes(self, layout: Layout) -> int:
        """Memory of the effects, their gradients and the steps that are remembered."""
        return 20 * 8 * layout.size

    def row_bytes(self, rows: Rows) -> int:
        """Memory of the merged rows, of their columns, once for Python and once for the core, and of residuals."""
        return len(rows.y) * (12 * len(rows.cards) + 8 * rows.n_classes + 200)

    def groups(self, context: Context) -> Groups:
        """Groups of values for where features are parents."""
        return context.groups(self.max_groups)

    def tuned(self, lay_out: LayOut, context: Context, seed: int) -> Self:
        """The same with strengths that were chosen by the log-loss of held-out rows.

        Main effects come first, then pairs beside them, then main effects once more: pairs may make stronger penalties
        better. Among strengths that do about equally well the strongest is taken.
        """
        if "auto" not in (self.main, self.pairs):
            return self
        if context.rows.n_counted < 2 * _N_PARTS:
            return self.set_params(**{name: 1.0 for name in ("main", "pairs") if getattr(self, name) == "auto"})
        folds = context.remember(("folds of effects", seed, self.max_groups), lambda: self._folds(context, seed))
        weight = np.concatenate([fold.held.full_weight() for fold in folds])

        def search(losses: Callable[[float], list[FloatArray]]) -> tuple[float, FloatArray]:
            found = search_strengths(lambda strength: np.concatenate(losses(strength)), weight)
            best = smoothest(found, weight)
            return best, found[best]

        main = float(self.main) if self.main != "auto" else 0.0
        if self.main == "auto":
            main, _ = search(lambda strength: context.map(lambda fold: fold.main_losses(strength), folds))
        if self.pairs != "auto":
            return self.set_params(main=main)
        layouts = context.map(lambda fold: lay_out(fold.context), folds)
        if not any(map(pairs_of, layouts)):
            return self.set_params(main=main, pairs=1.0)
        of_pairs = context.map(lambda each: each[0].pair_losses(each[1]), list(zip(folds, layouts, strict=True)))
        pairs, found = search(lambda strength: context.map(lambda losses: losses(main, strength), of_pairs))
        if self.main == "auto" and main < _STRENGTHS[0]:
            stronger = _STRENGTHS[_STRENGTHS.index(main) - 1]
            of_stronger = np.concatenate(context.map(lambda losses: losses(stronger, pairs), of_pairs))
            if np.average(of_stronger - found, weights=weight) < 0:
                main = stronger
        return self.set_params(main=main, pairs=pairs)

    def learn(self, layouts: Sequence[Layout], context: Context, seed: int, forest: Forest | None) -> list[Fitted]:
        """Fit the effects of the pairs of all layouts together, and put them into one network for each."""
        pairs, rows = pairs_of(layouts), context.merged_rows()
        given = (context.n_ordered, cast(Groups, layouts[0].groups), pairs)
        effects: Effects | MonotoneEffects
        if context.directions is None:
            effects = make_effects(rows, *given, context.n_threads)
        else:
            effects = MonotoneEffects(rows, *given, context.directions, context.n_threads)
        theta = effects.fit(float(self.main), float(self.pairs), most_steps=_STEPS)
        n_shared = Counter(pair for layout in layouts for pair in _pairs(layout))
        shares = {pair: len(layouts) / n for pair, n in n_shared.items()}
        fitted = []
        for layout in layouts:
            network = _network(layout, rows, effects, theta, shares)
            distribution = ParentDistribution(layout.parent_sets, np.zeros(layout.parent_sets.n_candidates))
            fitted.append(Fitted(network, distribution, History(), ParentPath()))
        return fitted

    def _folds(self, context: Context, seed: int) -> list[_Fold]:
        parts = hold_out(context.rows, seed, _N_PARTS, _MOST_ROWS)
        rows = [(context.rows.take_part(kept), context.rows.take_part(held)) for kept, held in parts]
        return [_Fold(context.part(kept), held.merged(), self.max_groups) for kept, held in rows]


def search_strengths(losses: Callable[[float], FloatArray], weight: FloatArray) -> dict[float, FloatArray]:
    """Losses of the rows with some of the strengths, the strongest first.

    From the middle of the list the search goes on to stronger ones as long as the mean loss falls, and if it does not,
    to weaker ones.
    """
    found: dict[int, FloatArray] = {}
    means: dict[int, float] = {}

    def try_next(place: int) -> None:
        found[place] = losses(_STRENGTHS[place])
        means[place] = float(np.average(found[place], weights=weight))

    try_next(_FIRST)
    for step in (-1, 1):
        place = _FIRST
        while 0 <= place + step < len(_STRENGTHS):
            try_next(place + step)
            if means[place + step] >= means[place]:
                break
            place += step
        if place != _FIRST:
            break
    return {_STRENGTHS[place]: found[place] for place in sorted(found)}


def smoothest(losses: Mapping[float, FloatArray], weight: FloatArray) -> float:
    """The strongest penalty whose losses do not exceed the best ones by more than half a standard error."""
    means = {strength: float(np.average(each, weights=weight)) for strength, each in losses.items()}
    best = min(means, key=lambda strength: means[strength])
    for strength, each in losses.items():
        excess = each - losses[best]
        deviation = (excess - np.average(excess, weights=weight)) ** 2
        spread = np.sqrt(np.average(deviation, weights=weight) / count_rows(weight))
        if means[strength] - means[best] <= _ERRORS * spread:
            return strength
    return best


def make_effects(
    rows: Rows, n_ordered: Any, groups: Groups, pairs: Sequence[tuple[int, int]], n_threads: int = 1
) -> Effects:
    """The effects of features and pairs over rows."""
    return Effects(rows.codes, rows.y, rows.full_weight(), rows.n_classes, n_ordered, groups, pairs, n_threads)


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
    for i, j in enumerate(layout.parent_sets.parents.tolist()):
        cpt = layout.cpt(arena, i)
        cpt[...] = effects.main(theta, i) + _log_frequencies(layout, rows, i, j)[:, :, None]
        if j >= 0:
            pair = min(i, j), max(i, j)
            effect = effects.pair(theta, numbers[pair]) * shares[pair]
            of_parent = effect if j < i else effect.swapaxes(0, 1)
            cpt += of_parent[:, groups.of(i)]
    network = Network.from_arena(layout, arena, effects.bias(theta), np.arange(layout.parent_sets.n_features))
    if not can_temper(network):
        raise ValueError("PenalisedLikelihood requires a forest, but the parents form a cycle")
    return temper(network, 1.0)


def _log_frequencies(layout: Layout, rows: Rows, feature: int, parent: int) -> FloatArray:
    """Log of the smoothed frequencies of a feature's values for each group of its parent's, float64[G, R]."""
    card, weight = int(layout.cards[feature]), rows.full_weight()
    groups = np.zeros(1, np.int64) if parent < 0 or layout.groups is None else layout.groups.of(parent)
    above = np.zeros(len(weight), np.int64) if parent < 0 else rows.codes[:, parent].astype(np.int64)
    value = rows.codes[:, feature].astype(np.int64)
    is_known = (value < card) & (above < len(groups))
    n_groups = int(groups.max()) + 1
    cell = groups[above[is_known]] * card + value[is_known]
    counts = np.bincount(cell, weight[is_known], minlength=n_groups * card).reshape(n_groups, card)
    alone = (counts.sum(axis=0) + 1.0) / (counts.sum() + card)
    smoothed: FloatArray = (counts + _PRIOR_ROWS * alone) / (counts.sum(axis=1, keepdims=True) + _PRIOR_ROWS)
    return np.log(smoothed)
