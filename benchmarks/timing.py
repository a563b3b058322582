"""Timing of rivals in turns, warmed up: medians with quartiles.

Work on one thread is measured in processor time, which hardly depends on what else the machine does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Timing(NamedTuple):
    """Milliseconds of one call."""

    median: float
    low: float  # lower quartile
    high: float  # upper quartile

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g} to {self.high:.3g})"


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


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times faster, by medians."""
    return slow.median / fast.median
