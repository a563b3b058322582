"""Predictions written in pieces, as CSV, TSV or Parquet, to stdout or to a file that appears once it is complete."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
from pyarrow import compute, types

from tanager.cli.errors import InputError
from tanager.cli.options import check_output
from tanager.files import written_whole

STDOUT = Path("-")
_TEXT_ENDINGS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def check_prediction_file(out: Path, *inputs: Path) -> None:
    """Refuse a file that cannot be written, and an ending that is not a format."""
    if out == STDOUT or _is_device(out):
        return
    _format(out)
    check_output(out, *inputs)


@contextmanager
def written_predictions(out: Path) -> Iterator[Callable[[Any], None]]:
    """Yield a function that appends a record batch; the first batch sets the columns."""
    with ExitStack() as stack:
        if out == STDOUT:
            yield _text_writer(sys.stdout.buffer, ",")
            sys.stdout.buffer.flush()
            return
        ending, is_compressed = (".csv", False) if _is_device(out) else _format(out)
        path = out if _is_device(out) else stack.enter_context(written_whole(out))
        sink = stack.enter_context(pyarrow.output_stream(str(path), compression="gzip" if is_compressed else None))
        if ending == ".parquet":
            yield _parquet_writer(sink, stack)
        else:
            yield _text_writer(sink, _TEXT_ENDINGS[ending])


def _format(out: Path) -> tuple[str, bool]:
    """The ending that gives the format, and whether the file is compressed."""
    is_compressed = out.suffix.lower() == ".gz"
    ending = Path(out.stem).suffix.lower() if is_compressed else out.suffix.lower()
    if ending not in _TEXT_ENDINGS and (ending != ".parquet" or is_compressed):
        raise InputError(f"{out} must end in .csv, .tsv, .csv.gz, .tsv.gz or .parquet, which selects the format")
    return ending, is_compressed


def _is_device(out: Path) -> bool:
    """Whether this is a device or a pipe, which a file cannot replace."""
    return out.exists() and not out.is_file() and not out.is_dir()


def _text_writer(sink: Any, delimiter: str) -> Callable[[Any], None]:
    is_first = True

    def write(batch: Any) -> None:
        nonlocal is_first
        if is_first:
            header = io.StringIO()
            csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(batch.schema.names)
            sink.write(header.getvalue().encode())
            is_first = False
        # Arrow quotes either all text or none.
        style = "needed" if any(_needs_quotes(column, delimiter) for column in batch.columns) else "none"
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=style)
        buffer = pyarrow.BufferOutputStream()
        pyarrow.csv.write_csv(batch, buffer, options)
        sink.write(buffer.getvalue())

    return write


def _needs_quotes(column: Any, delimiter: str) -> bool:
    if not types.is_string(column.type):
        return False
    return bool(compute.any(compute.match_substring_regex(column, f'[{delimiter}"\r\n]')).as_py())


def _parquet_writer(sink: Any, stack: ExitStack) -> Callable[[Any], None]:
    from pyarrow import parquet

    writer: Any = None

    def write(batch: Any) -> None:
        nonlocal writer
        if writer is None:
            writer = stack.enter_context(parquet.ParquetWriter(sink, batch.schema))
        writer.write_batch(batch)

    return write
