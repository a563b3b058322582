"""What is learned from: rows, how to work on them, and what they have been asked before.

Recipes that are tried on the same rows share one `Context`, so that pair scores are counted once and equal rows are
merged once, whichever recipe asks first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.learning.limits import Limits
from tanager.learning.rows import Rows
from tanager.model import (
    CptCounts,
    Groups,
    Layout,
    all_pairs,
    group_values,
    pair_scores,
    residual_gains,
)
from tanager.structure import EdgeRules
from tanager.training import Problem, TrainState, make_problem

RESIDUAL: Literal["residual"] = "residual"
"""The score of pairs that asks what they add to the main effects of all features."""

COUNTED_SCORES = ("information", "explaining-away")
"""Scores of pairs that need nothing but counts."""
MOST_CLASSES = 100
"""Classes that a choice is made on, where all would take long."""

_FEWEST_GROUPS, _MOST_GROUPS = 3, 12
_GROUPS_PER_ROOT = 1.5  # of the third root of the number of rows, where there may be 12
_CELLS_PER_ROW = 5.0  # of a class, of pairs where classes are many: with 1, 200 classes lost 1 % of log-loss

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Checkpoints(Protocol):
    """States of a training run that is interrupted and goes on later."""

    def load(self, stage: str) -> TrainState | None:
        """The last state of a stage, if there is one."""

    def save(self, stage: str, state: TrainState) -> None:
        """Keep a state in place of the one before."""


class Population(Protocol):
    """All rows, where these are too many to be in memory, or are not kept: what can be asked of them.

    Attributes
    ----------
    n_counted : float
        Number of rows, counted with their weights if these are whole numbers.
    """

    @property
    def n_counted(self) -> float: ...

    def sized(self, parameters: Any) -> Any:
        """Parameters with a value for everything that depends on the number of rows."""

    def counts(self, layout: Layout, n_threads: int) -> CptCounts:
        """Counts of all rows in the CPTs of a layout."""

    def problem(self, batch_size: int, rows: Rows) -> Problem:
        """All rows prepared for gradient training; ``rows`` are some of them."""

    def checkpoints(self, key: str) -> Checkpoints | None:
        """Where the states of a training run, told from others by a key, are kept, if they are."""


class _Answers:
    """Values that are computed once each, also when several threads ask at the same time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._locks: dict[Hashable, Lock] = {}
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            if key not in self._values:
                self._values[key] = compute()
            return self._values[key]


@dataclass(frozen=True)
class Context:
    """Rows to learn from, how to work on them, and answers that recipes share.

    Attributes
    ----------
    rows : Rows
    n_threads : int
        Has no influence on the result.
    verbose : int
        1 shows progress on stderr.
    rules : EdgeRules, optional
        Edges that structures must not have, or must have.
    directions : int64 array of shape (D,), optional
        1 where the log-odds of the second of two classes must rise with a feature, -1 where they must fall.
    watch : callable, optional
        Called after a quarter of a gradient training with the log-joint that was learned until then, a function of
        codes; it may raise an error to end the training.
    validation : Rows, optional
        Rows to judge by instead of some that are held out.
    limits : Limits
        A limit of time and a call-back.
    is_rough : bool
        Whether what is learned is only looked at and not kept, so that a search for an optimum may end earlier.
    population : Population, optional
        Where ``rows`` are a sample of more rows. What can be counted, and gradient descent, are then of all of them;
        everything else is of the sample.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = Rows(rng.integers(0, 2, (50, 3)), rng.integers(0, 2, 50), None, np.array([2, 2, 2]), 2)
    >>> context = Context(rows)
    >>> context.scores("information") is context.with_options(n_threads=2).scores("information")
    True
    """

    rows: Rows
    n_threads: int = 1
    verbose: int = 0
    rules: EdgeRules | None = None
    directions: NDArray[np.int64] | None = None
    watch: Callable[[Callable[[IntArray], FloatArray]], None] | None = None
    validation: Rows | None = None
    limits: Limits = field(default_factory=Limits, compare=False)
    is_rough: bool = False
    population: Population | None = None
    _answers: _Answers = field(default_factory=_Answers, repr=False, compare=False)
    _cancelled: Event = field(default_factory=Event, repr=False, compare=False)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.rows.cards)

    @property
    def n_counted(self) -> float:
        """Number of all rows, counted with their weights if these are whole numbers."""
        return self.rows.n_counted if self.population is None else self.population.n_counted

    def sized(self, parameters: Any) -> Any:
        """Parameters with a value for everything that depends on the number of rows."""
        return parameters.sized(self.n_counted) if self.population is None else self.population.sized(parameters)

    def with_options(self, **options: Any) -> Context:
        """The same rows and answers with another number of threads, another verbosity, other limits, or a watch."""
        return replace(self, **options)

    def few_classes(self, seed: int) -> Context:
        """The rows of at most 100 classes, drawn at random.

        What is chosen on them holds for all: a class has as many rows as before, and effects are fitted as if it had as
        many competitors (see ``effects.h``).
        """
        if self.rows.n_classes <= MOST_CLASSES:
            return self
        drawn = np.random.default_rng(seed).permutation(np.unique(self.rows.y))
        if self.validation is not None:
            drawn = drawn[np.argsort(~np.isin(drawn, self.validation.y), kind="stable")]
        classes = np.sort(drawn[:MOST_CLASSES])
        validation = None if self.validation is None else self.validation.take_classes(classes)
        return replace(self, rows=self.rows.take_classes(classes), validation=validation, _answers=_Answers())

    def regrouped(self, groups: Groups) -> Context:
        """The rows, and no others, with groups of values in place of the values; nobody watches what is learned."""
        last = np.maximum(groups.start[:-1] + self.n_ordered - 1, 0)
        n_ordered = np.where(self.n_ordered > 0, groups.of_value[last] + 1, 0)

        def regroup(rows: Rows) -> Rows:
            codes = np.empty(rows.codes.shape, np.min_scalar_type(int(groups.cards.max())))
            for j, (column, card) in enumerate(zip(rows.codes.T, groups.cards, strict=True)):
                codes[:, j] = np.append(groups.of(j), card)[column]
            return rows._replace(codes=codes, cards=groups.cards.astype(np.int64), n_ordered=n_ordered)

        validation = None if self.validation is None else regroup(self.validation)
        return replace(
            self, rows=regroup(self.rows), validation=validation, watch=None, population=None, _answers=_Answers()
        )

    def part(self, rows: Rows) -> Context:
        """Some of the rows, with what is known beforehand, to be worked on by one thread."""
        return Context(rows, rules=self.rules, directions=self.directions, limits=self.limits)

    def map(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """Results of a function for each item, some found at the same time.

        The core releases the interpreter lock, so threads suffice, and they share the context. If one fails or the
        caller is interrupted, the others end at their next `check` and are waited for.
        """
        all_items = list(items)
        if self.n_threads == 1 or len(all_items) < 2:
            return [function(item) for item in all_items]
        with ThreadPoolExecutor(min(self.n_threads, len(all_items))) as pool:
            futures = [pool.submit(function, item) for item in all_items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                self._cancelled.set()
                for future in futures:
                    future.cancel()
                raise

    def check(self, *_: Any) -> None:
        """Raise a KeyboardInterrupt if others that work on the same rows have failed or were interrupted."""
        if self._cancelled.is_set():
            raise KeyboardInterrupt

    def scores(self, name: str) -> FloatArray:
        """Scores of all pairs of features, read-only float64[D, D] (see `tanager.model.pair_scores`).

        "residual" is what a pair adds to the main effects of all features (see `tanager.model.residual_gains`).
        """

        def compute() -> FloatArray:
            is_counted = self.population is not None and name in COUNTED_SCORES
            scores = self._counted_scores(name) if is_counted else self._row_scores(name)
            scores.setflags(write=False)
            return scores

        found: FloatArray = self._answers.get(("scores", name), compute)
        return found

    def _row_scores(self, name: str) -> FloatArray:
        rows = self.few_classes(0).merged_rows() if name == RESIDUAL else self.rows
        arrays = (rows.codes, rows.y, rows.full_weight())
        with Crew(self.n_threads) as crew:
            if name == RESIDUAL:
                given = (*arrays, rows.n_classes, self.n_ordered, self.groups(), crew)
                return residual_gains(*given, rows.class_copies)
            return pair_scores(name, arrays, rows.cards, rows.n_classes, crew)

    def _counted_scores(self, name: str) -> FloatArray:
        counts = self.remember("all pairs", lambda: self.counts(all_pairs(self.rows.cards, self.rows.n_classes)))
        with Crew(self.n_threads) as crew:
            given_class = counts.information(crew)
            return given_class - counts.without_classes().information(crew) if name != "information" else given_class

    def counts(self, layout: Layout) -> CptCounts:
        """Counts of all rows in the CPTs of a layout."""
        if self.population is not None:
            return self.population.counts(layout, self.n_threads)
        counts, rows = CptCounts.empty(layout), self.rows
        with Crew(self.n_threads) as crew:
            counts.add(rows.codes, rows.y, rows.weight, crew)
        return counts

    @property
    def n_ordered(self) -> NDArray[np.int64]:
        """How many of the first values of each feature are in order, int64[D]."""
        return np.zeros(self.n_features, np.int64) if self.rows.n_ordered is None else self.rows.n_ordered

    def groups(self, most: int = _MOST_GROUPS) -> Groups:
        """Groups of the values of features for where they are parents (see `tanager.model.group_values`).

        There are fewer than ``most`` of them where rows are few, but at least three. A pair has no more entries than
        those of 100 classes, unless it has fewer cells than five times the rows of a class: 1,000 classes of 5 rows
        have 5 groups, with which fits take a third less time, and the log-loss of new rows is about the same.
        """

        def compute() -> Groups:
            rows = self.rows
            # So that with 32 groups a pair has as many more cells, also where rows are few.
            per_root = _GROUPS_PER_ROOT * max(most / _MOST_GROUPS, 1.0) ** 0.5
            n_groups = per_root * rows.n_counted ** (1 / 3)
            n_per_class = (_CELLS_PER_ROW * rows.n_counted / rows.n_classes) ** 0.5
            n_groups = min(n_groups, max(most * (MOST_CLASSES / rows.n_all_classes) ** 0.5, n_per_class))
            n_groups = min(most, max(_FEWEST_GROUPS, round(n_groups)))
            return group_values(rows.codes, rows.cards, self.n_ordered, rows.full_weight(), n_groups)

        found: Groups = self._answers.get(("groups", most), compute)
        return found

    def merged_rows(self) -> Rows:
        """The distinct rows (see `Rows.merged`)."""
        return self.remember("merged rows", self.rows.merged)

    def remember(self, key: Hashable, compute: Callable[[], _Result]) -> _Result:
        """What a function returns, which is called once for each key."""
        found: _Result = self._answers.get(key, compute)
        return found

    def problem(self, batch_size: int, *, may_merge: bool) -> Problem:
        """The rows prepared for gradient training (see `tanager.training.make_problem`)."""

        def compute() -> Problem:
            rows = self.rows
            if self.population is not None:
                return self.population.problem(batch_size, rows)
            problem = make_problem(rows.codes, rows.y, rows.weight, batch_size, may_merge=may_merge)
            return replace(problem, n_ordered=rows.n_ordered)

        found: Problem = self._answers.get(("problem", batch_size, may_merge), compute)
        return found
