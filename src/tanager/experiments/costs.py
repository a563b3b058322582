"""The cost of runs: a rough estimate in advance, for the remaining time, and measured times afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tanager.datasets import CATALOGUE
from tanager.experiments.grids import VALIDATION_SHARE
from tanager.experiments.search import HalvingPlan
from tanager.experiments.spec import RunSpec
from tanager.experiments.store import Record

_SECONDS_PER_HOUR = 3600.0


def relative_cost(spec: RunSpec) -> float:
    """Work of a run in arbitrary units: CPT entries that its steps update, and entries of rows that they read."""
    entry = CATALOGUE[spec.dataset]
    if spec.epochs is None or spec.batch_size is None:
        return float(entry.n_rows * entry.n_features)
    if spec.max_parents is not None:
        n_candidates = spec.max_parents + 1
    else:
        n_candidates = entry.n_features // 2 if spec.method == "all" else 1
    per_value = entry.n_features * len(entry.class_names)
    n_steps = spec.epochs * entry.n_rows * (1 - spec.validation_share) / spec.batch_size
    return float(n_steps * per_value * (n_candidates * entry.mean_card**2 + spec.batch_size))


@dataclass(frozen=True)
class GridCost:
    """Measured cost of a grid, with one kernel thread per run.

    Attributes
    ----------
    n_runs : int
        Runs of the grid.
    grid_hours : float
        Core-hours of all runs.
    seconds_per_epoch : float
        Mean processor time of an epoch over all training rows.
    n_measured : int
        Number of stored runs behind the times.
    is_complete : bool
        Whether every K of the grid was measured; the most expensive one measured stands in for the others.
    """

    n_runs: int
    grid_hours: float
    seconds_per_epoch: float
    n_measured: int
    is_complete: bool

    def search_hours(self, plan: HalvingPlan) -> float:
        """Core-hours of successive halving in this grid, with the last run on all training rows."""
        n_epochs = plan.n_epochs * (1 - VALIDATION_SHARE) + plan.epochs
        return self.seconds_per_epoch * n_epochs / _SECONDS_PER_HOUR


def grid_cost(grid: Sequence[RunSpec], records: Iterable[Record]) -> GridCost | None:
    """Cost of a grid, from the processor time of stored runs of that data set and method.

    Times are medians of seconds per epoch, which leaves out compilation in a worker's first run.

    Returns
    -------
    GridCost or None
        None if nothing was measured.
    """
    rates: dict[int | None, list[float]] = {}
    for record in records:
        spec = record.spec
        if (spec.dataset, spec.method) == (grid[0].dataset, grid[0].method) and spec.epochs:
            share = 1 - spec.validation_share
            rates.setdefault(spec.max_parents, []).append(record.result.cpu_seconds / (spec.epochs * share))
    if not rates:
        return None
    medians = {k: float(np.median(values)) for k, values in rates.items()}
    seconds = sum(medians.get(spec.max_parents, max(medians.values())) * (spec.epochs or 0) for spec in grid)
    return GridCost(
        n_runs=len(grid),
        grid_hours=seconds / _SECONDS_PER_HOUR,
        seconds_per_epoch=seconds / sum(spec.epochs or 0 for spec in grid),
        n_measured=sum(map(len, rates.values())),
        is_complete={spec.max_parents for spec in grid} <= medians.keys(),
    )
