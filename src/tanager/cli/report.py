"""``tanager report``: an HTML page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow
import typer
from rich.console import Console

from tanager.cli.console import PlainConsole
from tanager.cli.data_files import Reading
from tanager.cli.errors import InputError
from tanager.cli.model_rows import LoadedModel, ModelRows, load_model
from tanager.cli.options import (
    DelimiterOption,
    EncodingOption,
    MissingOption,
    NoHeaderOption,
    QuietOption,
    check_output,
)


def report(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    data: Annotated[
        Path | None, typer.Argument(help="Data to test the model on: CSV, TSV or Parquet file.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    no_header: NoHeaderOption = False,
    missing: MissingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write an HTML page about a model: one file that works offline.

    With data that includes the target, the page also shows how well the model predicts it.
    Use rows that the model was not fitted to.

    Examples:

    tanager report adult.tanager --out adult.html

    tanager report adult.tanager test.csv --title "Income, test rows" --out adult.html
    """
    from tanager.report import write_report

    console = PlainConsole(stderr=True, quiet=quiet)
    check_output(out, model, *([] if data is None else [data]))
    loaded = load_model(model)
    X = y = None
    if data is not None:
        reading = Reading(delimiter, encoding, not no_header, tuple(missing or ()))
        X, y = _read(loaded, data, reading, console)
    write_report(loaded.classifier, out, X, y, title=title or _title(loaded))
    console.print(f"saved as {out}", soft_wrap=True, highlight=False, markup=False)


def _title(loaded: LoadedModel) -> str | None:
    return None if loaded.target is None else f"{loaded.target}: {loaded.path.stem}"


def _read(loaded: LoadedModel, data: Path, reading: Reading, console: Console) -> tuple[Any, Any]:
    """All rows of a data file and, if it has the target, their classes; rows without a known class are dropped."""
    pieces = list(ModelRows(loaded, data, reading).pieces())
    X = pyarrow.concat_tables([piece.X for piece in pieces], promote_options="permissive")
    if not X.num_rows:
        raise InputError(f"{data} has no rows")
    found = [piece.classes for piece in pieces if piece.classes is not None]
    if not found:
        return X, None
    numbers = np.concatenate(found)
    is_known = numbers >= 0
    if not is_known.any():
        raise InputError(f"no row of {data} has a class of {loaded.path}")
    if not is_known.all():
        n_dropped = int((~is_known).sum())
        console.print(f"note: dropped rows without a class, or with one that the model does not know: {n_dropped}")
    return X.filter(pyarrow.array(is_known)), loaded.classifier.classes_[numbers[is_known]]
