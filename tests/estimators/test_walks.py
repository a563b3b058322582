"""The way through the code: how many modules a fit and a prediction enter (docs/architecture.md shows both walks)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import tanager
from tanager import TANClassifier

ROOT = Path(tanager.__file__).parent

MOST_MODULES_OF_FIT, MOST_HOPS_OF_FIT = 40, 12
MOST_MODULES_OF_PREDICTION = 8


def walk(function: Callable[[], object]) -> tuple[list[str], list[tuple[str, str]]]:
    """Modules of the library that a call enters, and calls from one module of ``estimators`` to another."""
    modules: dict[str, None] = {}
    hops = []

    def module_of(code):
        path = Path(code.co_filename)
        return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None

    def profile(frame, event, _):
        module = module_of(frame.f_code) if event == "call" else None
        if module is None:
            return
        modules.setdefault(module)
        caller = module_of(frame.f_back.f_code) if frame.f_back else None
        if caller not in (None, module) and caller.startswith("estimators") and module.startswith("estimators"):
            hops.append((caller, module))

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return list(modules), hops


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_a_default_fit(iris):
    clf = TANClassifier(random_state=0)
    clf.fit(*iris)
    modules, hops = walk(lambda: clf.fit(*iris))
    assert "learning/recipes.py" in modules
    assert len(modules) <= MOST_MODULES_OF_FIT, modules
    assert len(hops) <= MOST_HOPS_OF_FIT, hops


@pytest.mark.parametrize("parameters", ["ml", "penalised"])
def test_a_prediction(iris, parameters):
    clf = TANClassifier("chow-liu", parameters).fit(*iris)
    modules, _ = walk(lambda: clf.predict_proba(iris[0]))
    assert "model/network.py" in modules
    assert len(modules) <= MOST_MODULES_OF_PREDICTION, modules


def test_nothing_below_the_estimators_knows_an_estimator():
    """The import linter keeps scikit-learn out of these layers; this keeps out estimators and shallow copies."""
    below = ("core", "data", "files", "learning", "losses", "model", "structure", "training")
    for path in (path for layer in below for path in (ROOT / layer).rglob("*.py")):
        code = [line for line in path.read_text().splitlines() if "import " in line and ">>>" not in line]
        assert not any("TANClassifier" in line or "tanager.estimators" in line for line in code), path
        assert "copy.copy(" not in path.read_text(), path
