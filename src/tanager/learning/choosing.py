"""A choice among a few recipes by held-out rows, and the temperature that calibrates the winner.

Every recipe is learned on the same parts of the rows and judged by the others: by the share of wrong classes, and by
the log-loss after the best temperature, which tells more where rows are few. Up to 2,500 rows are cut into three parts,
each of which is held out once; of more rows a quarter is held out, and at most 20,000 rows take part.

A row of weight two is two rows here, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from tanager._types import FloatArray, IntArray
from tanager.learning.context import Context, Rows
from tanager.learning.recipes import GIVEN
from tanager.model import Network, can_temper, count_rows, temper

LogJoint = Callable[[IntArray], FloatArray]
"""From codes to the log-joint: what learning leaves to be judged."""

RecipeT = TypeVar("RecipeT")

_FEW_ROWS, _MOST_ROWS = 2_500, 20_000
_N_PARTS = 3
_EVERY = 4  # the held-out fraction of many rows is one in this many
_LOG_LOSS_WEIGHT = 0.3
_TEMPERATURES = (0.5, 50.0)
_ENOUGH_ERRORS = 10
_MOST_LOSS = 20.0


class Trial(NamedTuple):
    """How a recipe did on held-out rows."""

    name: str
    error: float  # share of wrong classes
    log_loss: float  # after the best temperature
    temperature: float
    n_rows: float  # held out

    @property
    def badness(self) -> float:
        """The selection criterion; lower is better."""
        return self.error + _LOG_LOSS_WEIGHT * self.log_loss


class Choice(NamedTuple):
    """The name of the chosen recipe, and what is known of it and the others."""

    name: str
    trials: tuple[Trial, ...] = ()
    temperature: float | None = None  # None if no rows were held out

    def to_dict(self, temperature: float = 1.0) -> dict[str, Any]:
        """Plain values, with the temperature that was used in the end.

        >>> NO_CHOICE.to_dict()
        {'preset': 'given', 'temperature': 1.0, 'tried': [], 'errors': [], 'log_losses': []}
        """
        return {
            "preset": self.name,
            "temperature": temperature,
            "tried": [trial.name for trial in self.trials],
            "errors": [trial.error for trial in self.trials],
            "log_losses": [trial.log_loss for trial in self.trials],
        }


NO_CHOICE = Choice(GIVEN)


def choose(
    recipes: Mapping[str, RecipeT],
    learn: Callable[[RecipeT, Context], LogJoint],
    context: Context,
    *,
    calibrate: bool | str,
    seed: int,
) -> Choice:
    """Try recipes on held-out rows where there is something to choose or to calibrate, and take the best.

    Parameters
    ----------
    recipes : mapping from names to recipes
        The first of them wins ties.
    learn : callable
        Learns a recipe on the rows of a context.
    context : Context
    calibrate : {"auto", True, False}
        "auto" calibrates if rows are held out for a choice anyway.
    seed : int
        Of the split.
    """
    first = next(iter(recipes))
    if len(recipes) == 1 and calibrate is not True:
        return Choice(first)
    if context.rows.n_counted < 2:  # nothing would be left to learn from
        return Choice(first)
    trials = []
    for trial in try_recipes(recipes, learn, context, seed):
        trials.append(trial)
        if context.verbose:
            sys.stderr.write(f"{trial.name}: {trial.error:.2%} wrong on held-out rows, log-loss {trial.log_loss:.3f}\n")
    best = trials[_first_best(trials)]
    return Choice(best.name, tuple(trials), None if calibrate is False else best.temperature)


def _first_best(trials: Sequence[Trial]) -> int:
    """The first of the trials that differ from the best by less than half a row."""
    limit = min(trial.badness + 0.5 / trial.n_rows for trial in trials)
    return next(k for k, trial in enumerate(trials) if trial.badness <= limit)


def calibrated(networks: list[Network], choice: Choice, calibrate: bool | str) -> tuple[list[Network], float]:
    """The networks with the temperature of the choice in their CPTs, and that temperature.

    With ``calibrate="auto"`` networks that are not forests stay as they are, with the temperature 1; with True that is
    an error.
    """
    if choice.temperature is None or not (calibrate is True or all(map(can_temper, networks))):
        return networks, 1.0
    return [temper(network, choice.temperature) for network in networks], choice.temperature


def try_recipes(
    recipes: Mapping[str, RecipeT], learn: Callable[[RecipeT, Context], LogJoint], context: Context, seed: int
) -> Iterator[Trial]:
    """Learn each recipe on parts of the rows and judge it by the others; recipes share the context of a part."""
    parts = [(Context(kept, context.n_threads), held) for kept, held in split_rows(context.rows, seed)]
    held = [part for _, part in parts]
    y, weight = np.concatenate([part.y for part in held]), np.concatenate([part.full_weight() for part in held])
    for name, recipe in recipes.items():
        scores = np.concatenate([learn(recipe, kept)(part.codes) for kept, part in parts])
        yield _judge(name, scores, y, weight)


def split_rows(rows: Rows, seed: int) -> list[tuple[Rows, Rows]]:
    """Pairs of the rows to train on and the rows to hold out.

    The rows are put in the order of their classes and of a hash of their values, and dealt out in turn, so that classes
    and equal rows are in all parts alike. A row of weight w, if weights are whole numbers, is dealt out w times.
    """
    order = np.lexsort((_hash_rows(rows.codes, seed), rows.y))
    is_count = rows.weight is not None and bool((rows.weight == np.floor(rows.weight)).all())
    times = rows.weight[order] if rows.weight is not None and is_count else np.ones(len(order))
    stop = np.cumsum(times)
    n_dealt = int(stop[-1])
    if n_dealt < _FEW_ROWS:
        deals = [(_N_PARTS, [r for r in range(_N_PARTS) if r != k], [k]) for k in range(_N_PARTS)]
    else:
        step = -(-n_dealt // _MOST_ROWS)
        deals = [(_EVERY * step, list(range(1, _EVERY)), [0])]

    def take(period: int, turns: list[int]) -> Rows:
        """Rows that are dealt out in some turns of each period."""
        before = stop - times
        n_times = sum((stop - turn + period - 1) // period - (before - turn + period - 1) // period for turn in turns)
        dealt = np.asarray(n_times)
        index = order[dealt > 0]
        return rows.take(index) if not is_count else rows.take(index)._replace(weight=dealt[dealt > 0])

    return [(take(period, kept), take(period, held)) for period, kept, held in deals]


def _hash_rows(codes: IntArray, seed: int) -> NDArray[np.uint64]:
    """A number for the values of each row."""
    factors = np.random.default_rng(seed).integers(1, 2**62, size=(codes.shape[1],), dtype=np.uint64)
    hashes = np.zeros(len(codes), np.uint64)
    for j, factor in enumerate(factors.tolist()):
        hashes = (hashes ^ codes[:, j].astype(np.uint64)) * np.uint64(2 * factor + 1)
        hashes ^= hashes >> np.uint64(32)
    return hashes


def best_temperature(scores: FloatArray, y: IntArray, weight: FloatArray) -> float:
    """Number to divide log-joints by, from 0.5 to 50, for the smallest log-loss.

    With fewer than ten errors it is at least 1: rows that are all right say nothing against being surer and surer.

    Examples
    --------
    >>> scores = np.log([[0.9, 0.1]] * 4)
    >>> round(best_temperature(scores, np.array([0, 0, 0, 1]), np.ones(4)), 2)
    2.0
    """
    if scores.shape[1] == 1:
        return 1.0
    low, high = np.log(_TEMPERATURES)
    if count_rows(weight[scores.argmax(axis=1) != y]) < _ENOUGH_ERRORS:
        low = 0.0
    found = minimize_scalar(
        lambda log_t: _log_loss(scores / np.exp(log_t), y, weight), bounds=(low, high), method="bounded"
    )
    return float(np.exp(found.x))


def _judge(name: str, scores: FloatArray, y: IntArray, weight: FloatArray) -> Trial:
    temperature = best_temperature(scores, y, weight)
    error = float(np.average(scores.argmax(axis=1) != y, weights=weight))
    return Trial(name, error, _log_loss(scores / temperature, y, weight), temperature, count_rows(weight))


def _log_loss(scores: FloatArray, y: IntArray, weight: FloatArray) -> float:
    highest = scores.max(axis=1)
    log_total = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    # A row that was taken for impossible must not outweigh all others.
    return float(np.average(np.minimum(log_total - scores[np.arange(len(y)), y], _MOST_LOSS), weights=weight))
