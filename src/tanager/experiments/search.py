"""A search that is cheaper than the paper's grid: successive halving over the number of epochs, on validation error.

Many configurations of the grid are trained for few epochs, the better third of them for three times as many, and so on
(Jamieson and Talwalkar, 2016). The winner is trained on all training rows. Each run completes the full schedule of
learning rate and temperature within its epochs.

Rungs are lists of specs, so the search has no state of its own: the next step follows from the store, and an
interrupted search resumes with any engine. scikit-learn's halving search and Optuna keep their own trials, which would
mean a second store and a second way to distribute runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tanager.experiments.grids import VALIDATION_SHARE, paper_grid, sample_grid
from tanager.experiments.spec import PAPER_EPOCHS, RunSpec
from tanager.experiments.store import Store


@dataclass(frozen=True)
class HalvingPlan:
    """How many configurations are trained, and for how long.

    Attributes
    ----------
    n_configurations : int
        Number at the start.
    epochs : int
        Number of epochs of the last rung.
    n_rungs : int
    factor : int
        From rung to rung, divides the number of configurations and multiplies the number of epochs.

    Examples
    --------
    >>> HalvingPlan().rungs
    [(27, 55), (9, 166), (3, 500)]
    """

    n_configurations: int = 27
    epochs: int = PAPER_EPOCHS
    n_rungs: int = 3
    factor: int = 3

    def __post_init__(self) -> None:
        lowest = {"n_configurations": 1, "epochs": 1, "n_rungs": 1, "factor": 2}
        for name, low in lowest.items():
            if getattr(self, name) < low:
                raise ValueError(f"{name} must be at least {low}, got {getattr(self, name)}")

    @property
    def rungs(self) -> list[tuple[int, int]]:
        """Number of configurations and of epochs of each rung."""
        last = self.n_rungs - 1
        return [
            (max(1, self.n_configurations // self.factor**rung), max(1, self.epochs // self.factor ** (last - rung)))
            for rung in range(self.n_rungs)
        ]

    @property
    def n_epochs(self) -> int:
        """Total epochs of the runs that hold out rows."""
        return sum(n * epochs for n, epochs in self.rungs)


@dataclass(frozen=True)
class HalvingSearch:
    """Successive halving within one fold.

    Attributes
    ----------
    configurations : sequence of RunSpec
        The candidates; the first wins ties.
    fold : int
    plan : HalvingPlan
    """

    configurations: Sequence[RunSpec]
    fold: int
    plan: HalvingPlan

    def rung(self, number: int, store: Store) -> list[RunSpec]:
        """Runs of a rung, chosen by the results of the rung before; runs without a result drop out."""
        n_runs, epochs = self.plan.rungs[number]
        chosen = self.configurations if number == 0 else self._ranked(number - 1, store)
        return [
            replace(spec, fold=self.fold, epochs=epochs, validation_share=VALIDATION_SHARE) for spec in chosen[:n_runs]
        ]

    def refit(self, store: Store) -> list[RunSpec]:
        """The winner's run on all training rows; empty if the last rung has no result."""
        ranked = self._ranked(self.plan.n_rungs - 1, store)
        return [replace(spec, validation_share=0.0) for spec in ranked[:1]]

    def _ranked(self, number: int, store: Store) -> list[RunSpec]:
        results = [(spec, store.get(spec)) for spec in self.rung(number, store)]
        errors = [
            (result.validation_error, position, spec)
            for position, (spec, result) in enumerate(results)
            if result is not None and result.validation_error is not None
        ]
        return [spec for _, _, spec in sorted(errors, key=lambda entry: entry[:2])]


def make_search(dataset: str, method: str, fold: int, plan: HalvingPlan) -> HalvingSearch:
    """Search among random configurations of the paper's grid.

    >>> search = make_search("letter", "subset", 1, HalvingPlan(n_configurations=5))
    >>> len(search.configurations)
    5
    """
    return HalvingSearch(sample_grid(paper_grid(dataset, method), plan.n_configurations), fold, plan)
