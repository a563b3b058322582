"""Outcomes of trials, one small file each below ``.benchmarks``, or below the folder that TANAGER_BENCH_CACHE names.

Those of the page are in the repository, ``outcomes.csv`` beside this file.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from tanager.files import written_whole

NOT_FINISHED = "not finished"
PUBLISHED = Path(__file__).with_name("outcomes.csv")


@dataclass(frozen=True)
class Result:
    """A method that was fitted to the training rows of a data set and tested.

    Attributes
    ----------
    n_train, n_test, n_columns, n_classes : int
        Of the data set; classes of the training rows.
    n_wrong : int
        Test rows that got a wrong class.
    log_loss, calibration_error : float
        See `benchmarks.rivals.measures`.
    fit_seconds, predict_seconds : float
        Processor time: of the fit, and of the probabilities of all test rows.
    n_bytes : int
        Of the pickled model.
    n_parameters : int or None
        None where it is not defined.
    machine : str
        What it was measured on.
    """

    n_train: int
    n_test: int
    n_columns: int
    n_classes: int
    n_wrong: int
    log_loss: float
    calibration_error: float
    fit_seconds: float
    predict_seconds: float
    n_bytes: int
    n_parameters: int | None
    machine: str

    @property
    def error(self) -> float:
        """Wrong test rows in per cent."""
        return 100.0 * self.n_wrong / self.n_test

    @property
    def standard_error(self) -> float:
        """Binomial standard error of the error, in per cent."""
        share = self.n_wrong / self.n_test
        return 100.0 * float(np.sqrt(share * (1.0 - share) / self.n_test))


@dataclass(frozen=True)
class Stopped:
    """A trial without a result.

    Attributes
    ----------
    why : str
        `NOT_FINISHED`, or what went wrong.
    seconds : float
        Limit on its processor time.
    """

    why: str
    seconds: float


Outcome = Result | Stopped
Outcomes = Mapping[str, Mapping[str, Outcome]]
"""By data set and method; those that were not tried are left out."""


def kept_outcome(table: str, method: str) -> Outcome | None:
    """The outcome of an earlier trial, or None."""
    path = _path(table, method)
    if not path.exists():
        return None
    values = json.loads(path.read_text(encoding="utf-8"))
    return Stopped(**values) if "why" in values else Result(**values)


def adopt_published() -> None:
    """Keep the published outcomes of all trials of which none is kept."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            table, method = row["table"], row["method"]
            if kept_outcome(table, method) is None:
                keep_outcome(table, method, _parse(row))


def publish(outcomes: Outcomes) -> None:
    """Write outcomes to the file of the published ones."""
    names = ["table", "method", "why", "seconds", *(field.name for field in fields(Result))]
    with written_whole(PUBLISHED) as path, path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for table, of in outcomes.items():
            for method, outcome in of.items():
                writer.writerow({"table": table, "method": method, **asdict(outcome)})


def _parse(row: Mapping[str, str]) -> Outcome:
    if row["why"]:
        return Stopped(row["why"], float(row["seconds"]))
    kinds: dict[str, Any] = {"int": int, "float": float, "int | None": lambda cell: int(cell) if cell else None}
    return Result(**{field.name: kinds.get(str(field.type), str)(row[field.name]) for field in fields(Result)})


def keep_outcome(table: str, method: str, outcome: Outcome) -> None:
    """Save the outcome of a trial."""
    path = _path(table, method)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(asdict(outcome), indent=2) + "\n", encoding="utf-8")


def forget_outcome(table: str, method: str) -> None:
    """Delete the outcome of a trial, so that it is run again."""
    _path(table, method).unlink(missing_ok=True)


def _path(table: str, method: str) -> Path:
    return Path(os.environ.get("TANAGER_BENCH_CACHE", ".benchmarks")) / "tables" / f"{table}-{method}.json"
