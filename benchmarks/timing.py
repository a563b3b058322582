"""Timing of rivals in turns, after a warm-up: medians with quartiles.

Work on one thread is measured in processor time, which hardly depends on the load of the machine. Only comparisons of
threads use wall time; there the best of several rounds counts, since other processes can only slow a round down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

Result = TypeVar("Result")


class Timing(NamedTuple):
    """Milliseconds of one call.

    >>> str(Timing(0.349, 0.323, 0.363)), str(Timing(26000.0, 26000.0, 26000.0))
    ('349 us (323 to 363)', '26 s')
    """

    median: float
    low: float  # lower quartile
    high: float  # upper quartile

    def __str__(self) -> str:
        unit, scale = next(
            ((unit, scale) for unit, scale in (("us", 1e-3), ("ms", 1.0)) if self.median < 1e3 * scale), ("s", 1e3)
        )
        median, low, high = (value / scale for value in self)
        spread = f" ({low:.3g} to {high:.3g})" if high > low else ""
        return f"{median:.3g} {unit}{spread}"

    def times(self, factor: float) -> Timing:
        """The time of ``factor`` calls."""
        return Timing(*(value * factor for value in self))


def time_in_turns(
    rivals: dict[str, Callable[[], object]], *, rounds: int = 15, calls: dict[str, int] | None = None, warm_up: int = 3
) -> dict[str, Timing]:
    """Time each rival in every round.

    Parameters
    ----------
    rivals : dict of callable
    rounds : int
    calls : dict of int, optional
        How often to call a rival in each round; the time is divided by it.
    warm_up : int
        Calls before the first round, which compile and fill caches.
    """
    calls = calls or {}
    for call in rivals.values():
        for _ in range(warm_up):
            call()
    seen: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, call in rivals.items():
            n_calls = calls.get(name, 1)
            start = time.process_time()
            for _ in range(n_calls):
                call()
            seen[name].append((time.process_time() - start) / n_calls * 1e3)
    return {name: Timing(*np.percentile(values, [50, 25, 75])) for name, values in seen.items()}


def time_once(call: Callable[[], Result]) -> tuple[Timing, Result]:
    """Time one call of something too slow to repeat."""
    start = time.process_time()
    result = call()
    taken = (time.process_time() - start) * 1e3
    return Timing(taken, taken, taken), result


def best_wall(rivals: dict[str, Callable[[], object]], *, rounds: int = 7) -> dict[str, Timing]:
    """Wall time of each rival in turns, after one call each: best, best, and median of the rounds."""
    for call in rivals.values():
        call()
    seen: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(rounds):
        for name, call in rivals.items():
            start = time.perf_counter()
            call()
            seen[name].append((time.perf_counter() - start) * 1e3)
    return {name: Timing(min(values), min(values), float(np.median(values))) for name, values in seen.items()}


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times faster, by medians."""
    return slow.median / fast.median
