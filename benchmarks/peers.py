"""Other libraries to compare with. Each is optional; one that is not installed is named, never left out in silence."""

from __future__ import annotations

import importlib
from types import ModuleType

_NAMES = {
    "torch": "PyTorch",
    "pyagrum": "pyAgrum",
    "lightgbm": "LightGBM",
    "interpret": "interpret",
}


def find(module: str, missing: list[str]) -> ModuleType | None:
    """Import a peer; if it is not installed, return None and add a line about it to ``missing``."""
    try:
        return importlib.import_module(module)
    except ImportError:
        missing.append(f"{_NAMES[module]} (pip install 'tanager[bench]')")
        return None
