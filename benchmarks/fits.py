"""Default fits against scikit-learn's histogram gradient boosting, on fifteen data sets; and a fit to many columns.

Each fit comes after one to few rows, so that nothing is loaded or set up any more, and takes one thread. The data sets
and splits are those of docs/comparison.md; of those that are cut into folds, the first fold is taken. Set TANAGER_DATA
to the folder of the data sets; without it only those of scikit-learn are measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.csv_files import Split
from benchmarks.data import error_percent
from benchmarks.records import Row, Section, Target
from benchmarks.rivals.data import TABLES, is_there, load_splits, needed_file
from benchmarks.rivals.trials import warm_up
from benchmarks.timing import Timing, ratio, time_in_turns, time_once
from tanager import TANClassifier, TANEnsembleClassifier

DATA_SETS = TABLES[:15]

_PEER = "histogram boosting"
_MAKERS: dict[str, Callable[[], Any]] = {
    "TANClassifier()": lambda: TANClassifier(random_state=0),
    "TANEnsembleClassifier()": lambda: TANEnsembleClassifier(random_state=0),
    _PEER: lambda: HistGradientBoostingClassifier(random_state=0),
}
_TARGETS = {"TANClassifier()": Target(2.0, at_most=True), "TANEnsembleClassifier()": Target(3.0, at_most=True)}

_FEW_CELLS, _ROUNDS = 500_000, 3  # data sets with more cells are fitted once

_WIDE_ROWS, _WIDE_COLUMNS, _WIDE_SECONDS = 50, 2_000, 5.0


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    names = DATA_SETS[:2] if tiny else DATA_SETS
    missing = [f"{needed_file(name)} (set TANAGER_DATA to the folder)" for name in names if not is_there(name)]
    rows: list[Row] = []
    for name in filter(is_there, names):
        rows += _compare(name, load_splits(name)[0])
        load_splits.cache_clear()
    of_one = [row.ratio for row in rows if "Ensemble" not in row.what]
    n_faster = sum(each <= 1.0 for each in of_one)
    rows.append(
        Row(
            "data sets where TANClassifier() takes no longer",
            f"{n_faster}",
            "all",
            f"{len(of_one)}",
            n_faster / len(of_one),
            None if tiny else Target(0.5),
        )
    )
    rows.append(_fit_many_columns(_WIDE_COLUMNS // 40 if tiny else _WIDE_COLUMNS))
    notes = [f"The ratio is the time of this library divided by that of {_PEER}."]
    return Section("Default fits", rows, notes, missing=missing)


def _compare(name: str, split: Split) -> list[Row]:
    """One row for each classifier of this library."""
    models: dict[str, Any] = {}

    def fit(label: str) -> None:
        models[label] = _MAKERS[label]().fit(split.X_train, split.y_train)

    with threadpool_limits(1):
        for make in _MAKERS.values():
            warm_up(split, make())
        rounds = _ROUNDS if split.X_train.size <= _FEW_CELLS else 1
        calls = {label: (lambda label=label: fit(label)) for label in _MAKERS}
        times = time_in_turns(calls, rounds=rounds, warm_up=0)
        y = split.y_test.to_numpy()
        errors = {label: error_percent(model.predict(split.X_test), y) for label, model in models.items()}
    shape = f"{split.X_train.shape[0]:,} x {split.X_train.shape[1]}"
    return [
        Row(
            f"fit, {name}, {label}",
            times[label],
            _PEER,
            times[_PEER],
            ratio(times[label], times[_PEER]),
            target,
            f"{shape}; test error {errors[label]:.2f} %, {_PEER} {errors[_PEER]:.2f} %",
        )
        for label, target in _TARGETS.items()
    ]


def _fit_many_columns(n_columns: int) -> Row:
    """The time of a fit to few rows and many columns, as a share of what it may take."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(_WIDE_ROWS, n_columns)), np.arange(_WIDE_ROWS) % 2
    X[:, :10] += y[:, None]
    with threadpool_limits(1):
        time, model = time_once(lambda: TANClassifier(random_state=0).fit(X, y))
    limit = Timing(*[1e3 * _WIDE_SECONDS] * 3)
    return Row(
        f"fit, {_WIDE_ROWS} x {n_columns:,}, TANClassifier()",
        time,
        "at most",
        limit,
        ratio(time, limit),
        Target(1.0, at_most=True),
        f"training error {error_percent(model.predict(X), y):.2f} %",
    )
