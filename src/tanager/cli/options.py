"""Options that several commands share, and checks of the files that they write."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from tanager.cli.errors import InputError, suggest

_READING = "How the table is read"

DelimiterOption = Annotated[
    str | None,
    typer.Option(
        help="One character, or the word tab. By default a tab in .tsv files and a comma in others.",
        rich_help_panel=_READING,
    ),
]
EncodingOption = Annotated[str, typer.Option(help="Text encoding, for instance latin-1.", rich_help_panel=_READING)]
NoHeaderOption = Annotated[
    bool,
    typer.Option("--no-header", help="The first line is a row; the columns are x0, x1, ...", rich_help_panel=_READING),
]
MissingOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A word that stands for a missing cell, besides nothing; can be given several times.",
        rich_help_panel=_READING,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
JobsOption = Annotated[int, typer.Option(help="Number of threads; -1 for all. It does not change the result.")]


def check_output(out: Path, *inputs: Path) -> None:
    """Refuse an output that cannot be written, before any work is done, and one that would replace an input."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise InputError(f"{out} is read from, and cannot be written to as well; name another file with --out")
    if out.is_dir():
        raise InputError(f"{out} is a folder; name a file")
    if not out.parent.is_dir():
        raise InputError(f"there is no folder {out.parent} to write {out.name} to")
    try:
        tempfile.TemporaryFile(dir=out.parent).close()
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from error


def parse_settings(texts: list[str], known: list[str]) -> dict[str, Any]:
    """Read NAME=VALUE; a value is JSON, or a word.

    >>> parse_settings(["gamma=2.5", "binning=quantile", "image_shape=[8, 8]"], ["gamma", "binning", "image_shape"])
    {'gamma': 2.5, 'binning': 'quantile', 'image_shape': [8, 8]}
    """
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            what = f"there is no setting {name!r}; {suggest(name, known)}" if equals else "it must be NAME=VALUE"
            raise typer.BadParameter(f"--set {text}: {what}")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    return settings
