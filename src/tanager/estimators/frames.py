"""Results as pandas frames where pandas is installed; it is an extra, ``tanager[frames]``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numpy.typing import NDArray


def has_pandas() -> bool:
    """Whether pandas can be imported."""
    try:
        import_module("pandas")
    except ImportError:
        return False
    return True


def as_frame(columns: dict[str, NDArray[Any]]) -> Any:
    """Columns as a pandas frame, or as they are without pandas."""
    return import_module("pandas").DataFrame(columns) if has_pandas() else columns
