"""Data files: CSV and TSV, also compressed, and Parquet, read in pieces.

All cells of a text file are read as text and trimmed; empty cells and the user's own markers are missing.
`tanager.cli.cells` decides the type of a column later, so that it cannot depend on where the pieces end.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow
import pyarrow.compute
import pyarrow.csv

from tanager._options import suggest
from tanager.cli.errors import InputError

CHUNK_ROWS = 65536
_HEAD_BYTES, _LONGEST_HEAD = 1 << 20, 1 << 26
# Text is parsed in blocks of this size, which limits the length of a row and the memory of a stream; larger ones, as
# many times as long as the first row, are for files with very many columns.
_BLOCK_BYTES, _BLOCK_ROWS = 1 << 20, 4
_DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_PARQUET = b"PAR1"


@dataclass(frozen=True)
class Reading:
    """How to read a file.

    Attributes
    ----------
    delimiter : str or None
        None is a tab for files that end in .tsv or .tab, and a comma for others.
    encoding : str
    has_header : bool
        Without a header, the columns are named x0, x1, ...
    missing : tuple of str
        Words that mark a missing cell, besides empty cells.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    has_header: bool = True
    missing: tuple[str, ...] = ()


class DataFile(Protocol):
    """Rows and named columns in a file.

    Attributes
    ----------
    path : Path
    names : list of str
    notes : list of str
        What the user should know about how the file was read.
    """

    path: Path
    names: list[str]
    notes: list[str]

    def pieces(self, names: Sequence[str], n_rows: int = CHUNK_ROWS) -> Iterator[pyarrow.RecordBatch]:
        """Yield these columns, up to ``n_rows`` rows at a time; a file without rows gives one empty piece."""
        ...


def open_data(path: Path, reading: Reading) -> DataFile:
    """Open a data file and read its header only.

    Raises
    ------
    InputError
        If the file is not a data file; the message says what to try instead.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a data file")
    with path.open("rb") as stream:
        magic = stream.read(4)
    if not magic:
        raise InputError(f"{path} is empty")
    return ParquetData(path, reading) if magic == _PARQUET else TextData(path, reading)


def check_columns(wanted: Sequence[str], file: DataFile) -> None:
    """Refuse names of columns that a file does not have."""
    for name in wanted:
        if name not in file.names:
            raise InputError(f"{file.path} has no column {name!r}; {suggest(name, file.names)}")


class TextData:
    """A CSV or TSV file."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self._reading = path, reading
        self._delimiter = _delimiter(path, reading)
        with _errors_named(path), self._stream() as stream:
            lines, first, n_lines = self._read_head(stream)
        size = sum(len(line.encode(errors="replace")) for line in lines[:n_lines])
        self._block_bytes = max(_BLOCK_BYTES, _BLOCK_ROWS * size)
        self._is_header_only = reading.has_header and not any(line.strip() for line in lines[n_lines:])
        if reading.has_header:
            self._raw_names = first
            stripped = [name.strip() for name in first]
        else:
            self._raw_names = [f"f{number}" for number in range(len(first))]  # as Arrow names them
            stripped = [f"x{number}" for number in range(len(first))]
        self._check_header(stripped)
        self.names = [name for name in stripped if name]
        self._raw = {name: raw for name, raw in zip(stripped, self._raw_names, strict=True) if name}
        self.notes = _header_notes(stripped)

    def pieces(self, names: Sequence[str], n_rows: int = CHUNK_ROWS) -> Iterator[pyarrow.RecordBatch]:
        """Yield these columns as text, up to ``n_rows`` rows at a time."""
        empty = pyarrow.record_batch([pyarrow.array([], pyarrow.string()) for _ in names], names=list(names))
        if self._is_header_only:
            yield empty
            return
        raw = [self._raw[name] for name in names]
        options = {
            "read_options": pyarrow.csv.ReadOptions(
                use_threads=False,  # threads would prefetch more, which takes memory
                block_size=self._block_bytes,
                encoding=self._reading.encoding,
                autogenerate_column_names=not self._reading.has_header,
            ),
            "parse_options": pyarrow.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            "convert_options": pyarrow.csv.ConvertOptions(
                include_columns=raw,
                column_types=dict.fromkeys(raw, pyarrow.string()),
                strings_can_be_null=False,
            ),
        }
        markers = pyarrow.array(["", *self._reading.missing])
        with _errors_named(self.path), self._stream() as stream, pyarrow.csv.open_csv(stream, **options) as reader:
            for batch in reader:
                for start in range(0, batch.num_rows, n_rows):
                    part = batch.slice(start, n_rows)
                    columns = [_without_missing(column, markers) for column in part.columns]
                    yield pyarrow.record_batch(columns, names=list(names))

    def _stream(self) -> Any:
        """The text as decompressed bytes."""
        with self.path.open("rb") as stream:
            magic = stream.read(4)
        found = (name for start, name in _COMPRESSIONS.items() if magic.startswith(start))
        return pyarrow.input_stream(str(self.path), compression=next(found, None))

    def _read_head(self, stream: Any) -> tuple[list[str], list[str], int]:
        """The first lines, beyond the first row if there is more, the cells of that row, and how many are its lines."""
        head = b""
        while len(head) < _LONGEST_HEAD:
            more = stream.read(max(_HEAD_BYTES, len(head)))
            head += more
            is_whole = len(more) < _HEAD_BYTES
            lines = io.StringIO(self._decode(head, is_whole), newline="").readlines()
            if any(line.strip() for line in lines):
                first, n_lines = self._first_record(lines)
                if is_whole or any(line.strip() for line in lines[n_lines:]):
                    return lines, first, n_lines
            elif is_whole:
                raise InputError(f"{self.path} is empty")
        raise InputError(
            f"the first row of {self.path} is longer than {_LONGEST_HEAD >> 20} MB; is a quote not closed?"
        )

    def _decode(self, head: bytes, is_whole: bool) -> str:
        """The first lines as text; binary data is refused."""
        encoding = self._reading.encoding
        if head.startswith(b"PK\x03\x04"):
            raise InputError(f"{self.path} is a zip archive or a spreadsheet; save the sheet as CSV first")
        if head.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
            raise InputError(f"{self.path} is UTF-16 text; add --encoding utf-16")
        try:
            text = head.decode(encoding, errors="strict" if is_whole else "ignore")
        except LookupError:
            raise InputError(f"unknown text encoding {encoding!r}; try utf-8, latin-1 or utf-16") from None
        except UnicodeDecodeError:
            if b"\x00" in head:
                raise InputError(f"{self.path} is not a data file: it contains binary data") from None
            raise InputError(_encoding_message(self.path, encoding)) from None
        if "\x00" in text:
            raise InputError(f"{self.path} is not a data file: it contains binary data")
        return text.removeprefix("\ufeff")

    def _first_record(self, lines: list[str]) -> tuple[list[str], int]:
        """Cells of the first row that is not empty, and the number of lines that it ends on."""
        records = csv.reader(lines, delimiter=self._delimiter)
        try:
            first = next(record for record in records if record)
        except csv.Error as error:
            raise InputError(f"cannot read the first row of {self.path}: {error}") from error
        return first, records.line_num

    def _check_header(self, names: list[str]) -> None:
        """Refuse duplicate names, a header that another delimiter would split, and the line sep=; of a spreadsheet."""
        if names[0].lower().startswith("sep="):
            raise InputError(
                f"{self.path} begins with a line for spreadsheets, {names[0]!r}, in place of the names of the columns: "
                "remove it, and give the delimiter with --delimiter"
            )
        if len(names) == 1:
            for other, shown in _DELIMITERS.items():
                if other != self._delimiter and other in self._raw_names[0]:
                    raise InputError(
                        f"{self.path} has only one column, {names[0][:60]!r}, with the delimiter "
                        f"{_DELIMITERS.get(self._delimiter, repr(self._delimiter))}; try --delimiter {shown}"
                    )
        _refuse_duplicates(self.path, names)


class ParquetData:
    """A Parquet file; its columns have types."""

    def __init__(self, path: Path, reading: Reading) -> None:
        from pyarrow import parquet

        self.path, self._reading = path, reading
        with _errors_named(path):
            self._file = parquet.ParquetFile(path)
        self.names = list(self._file.schema_arrow.names)
        _refuse_duplicates(path, self.names)
        self.notes: list[str] = []

    def pieces(self, names: Sequence[str], n_rows: int = CHUNK_ROWS) -> Iterator[pyarrow.RecordBatch]:
        """Yield these columns, up to ``n_rows`` rows at a time."""
        markers = pyarrow.array(["", *self._reading.missing])
        if not self._file.metadata.num_rows:
            yield pyarrow.RecordBatch.from_pylist([], schema=self._schema(names))
        with _errors_named(self.path):
            for batch in self._file.iter_batches(batch_size=n_rows, columns=list(names)):
                columns = [self._clean(batch.column(name), markers) for name in names]
                yield pyarrow.record_batch(columns, names=list(names))

    def _schema(self, names: Sequence[str]) -> Any:
        return pyarrow.schema([self._file.schema_arrow.field(name) for name in names])

    @staticmethod
    def _clean(column: Any, markers: Any) -> Any:
        if pyarrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        is_text = pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)
        return _without_missing(column.cast(pyarrow.string()), markers) if is_text else column


def _without_missing(column: Any, markers: Any) -> Any:
    """Trim the text, and make the cells that equal a marker null."""
    trimmed = pyarrow.compute.utf8_trim_whitespace(column)
    is_missing = pyarrow.compute.is_in(trimmed, value_set=markers)
    return pyarrow.compute.if_else(is_missing, pyarrow.scalar(None, pyarrow.string()), trimmed)


def _delimiter(path: Path, reading: Reading) -> str:
    if reading.delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(reading.delimiter, reading.delimiter)
        if len(delimiter) != 1:
            raise InputError(f"--delimiter must be one character or the word tab, got {reading.delimiter!r}")
        return delimiter
    return "\t" if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes} else ","


def _header_notes(names: list[str]) -> list[str]:
    notes = []
    nameless = [str(number) for number, name in enumerate(names, start=1) if not name]
    if nameless:
        is_one = len(nameless) == 1
        what = f"column {nameless[0]} has" if is_one else f"columns {', '.join(nameless)} have"
        notes.append(f"{what} no name and {'is' if is_one else 'are'} ignored")
    if all(_is_number(name) for name in names if name):
        notes.append("the first line has only numbers; if it is data, add --no-header")
    return notes


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse_duplicates(path: Path, names: list[str]) -> None:
    duplicates = [name for name, count in Counter(names).items() if count > 1 and name]
    if duplicates:
        shown = ", ".join(map(repr, duplicates))
        raise InputError(f"{path} has more than one column named {shown}; rename the copies")


def _encoding_message(path: Path, encoding: str) -> str:
    return f"{path} is not {encoding} text; give its encoding, such as --encoding latin-1"


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Name the file in errors, and put them in the user's words."""
    try:
        yield
    except InputError:
        raise
    except (pyarrow.ArrowException, UnicodeDecodeError, EOFError, OSError) as error:
        text = " ".join(str(error).split())
        if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in text:
            raise InputError(_encoding_message(path, "utf-8")) from error
        if "straddling" in text:
            raise InputError(f"{path} has a row longer than {_BLOCK_BYTES >> 20} MB; is a quote not closed?") from error
        row = re.search(r"Expected (\d+) columns, got (\d+): (.*)", text)
        if row:
            expected, got, start = row.groups()
            raise InputError(
                f"{path} has a row with {got} cells where the first line has {expected}: {start[:80]}"
            ) from error
        raise InputError(f"cannot read {path}: {text}") from error
