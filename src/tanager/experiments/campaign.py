"""The runs behind the results page, in an order in which every prefix covers all cells of the paper's table.

Each cell has a number of configurations, drawn evenly from its grid, and a pace. Work on all cells goes on side by
side: at any time the share of a cell that is done is proportional to its pace. So the runs can end at any moment, and
more of them make every table and figure denser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tanager.experiments.grids import best_published, expand, paper_grid, sample_grid
from tanager.experiments.methods import find_method
from tanager.experiments.published import LEARNING_RATES
from tanager.experiments.spec import RunSpec

N_SEEDS = 5
"""Seeds of the authors' best configurations."""

# All experiments are trained on all rows; one in this many is also run with held-out rows, for selection.
_VALIDATED_EVERY = 2
# The authors' best configurations come this much sooner than the grids.
_PUBLISHED_HASTE = 4.0


@dataclass(frozen=True)
class Goal:
    """What to run in one cell.

    Attributes
    ----------
    dataset, method : str
    n_configurations : int
        Number drawn evenly from the grid; at most the whole grid.
    pace : float
        Relative speed: with twice the pace, the cell is complete after half the runs.
    only : tuple of (str, tuple)
        Names of choices and the values that they may have, for a part of the grid.
    """

    dataset: str
    method: str
    n_configurations: int
    pace: float
    only: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def grid(self) -> list[RunSpec]:
        """The grid, or the part of it."""
        return [
            spec
            for spec in paper_grid(self.dataset, self.method)
            if all(getattr(spec, name) in values for name, values in self.only)
        ]


_LETTER, _SATIMAGE, _USPS, _MNIST = 2.0, 1.5, 2.0, 0.6

GOALS = (
    Goal("letter", "nb-ml", 1, 1e3),
    Goal("letter", "chow-liu-ml", 1, 1e3),
    Goal("letter", "nb", 1000, 2 * _LETTER),
    Goal("letter", "random", 250, _LETTER),
    Goal("letter", "chow-liu", 1200, 1.5 * _LETTER),
    Goal("letter", "subset", 250, _LETTER),
    Goal("letter", "all", 250, _LETTER),
    Goal("letter", "pseudo", 250, _LETTER),
    Goal("letter", "recover", 2, 20.0),
    Goal("letter", "subset", 200, 0.5 * _LETTER, (("ordering", (3,)), ("max_parents", (2, 8)))),
    Goal("satimage", "nb-ml", 1, 1e3),
    Goal("satimage", "chow-liu-ml", 1, 1e3),
    Goal("satimage", "nb", 60, _SATIMAGE),
    Goal("satimage", "random", 60, _SATIMAGE),
    Goal("satimage", "chow-liu", 60, _SATIMAGE),
    Goal("satimage", "subset", 60, _SATIMAGE),
    Goal("satimage", "all", 60, 1.0),
    Goal("satimage", "recover", 2, _SATIMAGE),
    Goal("satimage", "subset", 100, 0.5 * _SATIMAGE, (("max_parents", (8,)),)),
    Goal("usps", "nb-ml", 1, 1e3),
    Goal("usps", "chow-liu-ml", 1, 1e3),
    Goal("usps", "nb", 60, _USPS),
    Goal("usps", "random", 60, _USPS),
    Goal("usps", "chow-liu", 60, _USPS),
    Goal("usps", "subset", 60, _USPS),
    Goal("usps", "heuristic", 60, _USPS),
    Goal("mnist", "nb-ml", 1, 1e3),
    Goal("mnist", "chow-liu-ml", 1, 1e3),
    Goal("mnist", "nb", 20, _MNIST),
    Goal("mnist", "random", 20, _MNIST),
    Goal("mnist", "chow-liu", 20, _MNIST),
    Goal("mnist", "subset", 20, _MNIST),
    Goal("mnist", "heuristic", 20, _MNIST),
)
"""The cells of the paper's table, its pseudo-TAN and its recovery experiment, and the parts of TAN Subset's grids that
the figures of parent subsets (letter, the ordering of the authors' best) and of orderings (satimage) show. Letter is
densest and mnist sparsest, by the time that a run takes."""


def campaign(goals: Sequence[Goal] = GOALS) -> list[RunSpec]:
    """All runs of some goals, side by side, and the authors' best configurations with five seeds each.

    Examples
    --------
    >>> runs = campaign((Goal("letter", "nb", 4, 1.0), Goal("letter", "chow-liu", 2, 1.0)))
    >>> [(spec.method, spec.is_full) for spec in runs if spec.seed == 0][:4]
    [('nb', True), ('nb', False), ('chow-liu', True), ('chow-liu', False)]
    """
    timed = [pair for goal in goals for pair in (*_grid_runs(goal), *_published_runs(goal))]
    return list(dict.fromkeys(spec for _, spec in sorted(timed, key=lambda pair: pair[0])))


def _grid_runs(goal: Goal) -> Iterator[tuple[float, RunSpec]]:
    """Runs with the time at which they are due, in order."""
    configurations = sample_grid(goal.grid(), goal.n_configurations)
    for number, configuration in enumerate(configurations):
        due = (number + 0.5) / (goal.n_configurations * goal.pace)
        is_validated = number // len(LEARNING_RATES) % _VALIDATED_EVERY == 0
        for spec in expand(configuration, "both" if is_validated else "test"):
            yield due, spec


def _published_runs(goal: Goal) -> Iterator[tuple[float, RunSpec]]:
    if goal.only or not find_method(goal.method).has_margin:
        return
    configurations = best_published(goal.dataset, goal.method)
    n_runs = N_SEEDS * len(configurations)
    for seed in range(N_SEEDS):
        for number, configuration in enumerate(configurations):
            due = (seed * len(configurations) + number + 0.5) / (n_runs * goal.pace * _PUBLISHED_HASTE)
            for spec in expand(replace(configuration, seed=seed), "test"):
                yield due, spec
