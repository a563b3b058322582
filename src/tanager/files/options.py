"""Constructor parameters in a model file: plain values as JSON, arrays and search spaces as arrays.

What is neither, such as a loss function or a random generator, is not kept: it comes back as a `NotKept`, with which
the classifier predicts but does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.files.container import Arrays
from tanager.files.header import Fields, shortened
from tanager.files.networks import pack_parent_sets, unpack_parent_sets
from tanager.files.values import ELEMENTS, array_of, pack_values, unpack_values
from tanager.structure import ParentSets


@dataclass(frozen=True)
class NotKept:
    """Stands for a parameter that a model file does not hold.

    It is no value that a fit takes, so a fit refuses it by name; ``set_params`` puts the real one back.

    Examples
    --------
    >>> NotKept("my_loss")
    <my_loss, which the model file does not hold: give it again with set_params>
    """

    name: str

    def __repr__(self) -> str:
        return f"<{self.name}, which the model file does not hold: give it again with set_params>"


def pack_options(name: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Turn parameters into an object of the header and arrays.

    Examples
    --------
    >>> pack_options("options", {"epochs": 5, "tau": (10.0, 0.1), "loss": max})[0]
    {'epochs': 5, 'tau': {'tuple': [10.0, 0.1]}, 'loss': {'not_kept': 'max'}}
    """
    arrays: dict[str, NDArray[Any]] = {}
    entry = {key: _pack(f"{name}.{key}", value, arrays) for key, value in options.items()}
    return entry, arrays


def unpack_options(name: str, entry: Fields, arrays: Arrays) -> dict[str, Any]:
    """The parameters that `pack_options` has turned into an object of the header and arrays."""
    return {key: _unpack(f"{name}.{key}", entry, key, arrays) for key in entry.values}


def _pack(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if _is_plain(value):
        return value
    if type(value) in (list, tuple):
        items = [item.item() if isinstance(item, np.generic) else item for item in value]
        if all(map(_is_plain, items)):
            return {type(value).__name__: items}
    if isinstance(value, ParentSets):
        arrays |= pack_parent_sets(name, value)
        return {"parent_sets": value.is_ordered}
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.name in ELEMENTS:
        try:
            arrays |= pack_values(name, value.tolist(), "the values")
        except ValueError:
            return {"not_kept": "an array of values of their own types"}
        return {"array": value.dtype.name}
    if isinstance(value, NotKept):
        return {"not_kept": value.name}
    return {"not_kept": str(getattr(value, "__name__", type(value).__name__))}


def _unpack(name: str, entry: Fields, key: str, arrays: Arrays) -> Any:
    value = entry.values[key]
    if _is_plain(value):
        return value
    field = entry.fields(key)
    if len(field.values) != 1:
        raise ValueError(f"{field.what} must have one entry")
    kind = next(iter(field.values))
    if kind in ("list", "tuple"):
        items = field.take(kind, list)
        if not all(map(_is_plain, items)):
            raise ValueError(f"{field.what} must hold plain values")
        return items if kind == "list" else tuple(items)
    if kind == "parent_sets":
        return unpack_parent_sets(arrays, name, field.take(kind, bool))
    if kind == "array":
        element = field.take(kind, str)
        if element not in ELEMENTS:
            raise ValueError(f"{field.what} is of the unknown type {shortened(element)}")
        return array_of(unpack_values(arrays, name), element, f"values of {field.what}")
    if kind == "not_kept":
        return NotKept(field.take(kind, str))
    raise ValueError(f"{field.what} is of the unknown kind {shortened(kind)}")


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))
