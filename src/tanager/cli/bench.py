"""``tanager bench``: a short benchmark on this machine, next to scikit-learn."""

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
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import CategoricalNB
from threadpoolctl import threadpool_limits

import tanager
from tanager.cli.console import PlainConsole
from tanager.cli.errors import InputError
from tanager.cli.evaluation import hold_out
from tanager.cli.options import JobsOption, MissingOption
from tanager.estimators import TANClassifier

_TEST_FRACTION = 1 / 3


@dataclass(frozen=True)
class _Measured:
    """One line of the result; times are the fastest of the repetitions, which other programs disturb least."""

    name: str
    error: float
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class _Rows:
    """Rows of one data set: raw for tanager, and as codes for scikit-learn."""

    X: Any
    X_test: Any
    codes: NDArray[np.int64]
    codes_test: NDArray[np.int64]
    y: NDArray[Any]
    y_test: NDArray[Any]
    categorical: Any = None


def bench(
    data: Annotated[
        Path | None,
        typer.Argument(help="CSV, TSV or Parquet file. Defaults to scikit-learn's digits.", show_default=False),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column of the file that holds the classes.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Number of repetitions; the fastest counts.")] = 3,
    jobs: JobsOption = 1,
    missing: MissingOption = None,
) -> None:
    """Time fitting and predicting on this machine, next to scikit-learn.

    The result is wall time on one data set, after a fit that is not timed: it shows what to expect, not which library
    is better. For the full benchmarks, with CPU time and many data sets, run `make bench` in the source tree.

    Examples:

    tanager bench

    tanager bench adult.csv.gz --target income --missing '?'
    """
    if (data is None) != (target is None):
        raise typer.BadParameter("a data file requires --target, and --target requires a data file")
    rows = _digits() if data is None or target is None else _read(data, target, tuple(missing or ()))
    console, n_threads = PlainConsole(), effective_n_jobs(jobs)
    name = "digits" if data is None else data.name
    console.print(
        f"{name}: {len(rows.y)} training rows, {len(rows.y_test)} test rows, {rows.codes.shape[1]} features; "
        f"tanager {tanager.__version__}, {platform.machine()}, {os.cpu_count()} CPUs, threads: {n_threads}",
        soft_wrap=True,
        highlight=False,
    )
    with threadpool_limits(n_threads):  # scikit-learn gets as many threads as tanager
        measured = [_measure(name, make, rows, repeat, is_coded) for name, make, is_coded in _contenders(rows, jobs)]
    console.print(_as_table(measured, len(rows.y_test)))
    console.print("Wall time, fastest repetition. For the full benchmarks, run make bench in the source tree.")


def _contenders(rows: _Rows, jobs: int) -> list[tuple[str, Callable[[], Any], bool]]:
    """Name, constructor, and whether it takes codes."""
    options: dict[str, Any] = {"random_state": 0, "n_jobs": jobs}
    cards = np.maximum(rows.codes.max(axis=0), rows.codes_test.max(axis=0)) + 1
    found: list[tuple[str, Callable[[], Any], bool]] = [
        ("tanager, defaults", lambda: TANClassifier(**options), False),
        ("tanager, learned structure", lambda: TANClassifier("free", **options), False),
        ("tanager, Chow-Liu, counted", lambda: TANClassifier("chow-liu", "ml", **options), False),
        ("tanager, naive Bayes, counted", lambda: TANClassifier("none", "ml", **options), False),
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
    make().fit(X, rows.y).predict(X_test)  # reads the compiled core, which is not timed
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
    [(train, test)] = hold_out(y, _TEST_FRACTION, seed=0)
    codes = X.astype(np.int64)
    return _Rows(X[train], X[test], codes[train], codes[test], y[train], y[test])


def _read(path: Path, target: str, missing: tuple[str, ...]) -> _Rows:
    """Rows of a data file, with codes from tanager's own encoder."""
    from tanager.cli.data_files import Reading
    from tanager.cli.training_data import read_training_data, take_rows
    from tanager.data import as_frame

    training = read_training_data(path, Reading(missing=missing), target)
    [(train, test)] = hold_out(training.y, _TEST_FRACTION, seed=0)
    if not len(test):
        raise InputError(f"{path} has too few rows for a benchmark")
    X, X_test = take_rows(training.X, train), take_rows(training.X, test)
    encoder = TANClassifier("none", "ml").fit(X, training.y[train]).encoder_
    codes, codes_test = (encoder.encode(as_frame(part)).astype(np.int64) for part in (X, X_test))
    is_category = [name in training.categorical for name in training.X.column_names]
    categorical = is_category if any(is_category) else None
    return _Rows(X, X_test, codes, codes_test, training.y[train], training.y[test], categorical)


def _as_table(measured: list[_Measured], n_tested: int) -> Table:
    table = Table("classifier")
    for column in ("error", "fit, s", "predict, s", "rows per second"):
        table.add_column(column, justify="right")
    for line in measured:
        speed = f"{n_tested / max(line.predict_seconds, 1e-9):,.0f}"
        times = f"{line.fit_seconds:.3f}", f"{line.predict_seconds:.4f}", speed
        table.add_row(line.name, f"{line.error:.2%}", *times)
    return table
