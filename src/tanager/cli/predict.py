"""``tanager predict``: classes for the rows of a data file, which may be larger than memory."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow
import typer
from numpy.typing import NDArray
from rich.console import Console

from tanager.cli.console import PlainConsole
from tanager.cli.data_files import CHUNK_ROWS, Reading
from tanager.cli.errors import InputError
from tanager.cli.model_rows import NO_CLASS, ModelRows, Piece, load_model
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

    tanager predict adult.tanager new.csv | head
    """
    console = PlainConsole(stderr=True, quiet=quiet)
    check_prediction_file(out, model, data)
    loaded = load_model(model)
    names = _output_names(loaded.classifier.classes_, keep or [], proba)
    loaded.classifier.set_params(n_jobs=jobs)
    reading = Reading(delimiter, encoding, not no_header, tuple(missing or ()))
    rows = ModelRows(loaded, data, reading, keep or [])
    if rows.ignored:
        shown = ", ".join(map(repr, rows.ignored[:10])) + (", ..." if len(rows.ignored) > 10 else "")
        _say(console, f"note: ignoring columns that the model does not use: {shown}")
    tally, start = _Tally(loaded.classifier.classes_), time.perf_counter()
    kind = pyarrow.array(loaded.classifier.classes_.tolist()).type
    with written_predictions(out) as write, console.status("predicting") as status:
        for piece in rows.pieces(chunk_rows):
            labels, probabilities = _predict(loaded.classifier, piece.X, proba)
            write(_output(piece, pyarrow.array(labels.tolist(), kind), probabilities, names))
            tally.add(piece, labels)
            status.update(f"predicting: {tally.n_rows} rows")
    _say(console, tally.text(time.perf_counter() - start))


class _Tally:
    """Numbers of rows and errors."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self._classes = classes
        self.n_rows = self._n_known = self._n_wrong = 0

    def add(self, piece: Piece, labels: NDArray[Any]) -> None:
        """Count some rows; a class that the model does not know counts as an error."""
        self.n_rows += len(labels)
        if piece.classes is None:
            return
        is_right = (piece.classes >= 0) & (self._classes[piece.classes] == labels)
        has_class = piece.classes != NO_CLASS
        self._n_known += int(has_class.sum())
        self._n_wrong += int((has_class & ~is_right).sum())

    def text(self, seconds: float) -> str:
        """The result in one line."""
        text = f"{self.n_rows} rows in {seconds:.1f} s ({self.n_rows / max(seconds, 1e-9):,.0f} rows per second)"
        if not self._n_known:
            return text
        error = self._n_wrong / self._n_known
        spread = (error * (1 - error) / self._n_known) ** 0.5
        return f"{text}; error {error:.2%}, standard error {spread:.2%}, on {self._n_known} rows with a class"


def _output_names(classes: NDArray[Any], keep: list[str], is_proba: bool) -> list[str]:
    """Names of all columns of the output."""
    chances = [f"probability_{label}" for label in classes.tolist()] if is_proba else []
    names = [*keep, _PREDICTION, *chances]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"the output would have two columns named {repeated[0]!r}; drop it from --keep, or rename it")
    return names


def _predict(classifier: Any, X: Any, is_proba: bool) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The class of each row and, if wanted, the probabilities of all classes."""
    classes = classifier.classes_
    if not X.num_rows:
        return classes[:0], np.empty((0, len(classes) if is_proba else 0))
    with warnings.catch_warnings():
        # A model that was fitted to an array takes its columns by position.
        warnings.filterwarnings("ignore", message="X has feature names")
        if not is_proba:
            return classifier.predict(X), np.empty((X.num_rows, 0))
        probabilities = classifier.predict_proba(X)
        return classes[probabilities.argmax(axis=1)], probabilities


def _output(piece: Piece, labels: Any, probabilities: NDArray[np.float64], names: list[str]) -> Any:
    chances = [pyarrow.array(np.ascontiguousarray(column)) for column in probabilities.T]
    return pyarrow.record_batch([*piece.kept.columns, labels, *chances], names=names)


def _say(console: Console, message: str) -> None:
    console.print(message, soft_wrap=True, highlight=False, markup=False)
