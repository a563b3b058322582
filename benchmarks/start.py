"""Seconds from starting Python to the end of a first fit on digits, with and without compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.records import Section

_PROGRAM = """
from sklearn.datasets import load_digits
from tanager import GradientDescent, TANClassifier
X, y = load_digits(return_X_y=True)
clf = TANClassifier("subset", GradientDescent(epochs={epochs}, batch_size=100), random_state=0)
clf.fit(X[:1200], y[:1200])
print(clf.score(X[1200:], y[1200:]))
"""


def _run(cache: str | None, epochs: int) -> tuple[float, float]:
    """Seconds of wall time, and the accuracy."""
    environment = os.environ if cache is None else os.environ | {"NUMBA_CACHE_DIR": cache}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(epochs=epochs)], check=True, env=environment, stdout=subprocess.PIPE
    )
    return time.perf_counter() - start, float(done.stdout)


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    title = "From the start of Python to the end of the first fit, 1200 rows of digits, wall time"
    if tiny:
        seconds, _ = _run(None, epochs=1)
        return Section(title, lines=[f"  with the kernels as they are: {seconds:.2f} s"])
    with tempfile.TemporaryDirectory() as cache:
        cold, score = _run(cache, epochs=60)
        warm = sorted(_run(cache, epochs=60)[0] for _ in range(5))
    lines = [
        f"  cold, nothing compiled: {cold:.1f} s",
        f"  warm, median of 5: {warm[2]:.2f} s ({warm[0]:.2f} to {warm[-1]:.2f})",
        f"  test error {100 * (1 - score):.2f} %",
    ]
    return Section(title, lines=lines)
