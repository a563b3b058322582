"""Table 1 of the paper from stored results, selected as the paper did and on held-out rows.

*Selected on test*, as in the paper, is the lowest test error of all configurations trained on all training rows,
averaged over folds. It is optimistic, because the test rows made the choice.

*Selected on validation* takes, in each fold, the configuration with the lowest error on its held-out training rows and
reports the test error of the same configuration trained on all training rows. Each fold chooses separately, because
held-out rows of one fold are test rows of another. Only configurations with both runs take part.

*Optimism* is the difference between the two among the same configurations: what selection on test gains that new rows
would not confirm. If a configuration was run with several seeds, the lowest seed stands for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tanager.datasets import CATALOGUE
from tanager.experiments.methods import METHODS, TABLE_METHODS, applies
from tanager.experiments.run import Result
from tanager.experiments.spec import RunSpec
from tanager.experiments.store import Record

_COLUMNS = [method.name for method in TABLE_METHODS]
_PAPER_ROWS: dict[str, tuple[float | None, ...]] = {
    "letter": (25.89, 15.23, 12.93, 10.66, 9.37, 8.73, 8.76, None),
    "satimage": (17.95, 11.90, 10.83, 9.83, 9.91, 9.31, 9.39, None),
    "usps": (13.11, 8.74, 4.29, 2.65, 3.42, 2.10, None, 2.27),
    "mnist": (17.34, 7.03, 4.44, 4.38, 3.65, 3.53, None, 3.29),
}
PAPER_ERRORS = {
    (dataset, method): error
    for dataset, row in _PAPER_ROWS.items()
    for method, error in zip(_COLUMNS, row, strict=True)
    if error is not None
} | {("letter", "pseudo"): 7.98}
"""Test errors reported in the paper, in per cent, by data set and method."""


@dataclass(frozen=True)
class Cell:
    """One cell of Table 1; errors in per cent.

    Attributes
    ----------
    dataset, method : str
    paper : float or None
        Reported in the paper.
    on_test : float or None
        Ours, selected on test.
    on_validation : float or None
        Ours, selected on validation.
    optimism : float or None
        ``on_validation`` minus the lowest test error of the configurations that it was selected from; None if there
        was no choice.
    n_tested, n_validated : int
        Number of configurations trained on all training rows in every fold, and number compared on held-out rows.
    best : RunSpec or None
        The configuration selected on test.
    """

    dataset: str
    method: str
    paper: float | None
    on_test: float | None
    on_validation: float | None
    optimism: float | None
    n_tested: int
    n_validated: int
    best: RunSpec | None

    @property
    def gap(self) -> float | None:
        """Our error, selected on test, minus the paper's; negative is better."""
        return None if self.paper is None or self.on_test is None else self.on_test - self.paper


@dataclass(frozen=True)
class Point:
    """A configuration with its test error in per cent, the mean over all folds."""

    spec: RunSpec
    error: float


class Results:
    """Results by data set, method and configuration.

    Parameters
    ----------
    records : iterable of Record

    Examples
    --------
    >>> from tanager.experiments.run import run_spec
    >>> spec = RunSpec(dataset="digits", method="nb-ml")
    >>> results = Results([Record(spec, run_spec(spec))])
    >>> results.cell("digits", "nb-ml").n_tested
    1
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(records)
        self._cells: dict[tuple[str, str], list[_Folds]] = {}
        by_seed: dict[tuple[Any, ...], dict[int, _Folds]] = defaultdict(dict)
        for record in self.records:
            spec = record.spec
            seeds = by_seed[(*spec.experiment, spec.learning_rate)]
            if spec.seed not in seeds:
                seeds[spec.seed] = _Folds(spec)
            seeds[spec.seed].add(record)
        for seeds in by_seed.values():
            folds = seeds[min(seeds)]
            self._cells.setdefault((folds.spec.dataset, folds.spec.method), []).append(folds)
        self._by_seed = dict(by_seed)

    def table(self, datasets: Iterable[str] | None = None) -> list[Cell]:
        """Cells of Table 1, row by row, of some data sets; defaults to the paper's four and others with results."""
        if datasets is None:
            present = {dataset for dataset, _ in self._cells}
            datasets = [name for name, entry in CATALOGUE.items() if entry.is_published or name in present]
        return [
            self.cell(dataset, method)
            for dataset in datasets
            for method in _COLUMNS
            if applies(method, CATALOGUE[dataset])
        ]

    def cell(self, dataset: str, method: str) -> Cell:
        """The cell of one method, which need not be a column of Table 1."""
        configurations = self._cells.get((dataset, method), [])
        n_folds = CATALOGUE[dataset].n_folds
        points = _points(configurations, n_folds)
        on_validation, optimism = _select_on_validation(configurations, n_folds)
        if not METHODS[method].has_margin:
            # There is nothing to select.
            on_validation = points[0].error if points else None
        return Cell(
            dataset=dataset,
            method=method,
            paper=PAPER_ERRORS.get((dataset, method)),
            on_test=points[0].error if points else None,
            on_validation=on_validation,
            optimism=optimism,
            n_tested=len(points),
            n_validated=sum(bool(folds.held) for folds in configurations),
            best=points[0].spec if points else None,
        )

    def points(self, dataset: str, method: str) -> list[Point]:
        """Experiments trained on all training rows in every fold, best first; each with the better learning rate."""
        best: dict[tuple[Any, ...], Point] = {}
        for point in _points(self._cells.get((dataset, method), []), CATALOGUE[dataset].n_folds):
            best.setdefault(point.spec.experiment, point)
        return list(best.values())

    def errors_by_seed(self, configuration: RunSpec) -> dict[int, float]:
        """Test errors in per cent of one configuration, the mean over all folds, by seed."""
        seeds = self._by_seed.get((*configuration.experiment, configuration.learning_rate), {})
        n_folds = CATALOGUE[configuration.dataset].n_folds
        return {seed: folds.error for seed, folds in sorted(seeds.items()) if len(folds.full) == n_folds}


def order_holds(cells: Iterable[Cell], dataset: str) -> bool | None:
    """Whether naive Bayes has the highest and TAN Subset the lowest error of NB, TAN Random, Chow-Liu and TAN Subset.

    None if a result is missing.
    """
    errors = {cell.method: cell.on_test for cell in cells if cell.dataset == dataset}
    values = [errors.get(method) for method in ("nb", "random", "chow-liu", "subset")]
    if any(value is None for value in values):
        return None
    naive_bayes, random, chow_liu, subset = (float(value) for value in values if value is not None)
    return naive_bayes > max(random, chow_liu) and min(random, chow_liu) > subset


class _Folds:
    """Results of one configuration and seed by fold: trained on all rows, and with held-out rows."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = replace(spec, fold=1, validation_share=0.0)
        self.full: dict[int, Result] = {}
        self.held: dict[int, Result] = {}

    def add(self, record: Record) -> None:
        results = self.full if record.spec.is_full else self.held
        results[record.spec.fold] = record.result

    @property
    def error(self) -> float:
        """Test error in per cent of the runs on all rows, the mean over folds."""
        return 100 * float(np.mean([result.test_error for result in self.full.values()]))


def _points(configurations: Iterable[_Folds], n_folds: int) -> list[Point]:
    points = [Point(folds.spec, folds.error) for folds in configurations if len(folds.full) == n_folds]
    return sorted(points, key=lambda point: (point.error, point.spec.key))


def _select_on_validation(configurations: Sequence[_Folds], n_folds: int) -> tuple[float | None, float | None]:
    """Test error of the selected configurations, and how much lower selection on test gets among the same."""
    errors = []
    for fold in range(1, n_folds + 1):
        compared = [
            (folds.held[fold].validation_error, folds.spec.key, folds.full[fold].test_error)
            for folds in configurations
            if fold in folds.held and fold in folds.full
        ]
        if not compared:
            return None, None
        errors.append(min(compared)[2])
    selected = 100 * float(np.mean(errors))
    complete = [folds.error for folds in configurations if len(folds.held) == n_folds == len(folds.full)]
    return selected, selected - min(complete) if len(complete) > 1 else None
