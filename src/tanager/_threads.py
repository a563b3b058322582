"""A small crew of threads that run one compiled kernel over consecutive ranges.

Kernels release the interpreter lock, so ordinary threads suffice. They are preferred to numba's parallel loops, whose
default back end aborts when two Python threads call it at once and which double the time to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np


class Crew:
    """Threads that share out ranges; with one thread everything runs in the caller.

    Use as a context manager, so that the threads end with the work.

    >>> with Crew(2) as crew:
    ...     crew.run(lambda lo, hi: print(hi - lo), crew.split(10)[:1])
    5
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

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
        if self._pool is None or len(ranges) < 2:
            for lo, hi in ranges:
                function(lo, hi, *arguments)
            return
        pending = [self._pool.submit(function, lo, hi, *arguments) for lo, hi in ranges[1:]]
        function(*ranges[0], *arguments)
        for future in pending:
            future.result()
