"""From recipes and rows to the best recipe, learned from all rows: tune, try, learn. Both estimators go this way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from tanager.learning.choosing import Choice, Difference, LogJoint, choose, gain_of_parents
from tanager.learning.context import Context, Rows
from tanager.learning.recipes import as_parameters, worth_trying


class Material(Protocol):
    """Rows as an estimator has them, cut into bins as recipes need them: fine ones or coarse ones."""

    @property
    def has_validation(self) -> bool:
        """Whether there are rows to judge by that need not be held out."""
        ...

    def encoded(self, *, is_fine: bool) -> Any:
        """The encoded rows, with ``rows``, and what was learned to encode them."""
        ...

    def context(self, *, is_fine: bool) -> Context:
        """All rows, for the last fit."""
        ...

    def trial_context(self, *, is_fine: bool) -> Context:
        """All rows, for what is tried before it."""
        ...

    def parts(self, seed: int, *, is_fine: bool) -> list[tuple[Context, Rows]]:
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
        self, recipes: Mapping[str, Any], *, calibrate: bool | str, verbose: int = 0, may_keep_trial: bool = False
    ) -> Best:
        """Tune the recipes, choose one on rows that it has not seen, and learn it from all rows.

        With validation rows, a trial has learned from all rows already; ``may_keep_trial`` allows to take that.
        """
        data = self._data
        tried = worth_trying(recipes, data.encoded(is_fine=_is_fine(next(iter(recipes.values())))).rows)
        tried = {
            name: each.tuned(data.trial_context(is_fine=_is_fine(each)), self._seed) for name, each in tried.items()
        }
        ways: dict[str, Any] = {"has_rows": data.has_validation, "is_over": data.is_over, "verbose": verbose}
        choice = choose(tried, self._learn, self._parts_of, calibrate=calibrate, **ways)
        recipe = tried[choice.name]
        encoded, context = data.encoded(is_fine=_is_fine(recipe)), data.context(is_fine=_is_fine(recipe))
        learned = self._learned.get(id(recipe)) if data.has_validation and may_keep_trial else None
        return Best(recipe, learned or recipe.learn(context, self._seed), choice, encoded, context)

    def gain_of_parents(self, choice: Choice, without: Any) -> Difference | None:
        """How much the log-loss of held-out rows is higher for the chosen recipe ``without`` parents."""
        return gain_of_parents(choice, without, self._learn, self._parts_of)

    def _parts_of(self, recipe: Any) -> list[tuple[Context, Rows]]:
        return self._data.parts(self._split_seed, is_fine=_is_fine(recipe))

    def _learn(self, recipe: Any, part: Context) -> LogJoint:
        learned = recipe.learn(part, self._seed)
        if self._data.has_validation:
            self._learned[id(recipe)] = learned
        return self._log_joint_of(learned)


def _is_fine(recipe: Any) -> bool:
    return as_parameters(recipe.parameters).is_fine
