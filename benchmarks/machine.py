"""The machine: its description, its copy bandwidth and its multiply-add rate, both measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from tanager import core

_PACKAGES = ("numpy", "scikit-learn", "torch", "pyagrum", "lightgbm", "interpret-core")


def describe() -> str:
    """Processor, cores, system and versions, in one line."""
    packages = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    cores = os.cpu_count()
    return f"{_processor()}, {cores} cores, {platform.system()}, Python {platform.python_version()}; {packages}"


def load() -> str:
    """Mean number of processes that wanted a core in the last minute, if the system tells."""
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except (AttributeError, OSError):
        return "unknown"


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def copy_call(working_set: int) -> tuple[Callable[[], object], int]:
    """A copy between two arrays that together take ``working_set`` bytes, and the bytes that a call moves.

    A byte that is read and written counts twice. Small copies are repeated, so that the overhead of a call is small.
    """
    half = max(working_set // 2, 4096)
    source, target = np.ones(half, np.uint8), np.zeros(half, np.uint8)
    n_copies = max(1, (1 << 24) // half)

    def copy() -> None:
        for _ in range(n_copies):
            np.copyto(target, source)

    return copy, 2 * half * n_copies


def multiply_add_call() -> tuple[Callable[[], object], int]:
    """Multiply-adds in single precision on numbers in the first cache, and their number per call."""
    values = np.ones(2048, np.float32)
    n_passes = 200
    return lambda: core.multiply_add(values, n_passes), core.MULTIPLY_ADD_CHAIN * len(values) * n_passes
