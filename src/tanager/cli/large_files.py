"""Data files that are too large for memory: the source that ``tanager fit`` reads them by, piece by piece.

A pass of its own finds the types of the columns of a text file, which fit all cells, and draws some rows. These say
what is written in columns of text: amounts, dates, answers (see `tanager.data.cleaning`). A cell that is not written
like them is then an error that names it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute, types

import tanager
from tanager.cli.cells import number_kind
from tanager.cli.data_files import DataFile, Reading, check_columns, open_data
from tanager.cli.errors import InputError
from tanager.cli.evaluation import Score
from tanager.cli.training_data import Columns
from tanager.data import Piece
from tanager.data.cleaning import ANSWER, AS_IS, DATE, NUMBER, ColumnPlan
from tanager.data.row_sample import hash_positions
from tanager.data.tidying import plan_frame, tidy_frame
from tanager.data.written import MISSING_WORDS
from tanager.training.progress import RowProgress

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# How much larger rows are in memory than in a file, in the course of a fit: text of numbers, and compressed columns.
_GROWTH, _COMPRESSED_GROWTH = 4, 12
_FAR = 1 << 48
_FEWEST_DRAWN, _MOST_DRAWN = 1_000, 20_000  # rows that say how columns are written
_PLAIN = (".csv", ".tsv", ".tab", ".txt")


def read_memory(text: str | None) -> int:
    """Bytes that an amount of memory such as 500M or 2G means; half of the machine's without one.

    >>> read_memory("1.5G") == 3 << 29
    True
    """
    if text is None:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        except (AttributeError, ValueError, OSError):
            return 4 << 30
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise InputError(f"--memory must be a number of bytes such as 500M or 2G, got {text!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def is_large(path: Path, memory: int) -> bool:
    """Whether the rows of a file, or of a folder of files, may take more memory than this."""
    if path.is_dir():
        return True
    growth = _GROWTH if path.suffix.lower() in _PLAIN else _COMPRESSED_GROWTH
    return path.exists() and path.stat().st_size * growth > memory


class LargeRows:
    """The rows of a data file, or of all Parquet files of a folder, as a source.

    Parameters
    ----------
    path : Path
    reading : Reading
    target : str
    said : Columns
    memory : int
    folder : Path or None
        Where to keep what is needed to go on after an interruption.
    is_shown : bool
        Whether to show progress.
    """

    def __init__(
        self,
        path: Path,
        reading: Reading,
        target: str,
        said: Columns,
        memory: int,
        folder: Path | None,
        is_shown: bool,
    ) -> None:
        self.path, self.memory, self.folder, self.target = path, memory, folder, target
        self._files = [open_data(each, reading) for each in _files_of(path)]
        first = self._files[0]
        for file in self._files:
            check_columns([target, *said.categorical, *said.drop, *said.as_is], file)
            check_columns([name for name in first.names if name not in said.drop], file)
        if target in said.drop:
            raise InputError(f"cannot drop {target!r}: it is the target")
        self._columns = [name for name in first.names if name != target and name not in said.drop]
        if not self._columns:
            raise InputError(f"{path} has no column besides the target {target!r}, so there is nothing to learn from")
        self._states = [file.path.stat() for file in self._files]
        self._said = (reading, said)
        self._held_out, self.n_without_class, self.n_tested, self.n_rows = 0.0, 0, 0, None
        progress = RowProgress("typing", None) if is_shown else lambda n: None
        self._plans, self.notes = [ColumnPlan(name) for name in self._columns], list[str]()
        self._kinds, drawn = self._find_kinds(said.categorical, progress)
        self._plan(drawn, said)
        made = self._tidied(drawn, str(path)).schema
        self.features: list[str] = [name for name in made.names if name != target]
        self._numbers = {name for name in self.features if _holds_numbers(made.field(name).type)}

    @property
    def identity(self) -> list[Any]:
        """Files, as they were when they were opened, and how they are read."""
        files = zip(self._files, self._states, strict=True)
        return [
            [[str(file.path.resolve()), state.st_size, state.st_mtime_ns] for file, state in files],
            repr(self._said),
            self.target,
            self._held_out,
        ]

    @property
    def categorical(self) -> list[str]:
        """Names of the categorical columns."""
        return [name for name in self.features if name in self._said[1].categorical or name not in self._numbers]

    def classes(self) -> list[Any]:
        """All classes, which takes a pass."""
        return sorted({label for piece in self.pieces() for label in np.unique(piece.y).tolist()})

    def hold_out(self, fraction: float) -> None:
        """Leave this fraction of the rows, drawn by their positions, out of the pieces, for `test`."""
        self._held_out = fraction

    def test(self, classifier: Any) -> Score:
        """The error on the rows that are held out."""
        n_wrong = self.n_tested = 0
        for piece in self._pieces(is_held_out=True):
            if len(piece.y):
                n_wrong += int((classifier.predict(piece.X) != piece.y).sum())
                self.n_tested += len(piece.y)
        error = n_wrong / max(1, self.n_tested)
        spread = (error * (1 - error) / max(1, self.n_tested)) ** 0.5
        return Score("classifier", error, spread, 0.0)

    def metadata(self, test: str, scores: list[Score]) -> dict[str, Any]:
        """Where the model comes from, for the model file."""
        return {
            "target": self.target,
            "source": self.path.name,
            "missing": list(self._said[0].missing),
            "cleaning": [plan.to_dict() for plan in self._plans],
            "test": test,
            "errors": [asdict(score) for score in scores],
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": tanager.__version__,
        }

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows that have a class and are not held out."""
        yield from self._pieces(is_held_out=False)

    def _pieces(self, *, is_held_out: bool) -> Iterator[Piece]:
        self.n_without_class, position = 0, 0
        for file, state in zip(self._files, self._states, strict=True):
            first = 1
            for batch in self._batches(file):
                name = f"{file.path}, rows {first:,} to {first + batch.num_rows - 1:,}"
                first += batch.num_rows
                has_class = compute.is_valid(batch.column(self.target)).to_numpy(zero_copy_only=False)
                self.n_without_class += int((~has_class).sum())
                # Other hashes than those of the sample, which is drawn by positions, too.
                share = hash_positions(_FAR + position, batch.num_rows) / 2.0**64
                position += batch.num_rows
                kept = batch.filter(pyarrow.array(has_class & ((share < self._held_out) == is_held_out)))
                yield self._piece(kept, name)
            found = file.path.stat()
            if (found.st_size, found.st_mtime_ns) != (state.st_size, state.st_mtime_ns):
                raise InputError(f"{file.path} has changed while it was being read; start again")

    def _piece(self, batch: Any, name: str) -> Piece:
        frame = self._tidied(batch, name)
        y = frame.column(self.target).combine_chunks()
        return Piece(frame.drop_columns([self.target]), y.to_numpy(zero_copy_only=False), name=name)

    def _tidied(self, batch: Any, name: str) -> Any:
        """The columns that are learned from, and the target, made of those of the file."""
        columns = {each: batch.column(each) for each in batch.schema.names}
        typed = {each: cells.cast(self._kinds.get(each, cells.type)) for each, cells in columns.items()}
        frame = pyarrow.table(typed)
        if all(plan.kind == AS_IS for plan in self._plans):
            return frame
        try:
            made = tidy_frame(frame, self._plans)
        except ValueError as error:
            raise InputError(f"{name}: {error} (--as-is keeps it)") from None
        for plan in self._plans:
            for each in plan.made if plan.kind != AS_IS else ():
                # One type in all pieces, also where the numbers of one are all whole, or its cells all missing.
                made = _replaced(made, each, pyarrow.float64() if plan.makes_numbers(each) else pyarrow.string())
        return made.append_column(self.target, frame.column(self.target))

    def _batches(self, file: DataFile) -> Iterator[Any]:
        wanted = [*self._columns, self.target]
        yield from file.pieces(wanted, max(1024, min(65536, self.memory // (256 * len(wanted)))))

    def _find_kinds(self, categorical: Sequence[str], done: Any) -> tuple[dict[str, Any], Any]:
        """The type of each column of text that holds numbers only, and of the target; and some rows."""
        first = next(self._batches(self._files[0]), None)
        if first is None:
            raise InputError(f"{self._files[0].path} has a header but no rows")
        target = first.schema.field(self.target).type
        if types.is_floating(target) or types.is_temporal(target) or types.is_nested(target):
            raise InputError(f"the target {self.target!r} has values of type {target}, which cannot be classes")
        kinds = {
            field.name: pyarrow.int64()
            for field in first.schema
            if types.is_string(field.type) and field.name not in categorical
        }
        if not kinds and not any(types.is_temporal(field.type) for field in first.schema):
            return kinds, first
        drawn = _Drawn(max(_FEWEST_DRAWN, min(_MOST_DRAWN, self.memory // (1024 * len(first.schema)))))
        for file in self._files:
            for batch in self._batches(file):
                for name in list(kinds):
                    kind = number_kind(batch.column(name), kinds[name])
                    if kind is None:
                        del kinds[name]
                    else:
                        kinds[name] = kind
                drawn.add(batch)
                done(batch.num_rows)
        if types.is_floating(kinds.get(self.target, pyarrow.int64())):
            del kinds[self.target]  # numbers with a point are classes by their text
        return kinds, drawn.rows()

    def _plan(self, drawn: Any, said: Columns) -> None:
        """Find out from some rows how each column is written."""
        frame = self._tidied(drawn, str(self.path))
        frame = frame.filter(compute.is_valid(frame.column(self.target)))
        if not frame.num_rows:
            return
        as_is = [name for name in self._columns if name in (*said.categorical, *said.as_is)]
        options: dict[str, Any] = {"decimal": said.decimal, "day_first": said.day_first, "as_is": as_is}
        y = frame.column(self.target).to_numpy(zero_copy_only=False)
        plans, self.notes = plan_frame(frame.drop_columns([self.target]), y, **options)
        if self.notes:
            self.notes.append(f"{frame.num_rows:,} rows, drawn at random, say how columns are written")
        # Any of the words that mark missing cells may be in the rows that were not drawn.
        words = tuple(sorted(MISSING_WORDS))
        self._plans = [replace(plan, missing=words) if plan.kind in (NUMBER, DATE, ANSWER) else plan for plan in plans]
        if not any(plan.made for plan in plans):
            raise InputError(
                f"{self.path} has no column to learn from: {'; '.join(self.notes)}. --as-is NAME keeps one"
            )


class _Drawn:
    """Some rows of all that are added, drawn by their positions."""

    def __init__(self, most: int) -> None:
        self._most, self._position = most, 0
        self._kept: list[tuple[NDArray[np.uint64], Any]] = []

    def add(self, batch: Any) -> None:
        """Draw among the rows of a batch and those drawn before."""
        self._kept.append((hash_positions(2 * _FAR + self._position, batch.num_rows), batch))
        self._position += batch.num_rows
        if sum(len(hashes) for hashes, _ in self._kept) > 2 * self._most:
            self._kept = self._fewest()

    def rows(self) -> Any:
        """The rows, in their order."""
        ((_, rows),) = self._fewest()
        return rows

    def _fewest(self) -> list[tuple[NDArray[np.uint64], Any]]:
        hashes = np.concatenate([each for each, _ in self._kept])
        rows = np.sort(np.argsort(hashes, kind="stable")[: self._most])
        frame = pyarrow.Table.from_batches([batch for _, batch in self._kept]).take(rows).combine_chunks()
        return [(hashes[rows], frame.to_batches()[0] if len(rows) else self._kept[0][1])]


def _holds_numbers(kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _replaced(frame: Any, name: str, kind: Any) -> Any:
    """The frame with a column of another type."""
    return frame.set_column(frame.column_names.index(name), name, frame.column(name).cast(kind))


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.iterdir() if each.suffix.lower() == ".parquet")
    if not found:
        raise InputError(f"the folder {path} has no .parquet files")
    return found
