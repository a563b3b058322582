"""From recipes and rows to the best recipe, learned from all rows: tune, try, learn. Both estimators go this way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from tanager.learning.choosing import Choice, Difference, LogJoint, Sum, choose, gain_of_parents
from tanager.learning.companions import MOST_CATEGORIES, Companion
from tanager.learning.context import Context
from tanager.learning.limits import Limits
from tanager.learning.recipes import as_parameters, bins_of, worth_trying
from tanager.learning.rows import Rows

_MOST_CELLS = 2_000_000  # of the rows, with which two recipes may be learned in the end
_MOST_ENTRIES = 50_000_000  # of the CPTs of both: a fit takes about 30 bytes for each, or 1.5 GB
_LINES = 20  # of a CPT whose parent is a number, in groups that suit both


class Material(Protocol):
    """Rows as an estimator has them, cut into bins as recipes need them (see `tanager.learning.recipes.bins_of`)."""

    @property
    def has_validation(self) -> bool:
        """Whether there are rows to judge by that need not be held out."""
        ...

    def encoded(self, bins: str) -> Any:
        """The encoded rows, with ``rows``, and what was learned to encode them."""
        ...

    def context(self, bins: str) -> Context:
        """All rows, for the last fit."""
        ...

    def trial_context(self, bins: str) -> Context:
        """All rows, for what is tried before it."""
        ...

    def parts(self, seed: int, bins: str) -> list[tuple[Context, Rows]]:
        """Rows to learn from and rows to judge by."""
        ...

    def is_over(self, what: str) -> bool:
        """Whether the time for trials is over; ``what`` is then left out."""
        ...


class Best(NamedTuple):
    """A recipe with what it has learned from all rows, and how it was chosen."""

    recipe: Any
    learned: Any
    choice: Choice
    encoded: Any
    context: Context

    def may_measure_edges(self, limits: Limits) -> bool:
        """Whether there is reason and time to learn again on parts of the rows, to see what edges add on the others."""
        is_wanted = bool(self.choice.trials) or as_parameters(self.recipe.parameters).needs_fixed
        return is_wanted and not limits.is_over("what edges add on held-out rows was not measured")


class Trials:
    """Recipes that are learned and judged on the same rows.

    Parameters
    ----------
    data : Material
    seed, split_seed : int
        Of what is learned, and of the rows that are held out.
    log_joint_of : callable
        The log-joint of what a recipe has learned.
    """

    def __init__(self, data: Material, seed: int, split_seed: int, log_joint_of: Callable[[Any], LogJoint]) -> None:
        self._data, self._seed, self._split_seed, self._log_joint_of = data, seed, split_seed, log_joint_of
        self._learned: dict[int, Any] = {}

    def best(
        self,
        recipes: Mapping[str, Any],
        *,
        calibrate: bool | str,
        verbose: int = 0,
        may_keep_trial: bool = False,
        may_combine: bool = False,
    ) -> Best:
        """Tune the recipes, choose one on rows that it has not seen, and learn it from all rows.

        With validation rows, a trial has learned from all rows already; ``may_keep_trial`` allows to take that.
        ``may_combine`` allows to choose a sum of the first recipe and another one as its companion.
        """
        data = self._data
        may_combine = may_combine and self._has_room(list(recipes.values()))
        rows = data.encoded(bins_of(next(iter(recipes.values())))).rows
        tried = worth_trying(recipes, rows, may_combine=may_combine)
        tried = {name: each.tuned(data.trial_context(bins_of(each)), self._seed) for name, each in tried.items()}
        ways: dict[str, Any] = {"has_rows": data.has_validation, "is_over": data.is_over, "verbose": verbose}
        choice = choose(tried, self._learn, self._parts_of, calibrate=calibrate, may_combine=may_combine, **ways)
        if choice.made_of is not None and data.is_over(f"{choice.made_of.second!r} was left out"):
            choice = choice.given_up()
        recipe = tried[choice.name] if choice.made_of is None else _combined(tried, choice.made_of)
        encoded, context = data.encoded(bins_of(recipe)), data.context(bins_of(recipe))
        learned = self._learned.get(id(recipe)) if data.has_validation and may_keep_trial else None
        return Best(recipe, learned or recipe.learn(context, self._seed), choice, encoded, context)

    def gain_of_parents(self, choice: Choice, without: Any) -> Difference | None:
        """How much the log-loss of held-out rows is higher for the chosen recipe ``without`` parents."""
        return gain_of_parents(choice, without, self._learn, self._parts_of)

    def _has_room(self, recipes: list[Any]) -> bool:
        """Whether rows are all in memory, and so few that two recipes neither take long nor have large CPTs."""
        context = self._data.context(bins_of(recipes[0]))
        rows = context.rows
        first, *others = (each.members.count(len(rows.cards)) for each in recipes)
        lines = np.where(context.n_ordered > 1, _LINES, np.minimum(rows.cards, MOST_CATEGORIES)).mean()
        n_entries = float(rows.cards.sum()) * rows.n_classes * lines * (first + max(others, default=0))
        return context.population is None and rows.codes.size <= _MOST_CELLS and bool(n_entries <= _MOST_ENTRIES)

    def _parts_of(self, recipe: Any) -> list[tuple[Context, Rows]]:
        return self._data.parts(self._split_seed, bins_of(recipe))

    def _learn(self, recipe: Any, part: Context) -> LogJoint:
        learned = recipe.learn(part, self._seed)
        if self._data.has_validation:
            self._learned[id(recipe)] = learned
        return self._log_joint_of(learned)


def _combined(recipes: Mapping[str, Any], chosen: Sum) -> Any:
    """The first recipe of a sum with the second as its companion."""
    other = recipes[chosen.second]
    companion = Companion(other.members, other.parameters, *chosen.weights)
    return recipes[chosen.first].set_params(companion=companion)
