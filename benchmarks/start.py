"""Seconds from starting Python to the end of a first fit on the embedded digits, with and without compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

_PROGRAM = """
from sklearn.datasets import load_digits
from tanager import TANClassifier
X, y = load_digits(return_X_y=True)
TANClassifier(random_state=0).fit(X, y)
"""


def _seconds(cache: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True, env=os.environ | {"NUMBA_CACHE_DIR": cache})
    return time.perf_counter() - start


def run() -> list[str]:
    """Measure and return the lines of the table."""
    with tempfile.TemporaryDirectory() as cache:
        cold = _seconds(cache)
        warm = sorted(_seconds(cache) for _ in range(5))
    return [
        "From the start of Python to the end of the first fit (digits, 1797 rows), seconds",
        f"cold, nothing compiled: {cold:.1f}",
        f"warm, median of 5: {warm[2]:.2f} ({warm[0]:.2f} to {warm[-1]:.2f})",
    ]
