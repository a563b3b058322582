"""The container of a model file: preamble, JSON header, plain arrays, checksum (docs/model-files.md).

Nothing in a file is trusted. Every length is compared with the length of the file before anything is allocated, and any
defect raises a ValueError, which `tanager.files.model_file` turns into a ModelFileError with the file's name.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import stat
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.files.header import MAX_BYTES, Fields, dump_header, parse_header, shortened
from tanager.files.signing import SIGNATURE_SIZE, check_digest, check_signature
from tanager.files.writing import written_whole

VERSION = 2
MAGIC = b"\x89TANAGER"
PREAMBLE = struct.Struct("<8sIIQ")  # magic, version, 1 if it is signed and else 0, length of the header
ALIGNMENT = 64
DIGEST_SIZE = hashlib.sha256().digest_size

_NAMES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_DTYPES = {name: np.dtype(name).newbyteorder("<") for name in _NAMES}
_MAX_DIMENSIONS = 4


class Arrays:
    """The arrays of a file, by name.

    Examples
    --------
    >>> arrays = Arrays({"a": np.arange(3)})
    >>> arrays.take("a", "int64", length=3)
    array([0, 1, 2])
    >>> arrays.names
    set()
    """

    def __init__(self, views: dict[str, NDArray[Any]]) -> None:
        self._views = views

    @property
    def names(self) -> set[str]:
        """Names of the arrays that have not been taken yet."""
        return set(self._views)

    def size_of(self, name: str) -> int:
        """Number of entries of an array, without taking it."""
        if name not in self._views:
            raise ValueError(f"array {shortened(name)} is missing")
        return self._views[name].size

    def take(self, name: str, *dtypes: str, length: int | None = None) -> NDArray[Any]:
        """A copy of a 1-d array, which must have one of the given types and the given length."""
        array = self.take_any(name)
        if array.dtype.name not in dtypes or array.ndim != 1:
            raise ValueError(
                f"array {name!r} must be one-dimensional of {' or '.join(dtypes)}, got {array.dtype} {array.shape}"
            )
        if length is not None and array.size != length:
            raise ValueError(f"array {name!r} must have {length} entries, got {array.size}")
        return array

    def take_any(self, name: str) -> NDArray[Any]:
        """A copy of an array of any type and shape."""
        self.size_of(name)
        view = self._views.pop(name)
        return view.astype(view.dtype.newbyteorder("="))


def write_container(
    path: Path | str, document: dict[str, Any], arrays: dict[str, NDArray[Any]], key: bytes | None = None
) -> None:
    """Write a header and arrays, signed if there is a key; adds the header entry "arrays", which locates them."""
    entries = []
    end = 0
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES:
            raise ValueError(f"array {name!r} is of type {array.dtype}, which a model file cannot hold")
        entries.append({"name": name, "dtype": array.dtype.name, "shape": list(array.shape), "offset": end})
        end = _aligned(end + array.nbytes)
    header = dump_header({**document, "arrays": entries})
    digest = hashlib.sha256()
    signature = None if key is None else hmac.new(key, digestmod="sha256")
    with written_whole(path) as temporary, temporary.open("wb") as file:

        def write(content: bytes | memoryview) -> None:
            digest.update(content)
            if signature is not None:
                signature.update(content)
            file.write(content)

        write(PREAMBLE.pack(MAGIC, VERSION, int(key is not None), len(header)))
        write(header)
        write(bytes(_aligned(file.tell()) - file.tell()))
        for array in arrays.values():
            write(np.ascontiguousarray(array, _DTYPES[array.dtype.name]).tobytes())
            write(bytes(_aligned(file.tell()) - file.tell()))
        write(digest.digest())
        if signature is not None:
            file.write(signature.digest())


def read_container(path: Path, sha256: str | None = None, key: bytes | None = None) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays of a file, and verify its checksum; with a digest or a key, that it is the right file."""
    size = _file_size(path)
    with path.open("rb") as file:
        content = file.read(size)
    if sha256 is not None:
        check_digest(content, sha256)
    header_size, is_signed = _read_preamble(content, size)
    header_end, view = PREAMBLE.size + header_size, memoryview(content)
    if key is not None:
        check_signature(view, is_signed, key)
    data_start, data_end = _aligned(header_end), len(content) - DIGEST_SIZE - is_signed * SIGNATURE_SIZE
    if data_start > data_end:
        raise ValueError("the file is cut off")
    if hashlib.sha256(view[:data_end]).digest() != view[data_end : data_end + DIGEST_SIZE]:
        raise ValueError("the checksum is wrong: the file is damaged or cut off")
    document = parse_header(content[PREAMBLE.size : header_end])
    return document, Arrays(_find_arrays(Fields(document, "the header"), view[data_start:data_end]))


def read_document(path: Path) -> dict[str, Any]:
    """Read the header alone; the checksum, which covers the whole file, is not verified."""
    size = _file_size(path)
    with path.open("rb") as file:
        header_size, _ = _read_preamble(file.read(PREAMBLE.size), size)
        return parse_header(file.read(header_size))


def _file_size(path: Path) -> int:
    """Length of a file; refuses pipes and devices, which may never end, before opening them."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path} is a folder; name a file")
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("this is not an ordinary file")
    return status.st_size


def _read_preamble(content: bytes, file_size: int) -> tuple[int, bool]:
    """Check the preamble and return the length of the header, and whether the file is signed."""
    if content[: len(MAGIC)] != MAGIC:
        raise ValueError("this is not a tanager model file")
    if len(content) < PREAMBLE.size:
        raise ValueError("the file is cut off")
    _, version, is_signed, header_size = PREAMBLE.unpack_from(content)
    if version > VERSION:
        raise ValueError(
            f"the file was written in format {version}, and this tanager reads format {VERSION}: upgrade tanager"
        )
    if version < 1 or is_signed not in (0, 1):
        raise ValueError("the preamble is damaged")
    if version < VERSION:
        raise ValueError(
            f"the file was written in format {version}, whose options no longer exist, and this tanager reads "
            f"format {VERSION}: fit the model again"
        )
    if header_size > MAX_BYTES:
        raise ValueError(f"the header has {header_size:,} bytes, and at most {MAX_BYTES:,} are allowed")
    if PREAMBLE.size + header_size + DIGEST_SIZE > file_size:
        raise ValueError("the file is cut off")
    return int(header_size), bool(is_signed)


def _find_arrays(header: Fields, data: memoryview) -> dict[str, NDArray[Any]]:
    """Views of the arrays that the header lists; they must fill the data without gaps or overlap."""
    views: dict[str, NDArray[Any]] = {}
    end = 0
    for entry in header.list_of_fields("arrays"):
        name, dtype, shape = entry.take("name", str), entry.take("dtype", str), entry.take("shape", list)
        what = f"array {shortened(name)}"
        if name in views:
            raise ValueError(f"{what} appears twice")
        if dtype not in _DTYPES:
            raise ValueError(f"{what} is of the unknown type {shortened(dtype)}")
        if len(shape) > _MAX_DIMENSIONS or any(type(length) is not int or length < 0 for length in shape):
            raise ValueError(f"{what} has an invalid shape")
        if entry.count("offset") != end:
            raise ValueError(f"{what} is at the wrong place")
        n_bytes = math.prod(shape) * _DTYPES[dtype].itemsize
        if _aligned(end + n_bytes) > len(data) or max(shape, default=0) > len(data):
            raise ValueError(f"{what} is larger than the file")
        views[name] = np.ndarray(shape, _DTYPES[dtype], data, end)
        end = _aligned(end + n_bytes)
    if end != len(data):
        raise ValueError("the arrays do not fill the file")
    return views


def _aligned(position: int) -> int:
    """The next position where an array may start."""
    return -(-position // ALIGNMENT) * ALIGNMENT
