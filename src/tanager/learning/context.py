"""What is learned from: encoded rows, and what they have been asked before.

Recipes that are tried on the same rows share one `Context`, so that pair scores are counted once and equal rows are
merged once, whichever recipe asks first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.model import count_rows, pair_scores
from tanager.training import Problem, make_problem

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Rows(NamedTuple):
    """Encoded rows with their classes and weights."""

    codes: IntArray  # unsigned int[N, D]
    y: IntArray  # int64[N]
    weight: FloatArray | None  # float64[N]
    cards: NDArray[np.int64]  # int64[D]: number of values of each feature
    n_classes: int
    n_ordered: NDArray[np.int64] | None = None  # int64[D]: how many of the first values of each feature are in order

    def full_weight(self) -> FloatArray:
        """Weights of all rows, 1 where none were given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def n_counted(self) -> float:
        """Number of rows, counted with their weights if these are whole numbers."""
        return count_rows(self.full_weight())

    @property
    def n_bytes(self) -> int:
        """Memory of the rows while they are trained on, with their order."""
        return self.codes.nbytes + 2 * self.y.nbytes + (0 if self.weight is None else self.weight.nbytes)

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return self._replace(codes=self.codes[index], y=self.y[index], weight=weight)


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
    _answers: _Answers = field(default_factory=_Answers, repr=False, compare=False)
    _cancelled: Event = field(default_factory=Event, repr=False, compare=False)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.rows.cards)

    def with_options(self, **options: int) -> Context:
        """The same rows and answers with another number of threads, or with another verbosity."""
        return replace(self, **options)  # type: ignore[arg-type]

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
        """Scores of all pairs of features, read-only float64[D, D] (see `tanager.model.pair_scores`)."""

        def compute() -> FloatArray:
            rows = (self.rows.codes, self.rows.y, self.rows.full_weight())
            with Crew(self.n_threads) as crew:
                scores = pair_scores(name, rows, self.rows.cards, self.rows.n_classes, crew)
            scores.setflags(write=False)
            return scores

        found: FloatArray = self._answers.get(("scores", name), compute)
        return found

    def problem(self, batch_size: int, *, may_merge: bool) -> Problem:
        """The rows prepared for gradient training (see `tanager.training.make_problem`)."""

        def compute() -> Problem:
            rows = self.rows
            problem = make_problem(rows.codes, rows.y, rows.weight, batch_size, may_merge=may_merge)
            return replace(problem, n_ordered=rows.n_ordered)

        found: Problem = self._answers.get(("problem", batch_size, may_merge), compute)
        return found
