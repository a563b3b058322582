"""The compiled core: hot loops over arrays, built for several levels of instructions.

At import the best level that was built and that the processor has is chosen: v4 (AVX-512), v3 (AVX2) or v2 of x86-64,
or base on other processors. ``TANAGER_LEVEL`` in the environment asks for another one; results of different levels
agree to rounding. ``TANAGER_CORE_PATH`` names a folder with another build, such as one with sanitizers.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from types import ModuleType
from typing import TYPE_CHECKING, Any

_X86_LEVELS = ("v2", "v3", "v4")


def _import(name: str) -> ModuleType:
    """A compiled module, from the package or from the folder that TANAGER_CORE_PATH names."""
    folder = os.environ.get("TANAGER_CORE_PATH")
    if folder is None:
        return importlib.import_module(f"{__name__}.{name}")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


def _allowed_levels() -> list[str]:
    """Levels that the processor has, best first."""
    best = _import("_cpu").best_level()
    if best == "base":
        return ["base"]
    return list(reversed(_X86_LEVELS[: _X86_LEVELS.index(best) + 1])) if best in _X86_LEVELS else []


def _load() -> tuple[str, ModuleType]:
    """The level that is asked for, or the best there is, and its module."""
    try:
        allowed = _allowed_levels()
    except ImportError as error:
        raise ImportError(
            "tanager's compiled core is missing or was built for another Python: install tanager again, "
            "with `pip install .` in a source tree"
        ) from error
    if not allowed:
        raise ImportError(
            "tanager needs a processor with level v2 of x86-64 (SSE4.2 and POPCNT, which most have had since 2009), "
            "and this one does not have it"
        )
    wanted = os.environ.get("TANAGER_LEVEL")
    if wanted is not None:
        if wanted not in allowed:
            raise ImportError(f"TANAGER_LEVEL={wanted!r}, but this processor has the levels {', '.join(allowed)}")
        allowed = [wanted]
    for each in allowed:
        try:
            return each, _import(f"_core_{each}")
        except ModuleNotFoundError:
            continue
    raise ImportError(f"tanager was not built for this processor, which has the levels {', '.join(allowed)}")


def _newer_source(built: str) -> str | None:
    """A C++ source that has changed since the core was built, in an editable install, which does not notice."""
    here = os.path.dirname(os.path.abspath(__file__))
    sources = os.path.join(os.path.dirname(os.path.dirname(here)), "core")
    if os.path.dirname(os.path.abspath(built)) == here or not os.path.isdir(sources):
        return None
    time = os.path.getmtime(built)
    with os.scandir(sources) as entries:
        return next((entry.path for entry in entries if entry.stat().st_mtime > time), None)


level, _module = _load()
"""The level of instructions in use."""

if "TANAGER_CORE_PATH" not in os.environ and (_newer := _newer_source(str(_module.__file__))) is not None:
    warnings.warn(
        f"tanager's compiled core is older than {_newer}: build it again, with make or `pip install --editable .`",
        RuntimeWarning,
        stacklevel=2,
    )


globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
