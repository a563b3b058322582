"""The runs behind the results page, as one file of the package: ``published_runs.csv.gz``.

A line is a run. The first columns are the fields of its `RunSpec`, empty where the method has none; then come
``recipe``, the version of the spec; ``test_error`` and ``validation_error``, fractions of misclassified rows;
``edges_found`` and ``edges``, of the recovery experiment only; ``seconds`` and ``cpu_seconds`` of the fit; and
``version``, that of tanager. Structures are left out, to keep the file small: the same spec gives them again.
Spreadsheets and pandas read the file as it is.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from tanager.experiments.run import Result
from tanager.experiments.spec import SPEC_VERSION, RunSpec
from tanager.experiments.store import Record
from tanager.files import written_whole

PUBLISHED_RUNS = Path(__file__).with_name("published_runs.csv.gz")
"""The file in the package."""

_SPEC = [field.name for field in fields(RunSpec)]
_WHOLE = ("fold", "draw", "max_parents", "epochs", "batch_size", "seed")
_TEXT = ("dataset", "method", "optimiser")
_RESULT = ("test_error", "validation_error", "edges_found", "edges", "seconds", "cpu_seconds", "version")
_COLUMNS = [*_SPEC, "recipe", *_RESULT]
_DECIMALS = 2


def write_runs(records: Iterable[Record], path: Path) -> int:
    """Write runs to a file, which appears only when it is complete; returns their number.

    The same runs give the same bytes.
    """
    lines = [_line(record) for record in records]
    lines.sort(key=lambda line: [str(value) for value in line.values()])
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    with written_whole(path) as temporary:
        temporary.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    return len(lines)


def read_runs(path: Path = PUBLISHED_RUNS) -> list[Record]:
    """Read runs from a file; those of another spec version are left out.

    Raises
    ------
    ValueError
        If the file is not of this form.
    """
    try:
        lines = csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))
        if lines.fieldnames != _COLUMNS:
            raise ValueError(f"its columns must be {', '.join(_COLUMNS)}")
        return [_record(line) for line in lines if line["recipe"] == str(SPEC_VERSION)]
    except (OSError, EOFError, ValueError, TypeError, zlib.error) as error:
        raise ValueError(f"{path} is not a file of published runs: {error}") from error


def _line(record: Record) -> dict[str, Any]:
    spec, result = record.spec, record.result
    found, n_edges = result.recovered or (None, None)
    measured = (
        result.test_error,
        result.validation_error,
        found,
        n_edges,
        round(result.seconds, _DECIMALS),
        round(result.cpu_seconds, _DECIMALS),
        result.version,
    )
    return asdict(spec) | {"recipe": SPEC_VERSION} | dict(zip(_RESULT, measured, strict=True))


def _record(line: dict[str, str]) -> Record:
    spec = RunSpec(**{name: _field(name, line[name]) for name in _SPEC if line[name]})
    edges = None if line["edges"] == "" else (int(line["edges_found"]), int(line["edges"]))
    result = Result(
        test_error=float(line["test_error"]),
        validation_error=float(line["validation_error"]) if line["validation_error"] else None,
        parents=None,
        recovered=edges,
        seconds=float(line["seconds"]),
        cpu_seconds=float(line["cpu_seconds"]),
        version=line["version"],
    )
    return Record(spec, result)


def _field(name: str, text: str) -> Any:
    if name in _TEXT or (name == "ordering" and not text.isdecimal()):
        return text
    return int(text) if name in _WHOLE or name == "ordering" else float(text)
