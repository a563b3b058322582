"""Options in a model file: plain ones as JSON, option values by name, arrays and search spaces as arrays.

Anything else, such as a loss function or a random generator, is not stored: it is loaded as a `tanager.files.NotKept`,
with which the classifier predicts but refuses to fit.

Option values check themselves when they are made. A file cannot make these checks slow or large: texts and lists inside
values are limited before they reach a constructor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._options import NotKept, Options
from tanager.files.container import Arrays
from tanager.files.header import Fields, shortened
from tanager.files.networks import pack_parent_sets, unpack_parent_sets
from tanager.files.values import ELEMENTS, array_of, pack_values, unpack_values
from tanager.learning import VALUES
from tanager.structure import ParentSets

_LONGEST_TEXT = 200  # of an option inside a value: these are words
_FEW_ITEMS = 64  # longer lists inside values hold whole numbers: parents of features, or an ordering
_LONGEST_REASON = 300
_REFUSALS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # of a constructor


def pack_options(name: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Turn options into an object of the header and arrays.

    Examples
    --------
    >>> from tanager.losses import Hybrid
    >>> pack_options("options", {"epochs": 5, "tau": (10.0, 0.1), "loss": max})[0]
    {'epochs': 5, 'tau': {'tuple': [10.0, 0.1]}, 'loss': {'not_kept': 'max'}}
    >>> pack_options("options", {"loss": Hybrid(lam=2.0)})[0]
    {'loss': {'value': ['Hybrid', {'lam': 2.0, 'gamma': 1.0, 'eta': 10.0}]}}
    """
    arrays: dict[str, NDArray[Any]] = {}
    entry = {key: _pack(f"{name}.{key}", value, arrays) for key, value in options.items()}
    return entry, arrays


def unpack_options(name: str, entry: Fields, arrays: Arrays) -> dict[str, Any]:
    """The inverse of `pack_options`."""
    return {
        key: _unpack(f"{name}.{key}", value, f"{shortened(key)} of {entry.what}", arrays)
        for key, value in entry.values.items()
    }


def _pack(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    value = _as_plain(value)
    if _is_plain(value):
        return value
    if type(value) in (list, tuple):
        return {type(value).__name__: [_pack(f"{name}.{k}", item, arrays) for k, item in enumerate(value)]}
    if isinstance(value, Mapping) and all(map(_is_plain, map(_as_plain, value))):
        pairs = enumerate(value.items())
        return {"mapping": [[_as_plain(key), _pack(f"{name}.{k}", item, arrays)] for k, (key, item) in pairs]}
    if type(value).__name__ in VALUES and VALUES[type(value).__name__] is type(value):
        options, own = pack_options(name, value.get_params(deep=False))
        arrays |= own
        return {"value": [type(value).__name__, options]}
    if isinstance(value, ParentSets):
        arrays |= pack_parent_sets(name, value)
        return {"parent_sets": value.is_ordered}
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.name in ELEMENTS:
        try:
            arrays |= pack_values(name, value.tolist(), "the values")
        except ValueError:
            return {"not_kept": "an array"}
        return {"array": value.dtype.name}
    if isinstance(value, NotKept):
        return {"not_kept": value.name}
    return {"not_kept": str(getattr(value, "__name__", type(value).__name__))}


def _unpack(name: str, value: Any, what: str, arrays: Arrays) -> Any:
    if _is_plain(value):
        return value
    if type(value) is not dict or len(value) != 1:
        raise ValueError(f"{what} must be a plain value or an object with one entry, got {shortened(value)}")
    field = Fields(value, what)
    kind = next(iter(value))
    if kind in ("list", "tuple"):
        items = [_unpack(f"{name}.{k}", item, what, arrays) for k, item in enumerate(field.take(kind, list))]
        return items if kind == "list" else tuple(items)
    if kind == "mapping":
        return _unpack_mapping(name, field.take(kind, list), what, arrays)
    if kind == "value":
        return _unpack_value(name, field.take(kind, list), what, arrays)
    if kind == "parent_sets":
        return unpack_parent_sets(arrays, name, field.take(kind, bool))
    if kind == "array":
        element = field.take(kind, str)
        if element not in ELEMENTS:
            raise ValueError(f"{what} is of the unknown type {shortened(element)}")
        return array_of(unpack_values(arrays, name), element, f"values of {what}")
    if kind == "not_kept":
        return NotKept(field.take(kind, str))
    raise ValueError(f"{what} is of the unknown kind {shortened(kind)}")


def _unpack_mapping(name: str, pairs: list[Any], what: str, arrays: Arrays) -> dict[Any, Any]:
    if any(type(pair) is not list or len(pair) != 2 or not _is_plain(pair[0]) for pair in pairs):
        raise ValueError(f"{what} must hold pairs of a plain key and its value")
    return {key: _unpack(f"{name}.{k}", item, what, arrays) for k, (key, item) in enumerate(pairs)}


def _unpack_value(name: str, parts: list[Any], what: str, arrays: Arrays) -> Options | NotKept:
    """An option value from its name and its options, which it checks itself."""
    if len(parts) != 2 or type(parts[0]) is not str or type(parts[1]) is not dict:
        raise ValueError(f"{what} must hold the name and the options of a value")
    kind, entry = parts
    if kind not in VALUES:
        raise ValueError(f"{what} is a {shortened(kind)}, which this tanager does not know: upgrade tanager")
    options = unpack_options(name, Fields(entry, what), arrays)
    for key, option in options.items():
        _check_size(key, what)
        _check_size(option, what)
    try:
        return VALUES[kind](**options)
    except _REFUSALS as error:
        if any(map(_is_incomplete, options.values())):
            return NotKept(kind)  # such as a search along an ordering that was not stored
        raise ValueError(f"{what}: {str(error)[:_LONGEST_REASON]}") from None


def _check_size(option: Any, what: str) -> None:
    """Refuse texts and lists that no option of a value can be, since checking them may take much time or memory."""
    if isinstance(option, str) and len(option) > _LONGEST_TEXT:
        raise ValueError(f"{what} holds a text of {len(option):,} characters, and at most {_LONGEST_TEXT} are allowed")
    if type(option) not in (list, tuple):
        return
    if len(option) > _FEW_ITEMS and any(type(item) is not int for item in option):
        raise ValueError(f"{what} holds a list of {len(option):,} entries that are not all whole numbers")
    for item in option[:_FEW_ITEMS]:
        if type(item) in (list, tuple):
            raise ValueError(f"{what} holds a list of lists")
        _check_size(item, what)


def _is_incomplete(option: Any) -> bool:
    """Whether an option, or part of it, is not in the file."""
    return isinstance(option, NotKept) or (type(option) in (list, tuple) and any(map(_is_incomplete, option)))


def _as_plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))
