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
    raise ImportError(f"tanager was not built for this processor, which has the levels {', '.join(allowed) or 'none'}")


level, _module = _load()
"""The level of instructions in use."""


globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
