"""Frames as users have them: default fits straight from CSV files, and the cost of summing out missing cells.

Reads ``extra/adult.csv.gz`` and others from the folder that TANAGER_DATA names. The peer is scikit-learn's histogram
gradient boosting, which requires words as pandas categories; the conversion does not count in its time. A first fit to
few rows compiles. The cost of missing cells is measured on repeated rows of scikit-learn's digits.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.csv_files import Split, as_categories, extra_folder, read_adult, read_kddcup99, read_rows
from benchmarks.data import error_percent
from benchmarks.records import Row, Section
from benchmarks.timing import Timing, ratio, time_in_turns, time_once
from tanager import TANClassifier
from tanager.learning import PRESETS


def _read_mushroom(folder: Path) -> Split:
    """Mushrooms; every third is a test row."""
    X, y = read_rows(folder / "mushroom.csv.gz")
    is_test = np.arange(len(y)) % 3 == 0
    return Split(X[~is_test], y[~is_test], X[is_test], y[is_test])


_READERS: dict[str, Callable[[Path], Split]] = {
    "adult": read_adult,
    "mushroom": _read_mushroom,
    "kddcup99": read_kddcup99,
}


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    title = "Frames with words and missing cells, one thread"
    rows = _summing_out(n_rows=1_000 if tiny else 20_000)
    folder = extra_folder()
    if folder is None:
        return Section(title, rows, missing=["extra/adult.csv.gz (set TANAGER_DATA to the folder that holds extra)"])
    for name, read in _READERS.items():
        split = read(folder).head(500) if tiny else read(folder)
        ours: dict[str, Any] = {
            "TANClassifier()": TANClassifier(random_state=0),
            "one preset": TANClassifier(**PRESETS["tree"].get_params(deep=False), random_state=0),
        }
        theirs = _measure(HistGradientBoostingClassifier(random_state=0), as_categories(split))
        rows += [_row(f"{name}, {label}", _measure(it, split), theirs) for label, it in ours.items()]
    return Section(title, rows)


def _summing_out(n_rows: int) -> list[Row]:
    """Prediction time with a share of the cells missing against the time with none missing."""
    X, y = load_digits(return_X_y=True)
    classifier = TANClassifier("chow-liu", parameters="ml").fit(X[::2], y[::2])
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(X) // 2, n_rows) * 2 + 1
    inputs = {"0 %": X[rows]}
    for share in (0.01, 0.1, 0.5):
        inputs[f"{100 * share:.0f} %"] = np.where(rng.random((n_rows, X.shape[1])) < share, np.nan, X[rows])
    rivals = {label: (lambda cells=cells: classifier.predict_proba(cells)) for label, cells in inputs.items()}
    times = time_in_turns(rivals, rounds=5, warm_up=1)
    errors = {label: error_percent(classifier.predict(cells), y[rows]) for label, cells in inputs.items()}
    return [
        Row(
            f"predict_proba, {n_rows:,} digits, {label} of the cells missing",
            times[label],
            "none missing",
            times["0 %"],
            ratio(times[label], times["0 %"]),
            None,
            f"test error {errors[label]:.2f} %, none missing {errors['0 %']:.2f} %",
        )
        for label in list(inputs)[1:]
    ]


class _Result(NamedTuple):
    fit: Timing
    predict: Timing
    error: float


def _measure(classifier: Any, split: Split) -> _Result:
    with threadpool_limits(1):
        few = split.head(200)
        classifier.fit(few.X_train, few.y_train).predict(few.X_train)
        fit, _ = time_once(lambda: classifier.fit(split.X_train, split.y_train))
        predict, predicted = time_once(lambda: classifier.predict(split.X_test))
    return _Result(fit, predict, error_percent(predicted, split.y_test.to_numpy()))


def _row(what: str, ours: _Result, theirs: _Result) -> Row:
    accuracy = (
        f"test error {ours.error:.2f} %, boosting {theirs.error:.2f} %; predict {ours.predict}, "
        f"boosting {theirs.predict}"
    )
    return Row(f"fit, {what}", ours.fit, "gradient boosting", theirs.fit, ratio(theirs.fit, ours.fit), None, accuracy)
