"""``tanager bench``: a short measurement on this machine, beside scikit-learn."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from joblib import effective_n_jobs
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import CategoricalNB
from threadpoolctl import threadpool_limits

import tanager
from tanager.cli.errors import InputError
from tanager.cli.evaluation import hold_out
from tanager.cli.options import JobsOption, MissingOption
from tanager.estimators import TANClassifier

_TEST_SHARE = 1 / 3


@dataclass(frozen=True)
class _Measured:
    """One line of the table; times are the least of the repetitions, so that other programs disturb them less."""

    name: str
    error: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class _Rows:
    """Rows of one data set: as they are for tanager, and as codes for CategoricalNB."""

    X: Any
    X_test: Any
    codes: NDArray[np.int64]
    codes_test: NDArray[np.int64]
    y: NDArray[Any]
    y_test: NDArray[Any]
    categorical: Any = None


def bench(
    data: Annotated[
        Path | None, typer.Argument(help="Table to measure on; scikit-learn's digits if none.", show_default=False)
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column with the classes of the table.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Repetitions; the fastest counts.")] = 3,
    jobs: JobsOption = 1,
    missing: MissingOption = None,
) -> None:
    """Measure fitting and predicting on this machine, beside scikit-learn.

    Wall time on one data set: it tells what to expect, not which library is better. Compiling is done before.
    The full benchmarks, with processor time and many data sets, are `make bench` in the source tree.

    Examples:

    tanager bench

    tanager bench adult.csv.gz --target income --missing '?'
    """
    if (data is None) != (target is None):
        raise typer.BadParameter("a table and --target go together")
    rows = _digits() if data is None or target is None else _table(data, target, tuple(missing or ()))
    console = Console()
    name = "digits" if data is None else data.name
    console.print(
        f"{name}: {len(rows.y)} rows to learn from, {len(rows.y_test)} to test on, {rows.codes.shape[1]} features. "
        f"tanager {tanager.__version__}, {platform.machine()}, {os.cpu_count()} processors, {jobs} threads.",
        soft_wrap=True,
        highlight=False,
    )
    with threadpool_limits(effective_n_jobs(jobs)):  # as many threads for scikit-learn as for tanager
        measured = [_measure(name, make, rows, repeat, is_coded) for name, make, is_coded in _contenders(rows, jobs)]
    console.print(_as_table(measured, len(rows.y_test)))
    console.print("Wall time, least of the repetitions. The full benchmarks: make bench, in the source tree.")


def _contenders(rows: _Rows, jobs: int) -> list[tuple[str, Callable[[], Any], bool]]:
    """Name, how to make it, and whether it takes codes."""
    options: dict[str, Any] = {"random_state": 0, "n_jobs": jobs}
    cards = np.maximum(rows.codes.max(axis=0), rows.codes_test.max(axis=0)) + 1
    found: list[tuple[str, Callable[[], Any], bool]] = [
        ("tanager, as it comes", lambda: TANClassifier(**options), False),
        ("tanager, learned structure", lambda: TANClassifier("free", **options), False),
        ("tanager, Chow-Liu, closed form", lambda: TANClassifier("chow-liu", parameters="ml", **options), False),
        ("tanager, naive Bayes, closed form", lambda: TANClassifier("none", parameters="ml", **options), False),
        ("scikit-learn CategoricalNB, on codes", lambda: CategoricalNB(min_categories=cards), True),
    ]
    if (rows.codes.max(axis=0) < 255).all():
        boosting = {"categorical_features": rows.categorical, "random_state": 0}
        found.append(
            ("scikit-learn HistGradientBoosting, on codes", lambda: HistGradientBoostingClassifier(**boosting), True)
        )
    return found


def _measure(name: str, make: Callable[[], Any], rows: _Rows, repeat: int, is_coded: bool) -> _Measured:
    X, X_test = (rows.codes, rows.codes_test) if is_coded else (rows.X, rows.X_test)
    fits, predictions = [], []
    make().fit(X, rows.y).predict(X_test)  # compiles
    for _ in range(repeat):
        start = time.perf_counter()
        classifier = make().fit(X, rows.y)
        fits.append(time.perf_counter() - start)
        start = time.perf_counter()
        predicted = classifier.predict(X_test)
        predictions.append(time.perf_counter() - start)
    return _Measured(name, float(np.mean(predicted != rows.y_test)), min(fits), min(predictions))


def _digits() -> _Rows:
    X, y = load_digits(return_X_y=True)
    [(train, test)] = hold_out(y, _TEST_SHARE, seed=0)
    codes = X.astype(np.int64)
    return _Rows(X[train], X[test], codes[train], codes[test], y[train], y[test])


def _table(path: Path, target: str, missing: tuple[str, ...]) -> _Rows:
    """A table, cut into codes by tanager's own encoder for those that want codes."""
    from tanager.cli.tables import Reading
    from tanager.cli.training_table import read_training_table, rows_of
    from tanager.data import as_table

    table = read_training_table(path, Reading(missing=missing), target)
    [(train, test)] = hold_out(table.y, _TEST_SHARE, seed=0)
    if not len(test):
        raise InputError(f"{path} has too few rows to measure on")
    X, X_test = rows_of(table.X, train), rows_of(table.X, test)
    encoder = TANClassifier("none", parameters="ml").fit(X, table.y[train]).encoder_
    codes, codes_test = (encoder.encode(as_table(part)).astype(np.int64) for part in (X, X_test))
    is_category = [name in table.categorical for name in table.X.column_names]
    categorical = is_category if any(is_category) else None
    return _Rows(X, X_test, codes, codes_test, table.y[train], table.y[test], categorical)


def _as_table(measured: list[_Measured], n_tested: int) -> Table:
    table = Table("classifier")
    for column in ("error", "fit, s", "predict, s", "rows a second"):
        table.add_column(column, justify="right")
    for line in measured:
        speed = f"{n_tested / max(line.predict_seconds, 1e-9):,.0f}"
        times = f"{line.fit_seconds:.3f}", f"{line.predict_seconds:.4f}", speed
        table.add_row(line.name, f"{line.error:.2%}", *times)
    return table
