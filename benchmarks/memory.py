"""Peak memory of one fit beyond its input, measured in a process of its own.

The data are ten million rows of fifty columns, as small integers and as single-precision floats, and kddcup99 if
TANAGER_DATA is set. One epoch with a batch size of 10,000, one thread. Compilation is not counted: a first fit to few
rows comes before. Requires Linux, whose kernel records the peak memory of a process and can reset it.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.csv_files import extra_folder, read_kddcup99
from benchmarks.records import Row, Section, Target
from tanager import GradientDescent, TANClassifier

_N_ROWS, _N_COLUMNS, _N_CLASSES = 10_000_000, 50, 4
_BLOCK = 100_000
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_TARGET = Target(4.0, at_most=True)


def run(*, tiny: bool = False) -> Section:
    """Measure each data set in a process of its own."""
    title = "Peak memory of a fit beyond its input, bytes a cell; one epoch, batch_size=10000, one thread"
    if not _CLEAR.exists():
        return Section(title, missing=["Linux"])
    missing = [] if extra_folder() else ["extra/kddcup99_10pct_train.csv.gz (set TANAGER_DATA to the folder)"]
    rows = []
    for name in ("integers", "floats") if missing or tiny else ("integers", "floats", "kddcup99"):
        command = [sys.executable, "-m", "benchmarks.memory", name, "--rows", str(50_000 if tiny else _N_ROWS)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        what, n_bytes, beyond, n_cells, seconds, error = done.stdout.rstrip().split(";")
        rows.append(
            Row(
                what,
                f"{int(beyond) / 1e6:,.0f} MB",
                "the input's",
                f"{int(n_bytes) / 1e6:,.0f} MB",
                int(beyond) / int(n_cells),
                _TARGET,
                f"{float(seconds):.1f} s; training error {float(error):.2f} %",
            )
        )
    return Section(title, rows, missing=missing)


def main() -> None:
    """Measure one data set in this process and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("dataset", choices=["integers", "floats", "kddcup99"])
    parser.add_argument("--rows", type=int, default=_N_ROWS, help="rows of the random data sets")
    options = parser.parse_args()
    if options.dataset == "kddcup99":
        split = read_kddcup99(extra_folder() or Path())
        X, y, n_bytes = split.X_train, split.y_train, int(split.X_train.memory_usage(deep=True).sum())
        del split
    else:
        X, y = _make_rows(options.dataset, options.rows)
        n_bytes = X.nbytes
    beyond, seconds, error = _measure(X, y)
    label = f"{options.dataset}, {X.shape[0]:,} x {X.shape[1]}"
    print(label, n_bytes, beyond, X.shape[0] * X.shape[1], seconds, error, sep=";")


def _make_rows(kind: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes up to 21, or numbers that MDL cuts into many bins; made in blocks to save memory."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, _N_CLASSES, n_rows).astype(np.uint8)
    X = np.empty((n_rows, _N_COLUMNS), np.uint8 if kind == "integers" else np.float32)
    for start in range(0, n_rows, _BLOCK):
        rows = slice(start, start + _BLOCK)
        shift, shape = y[rows, None], X[rows].shape
        X[rows] = rng.integers(0, 16, shape) + 2 * shift if kind == "integers" else rng.normal(size=shape) + shift / 2
    return X, y


def _measure(X: Any, y: Any) -> tuple[int, float, float]:
    """Bytes beyond the input, seconds, and training error in %."""
    classifier = TANClassifier("subset", GradientDescent(epochs=1, batch_size=10_000), random_state=0)
    classifier.fit(X[:20_000], y[:20_000])
    _release_unused()
    before = _memory("VmRSS")
    _CLEAR.write_text("5")
    start = time.perf_counter()
    classifier.fit(X, y)
    seconds = time.perf_counter() - start
    beyond = _memory("VmHWM") - before
    return beyond, seconds, 100.0 * (1.0 - float(classifier.score(X[-100_000:], y[-100_000:])))


def _release_unused() -> None:
    """Return freed memory to the system, so that the fit cannot use it unnoticed."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)


def _memory(field: str) -> int:
    """Bytes that the kernel counts for this process: now (VmRSS) or at most since the last reset (VmHWM)."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
