"""What ``tanager fit`` prints: the columns, progress, errors, and what was fitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from tanager.cli.classifier import is_counted
from tanager.cli.console import PlainConsole
from tanager.cli.evaluation import Score
from tanager.cli.training_data import TrainingData
from tanager.estimators import TANClassifier
from tanager.learning.recipes import GIVEN

_SHOWN_COLUMNS = 30
_OTHER_WIDTH = 38  # of everything but names and examples in the printed table of columns


def show_columns(training: TrainingData, path: Path, console: PlainConsole) -> None:
    """The table of the columns, as they were read."""
    *features, target = training.summaries
    n_categories = sum(summary.kind == "category" for summary in features)
    console.say(
        f"{path}: {len(training.y)} rows, {_count(len(features) - n_categories, 'numeric column')}, "
        f"{_count(n_categories, 'categorical column')}, {target.n_values} classes in {target.name!r}",
    )
    width = min(28, max(len(summary.name) for summary in training.summaries))
    room = max(12, console.width - width - _OTHER_WIDTH)
    shown = Table("column", "kind")
    for column in ("values", "missing"):
        shown.add_column(column, justify="right")
    shown.add_column("examples")
    for summary in [*features[:_SHOWN_COLUMNS], target]:
        name, values = _cut(summary.name, width), _cut(summary.values, min(room, 40))
        shown.add_row(name, summary.kind, str(summary.n_values), str(summary.n_missing or ""), values)
    console.print(shown)
    if len(features) > _SHOWN_COLUMNS:
        console.say(f"and {_count(len(features) - _SHOWN_COLUMNS, 'more column')}")
    for note in training.notes:
        console.say(f"note: {note}")


@contextmanager
def progress(classifier: Any, what: str, console: PlainConsole) -> Iterator[None]:
    """Show progress on a terminal: epochs where one classifier is trained, and a spinner otherwise."""
    if isinstance(classifier, TANClassifier) and not is_counted(classifier):
        if console.shows_progress:
            console.say(what)
        classifier.set_params(verbose=int(console.shows_progress))
        yield
        classifier.set_params(verbose=0)
    else:
        with console.status(what):
            yield


def show_scores(scores: list[Score], n_tested: int, test: str, console: PlainConsole) -> None:
    """The table of errors."""
    shown = Table("classifier", title=f"Error on {n_tested} rows ({test})", title_justify="left")
    for column in ("error", "standard error", "fit, seconds"):
        shown.add_column(column, justify="right")
    for score in scores:
        shown.add_row(score.name, f"{score.error:.2%}", f"{score.standard_error:.2%}", f"{score.seconds:.2f}")
    console.print(shown)


def show_fitted(classifier: Any, seconds: float, out: Path, console: PlainConsole) -> None:
    """What was fitted, how large it is, and where it is now."""
    console.say(f"fitted in {seconds:.1f} s: {_chosen(classifier)}{_size(classifier)}; saved as {out}")


def _chosen(classifier: Any) -> str:
    """The preset, if no recipe was given."""
    choice = classifier.choice_
    if not choice["tried"] or choice["preset"] == GIVEN:
        return ""
    among = f" out of {len(choice['tried'])}" if len(choice["tried"]) > 1 else ""
    return f"preset {choice['preset']!r}{among}; "


def _size(classifier: Any) -> str:
    members = getattr(classifier, "estimators_", [classifier])
    parents = [parents for member in members for parents in (member.parents_, member.second_parents_)]
    n_parents = sum(int((each >= 0).sum()) for each in parents)
    n_parameters = sum(member.network_.n_parameters for member in members)
    return f"{_count(n_parents, 'extra parent')}, {n_parameters} parameters"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _cut(text: str, width: int) -> Text:
    """Text of the user on one line of at most this width, with square brackets left alone."""
    line = " ".join(text.split())
    return Text(line if len(line) <= width else f"{line[: width - 1]}…")
