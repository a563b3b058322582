"""Lists of texts, numbers and truth values as plain arrays, each value with its type.

A list `a` becomes three arrays: `a.type` (one byte for each value), `a.data` (the bytes of all values) and `a.end`
(where each value ends). Categories and classes keep their types.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import object_array
from tanager.files.container import Arrays
from tanager.files.header import shortened

_DOUBLE = struct.Struct("<d")
_MOST_DIGITS = 4300  # Python's limit for whole numbers
_MOST_OF_ONE_HASH = 64  # hashes of numbers can be predicted; up to 34 ordinary floats may share one

ELEMENTS = (
    "object",
    "bool",
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
"""Element types of arrays of values; a file identifies them by their position here."""


def _write_text(value: str) -> bytes:
    # A lone surrogate is not valid Unicode, but a Python text may contain one, and it must survive.
    return value.encode("utf-8", "surrogatepass")


def _read_text(content: bytes) -> str:
    return content.decode("utf-8", "surrogatepass")


def _write_int(value: int) -> bytes:
    return str(value).encode("ascii")


def _read_int(content: bytes) -> int:
    value = int(content)
    if _write_int(value) != content:
        raise ValueError("a whole number is malformed")
    return value


def _write_float(value: float) -> bytes:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return _DOUBLE.pack(value)


def _read_float(content: bytes) -> float:
    if len(content) != _DOUBLE.size:
        raise ValueError(f"a number has {len(content)} bytes instead of {_DOUBLE.size}")
    value: float = _DOUBLE.unpack(content)[0]
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    return value


def _write_bool(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def _read_bool(content: bytes) -> bool:
    if content not in (b"\0", b"\1"):
        raise ValueError("a truth value is neither 0 nor 1")
    return content == b"\1"


def _write_decimal(value: Decimal) -> bytes:
    if not value.is_finite() or len(str(value)) > _MOST_DIGITS:
        raise ValueError(f"{shortened(value)} is not finite or too long")
    return str(value).encode("ascii")


def _read_decimal(content: bytes) -> Decimal:
    if len(content) > _MOST_DIGITS:
        raise ValueError("a decimal number is too long")
    try:
        value = Decimal(content.decode("ascii"))
    except InvalidOperation:
        raise ValueError("a decimal number is malformed") from None
    if not value.is_finite():
        raise ValueError("a decimal number is not finite")
    return value


# The position of a type in this list is its number in the file.
_CODECS: list[tuple[type, Callable[[Any], bytes], Callable[[bytes], Any]]] = [
    (str, _write_text, _read_text),
    (int, _write_int, _read_int),
    (float, _write_float, _read_float),
    (bool, _write_bool, _read_bool),
    (Decimal, _write_decimal, _read_decimal),
    (bytes, bytes, bytes),
]
_NUMBER_OF = {kind: number for number, (kind, _, _) in enumerate(_CODECS)}


def pack_values(name: str, values: list[Any], what: str) -> dict[str, NDArray[Any]]:
    """Turn a list into the arrays of that name; ``what`` describes the values in errors.

    Examples
    --------
    >>> {name: array.tolist() for name, array in pack_values("a", ["hi", 7], "the values").items()}
    {'a.type': [0, 1], 'a.end': [2, 3], 'a.data': [104, 105, 55]}
    """
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    types = [_NUMBER_OF.get(type(value), -1) for value in plain]
    if -1 in types:
        value = plain[types.index(-1)]
        raise ValueError(
            f"{what} hold {shortened(value)} of type {type(value).__name__}, which a model file cannot hold; turn it "
            "into text or numbers before fitting"
        )
    try:
        parts = [_CODECS[number][1](value) for number, value in zip(types, plain, strict=True)]
    except ValueError as error:
        raise ValueError(f"{what} hold a value that a model file cannot hold: {error}") from None
    return {
        f"{name}.type": np.array(types, np.uint8),
        f"{name}.end": np.cumsum([len(part) for part in parts], dtype=np.int64),
        f"{name}.data": np.frombuffer(b"".join(parts), np.uint8),
    }


def unpack_values(arrays: Arrays, name: str, length: int | None = None) -> list[Any]:
    """The inverse of `pack_values`.

    Examples
    --------
    >>> unpack_values(Arrays(pack_values("a", ["hi", 7], "the values")), "a")
    ['hi', 7]
    """
    types = arrays.take(f"{name}.type", "uint8", length=length)
    data = arrays.take(f"{name}.data", "uint8").tobytes()
    spans = take_spans(arrays, f"{name}.end", types.size, len(data))
    if types.size and types.max() >= len(_CODECS):
        raise ValueError(f"{name!r} holds a value of the unknown type {types.max()}")
    try:
        return [_CODECS[number][2](data[lo:hi]) for number, (lo, hi) in zip(types.tolist(), spans, strict=True)]
    except ValueError as error:
        raise ValueError(f"{name!r} holds a value that cannot be read: {error}") from None


def take_spans(arrays: Arrays, name: str, length: int, total: int) -> list[tuple[int, int]]:
    """Start and end of consecutive parts with total length ``total``, from the array of their ends."""
    ends = arrays.take(name, "int64", length=length)
    starts = np.concatenate([[0], ends[:-1]]) if length else ends
    if np.any(ends < starts) or (ends[-1] if length else 0) != total:
        raise ValueError(f"array {name!r} must increase to {total}")
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def check_distinct(values: list[Any], what: str) -> None:
    """Refuse equal values, and many values with the same hash, which would make look-ups slow."""
    hashes = np.array([hash(value) for value in values], np.int64)
    n_alike = np.unique(hashes, return_counts=True)[1].max(initial=0)
    if n_alike > _MOST_OF_ONE_HASH or len(set(values)) < len(values):
        raise ValueError(f"{what} are not all distinct")


def element_of(array: NDArray[Any], what: str) -> str:
    """Name of the element type of an array, one of `ELEMENTS`."""
    name = array.dtype.name
    if name not in ELEMENTS:
        raise ValueError(f"{what} are of type {name}, which a model file cannot hold; turn them into text or numbers")
    return name


def array_of(values: list[Any], element: str, what: str) -> NDArray[Any]:
    """An array with one of the `ELEMENTS` as its type, which must represent the values exactly.

    Examples
    --------
    >>> array_of([1, 2], "int8", "the values")
    array([1, 2], dtype=int8)
    """
    if element == "object":
        return object_array(values)
    dtype = np.dtype(element)
    kind = {"b": bool, "f": float}.get(dtype.kind, int)
    if any(type(value) is not kind for value in values):
        raise ValueError(f"{what} of type {element} must all be of that type")
    if kind is int and any(not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max for value in values):
        raise ValueError(f"{what} are out of range for {element}")
    with np.errstate(over="ignore"):
        array = np.array(values, dtype)
    if array.tolist() != values:
        raise ValueError(f"{what} are out of range for {element}")
    return array
