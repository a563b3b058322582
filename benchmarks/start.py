"""From the start of Python to the end of a first default fit, and of an import, against histogram boosting.

Each is a process of its own with one thread, and takes its turn in every round; what counts is processor time.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import numpy as np

from benchmarks.records import Row, Section, Target
from benchmarks.timing import Timing, ratio

_FIT = """
from sklearn.datasets import load_breast_cancer
from {module} import {name}
X, y = load_breast_cancer(return_X_y=True)
print({name}(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]))
"""
_PROGRAMS = {
    "ours": _FIT.format(module="tanager", name="TANClassifier"),
    "theirs": _FIT.format(module="sklearn.ensemble", name="HistGradientBoostingClassifier"),
    "our import": "from tanager import TANClassifier",
    "their import": "import sklearn.ensemble",
}


def _run(program: str) -> tuple[float, str]:
    """Milliseconds of processor time, and what was printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), done.stdout


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    seen: dict[str, list[float]] = {name: [] for name in _PROGRAMS}
    printed: dict[str, str] = {}
    for _ in range(1 if tiny else 9):
        for name, program in _PROGRAMS.items():
            taken, printed[name] = _run(program)
            seen[name].append(taken)
    times = {name: Timing(*np.percentile(values, [50, 25, 75])) for name, values in seen.items()}
    errors = [100 * (1 - float(printed[name])) for name in ("ours", "theirs")]
    rows = [
        Row(
            "start of Python to the end of the first fit, breast_cancer",
            times["ours"],
            "histogram boosting",
            times["theirs"],
            ratio(times["ours"], times["theirs"]),
            Target(2.0, at_most=True),
            f"test error {errors[0]:.2f} %, histogram boosting {errors[1]:.2f} %",
        ),
        Row(
            "import of TANClassifier",
            times["our import"],
            "import sklearn.ensemble",
            times["their import"],
            ratio(times["our import"], times["their import"]),
            Target(1.15, at_most=True),
        ),
    ]
    return Section("Start of Python", rows)
