"""A small crew of threads that run one compiled kernel over consecutive ranges.

Kernels release the interpreter lock, so ordinary threads suffice. (A training step, which hands work over several times
in a millisecond, has threads of its own inside the core.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Integral
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any

import numpy as np

_MOST_THREADS = 1024  # more than any machine has use for; results do not depend on the number

_Task = tuple[Callable[..., Any], tuple[Any, ...]]


class Crew:
    """Threads that share out ranges; with one thread everything runs in the caller.

    Use as a context manager, so that the threads end with the work.

    >>> with Crew(2) as crew:
    ...     crew.run(lambda lo, hi: print(hi - lo), crew.split(10)[:1])
    5
    """

    def __init__(self, n_threads: int = 1) -> None:
        if not isinstance(n_threads, Integral) or isinstance(n_threads, bool) or n_threads < 1:
            raise ValueError(f"n_threads must be a whole number of at least 1, got {n_threads!r}")
        self.n_threads: int = min(int(n_threads), _MOST_THREADS)
        self._threads: list[Thread] = []
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._outcomes: SimpleQueue[BaseException | None] = SimpleQueue()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            if thread.is_alive():  # an interrupt may have come before it was started
                thread.join()
        self._threads = []

    def split(self, n_items: int) -> list[tuple[int, int]]:
        """Cut ``range(n_items)`` into one range for each thread, of nearly equal length."""
        if self.n_threads == 1:
            return [(0, n_items)]
        return self.split_by_cost(np.ones(n_items))

    def split_by_cost(self, cost: np.ndarray) -> list[tuple[int, int]]:
        """Cut the items into one range for each thread, of nearly equal summed cost."""
        total = np.concatenate([[0.0], np.cumsum(cost)])
        goals = np.linspace(0.0, total[-1], self.n_threads + 1)[1:-1]
        edges = [0, *np.searchsorted(total, goals).tolist(), len(cost)]
        return [(lo, hi) for lo, hi in pairwise(edges) if hi > lo]

    def run(self, function: Callable[..., Any], ranges: Sequence[tuple[int, int]], *arguments: Any) -> None:
        """Call ``function(lo, hi, *arguments)`` for every range, and wait for all."""
        if self.n_threads == 1 or len(ranges) < 2:
            for lo, hi in ranges:
                function(lo, hi, *arguments)
            return
        if not self._threads:
            self._start()
        tasks = [(function, (lo, hi, *arguments)) for lo, hi in ranges]
        for task in tasks[1:]:
            self._tasks.put(task)
        outcomes = [_outcome(tasks[0]), *(self._outcomes.get() for _ in tasks[1:])]
        for error in outcomes:
            if error is not None:
                raise error

    def _start(self) -> None:
        """Let the threads wait for tasks."""

        def serve() -> None:
            while (task := self._tasks.get()) is not None:
                self._outcomes.put(_outcome(task))

        self._threads = [Thread(target=serve, daemon=True) for _ in range(self.n_threads - 1)]
        for thread in self._threads:
            thread.start()


def _outcome(task: _Task) -> BaseException | None:
    """Do a task; returns the error that it ends in, if any."""
    function, arguments = task
    try:
        function(*arguments)
    except BaseException as error:
        return error
    return None
