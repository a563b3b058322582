"""A choice among a few recipes by held-out rows, and the temperature that calibrates the winner.

Every recipe is learned on the same parts of the rows and judged by the others: by the share of wrong classes, and by
the log-loss after the best temperature, which tells more where rows are few. Up to 2,500 rows are cut into three parts,
each of which is held out once; of more rows a quarter is held out, and at most 20,000 rows take part.

Two recipes may also be combined: a sum of their log-odds, with the weights that have the smallest log-loss on the
held-out rows, is judged like one of them.

The first recipe sets the mark. The others are not tried where it leaves nothing to gain, and end early where they fall
far behind it after a quarter of their training. So what is tried does not depend on the number of threads, which try
several recipes, or parts, at the same time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from scipy.optimize import minimize

from tanager._types import FloatArray, IntArray
from tanager.learning.context import Context
from tanager.learning.recipes import FOR_MANY_COLUMNS, GIVEN
from tanager.learning.rows import Rows
from tanager.model import Network, best_temperature, can_temper, count_rows, log_losses, temper

LogJoint = Callable[[IntArray], FloatArray]
"""From codes to the log-joint: what learning leaves to be judged."""

RecipeT = TypeVar("RecipeT")
PartsOf = Callable[[RecipeT], Sequence[tuple[Context, Rows]]]
_Task = tuple[str, RecipeT, Sequence[tuple[Context, Rows]]]

_LOG_LOSS_WEIGHT = 0.3
# A recipe that is this much worse than the first after a quarter of its training is ended. On the data sets of
# docs/comparison.md the rest of the training improved those that came near by at most a fifth where errors were few,
# which standard errors allow for, and by at most a tenth elsewhere.
_HOPELESS, _STANDARD_ERRORS = 1.15, 2.0
FEWEST_ERRORS = 15
"""Errors on held-out rows below which these cannot tell whether something that helps a little does."""
_MOST_WEIGHT = 2.0
_NEGLIGIBLE = 0.001  # of a difference of log-losses: in words, digits of smaller ones would say nothing


class Difference(NamedTuple):
    """A mean difference of log-losses of held-out rows, in nats a row, and its standard error."""

    mean: float
    standard_error: float

    @property
    def is_clear(self) -> bool:
        """Whether the mean is above zero by two standard errors."""
        return self.mean > 2 * self.standard_error

    def __str__(self) -> str:
        if abs(self.mean) + self.standard_error < _NEGLIGIBLE:
            return f"less than {_NEGLIGIBLE}"
        return f"{self.mean:z.4f} ± {self.standard_error:.4f}"


class Sum(NamedTuple):
    """Two recipes whose log-odds are added, and what each is multiplied by."""

    first: str
    second: str
    weights: tuple[float, float]


class Trial(NamedTuple):
    """How a recipe, or a sum of two, did on held-out rows."""

    name: str
    error: float  # share of wrong classes
    log_loss: float  # after the best temperature
    temperature: float
    n_rows: float  # held out
    losses: FloatArray  # log-loss of each of them
    weight: FloatArray  # of each of them
    scores: FloatArray | None = None  # log-joint of each of them; None if the training was ended early
    made_of: Sum | None = None

    @property
    def badness(self) -> float:
        """The selection criterion; lower is better."""
        return self.error + _LOG_LOSS_WEIGHT * self.log_loss


class Choice(NamedTuple):
    """The name of the chosen recipe, and what is known of it and the others."""

    name: str
    trials: tuple[Trial, ...] = ()
    temperature: float | None = None  # None if no rows were held out
    left_out: str | None = None  # a sum that was better, but that there was no time for

    @property
    def best(self) -> Trial | None:
        """The trial of the chosen recipe, if there was one."""
        return next((trial for trial in self.trials if trial.name == self.name), None)

    @property
    def made_of(self) -> Sum | None:
        """What was chosen, if it is a sum of two recipes."""
        return None if self.best is None else self.best.made_of

    @property
    def best_alone(self) -> Trial | None:
        """The trial of the chosen recipe or, of a sum, that of the first one."""
        made_of = self.made_of
        return self.best if made_of is None else self.alone().best

    def alone(self) -> Choice:
        """The choice of the first recipe of a sum in place of the sum."""
        first = next(trial for trial in self.trials if trial.name == cast(Sum, self.made_of).first)
        temperature = None if self.temperature is None else first.temperature
        return self._replace(name=first.name, temperature=temperature)

    def given_up(self) -> Choice:
        """The same where there is no time to learn the sum."""
        return self.alone()._replace(left_out=self.name)

    def reason(self, parents: Difference | None = None) -> str:
        """What was chosen and why, in words, with what all parents together add on held-out rows.

        >>> NO_CHOICE.reason()
        'Structure and parameters were given, so nothing was tried on held-out rows.'
        """
        best, others = self.best, [trial for trial in self.trials if trial.name != self.name]
        if best is None and self.name == GIVEN:
            return "Structure and parameters were given, so nothing was tried on held-out rows."
        if best is None:
            return f"The first preset, {self.name!r}, was taken without a trial: rows or time were too few."
        measured = f"an error of {best.error:.2%} and a log-loss of {best.log_loss:.4f} on held-out rows"
        if self.name == GIVEN:
            said = f"Structure and parameters were given; they have {measured}."
        elif not others:
            said = f"Preset {best.name!r} was the only one worth trying here; it has {measured}."
        else:
            tried = ", ".join(f"{trial.name!r} {trial.error:.2%} and {trial.log_loss:.4f}" for trial in others)
            why = f"was best of {len(self.trials)}"
            if self.left_out is not None:
                why = f"was taken, since there was no time to learn {self.left_out!r}"
            said = f"Preset {best.name!r} {why}: it has {measured}; {tried}."
        if parents is None:
            return said
        log_loss = "that log-loss" if best.made_of is None else f"the log-loss of {best.made_of.first!r}"
        return f"{said} {_said_of_parents(parents, log_loss)}"

    def to_dict(
        self, temperature: float = 1.0, parents: Difference | None = None, notes: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Plain values, with the temperature that was used in the end and notes on what was cut short.

        >>> NO_CHOICE.to_dict()["preset"], NO_CHOICE.to_dict()["tried"]
        ('given', [])
        """
        return {
            "why": self.reason(parents),
            "preset": self.name,
            "temperature": temperature,
            "tried": [trial.name for trial in self.trials],
            "errors": [trial.error for trial in self.trials],
            "log_losses": [trial.log_loss for trial in self.trials],
            "notes": list(notes),
        }


NO_CHOICE = Choice(GIVEN)


def _said_of_parents(parents: Difference, log_loss: str) -> str:
    if parents.is_clear:
        return f"Without parents {log_loss} is higher by {parents}."
    return (
        f"Held-out rows show no gain from parents (without them {log_loss} changes by {parents}): one by one, the "
        "features tell the classes apart just as well."
    )


def gain_of_parents(
    choice: Choice, without: RecipeT, learn: Callable[[RecipeT, Context], LogJoint], parts_of: PartsOf[RecipeT]
) -> Difference | None:
    """How much the log-loss of held-out rows is higher without parents; None if none were held out.

    Parameters
    ----------
    choice : Choice
    without : recipe
        The chosen recipe without parents; of a sum, the first one.
    learn, parts_of
        As in `choose`, for this recipe.
    """
    beside = choice.best_alone
    if beside is None:
        return None

    def parts_without_rules(recipe: RecipeT) -> list[tuple[Context, Rows]]:
        return [(replace(kept, rules=None), held) for kept, held in parts_of(recipe)]

    (trial,) = try_recipes({"none": without}, learn, parts_without_rules)
    return mean_difference(trial.losses - beside.losses, trial.weight)


def choose(
    recipes: Mapping[str, RecipeT],
    learn: Callable[[RecipeT, Context], LogJoint],
    parts_of: PartsOf[RecipeT],
    *,
    calibrate: bool | str,
    may_combine: bool = False,
    has_rows: bool = False,
    is_over: Callable[[str], bool] = lambda what: False,
    verbose: int = 0,
) -> Choice:
    """Try recipes on held-out rows where there is something to choose or to calibrate, and take the best.

    Parameters
    ----------
    recipes : mapping from names to recipes
        The first of them wins ties.
    learn : callable
        Learns a recipe on the rows of a context.
    parts_of : callable
        Gives a recipe's pairs of a context to learn in and rows that it has not seen. The rows are the same for all
        recipes, but may be cut into other bins. There are none where rows are too few to hold some out.
    calibrate : {"auto", True, False}
        "auto" calibrates if rows are held out for a choice anyway.
    may_combine : bool
        Whether a sum of the first recipe and another may be chosen.
    has_rows : bool
        Whether there are rows to judge by that need not be held out.
    is_over : callable
        Asked before each recipe, with what would be left out, whether time is over.
    verbose : int
        1 shows how each recipe did on stderr.
    """
    first = next(iter(recipes))
    if (first == GIVEN and calibrate is not True and not has_rows) or not parts_of(recipes[first]):
        return Choice(first)
    if is_over("nothing was tried on held-out rows"):
        return Choice(first)
    trials: list[Trial] = []

    def keep(trial: Trial) -> None:
        trials.append(trial)
        if verbose:
            sys.stderr.write(f"{trial.name}: {trial.error:.2%} wrong on held-out rows, log-loss {trial.log_loss:.3f}\n")

    for trial in try_recipes(recipes, learn, parts_of, is_over):
        keep(trial)
    if may_combine:
        y = np.concatenate([held.y for _, held in parts_of(recipes[first])])
        for other in trials[1:]:
            both = combined(trials[0], other, y)
            if both is not None:
                keep(both)
    best = trials[_first_best(trials)]
    return Choice(best.name, tuple(trials), None if calibrate is False else best.temperature)


def _first_best(trials: Sequence[Trial]) -> int:
    """The first of the trials that differ from the best by less than half a row."""
    limit = min(trial.badness + 0.5 / trial.n_rows for trial in trials)
    return next(k for k, trial in enumerate(trials) if trial.badness <= limit)


def combined(first: Trial, other: Trial, y: IntArray) -> Trial | None:
    """The trial of the best sum of two, or None if it is not clearly better than each, or errors are too few to tell.

    Clearly is by more than a standard error of the difference of log-losses: weights have been fitted to the rows that
    they are judged by, and a second kind of trees takes time and memory.
    """
    if first.scores is None or other.scores is None or first.error * first.n_rows < FEWEST_ERRORS:
        return None
    weights = best_weights((first.scores, other.scores), y, first.weight)
    if min(weights) <= 0:
        return None
    scores = weights[0] * first.scores + weights[1] * other.scores
    trial = _judge(f"{first.name} and {other.name}", scores, y, first.weight)
    losses = log_losses(scores, y)
    for each in (first, other):
        saved = mean_difference(each.losses - losses, first.weight)
        if saved.mean <= saved.standard_error:
            return None
    log_loss, made_of = float(np.average(losses, weights=first.weight)), Sum(first.name, other.name, weights)
    return trial._replace(log_loss=log_loss, losses=losses, temperature=1.0, made_of=made_of)


def best_weights(scores: tuple[FloatArray, FloatArray], y: IntArray, weight: FloatArray) -> tuple[float, float]:
    """What to multiply two log-joints by, from 0 to 2, so that their sum has the smallest log-loss.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> own, other = ((2 * y[:, None] - 1 + rng.normal(size=(4000, 1))) * [-1.0, 1.0] for _ in range(2))
    >>> [round(each) for each in best_weights((own, other), y, np.ones(4000))]
    [1, 1]
    """
    row, share = np.arange(len(y)), weight / weight.sum()
    both = np.stack([each - each[row, y][:, None] for each in scores])

    def loss(factors: FloatArray) -> tuple[float, FloatArray]:
        odds = np.tensordot(factors, both, axes=1)
        highest = odds.max(axis=1)
        powers = np.exp(odds - highest[:, None])
        totals = powers.sum(axis=1)
        slopes = (powers * both).sum(axis=2) / totals
        return float(share @ (highest + np.log(totals))), slopes @ share

    found = minimize(loss, np.array([0.7, 0.3]), jac=True, bounds=[(0.0, _MOST_WEIGHT)] * 2, method="L-BFGS-B")
    return float(found.x[0]), float(found.x[1])


def calibrated(networks: list[Network], choice: Choice, calibrate: bool | str) -> tuple[list[Network], float]:
    """The networks with the temperature of the choice in their CPTs, and that temperature.

    With ``calibrate="auto"`` networks that are not forests stay as they are, with the temperature 1; with True that is
    an error.
    """
    if choice.temperature is None or not (calibrate is True or all(map(can_temper, networks))):
        return networks, 1.0
    return [temper(network, choice.temperature) for network in networks], choice.temperature


def try_recipes(
    recipes: Mapping[str, RecipeT],
    learn: Callable[[RecipeT, Context], LogJoint],
    parts_of: PartsOf[RecipeT],
    is_over: Callable[[str], bool] = lambda what: False,
) -> Iterator[Trial]:
    """Learn each recipe on parts of the rows and judge it by the others; no more than the first if that has no errors.

    A recipe that has no chance beside the first ends early, with what is known of it then, unless it is there to be
    combined with the first. Those that there is no time for are left out.
    """
    name_of_first, first_recipe = next(iter(recipes.items()))
    first_parts = parts_of(first_recipe)
    context = first_parts[0][0]

    def attempt(task: _Task[RecipeT], n_tasks: int, mark: Trial | None) -> Trial:
        name, recipe, parts = task
        n_threads = max(1, context.n_threads // n_tasks)
        y, weight = (
            np.concatenate(each) for each in zip(*((held.y, held.full_weight()) for _, held in parts), strict=True)
        )

        def score(part: tuple[Context, Rows]) -> FloatArray:
            kept, held = part
            is_watched = mark is not None and len(parts) == 1 and name not in FOR_MANY_COLUMNS
            watch = _Watch(name, held, cast(Trial, mark)) if is_watched else None
            n_each = max(1, n_threads // len(parts))
            return learn(recipe, kept.with_options(n_threads=n_each, watch=watch))(held.codes)

        try:
            return _judge(name, np.concatenate(context.with_options(n_threads=n_threads).map(score, parts)), y, weight)
        except _HopelessError as hopeless:
            return hopeless.trial

    first = attempt((name_of_first, first_recipe, first_parts), 1, None)
    yield first
    if first.badness > 0.5 / first.n_rows:
        left_out = {name_of_first, *(FOR_MANY_COLUMNS if first.error * first.n_rows < FEWEST_ERRORS else ())}
        others = [(name, each, parts_of(each)) for name, each in recipes.items() if name not in left_out]

        def attempt_in_time(task: _Task[RecipeT]) -> list[Trial]:
            return [] if is_over(f"{task[0]!r} was not tried") else [attempt(task, len(others), first)]

        yield from (trial for trials in context.map(attempt_in_time, others) for trial in trials)


class _HopelessError(Exception):
    """Ends the training of a recipe that has no chance."""

    def __init__(self, trial: Trial) -> None:
        super().__init__(trial.name)
        self.trial = trial


class _Watch:
    """Judges a recipe in the middle of its training, and ends it where it is far behind another."""

    def __init__(self, name: str, held: Rows, mark: Trial) -> None:
        self._name, self._held, self._mark = name, held, mark

    def __call__(self, log_joint: LogJoint) -> None:
        held, mark = self._held, self._mark
        trial = _judge(self._name, log_joint(held.codes), held.y, held.full_weight())._replace(scores=None)
        by_chance = _STANDARD_ERRORS * np.sqrt(mark.error * (1.0 - mark.error) / mark.n_rows)
        if trial.badness > _HOPELESS * mark.badness + by_chance:
            raise _HopelessError(trial)


def _judge(name: str, scores: FloatArray, y: IntArray, weight: FloatArray) -> Trial:
    temperature = best_temperature(scores, y, weight)
    error = float(np.average(scores.argmax(axis=1) != y, weights=weight))
    losses = log_losses(scores / temperature, y)
    log_loss = float(np.average(losses, weights=weight))
    return Trial(name, error, log_loss, temperature, count_rows(weight), losses, weight, scores)


def mean_difference(differences: FloatArray, weight: FloatArray) -> Difference:
    """The weighted mean of differences and its standard error."""
    mean = float(np.average(differences, weights=weight))
    spread = float(np.average((differences - mean) ** 2, weights=weight))
    return Difference(mean, float(np.sqrt(spread / max(count_rows(weight) - 1.0, 1.0))))
