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
    train: Annotated[
        Path | None,
        typer.Option(help="Training data, to fit the baselines to. Defaults to parts of DATA.", show_default=False),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Second model file, to be compared on the same rows.", show_default=False)
    ] = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    no_header: NoHeaderOption = False,
    missing: MissingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write an HTML page about a model: one file that works offline.

    With data that includes the target, the page also shows how well the model predicts it, beside simple baselines.
    Use rows that the model was not fitted to; the page warns if they are training rows.

    Examples:

    tanager report adult.tanager --out adult.html

    tanager report adult.tanager test.csv --train train.csv --title "Income, test rows" --out adult.html

    tanager report new.tanager test.csv --against old.tanager --out compared.html
    """
    from tanager.report import write_report

    console = PlainConsole(stderr=True, quiet=quiet)
    check_output(out, *(path for path in (model, data, train, against) if path is not None))
    if data is None and (train or against):
        raise typer.BadParameter("--train and --against require DATA: rows to test and compare the models on")
    loaded = load_model(model)
    other = None if against is None else _load_other(loaded, against)
    reading = Reading(delimiter, encoding, not no_header, tuple(missing or ()))
    X, y = (None, None) if data is None else _read(loaded, data, reading, console)
    write_report(
        loaded.classifier,
        out,
        X,
        y,
        title=title or _title(loaded),
        training=None if train is None else _read_training(loaded, train, reading, console),
        against=None if other is None else other.classifier,
        against_name="" if other is None else other.path.stem,
        metadata=loaded.metadata,
    )
    console.print(f"saved as {out}", soft_wrap=True, highlight=False, markup=False)


def _title(loaded: LoadedModel) -> str | None:
    return None if loaded.target is None else f"{loaded.target}: {loaded.path.stem}"


def _load_other(loaded: LoadedModel, path: Path) -> LoadedModel:
    """A second model, which must be for the same columns."""
    other = load_model(path)
    names, own = other.classifier.encoder_.feature_labels, loaded.classifier.encoder_.feature_labels
    if names != own:
        differing = next((name for name in [*own, *names] if name not in own or name not in names), "their order")
        raise InputError(f"{path} and {loaded.path} cannot be compared: they differ in their columns ({differing})")
    return other


def _read_training(loaded: LoadedModel, data: Path, reading: Reading, console: Console) -> tuple[Any, Any]:
    X, y = _read(loaded, data, reading, console)
    if y is None:
        raise InputError(f"{data} has no column {loaded.target!r}: training data require the target")
    return X, y


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
