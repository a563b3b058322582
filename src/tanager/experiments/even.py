"""An order of a grid in which every prefix is spread evenly over it.

The experiments of a grid differ in lambda and gamma and in the search space (ordering, draw, K). Each of these is an
axis with a few levels. The points frac(s + i * a), where a has the square root of a prime for each axis (Richtmyer's
sequence), fill the box of all axes evenly for every number of points, and so does every other of them; each point
selects the experiment of its levels. So any number of runs covers all levels, and a longer series contains the shorter
ones. An experiment is run with both learning rates, one after the other, because the paper reports the better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.experiments.spec import RunSpec

_SEED = 0
_PRIMES = (2, 3, 5, 7, 11)
# After this many points for each experiment, what the sequence has not met yet follows in random order.
_N_ROUNDS = 8

Experiment = list[RunSpec]


def even_order(grid: Sequence[RunSpec]) -> list[RunSpec]:
    """The configurations of a grid in an order in which every prefix is spread evenly over the grid.

    Examples
    --------
    >>> from tanager.experiments.grids import paper_grid
    >>> first = even_order(paper_grid("letter", "subset"))[:120]
    >>> [sum(spec.max_parents == k for spec in first) for k in (2, 5, 8)]
    [40, 40, 40]
    """
    groups: dict[tuple[Any, ...], Experiment] = {}
    for spec in grid:
        groups.setdefault(spec.experiment, []).append(spec)
    experiments = list(groups.values())
    return [spec for number in _order(experiments) for spec in experiments[number]]


def _order(experiments: Sequence[Experiment]) -> list[int]:
    if not experiments:
        return []
    levels = _levels([experiment[0] for experiment in experiments])
    sizes = levels.max(axis=0) + 1
    by_levels = {tuple(row): number for number, row in enumerate(levels.tolist())}
    points = _sequence(_N_ROUNDS * len(experiments), len(sizes))
    met = (by_levels.get(tuple(row)) for row in (points * sizes).astype(np.int64).tolist())
    rest = np.random.RandomState(_SEED).permutation(len(experiments)).tolist()
    return list(dict.fromkeys([number for number in met if number is not None] + rest))


def _levels(specs: Sequence[RunSpec]) -> NDArray[np.int64]:
    """The level of each experiment on each axis on which they differ, (N, axes)."""
    columns = [*_margin_levels(specs).T]
    columns += [_ranks([getattr(spec, name) for spec in specs]) for name in ("ordering", "draw", "max_parents")]
    return np.column_stack([column for column in columns if column.any()] or columns[:1])


def _margin_levels(specs: Sequence[RunSpec]) -> NDArray[np.int64]:
    """Two axes of lambda and gamma: groups of increasing lambda, and the rank of gamma within the group."""
    drawn = [(spec.lam or 0.0, spec.gamma or 0.0, spec.eta or 0.0) for spec in specs]
    margins = sorted(set(drawn))
    n_groups = max(n for n in range(1, int(len(margins) ** 0.5) + 1) if len(margins) % n == 0)
    n_within = len(margins) // n_groups
    levels: dict[tuple[float, float, float], tuple[int, int]] = {}
    for group in range(n_groups):
        members = sorted(margins[group * n_within : (group + 1) * n_within], key=lambda margin: margin[1])
        levels |= {margin: (group, rank) for rank, margin in enumerate(members)}
    return np.array([levels[margin] for margin in drawn])


def _ranks(values: Sequence[Any]) -> NDArray[np.int64]:
    names = {value: rank for rank, value in enumerate(sorted(set(values), key=str))}
    return np.array([names[value] for value in values])


def _sequence(n_points: int, n_axes: int) -> NDArray[np.float64]:
    """Points of Richtmyer's sequence, shifted at random, (n_points, n_axes)."""
    shift = np.random.RandomState(_SEED).uniform(size=n_axes)
    return (shift + np.arange(n_points)[:, None] * np.sqrt(_PRIMES[:n_axes])) % 1.0
