"""Chow-Liu TAN with maximum likelihood parameters on usps, from codes to a classifier, against pyAgrum's TAN."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from benchmarks import peers
from benchmarks.data import Fold, error_percent, no_data, paper_fold, random_fold
from benchmarks.records import Row, Section, Target
from benchmarks.shapes import SHAPES, Shape
from benchmarks.timing import time_in_turns, time_once
from tanager import TANClassifier

_TINY = Shape(200, 50, 3, (3, 4, 2, 3, 4))

# pyAgrum takes milliseconds to predict a row of usps; on 500 rows, an error is uncertain by about 1.3 points.
_N_SCORED = 500


def chow_liu() -> TANClassifier:
    """The classifier to measure."""
    return TANClassifier("chow-liu", parameters="ml", binning="none")


def _pyagrum_tan(pyagrum: ModuleType, fold: Fold) -> Any:
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    pyagrum.setNumberOfThreads(1)
    model = BNClassifier(
        type_processor=DiscreteTypeProcessor(), learningMethod="TAN", prior="Smoothing", priorWeight=1.0
    )
    # Small unsigned integers overflow in its range of labels.
    return model.fit(fold.X_train.astype(int), fold.y_train.astype(int)) or model


def run(*, tiny: bool = False) -> Section:
    """Measure; pyAgrum once, since it takes half a minute."""
    missing: list[str] = []
    fold = None if tiny else paper_fold("usps")
    if fold is None:
        if not tiny:
            missing.append(no_data("usps"))
        fold = random_fold(_TINY if tiny else SHAPES["usps"])
    model = chow_liu()
    times = time_in_turns({"ours": lambda: model.fit(fold.X_train, fold.y_train)}, rounds=2 if tiny else 9, warm_up=1)
    error = error_percent(model.predict(fold.X_test), fold.y_test)
    pyagrum = peers.find("pyagrum", missing)
    if pyagrum is None:
        lines = [f"  Chow-Liu TAN, usps, fit: {times['ours']}, test error {error:.2f} %"]
        return Section("Chow-Liu", lines=lines, missing=missing)
    theirs, fitted = time_once(lambda: _pyagrum_tan(pyagrum, fold))
    few = slice(0, _N_SCORED)
    their_error = error_percent(fitted.predict(fold.X_test[few].astype(int)), fold.y_test[few])
    own_error = error_percent(model.predict(fold.X_test[few]), fold.y_test[few])
    row = Row(
        "Chow-Liu TAN, usps, fit",
        times["ours"],
        "pyAgrum's TAN, once",
        theirs,
        theirs.median / times["ours"].median,
        None if tiny else Target(50.0),
        f"test error {error:.2f} %; on the first {len(fold.y_test[few])} rows {own_error:.1f} %, "
        f"pyAgrum's {their_error:.1f} %",
    )
    return Section("Chow-Liu", [row], ["One thread; codes as input, one added to each count."], missing=missing)
