"""The JSON header of a model file: written canonically, read with limits on size, depth and number of values.

`Fields` reads its objects and checks the type of every value, since a header may come from anywhere.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

MAX_BYTES = 2**24
MAX_DEPTH = 32
MAX_VALUES = 500_000  # so that the objects that a header is parsed into take no more than about 100 MB

_T = TypeVar("_T")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_KINDS: dict[type, str] = {
    bool: "true or false",
    dict: "an object",
    float: "a number with a point",
    int: "a whole number",
    list: "a list",
    str: "a text",
}


def dump_header(document: dict[str, Any]) -> bytes:
    """Write JSON in canonical form: keys sorted, no spaces, ASCII with escapes.

    Examples
    --------
    >>> dump_header({"b": 1, "a": "é"})
    b'{"a":"\\\\u00e9","b":1}'
    """
    text = json.dumps(document, allow_nan=False, sort_keys=True, separators=(",", ":")).encode("ascii")
    _check_limits(text)
    return text


def parse_header(text: bytes) -> dict[str, Any]:
    """Read JSON whose top level is an object; anything unusual raises a ValueError.

    Examples
    --------
    >>> parse_header(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    _check_limits(text)
    try:
        document = json.loads(
            text.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_finite
        )
    except ValueError as error:
        raise ValueError(f"the header is damaged: {error}") from None
    if type(document) is not dict:
        raise ValueError("the header is not a JSON object")
    return document


@dataclass(frozen=True)
class Fields:
    """A JSON object with a description of it for messages.

    Examples
    --------
    >>> Fields({"n": 3}, "the summary").take("n", int)
    3
    """

    values: dict[str, Any]
    what: str

    def take(self, key: str, kind: type[_T]) -> _T:
        """The value of a key, which must have exactly this type."""
        if key not in self.values:
            raise ValueError(f"{self.what} has no {key!r}")
        value = self.values[key]
        if type(value) is not kind:
            raise ValueError(f"{key!r} of {self.what} must be {_KINDS[kind]}, got {shortened(value)}")
        return value

    def count(self, key: str, least: int = 0) -> int:
        """The value of a key, which must be a whole number of at least ``least``."""
        value = self.take(key, int)
        if value < least:
            raise ValueError(f"{key!r} of {self.what} must be at least {least}, got {shortened(value)}")
        return value

    def fields(self, key: str) -> Fields:
        """The object that a key holds."""
        return Fields(self.take(key, dict), f"{key!r} of {self.what}")

    def list_of_fields(self, key: str) -> list[Fields]:
        """The list of objects that a key holds."""
        items = self.take(key, list)
        for item in items:
            if type(item) is not dict:
                raise ValueError(f"{key!r} of {self.what} must hold objects, got {shortened(item)}")
        return [Fields(item, f"{key!r} of {self.what}, entry {number},") for number, item in enumerate(items)]


def shortened(value: Any) -> str:
    """A value for a message, truncated if long."""
    if isinstance(value, (dict, list)):
        return f"{_KINDS[type(value)]} of {len(value)}"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a very large number"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_limits(text: bytes) -> None:
    """Refuse JSON that would take too much memory or too many nested calls to parse, before parsing it."""
    if len(text) > MAX_BYTES:
        raise ValueError(f"the header has {len(text):,} bytes, and at most {MAX_BYTES:,} are allowed")
    n_values = text.count(b",") + text.count(b"[") + text.count(b"{")
    if n_values > MAX_VALUES:
        raise ValueError(f"the header has more than {MAX_VALUES:,} values")
    brackets = np.frombuffer(_STRING.sub(b"", text).translate(None, _NOT_BRACKETS), np.uint8)
    is_open = (brackets == ord("[")) | (brackets == ord("{"))
    depth = int(np.cumsum(np.where(is_open, 1, -1)).max(initial=0))
    if depth > MAX_DEPTH:
        raise ValueError(f"the header is nested {depth} levels deep, and at most {MAX_DEPTH} are allowed")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError("an object of the header has the same key twice")
    return document


def _no_constant(name: str) -> None:
    raise ValueError(f"the header holds {name}, which is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the header holds a number too large for a floating-point number: {text[:40]}")
    return value
