"""Encoded rows as bytes in files: codes, classes and weights, appended piece by piece and read in blocks.

A byte a cell where columns have up to 255 values. Reading goes through ordinary buffers, not a memory map, so that it
takes no more memory than was asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_CODES, _CLASSES, _WEIGHTS, _STATE = "codes", "classes", "weights", "state.json"


class Block(NamedTuple):
    """Encoded rows."""

    codes: NDArray[Any]
    y: NDArray[Any]
    weight: NDArray[np.float64] | None


class RowStore:
    """Rows of one encoder in a folder, which may have been begun before.

    Parameters
    ----------
    folder : path
    n_features : int
    code_type : dtype of the codes
    n_classes : int
    has_weight : bool
    identity : anything that JSON can hold
        A folder that was begun for another one is begun anew.

    Attributes
    ----------
    n_rows, n_pieces : int
        Rows and pieces so far.
    is_complete : bool
    """

    def __init__(
        self, folder: Path, n_features: int, code_type: Any, n_classes: int, has_weight: bool, identity: Any
    ) -> None:
        self.folder, self.n_features, self.has_weight = folder, n_features, has_weight
        self._types = {_CODES: np.dtype(code_type), _CLASSES: np.min_scalar_type(n_classes), _WEIGHTS: np.dtype("f8")}
        self._identity = json.loads(json.dumps([identity, n_features, str(code_type), n_classes, has_weight]))
        self.n_rows = self.n_pieces = 0
        self.is_complete = False
        folder.mkdir(parents=True, exist_ok=True)
        self._begin()

    @property
    def identity(self) -> str:
        """By which these rows are told from others."""
        return json.dumps(self._identity)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's codes."""
        return self.n_features * self._types[_CODES].itemsize

    def append(self, codes: NDArray[Any], y: NDArray[Any], weight: NDArray[np.float64] | None) -> None:
        """Write a piece to the end."""
        arrays = {_CODES: codes, _CLASSES: y, _WEIGHTS: np.ones(len(y)) if weight is None else weight}
        for name in self._names():
            with (self.folder / name).open("ab") as stream:
                np.ascontiguousarray(arrays[name], self._types[name]).tofile(stream)
        self.n_rows += len(y)
        self.n_pieces += 1
        self._save()

    def complete(self) -> None:
        """Note that all pieces are there."""
        self.is_complete = True
        self._save()

    def read(self, spans: Iterable[tuple[int, int]]) -> Block:
        """Read some ranges of rows, one after the other."""
        parts = {name: [self._read(name, lo, hi) for lo, hi in spans] for name in self._names()}
        joined = {name: each[0] if len(each) == 1 else np.concatenate(each) for name, each in parts.items()}
        codes = joined[_CODES].reshape(-1, self.n_features)
        return Block(codes, joined[_CLASSES].astype(np.int64), joined.get(_WEIGHTS))

    def blocks(self, n_rows: int) -> Iterator[Block]:
        """All rows in order, so many at a time."""
        yield from self.read_ahead([[(lo, min(lo + n_rows, self.n_rows))] for lo in range(0, self.n_rows, n_rows)])

    def read_ahead(self, wanted: list[list[tuple[int, int]]]) -> Iterator[Block]:
        """Blocks of these ranges of rows; each is read while the one before is worked on."""
        with ThreadPoolExecutor(1) as pool:
            pending = pool.submit(self.read, wanted[0]) if wanted else None
            for following in [*wanted[1:], None]:
                if pending is None:
                    return
                block = pending.result()
                pending = None if following is None else pool.submit(self.read, following)
                yield block

    def _read(self, name: str, lo: int, hi: int) -> NDArray[Any]:
        width, kind = (self.n_features if name == _CODES else 1), self._types[name]
        count = (hi - lo) * width
        found = np.fromfile(self.folder / name, kind, count, offset=lo * width * kind.itemsize)
        if len(found) < count:
            raise OSError(f"{self.folder / name} is shorter than it was: start again with an empty folder")
        return found

    def _names(self) -> tuple[str, ...]:
        return (_CODES, _CLASSES, _WEIGHTS) if self.has_weight else (_CODES, _CLASSES)

    def _begin(self) -> None:
        """Go on where the folder was left, or begin anew."""
        path = self.folder / _STATE
        try:
            state = json.loads(path.read_text())
        except (FileNotFoundError, ValueError):
            state = {}
        if state.get("identity") == self._identity:
            self.n_rows, self.n_pieces, self.is_complete = state["n_rows"], state["n_pieces"], state["is_complete"]
        for name in self._names():
            width = (self.n_features if name == _CODES else 1) * self._types[name].itemsize
            with (self.folder / name).open("ab") as stream:
                if stream.tell() < self.n_rows * width:
                    raise OSError(f"{self.folder / name} is shorter than it was: start again with an empty folder")
                stream.truncate(self.n_rows * width)

    def _save(self) -> None:
        state = {"n_rows": self.n_rows, "n_pieces": self.n_pieces, "is_complete": self.is_complete}
        new = self.folder / f"{_STATE}.new"
        new.write_text(json.dumps({**state, "identity": self._identity}))
        os.replace(new, self.folder / _STATE)
