"""``tanager predict``: classes for the rows of a data file, which may be larger than memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import pyarrow
import typer

from tanager.cli.console import PlainConsole
from tanager.cli.data_files import CHUNK_ROWS, Reading
from tanager.cli.decisions import Tally, make_decisions
from tanager.cli.errors import InputError
from tanager.cli.model_rows import ModelRows, load_model
from tanager.cli.options import (
    DelimiterOption,
    EncodingOption,
    JobsOption,
    MissingOption,
    NoHeaderOption,
    QuietOption,
)
from tanager.cli.prediction_files import check_prediction_file, written_predictions

_PREDICTION = "prediction"


def predict(
    model: Annotated[Path, typer.Argument(help="Model file from tanager fit.", show_default=False)],
    data: Annotated[Path, typer.Argument(help="CSV, TSV (also .gz) or Parquet file.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(help="File to write: .csv, .tsv, .csv.gz, .tsv.gz, .parquet, or - for CSV on stdout."),
    ] = Path("-"),
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRUE:PREDICTED=NUMBER",
            help="Cost of this error; with costs, the class of least expected cost is predicted. One for each pair of "
            "classes.",
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Add a set of classes that has the true one with this probability: a column of truth values for each "
            "class. For models that were fitted with --calibration-size.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Copy this column of the data to the output. Repeatable.")
    ] = None,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Maximum number of rows in memory at a time.")] = CHUNK_ROWS,
    jobs: JobsOption = 1,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    no_header: NoHeaderOption = False,
    missing: MissingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Predict the class of each row of a data file of any length.

    The data must have the columns that the model was fitted to, in any order; others are ignored.
    If it has the target too, the error is printed.
    Rows are read and written in pieces, so the data may be larger than memory.

    Examples:

    tanager predict adult.tanager new.csv --out predicted.csv

    tanager predict adult.tanager new.csv.gz --proba --keep name --out predicted.parquet

    tanager predict cells.tanager new.csv --cost malignant:benign=30 --cost benign:malignant=1

    tanager predict adult.tanager new.csv --coverage 0.95 --out sets.parquet

    tanager predict adult.tanager new.csv | head
    """
    console = PlainConsole(stderr=True, quiet=quiet)
    check_prediction_file(out, model, data)
    loaded = load_model(model)
    decisions = make_decisions(loaded, cost or [], coverage, has_proba=proba)
    names = _output_names(keep or [], decisions.names)
    loaded.classifier.set_params(n_jobs=jobs)
    reading = Reading(delimiter, encoding, not no_header, tuple(missing or ()))
    rows = ModelRows(loaded, data, reading, keep or [])
    if rows.ignored:
        shown = ", ".join(map(repr, rows.ignored[:10])) + (", ..." if len(rows.ignored) > 10 else "")
        console.say(f"note: ignoring columns that the model does not use: {shown}")
    tally, start = Tally(decisions), time.perf_counter()
    kind = pyarrow.array(loaded.classifier.classes_.tolist()).type
    with written_predictions(out) as write, console.status("predicting") as status:
        for piece in rows.pieces(chunk_rows):
            answers = decisions.answer(piece.X)
            labels = pyarrow.array(answers.labels.tolist(), kind)
            columns = [*piece.kept.columns, labels, *decisions.columns(answers)]
            write(pyarrow.record_batch(columns, names=names))
            tally.add(piece, answers)
            status.update(f"predicting: {tally.n_rows} rows")
    console.say(tally.text(time.perf_counter() - start))


def _output_names(keep: list[str], others: list[str]) -> list[str]:
    """Names of all columns of the output."""
    names = [*keep, _PREDICTION, *others]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"the output would have two columns named {repeated[0]!r}; drop it from --keep, or rename it")
    return names
