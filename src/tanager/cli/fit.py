"""``tanager fit``: from a table in a file to a tested classifier in a file."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import tanager
from tanager.cli.errors import suggest
from tanager.cli.evaluation import Score, contenders, evaluate, folds, hold_out, most_frequent_class
from tanager.cli.options import (
    DelimiterOption,
    EncodingOption,
    JobsOption,
    MissingOption,
    NoHeaderOption,
    QuietOption,
    check_output,
    parse_settings,
)
from tanager.cli.tables import Reading
from tanager.cli.training_table import TrainingTable, read_training_table
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.estimators.defaults import AUTO
from tanager.estimators.structures import STRUCTURES

_SHOWN_COLUMNS = 30
_OTHER_WIDTH = 38  # of the columns of numbers and of all lines in the table of columns
_TESTS, _MODEL, _COLUMNS = "How it is tested", "What is learned", "Columns"
# Options of the estimator that have a place of their own on the command line.
_PLACED = ("structure", "epochs", "categorical_features", "random_state", "n_jobs", "verbose")


def fit(
    data: Annotated[Path, typer.Argument(help="CSV, TSV (also .gz) or Parquet file.", show_default=False)],
    target: Annotated[str, typer.Option(help="Column with the classes.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Model file to write.", show_default=False)],
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Column of numbers to take as categories; several times.", rich_help_panel=_COLUMNS),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Column to leave out; several times.", rich_help_panel=_COLUMNS)
    ] = None,
    test_size: Annotated[
        float | None,
        typer.Option(help="Share of the rows to test on: 0.2 if nothing is said.", rich_help_panel=_TESTS),
    ] = None,
    cv: Annotated[
        int | None, typer.Option(min=2, help="Cross-validate with this many folds.", rich_help_panel=_TESTS)
    ] = None,
    no_test: Annotated[bool, typer.Option("--no-test", help="Do not test.", rich_help_panel=_TESTS)] = False,
    structure: Annotated[
        str,
        typer.Option(
            help=f"Structures to search: {', '.join(STRUCTURES)}. With auto, a few presets are tried on rows held out.",
            rich_help_panel=_MODEL,
        ),
    ] = AUTO,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the rows.", rich_help_panel=_MODEL)] = None,
    ensemble: Annotated[
        int | None, typer.Option(min=1, help="Average this many classifiers.", rich_help_panel=_MODEL)
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other option of TANClassifier as NAME=VALUE.", rich_help_panel=_MODEL),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.", rich_help_panel=_MODEL)] = 0,
    jobs: JobsOption = 1,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    no_header: NoHeaderOption = False,
    missing: MissingOption = None,
    quiet: QuietOption = False,
) -> None:
    """Learn a classifier from a table, test it, and write it to a file.

    The error is measured on rows kept back, beside that of naive Bayes and of a Chow-Liu tree on the same rows.
    Then the classifier is fitted to all rows and written.

    Examples:

    tanager fit flowers.csv --target species --out flowers.tanager

    tanager fit adult.csv.gz --target income --missing '?' --drop split --cv 5 --out adult.tanager

    tanager fit survey.tsv --target answer --categorical region --ensemble 10 --jobs -1 --out survey.tanager
    """
    test = _make_test(test_size, cv, no_test)
    console = Console(stderr=True, quiet=quiet)
    classifier = _make_classifier(structure, epochs, ensemble, setting or [], seed, jobs)
    check_output(out, data)
    reading = Reading(delimiter, encoding, not no_header, tuple(missing or ()))
    table = read_training_table(data, reading, target, categorical or [], drop or [])
    classifier.set_params(**_table_options(classifier, table))
    _show_table(table, data, console)
    scores = _test(classifier, table, test, seed, console)
    seconds = _fit(classifier, table, console)
    classifier.save(out, metadata=_metadata(table, data, reading, test, scores))
    _say(console, f"fitted in {seconds:.1f} s, {_chosen(classifier)}{_size(classifier)}; written to {out}")


@dataclass(frozen=True)
class _Test:
    """How the error is measured: on a share of the rows, with folds, or not at all."""

    share: float | None = None
    n_folds: int | None = None

    @property
    def name(self) -> str:
        if self.n_folds:
            return f"{self.n_folds}-fold cross-validation"
        return "none" if self.share is None else f"hold-out of {self.share:g} of the rows"


def _make_test(share: float | None, n_folds: int | None, is_off: bool) -> _Test:
    if sum([share is not None, n_folds is not None, is_off]) > 1:
        raise typer.BadParameter("--test-size, --cv and --no-test exclude each other")
    if share is not None and not 0 < share < 1:
        raise typer.BadParameter(f"--test-size is a share of the rows, between 0 and 1, not {share:g}")
    if is_off or n_folds is not None:
        return _Test(None, n_folds)
    return _Test(0.2 if share is None else share)


def _make_classifier(
    structure: str, epochs: int | None, ensemble: int | None, settings: list[str], seed: int, jobs: int
) -> Any:
    if structure not in STRUCTURES:
        raise typer.BadParameter(f"there is no structure {structure!r}; {suggest(structure, list(STRUCTURES))}")
    known = [name for name in inspect.signature(TANClassifier).parameters if name not in _PLACED]
    options = parse_settings(settings, known)
    if epochs is not None:
        options["epochs"] = epochs
    single = TANClassifier(structure, random_state=seed, n_jobs=jobs if ensemble is None else 1, **options)
    if ensemble is None:
        return single
    return TANEnsembleClassifier(single, n_members=ensemble, random_state=seed, n_jobs=jobs)


def _table_options(classifier: Any, table: TrainingTable) -> dict[str, Any]:
    """The columns that are categories, as an option of the classifier or of an ensemble's members."""
    prefix = "estimator__" if isinstance(classifier, TANEnsembleClassifier) else ""
    return {f"{prefix}categorical_features": table.categorical}


def _test(classifier: Any, table: TrainingTable, test: _Test, seed: int, console: Console) -> list[Score]:
    """Measure the errors and show them."""
    if test.n_folds:
        splits = folds(table.y, test.n_folds, seed)
    elif test.share:
        splits = hold_out(table.y, test.share, seed)
    else:
        return []
    scores = [most_frequent_class(table.y, splits)]
    for name, contender in contenders(classifier).items():
        with _progress(contender, f"testing: {name}", console):
            scores.append(evaluate(name, contender, table.X, table.y, splits))
    n_tested = sum(len(tested) for _, tested in splits)
    shown = Table("classifier", title=f"Error on {n_tested} rows, {test.name}", title_justify="left")
    for column in ("error", "standard error", "fit, seconds"):
        shown.add_column(column, justify="right")
    for score in scores:
        shown.add_row(score.name, f"{score.error:.2%}", f"{score.standard_error:.2%}", f"{score.seconds:.2f}")
    console.print(shown)
    return scores


def _fit(classifier: Any, table: TrainingTable, console: Console) -> float:
    """Fit to all rows; returns the seconds."""
    start = time.perf_counter()
    with _progress(classifier, "fitting to all rows", console):
        classifier.fit(table.X, table.y)
    return time.perf_counter() - start


@contextmanager
def _progress(classifier: Any, what: str, console: Console) -> Iterator[None]:
    """Show that something goes on, where there is a terminal: epochs if the classifier has some to show."""
    if isinstance(classifier, TANClassifier) and classifier.parameters != "ml":
        is_shown = console.is_terminal and not console.quiet
        if is_shown:
            _say(console, what)
        classifier.set_params(verbose=int(is_shown))
        yield
        classifier.set_params(verbose=0)
    else:
        with console.status(what):
            yield


def _show_table(table: TrainingTable, path: Path, console: Console) -> None:
    *features, target = table.summaries
    n_categories = sum(summary.kind == "category" for summary in features)
    _say(
        console,
        f"{path}: {len(table.y)} rows, {len(features) - n_categories} numbers, {n_categories} categories, "
        f"{target.n_values} classes in {target.name!r}",
    )
    width = min(28, max(len(summary.name) for summary in table.summaries))
    room = max(12, console.width - width - _OTHER_WIDTH)
    shown = Table("column", "kind")
    for column in ("values", "missing"):
        shown.add_column(column, justify="right")
    shown.add_column("for instance")
    for summary in [*features[:_SHOWN_COLUMNS], target]:
        name, values = _cut(summary.name, width), _cut(summary.values, min(room, 40))
        shown.add_row(name, summary.kind, str(summary.n_values), str(summary.n_missing or ""), values)
    console.print(shown)
    if len(features) > _SHOWN_COLUMNS:
        _say(console, f"and {len(features) - _SHOWN_COLUMNS} more columns")
    for note in table.notes:
        _say(console, f"note: {note}")


def _cut(text: str, width: int) -> Text:
    """Text of the user in one line of at most this width; square brackets mean nothing in it."""
    line = " ".join(text.split())
    return Text(line if len(line) <= width else f"{line[: width - 1]}…")


def _say(console: Console, message: str) -> None:
    console.print(message, soft_wrap=True, highlight=False, markup=False)


def _chosen(classifier: Any) -> str:
    """The preset that was chosen, if there was a choice."""
    choice = classifier.choice_
    return f"preset {choice['preset']!r} of {len(choice['tried'])}, " if len(choice["tried"]) > 1 else ""


def _size(classifier: Any) -> str:
    members = getattr(classifier, "estimators_", [classifier])
    n_parents = sum(int((member.parents_ >= 0).sum()) for member in members)
    n_parameters = sum(member.network_.n_parameters for member in members)
    return f"{n_parents} extra parents, {n_parameters} parameters"


def _metadata(table: TrainingTable, path: Path, reading: Reading, test: _Test, scores: list[Score]) -> dict[str, Any]:
    """What the model file says about where the model comes from; predicting reads files as fitting did."""
    return {
        "target": table.target,
        "source": path.name,
        "n_rows": len(table.y),
        "columns": [summary.to_dict() for summary in table.summaries],
        "missing": list(reading.missing),
        "test": test.name,
        "errors": [asdict(score) for score in scores],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": tanager.__version__,
    }
