"""Prediction on letter: 100,000 rows of codes through `predict`, and one row through `predict_proba`.

All predictors get the same array of codes, in bytes as the data set is stored, and one thread. The explainable boosting
machine is fitted with one bag, few rounds and no interactions, so its error is not its best; its prediction time
depends only on the number of terms.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.naive_bayes import CategoricalNB

from benchmarks import peers
from benchmarks.data import Fold, error_percent, no_data, paper_fold, random_fold
from benchmarks.letter import short_classifier
from benchmarks.records import Row, Section, Target
from benchmarks.shapes import SHAPES, Shape
from benchmarks.timing import Timing, ratio, time_in_turns
from tanager import TANClassifier

_TARGETS = {"CategoricalNB": Target(20.0), "LightGBM, 100 rounds": Target(100.0), "interpret, boosting machine": None}


def _peers(fold: Fold, missing: list[str], tiny: bool) -> dict[str, tuple[Any, Callable[[np.ndarray], np.ndarray]]]:
    """Fitted rivals, and the function of each that predicts classes."""
    bayes = CategoricalNB().fit(fold.X_train, fold.y_train)
    rivals: dict[str, tuple[Any, Callable[[np.ndarray], np.ndarray]]] = {"CategoricalNB": (bayes, bayes.predict)}
    lightgbm = peers.find("lightgbm", missing)
    if lightgbm is not None:
        trees = lightgbm.LGBMClassifier(n_estimators=2 if tiny else 100, n_jobs=1, verbose=-1)
        trees.fit(fold.X_train, fold.y_train)
        rivals["LightGBM, 100 rounds"] = (trees, trees.predict)
    if peers.find("interpret", missing) is not None:
        from interpret.glassbox import ExplainableBoostingClassifier

        options = {"interactions": 0, "outer_bags": 1, "max_rounds": 2 if tiny else 100, "n_jobs": 1}
        machine = ExplainableBoostingClassifier(feature_types=["nominal"] * fold.X_train.shape[1], **options)
        machine.fit(fold.X_train, fold.y_train)
        rivals["interpret, boosting machine"] = (machine, machine.predict)
    return rivals


def draw_rows(fold: Fold, n_rows: int) -> np.ndarray:
    """Rows drawn from the test rows, with replacement."""
    return fold.X_test[np.random.default_rng(0).integers(0, len(fold.X_test), n_rows)]


def _measure_rows(fold: Fold, ours: TANClassifier, rivals: dict, n_rows: int, rounds: int) -> list[Row]:
    X = draw_rows(fold, n_rows)
    error = error_percent(ours.predict(fold.X_test), fold.y_test)
    rows = []
    for name, (_, predict) in rivals.items():
        slow_rounds = rounds if name == "CategoricalNB" else min(rounds, 3)
        calls = {"ours": lambda: ours.predict(X), "theirs": lambda predict=predict: predict(X)}
        times = time_in_turns(calls, rounds=slow_rounds, calls={"ours": 5}, warm_up=1)
        their_error = error_percent(np.asarray(predict(fold.X_test)).astype(fold.y_test.dtype), fold.y_test)
        rows.append(
            Row(
                f"predict, letter, {n_rows:,} rows",
                times["ours"],
                name,
                times["theirs"],
                ratio(times["theirs"], times["ours"]),
                _TARGETS[name],
                f"test error {error:.2f} %, peer's {their_error:.2f} %",
            )
        )
    return rows


def _measure_row(fold: Fold, ours: TANClassifier, bayes: CategoricalNB, rounds: int) -> Row:
    row = fold.X_test[:1]
    calls = {"ours": lambda: ours.predict_proba(row), "theirs": lambda: bayes.predict_proba(row)}
    times: dict[str, Timing] = time_in_turns(calls, rounds=rounds, calls={"ours": 200, "theirs": 200})
    difference = float(np.abs(ours.predict_proba(row).sum() - 1.0))
    return Row(
        "predict_proba, letter, one row",
        times["ours"],
        "CategoricalNB",
        times["theirs"],
        ratio(times["ours"], times["theirs"]),
        Target(0.5, at_most=True),
        f"the probabilities sum to one within {difference:.0e}",
    )


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    missing: list[str] = []
    fold = None if tiny else paper_fold("letter")
    if fold is None:
        if not tiny:
            missing.append(no_data("letter"))
        fold = random_fold(Shape(300, 100, 26, SHAPES["letter"].cards) if tiny else SHAPES["letter"])
    n_rows, rounds, changes = (1000, 2, {"epochs": 1}) if tiny else (100_000, 15, {})
    ours = short_classifier("learned", 0, **changes).fit(fold.X_train, fold.y_train)
    with warnings.catch_warnings():
        # LightGBM warns about an array without names, though it has named the columns itself.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        rivals = _peers(fold, missing, tiny)
        rows = _measure_rows(fold, ours, rivals, n_rows, rounds)
    notes = [
        "One thread. For one row the ratio is ours over theirs.",
        "The boosting machine was fitted with few rounds and no interactions: its error is not its best.",
    ]
    rows.append(_measure_row(fold, ours, rivals["CategoricalNB"][0], rounds))
    return Section("Prediction", rows, notes, missing=missing)
