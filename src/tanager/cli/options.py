"""Options that several commands share, and the check of output files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tanager.cli.errors import InputError

_READING = "Reading the data"

DelimiterOption = Annotated[
    str | None,
    typer.Option(
        help="One character, or the word tab. Defaults to a tab for .tsv files and a comma for others.",
        rich_help_panel=_READING,
    ),
]
EncodingOption = Annotated[str, typer.Option(help="Text encoding, such as latin-1.", rich_help_panel=_READING)]
NoHeaderOption = Annotated[
    bool,
    typer.Option(
        "--no-header", help="The first line is data, not names; columns become x0, x1, ...", rich_help_panel=_READING
    ),
]
MissingOption = Annotated[
    list[str] | None,
    typer.Option(help="A word that marks a missing cell. Empty cells always do. Repeatable.", rich_help_panel=_READING),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("must be at least 1, or -1 for all threads")
    return jobs


JobsOption = Annotated[
    int, typer.Option(callback=_check_jobs, help="Number of threads; -1 for all. Does not change the result.")
]


def check_output(out: Path, *inputs: Path) -> None:
    """Refuse an output that cannot be written, or that would overwrite an input, before any work is done."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise InputError(f"{out} is an input and cannot be the output too; choose another file for --out")
    if out.is_dir():
        raise InputError(f"{out} is a folder; give a file name")
    target = Path(os.path.realpath(out))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {out.name}: the folder {target.parent} does not exist")
    if target.exists() and not target.is_file():  # a device or a pipe, which is written to
        if not os.access(target, os.W_OK):
            raise InputError(f"cannot write {out}: permission denied")
        return
    try:
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror}") from error
