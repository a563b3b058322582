"""Other libraries to compare with. Each is optional; one that is not installed is always named in the results."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType

_NAMES = {
    "torch": "PyTorch",
    "pyagrum": "pyAgrum",
    "lightgbm": "LightGBM",
    "interpret": "interpret",
    "catboost": "CatBoost",
    "skbn": "scikit-bayes",
}


def find(module: str, missing: list[str]) -> ModuleType | None:
    """Import a peer; if it is not installed, return None and add a line about it to ``missing``."""
    try:
        return importlib.import_module(module)
    except ImportError:
        missing.append(_advice(module))
        return None


def is_installed(module: str, missing: list[str]) -> bool:
    """Whether a peer is installed, without importing it; if not, a line about it is added to ``missing``."""
    if find_spec(module) is not None:
        return True
    missing.append(_advice(module))
    return False


def _advice(module: str) -> str:
    return f"{_NAMES[module]} (pip install 'tanager[bench]')"
