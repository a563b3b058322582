"""What the library takes on disk beyond scikit-learn, which it needs anyway: its modules and its compiled core.

A wheel for x86-64 holds the core for three levels of instructions. Where fewer were built, as on a developer's machine,
the largest counts three times.
"""

from __future__ import annotations

import platform
from pathlib import Path

import tanager
from benchmarks.records import Row, Section, Target
from tanager import core

_MOST_BYTES = 5e6
_X86 = ("x86_64", "AMD64")


def run(*, tiny: bool = False) -> Section:
    """Measure; the size is the same for tiny runs."""
    compiled = Path(str(core._module.__file__)).parent
    levels = [path.stat().st_size for path in compiled.glob("_core_*") if path.is_file()]
    n_levels = 3 if platform.machine() in _X86 else 1
    of_core = max(levels) * n_levels + sum(path.stat().st_size for path in compiled.glob("_cpu*") if path.is_file())
    package = Path(str(tanager.__file__)).parent
    is_source = {".py", ".js", ".css", ".html", ".typed"}
    of_modules = sum(path.stat().st_size for path in package.rglob("*") if path.suffix in is_source)
    total = of_core + of_modules
    row = Row(
        "installed size beyond scikit-learn",
        f"{total / 1e6:.2f} MB",
        "at most",
        f"{_MOST_BYTES / 1e6:.0f} MB",
        total / _MOST_BYTES,
        Target(1.0, at_most=True),
        f"compiled core {of_core / 1e6:.2f} MB for {n_levels} levels, modules {of_modules / 1e6:.2f} MB",
    )
    return Section("Size on disk", [row])
