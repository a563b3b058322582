"""``tanager fit``: from a data file to a tested classifier in a model file."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

import tanager
from tanager.cli.classifier import PARAMETER_WORDS, STRUCTURE_WORDS, ClassifierOptions, make_classifier
from tanager.cli.console import PlainConsole
from tanager.cli.data_files import Reading
from tanager.cli.errors import InputError
from tanager.cli.evaluation import Score, contenders, evaluate, folds, hold_out, most_frequent_class
from tanager.cli.fit_display import progress, show_columns, show_fitted, show_scores
from tanager.cli.knowledge import Knowledge
from tanager.cli.large_files import LargeRows, is_large, read_memory
from tanager.cli.options import (
    DelimiterOption,
    EncodingOption,
    JobsOption,
    MissingOption,
    NoHeaderOption,
    QuietOption,
    check_output,
)
from tanager.cli.training_data import Columns, TrainingData, read_training_data, take_rows
from tanager.learning import AUTO

_DEFAULT_TEST_SIZE = 0.2
_TESTS, _MODEL, _COLUMNS = "Testing", "What to learn", "Columns"
_KNOWLEDGE, _LARGE = "What is known", "Large files"


def fit(
    data: Annotated[
        Path,
        typer.Argument(help="CSV, TSV (also .gz) or Parquet file, or folder of these last.", show_default=False),
    ],
    target: Annotated[str, typer.Option(help="Column that holds the classes.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Model file to write.", show_default=False)],
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Treat this column of numbers as categories. Repeatable.", rich_help_panel=_COLUMNS),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Ignore this column. Repeatable.", rich_help_panel=_COLUMNS)
    ] = None,
    as_is: Annotated[
        list[str] | None,
        typer.Option(
            "--as-is",
            help="Take this column as it is: no reading as numbers or dates, no joined spellings. Repeatable.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    decimal: Annotated[
        Literal[".", ","] | None,
        typer.Option(
            help="Sign before the decimals; the other one separates thousands. Found for each column by default.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    dates: Annotated[
        Literal["day-first", "month-first"] | None,
        typer.Option(
            help="What comes first in dates such as 3/11/2026. Found for each column by default.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    test_size: Annotated[
        float | None,
        typer.Option(
            help=f"Fraction of the rows to hold out for the test. Defaults to {_DEFAULT_TEST_SIZE}.",
            rich_help_panel=_TESTS,
        ),
    ] = None,
    cv: Annotated[
        int | None, typer.Option(min=2, help="Cross-validate with this many folds instead.", rich_help_panel=_TESTS)
    ] = None,
    no_test: Annotated[bool, typer.Option("--no-test", help="Skip the test.", rich_help_panel=_TESTS)] = False,
    calibration_size: Annotated[
        float | None,
        typer.Option(
            help="Fraction of the rows that the saved classifier is not fitted to, so that it can give prediction sets "
            "(predict --coverage).",
            rich_help_panel=_TESTS,
        ),
    ] = None,
    structure: Annotated[
        str,
        typer.Option(
            help=f"Which features may depend on which: {', '.join(STRUCTURE_WORDS)}. auto tries several presets on "
            "held-out rows and keeps the best; learned is found by gradient descent.",
            rich_help_panel=_MODEL,
        ),
    ] = AUTO,
    parameters: Annotated[
        str,
        typer.Option(
            help=f"How to learn the probabilities: {', '.join(PARAMETER_WORDS)}. ml counts, gradient trains. "
            "auto is up to the preset, or gradient where you give a structure.",
            rich_help_panel=_MODEL,
        ),
    ] = AUTO,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Passes over the rows. Short for --parameters gradient --set parameters.epochs=N.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    ensemble: Annotated[
        int | None, typer.Option(min=1, help="Average this many classifiers.", rich_help_panel=_MODEL)
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set any other option, such as structure.max_parents=4, parameters.loss.gamma=2 or binning=quantile. "
            "VALUE is JSON or a word. Repeatable.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=NUMBER",
            help="Weight of a class, repeatable; or the word balanced, for the same weight of all classes.",
            rich_help_panel=_KNOWLEDGE,
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARENT:CHILD", help="An edge that must not be there. Repeatable.", rich_help_panel=_KNOWLEDGE
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="PARENT:CHILD", help="An edge that must be there.", rich_help_panel=_KNOWLEDGE),
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN:up|down",
            help="For two classes: the second one never gets less probable (up), or more (down), with this column. "
            "Repeatable.",
            rich_help_panel=_KNOWLEDGE,
        ),
    ] = None,
    cuts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN:NUMBERS",
            help="Cut points of a column, such as age:18,65. Repeatable.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN:VALUES",
            help="Order of the categories of a column, such as size:S,M,L. Repeatable.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="End each fit with the best that was found until then.", rich_help_panel=_MODEL
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for everything random.", rich_help_panel=_MODEL)] = 0,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory to use, such as 500M or 2G; files that need more are read in pieces. "
            "Defaults to half of the machine's.",
            rich_help_panel=_LARGE,
        ),
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep encoded rows and checkpoints of a large file here; the same command then goes on after an "
            "interruption.",
            rich_help_panel=_LARGE,
        ),
    ] = None,
    jobs: JobsOption = 1,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    no_header: NoHeaderOption = False,
    missing: MissingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Learn a classifier from a data file, test it, and save it.

    The test measures the error on held-out rows, next to naive Bayes and a Chow-Liu tree on the same rows.
    The classifier that is saved is fitted to all rows, or all but those of --calibration-size.

    Files that would not fit into memory are read in pieces, and are not tested unless --test-size asks for it; the
    classifier that is saved is then fitted to the other rows. Progress is shown in rows.

    Examples:

    tanager fit flowers.csv --target species --out flowers.tanager

    tanager fit adult.csv.gz --target income --missing '?' --drop split --cv 5 --out adult.tanager

    tanager fit survey.tsv --target answer --categorical region --ensemble 10 --jobs -1 --out survey.tanager

    tanager fit loans.csv --target default --monotone debt:up --forbid age:income --out loans.tanager

    tanager fit letter.csv --target letter --structure subset --set structure.max_parents=4 --out letter.tanager
    """
    test = _make_test(test_size, cv, no_test)
    if calibration_size is not None and not 0 < calibration_size < 1:
        raise typer.BadParameter(f"--calibration-size must be between 0 and 1, got {calibration_size:g}")
    console = PlainConsole(stderr=True, quiet=quiet)
    options = ClassifierOptions(structure, parameters, epochs, ensemble, tuple(setting or ()), seed, jobs)
    classifier = make_classifier(options)
    edges = (tuple(forbid or ()), tuple(require or ()))
    known = Knowledge(
        tuple(class_weight or ()), *edges, tuple(monotone or ()), tuple(cuts or ()), tuple(order or ()), time_limit
    )
    known.set_options(classifier)
    check_output(out, data)
    reading = Reading(delimiter, encoding, not no_header, tuple(missing or ()))
    day_first = None if dates is None else dates == "day-first"
    said = Columns(tuple(categorical or ()), tuple(drop or ()), tuple(as_is or ()), decimal, day_first)
    limit = read_memory(memory)
    if is_large(data, limit):
        if cv is not None:
            raise typer.BadParameter(f"--cv requires rows in memory, and {data} is read in pieces: use --test-size")
        if calibration_size is not None:
            raise typer.BadParameter(f"--calibration-size requires rows in memory, and {data} is read in pieces")
        rows = LargeRows(data, reading, target, said, limit, work, is_shown=console.shows_progress)
        numbers = [name for name in rows.features if name not in rows.categorical]
        known.set_values(classifier, rows.classes() if class_weight else [], numbers)
        _fit_large(classifier, rows, test_size, out, console)
        return
    training = read_training_data(data, reading, target, said)
    if cv is not None and cv > len(training.y):
        raise InputError(f"--cv {cv} makes more folds than there are rows, {len(training.y)}: use fewer")
    classifier.set_params(categorical_features=training.categorical)
    numbers = [summary.name for summary in training.summaries if summary.kind == "number"]
    known.set_values(classifier, np.unique(training.y).tolist(), numbers)
    show_columns(training, data, console)
    scores = _test(classifier, training, test, seed, console)
    seconds = _fit(classifier, training, calibration_size, seed, console)
    classifier.save(out, metadata=_metadata(training, data, reading, test, scores))
    show_fitted(classifier, seconds, out, console)
    console.say(classifier.summary())


@dataclass(frozen=True)
class _Test:
    """How to measure the error: on a fraction of the rows, by folds, or not at all."""

    fraction: float | None = None
    n_folds: int | None = None

    @property
    def name(self) -> str:
        if self.n_folds:
            return f"{self.n_folds}-fold cross-validation"
        return "none" if self.fraction is None else f"held-out fraction {self.fraction:g}"


def _make_test(fraction: float | None, n_folds: int | None, is_off: bool) -> _Test:
    if sum([fraction is not None, n_folds is not None, is_off]) > 1:
        raise typer.BadParameter("give only one of --test-size, --cv and --no-test")
    if fraction is not None and not 0 < fraction < 1:
        raise typer.BadParameter(f"--test-size must be between 0 and 1, got {fraction:g}")
    if is_off or n_folds is not None:
        return _Test(None, n_folds)
    return _Test(_DEFAULT_TEST_SIZE if fraction is None else fraction)


def _test(classifier: Any, training: TrainingData, test: _Test, seed: int, console: PlainConsole) -> list[Score]:
    """Measure the errors and print them."""
    if test.n_folds:
        splits = folds(training.y, test.n_folds, seed)
    elif test.fraction:
        splits = hold_out(training.y, test.fraction, seed)
    else:
        return []
    scores = [most_frequent_class(training.y, splits)]
    for name, contender in contenders(classifier).items():
        with progress(contender, f"testing: {name}", console):
            scores.append(evaluate(name, contender, training.X, training.y, splits))
    show_scores(scores, sum(len(tested) for _, tested in splits), test.name, console)
    return scores


def _fit_large(classifier: Any, rows: LargeRows, test_size: float | None, out: Path, console: PlainConsole) -> None:
    """Fit to a file in pieces, test on the rows that were held out if any were, and save."""
    start = time.perf_counter()
    console.say(f"{rows.path} is read in pieces, with {rows.memory / 2**30:.2g} GiB of memory")
    for note in rows.notes:
        console.say(f"note: {note}")
    rows.hold_out(test_size or 0.0)
    classifier.set_params(categorical_features=rows.categorical, verbose=int(console.shows_progress))
    classifier.fit(rows)
    classifier.set_params(verbose=0)
    if rows.n_without_class:
        console.say(f"note: dropped rows without a value in {rows.target!r}: {rows.n_without_class}")
    scores = []
    if test_size:
        with console.status("testing"):
            scores = [rows.test(classifier)]
        error = scores[0]
        console.say(f"error {error.error:.2%}, standard error {error.standard_error:.2%}, on {rows.n_tested:,} rows")
    name = "none" if not test_size else f"held-out fraction {test_size:g}"
    classifier.save(out, metadata=rows.metadata(name, scores))
    show_fitted(classifier, time.perf_counter() - start, out, console)


def _fit(classifier: Any, training: TrainingData, kept_apart: float | None, seed: int, console: PlainConsole) -> float:
    """Fit to all rows, or all but a fraction for prediction sets; returns the seconds it took."""
    start, X, y = time.perf_counter(), training.X, training.y
    if kept_apart is None:
        with progress(classifier, "fitting to all rows", console):
            classifier.fit(X, y)
        return time.perf_counter() - start
    ((rows, others),) = hold_out(y, kept_apart, seed)
    if not len(others):
        raise InputError(f"--calibration-size {kept_apart:g} of {len(y)} rows is none: use a larger one")
    with progress(classifier, f"fitting to {len(rows)} rows", console):
        classifier.fit(take_rows(X, rows), y[rows])
    classifier.conformalize(take_rows(X, others), y[others])
    console.say(f"{len(others)} rows were not fitted to: tanager predict --coverage gives sets of classes by them")
    return time.perf_counter() - start


def _metadata(training: TrainingData, path: Path, reading: Reading, test: _Test, scores: list[Score]) -> dict[str, Any]:
    """Where the model comes from, for the model file; predicting reads files as fitting did."""
    return {
        "target": training.target,
        "source": path.name,
        "n_rows": len(training.y),
        "columns": [summary.to_dict() for summary in training.summaries],
        "missing": list(reading.missing),
        "cleaning": [plan.to_dict() for plan in training.plans],
        "test": test.name,
        "errors": [asdict(score) for score in scores],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": tanager.__version__,
    }
