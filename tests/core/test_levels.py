"""Levels of instructions: the best is chosen, one can be forced, and they agree to rounding."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tanager import core

_PROGRAM = """
import json, sys
from sklearn.datasets import load_iris
from tanager import GradientDescent, TANClassifier, core
X, y = load_iris(return_X_y=True)
clf = TANClassifier("subset", GradientDescent(epochs=3), random_state=0).fit(X, y)
print(json.dumps([core.level, clf.predict_proba(X[::7]).tolist()]))
"""

X86_LEVELS = ("v2", "v3", "v4")

pytestmark = pytest.mark.skipif("TANAGER_CORE_PATH" in os.environ, reason="this build of the core has one level")


def run(level: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TANAGER_LEVEL"}
    if level is not None:
        environment["TANAGER_LEVEL"] = level
    return subprocess.run([sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True)


def levels_here() -> list[str]:
    return list(X86_LEVELS[: X86_LEVELS.index(core.level) + 1]) if core.level in X86_LEVELS else [core.level]


def test_levels_agree_to_rounding():
    found = {level: json.loads(run(level).stdout) for level in levels_here()}
    best = json.loads(run(None).stdout)
    for level, (used, probabilities) in found.items():
        assert used == level
        np.testing.assert_allclose(probabilities, best[1], atol=1e-4)


def test_the_best_level_is_chosen():
    assert json.loads(run(None).stdout)[0] == levels_here()[-1]


@pytest.mark.parametrize("level", ["v9", ""])
def test_an_unknown_level_is_refused_in_one_sentence(level):
    done = run(level)
    assert done.returncode == 1
    assert f"TANAGER_LEVEL={level!r}, but this processor has the levels" in done.stderr
