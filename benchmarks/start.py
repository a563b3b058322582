"""From the start of Python to the end of a first default fit, and of an import, against histogram boosting."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.records import Row, Section, Target

_FIT = """
from sklearn.datasets import load_breast_cancer
from {module} import {name}
X, y = load_breast_cancer(return_X_y=True)
print({name}(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]))
"""
_OURS = _FIT.format(module="tanager", name="TANClassifier")
_THEIRS = _FIT.format(module="sklearn.ensemble", name="HistGradientBoostingClassifier")


def _run(program: str) -> tuple[float, str]:
    """Seconds of wall time, and what was printed."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True)
    return time.perf_counter() - start, done.stdout


def _median(program: str, n_runs: int) -> float:
    return sorted(_run(program)[0] for _ in range(n_runs))[n_runs // 2]


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    title = "From the start of Python to the end of the first default fit, breast_cancer, wall time"
    n_runs = 1 if tiny else 7
    ours, theirs = _median(_OURS, n_runs), _median(_THEIRS, n_runs)
    our_import, their_import = _median("import tanager.estimators", n_runs), _median("import sklearn.ensemble", n_runs)
    errors = [100 * (1 - float(_run(program)[1])) for program in (_OURS, _THEIRS)]
    rows = [
        Row(
            "start of Python to the end of the first fit",
            f"{ours:.2f} s",
            "histogram boosting",
            f"{theirs:.2f} s",
            ours / theirs,
            Target(2.0, at_most=True),
            f"error {errors[0]:.2f} %, histogram boosting {errors[1]:.2f} %",
        ),
        Row(
            "import tanager",
            f"{our_import:.2f} s",
            "import sklearn.ensemble",
            f"{their_import:.2f} s",
            our_import / their_import,
            Target(1.15, at_most=True),
        ),
    ]
    return Section(title, rows=rows)
