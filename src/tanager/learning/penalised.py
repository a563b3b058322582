"""Parameters at the optimum of a penalised conditional likelihood.

A structure of one or several forests says which pairs of features have an effect of their own; main effects are those
of all features (see `tanager.model.effects`). The network of a forest has the main effects and the effects of its
pairs in its CPTs; several forests share main effects, and the mean of their log-joints is the sum of all effects.

Effects say how the classes differ, not how often a value occurs. That is counted: the CPT of a feature also has the
frequencies of its values given the parent's, whatever the class. It changes no class posterior of a complete row, but
makes the network a description of the data, which queries, samples and unknown values need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from tanager._options import check_choice, check_count, check_number, is_auto
from tanager._types import FloatArray
from tanager.learning.context import Context
from tanager.learning.monotone import MonotoneEffects
from tanager.learning.parameters import Fitted, LayOut, ParameterOptions
from tanager.learning.rows import Rows
from tanager.learning.strengths import (
    COARSE,
    N_PARTS,
    TO_CHOOSE,
    Search,
    adapt,
    make_effects,
    pairs_in,
    pairs_of,
    stronger,
    thin,
)
from tanager.learning.structures import Forest
from tanager.model import CptCounts, Effects, Groups, Layout, Network, can_temper, frequencies, make_layout, temper

_STEPS = 60


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
            if not is_auto(getattr(self, name)):
                check_number(name, getattr(self, name), above=0)
        if not is_auto(self.max_groups):
            check_count("max_groups", self.max_groups, 2)
        check_choice("adaptive", self.adaptive, (True, False, "auto"))
        if self.least_gain is not None and not is_auto(self.least_gain):
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
        is_open = [name for name in ("main", "pairs") if is_auto(getattr(self, name))]
        if not is_open:
            return self
        if context.rows.n_counted < 2 * N_PARTS:
            untuned = {**dict.fromkeys(is_open, 1.0), "max_groups": self._n_groups, "adaptive": self.adaptive is True}
            return self.set_params(**untuned, least_gain=self._least_gain)
        search = Search(context, lambda part: self._thinned(lay_out(part), part), seed)
        main, pairs, groups = search.best_main() if "main" in is_open else float(self.main), 1.0, self._n_groups
        if self.adaptive is True or (is_auto(self.adaptive) and "main" in is_open):
            search.is_adaptive = search.wants_own(main) or self.adaptive is True
        n_steps, least_gain = search.n_steps_stronger(main) if "main" in is_open else 0, self._least_gain
        if "pairs" in is_open and search.has_pairs:
            main, pairs, losses = search.best_pairs(main, groups, is_main_open="main" in is_open)
            if is_auto(self.least_gain):
                least_gain, pairs, losses = search.best_gain(main, pairs, groups, losses)
            if is_auto(self.max_groups):
                groups, pairs = search.best_groups(main, pairs, losses)
        found: dict[str, Any] = {"main": stronger(main, n_steps), "max_groups": groups, "adaptive": search.is_adaptive}
        if "pairs" in is_open:
            found["pairs"] = stronger(pairs, n_steps)
        return self.set_params(**found, least_gain=least_gain)

    def learn(self, layouts: Sequence[Layout], context: Context, seed: int, forest: Forest | None) -> list[Fitted]:
        """Fit the effects of the pairs of all layouts together, and put them into one network for each."""
        layouts = self._thinned(layouts, context)
        pairs, rows = pairs_of(layouts), context.merged_rows()
        given = (context.n_ordered, cast(Groups, layouts[0].groups), pairs)
        main: float | FloatArray = float(self.main)
        if self.adaptive is True:
            mains = make_effects(rows, *given[:2], [], context.n_threads)
            main, _ = adapt(mains, mains.fit(main, 1.0, **TO_CHOOSE), float(self.main), **TO_CHOOSE)
        effects: Effects | MonotoneEffects
        if context.directions is None:
            effects = make_effects(rows, *given, context.n_threads)
        else:
            effects = MonotoneEffects(rows, *given, context.directions, context.n_threads)
        most_steps = TO_CHOOSE["most_steps"] if context.is_rough else _STEPS
        theta = effects.fit(main, float(self.pairs), most_steps=most_steps)
        n_shared = Counter(pair for layout in layouts for pair in pairs_in(layout))
        shares = {pair: len(layouts) / n for pair, n in n_shared.items()}
        return [Fitted.untrained(layout, _network(layout, rows, effects, theta, shares)) for layout in layouts]

    def _thinned(self, layouts: Sequence[Layout], context: Context) -> list[Layout]:
        """The structures without the pairs whose gain is not clear enough."""
        return list(layouts) if self._least_gain is None else thin(layouts, context, self._least_gain)

    @property
    def _least_gain(self) -> float | None:
        return None if self.least_gain is None or is_auto(self.least_gain) else float(self.least_gain)

    @property
    def _n_groups(self) -> int:
        return COARSE if is_auto(self.max_groups) else int(self.max_groups)


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
