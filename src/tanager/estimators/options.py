"""Options that must be numbers: checked before anything else is done, so that the error names the option.

Which range an option may have is for the layer below that uses it to say.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


def check_numbers(options: dict[str, Any]) -> None:
    """Refuse options that are no finite number."""
    for name, value in options.items():
        if not _is_number(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")


def check_pair(name: str, value: Any) -> None:
    """Refuse an option that is not a pair of finite numbers."""
    pair = _as_pair(value)
    if pair is None or not all(map(_is_number, pair)):
        raise ValueError(f"{name} must be a pair of finite numbers, got {value!r}")


def check_image_shape(image_shape: Any, n_features: int, what: str) -> tuple[int, int]:
    """Rows and columns of images of ``n_features`` pixels; ``what`` says which option needs them."""
    if image_shape is None:
        raise ValueError(f"{what} needs image_shape=(rows, columns)")
    pair = _as_pair(image_shape)
    if pair is not None and all(isinstance(length, Integral) for length in pair):
        rows, columns = map(int, pair)
        if rows > 0 and rows * columns == n_features:
            return rows, columns
    raise ValueError(f"image_shape={image_shape!r} does not fit {n_features} features; give (rows, columns)")


def _as_pair(value: Any) -> tuple[Any, Any] | None:
    try:
        first, second = value
    except (TypeError, ValueError):
        return None
    return first, second


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
