"""The page ``docs/beyond-results.md``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.beyond.comparison import Line
from benchmarks.beyond.methods import METHODS
from benchmarks.beyond.sizes import FIGURE, N_SEEDS, Point, curve_table, draw_sizes
from tanager.files import written_whole

PAPER = {"letter": 8.73, "satimage": 9.31, "usps": 2.10, "mnist": 3.29}
ONE_TREE = {"letter": 8.5, "satimage": 9.2, "usps": 2.1, "mnist": 3.2}
SEVERAL = {"letter": 5.9, "satimage": 8.5, "usps": 1.8, "mnist": 2.5}
SECONDS = {"letter": 60, "satimage": 60, "usps": 300, "mnist": 1800}

_TEXT = """\
# Beyond the paper: results

Written by `python -m benchmarks.beyond` (`TANAGER_DATA` names the folder with the data). [beyond.md](beyond.md)
describes the methods.

Options are selected on a held-out fifth of the training rows with one seed (on satimage in each fold separately). The
classifier is then trained on all training rows with {n_seeds} other seeds, or fewer where a fit takes long or is not
random: see the column. `benchmarks/beyond/values.py` has the values that were tried, fewer of them on mnist; the tables
name options by the last part of their names there, such as gamma for `parameters__loss__gamma`. Errors are per cent of
the test rows: the mean over the seeds and its standard error, which leaves out the spread between test sets (for one
test error about 0.35 points on letter, 0.36 on satimage, 0.25 on usps and 0.12 on mnist). Seconds are processor time of
one fit on one thread. The paper's figures were selected on test rows."""


_SIZES = """\
Mean of {n_seeds} seeds and its standard error. The options are those of the free tree that is projected once, as in the
tables above; only the price changes, and nothing is selected by it.

![error over the number of parameters](figures/{figure}.svg)

{table}"""


def write_page(lines: Mapping[str, Sequence[Line]], curves: Mapping[str, Sequence[Point]], path: Path) -> None:
    """Write the page and its picture, with the remarks of ``beyond-notes.md`` beside it."""
    n_seeds = max(len(line.errors) for of_dataset in lines.values() for line in of_dataset)
    parts = [_TEXT.format(n_seeds=n_seeds), "## Summary", _summary(lines)]
    notes = path.with_name("beyond-notes.md")
    if notes.exists():
        parts.append(notes.read_text(encoding="utf-8").strip())
    for dataset, of_dataset in lines.items():
        parts += [f"## {dataset}", _table(of_dataset)]
    if curves:
        draw_sizes(curves, lines, path.parent / "figures")
        about = _SIZES.format(n_seeds=N_SEEDS, figure=FIGURE, table=curve_table(curves))
        parts += ["## Error over size", about]
    with written_whole(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _summary(lines: Mapping[str, Sequence[Line]]) -> str:
    head = [f"| | {' | '.join(lines)} |", f"|---|{'---:|' * len(lines)}"]
    rows = [
        ("paper's best single TAN (selected on test)", [_goal(PAPER, name) for name in lines]),
        ("target, one tree", [_goal(ONE_TREE, name) for name in lines]),
        ("**best here, one network** (by validation)", [_best(found, "one network") for found in lines.values()]),
        ("target, several trees or k-dependence", [_goal(SEVERAL, name) for name in lines]),
        ("**best here, several** (by validation)", [_best(found, "several networks") for found in lines.values()]),
        ("time allowed for that, seconds", [_goal(SECONDS, name) for name in lines]),
    ]
    return "\n".join([*head, *(f"| {title} | {' | '.join(cells)} |" for title, cells in rows)])


def _goal(goals: Mapping[str, float], dataset: str) -> str:
    return f"{goals[dataset]:g}" if dataset in goals else "–"


def _best(lines: Sequence[Line], group: str) -> str:
    """The method of a group with the least validation error."""
    of_group = [line for line in lines if METHODS[line.method].group == group]
    if not of_group:
        return "–"
    best = min(of_group, key=lambda line: line.validation_error)
    title = METHODS[best.method].title
    return f"{best.mean:.2f} ± {best.standard_error:.2f} ({title}, {best.seconds:.1f} s, {len(best.errors)} seeds)"


def _table(lines: Sequence[Line]) -> str:
    head = [
        "| method | selected | validation error | test error | seeds | seconds | parameters |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*head, *map(_row, lines)])


def _row(line: Line) -> str:
    cells = [
        METHODS[line.method].title,
        _options(line.options),
        f"{line.validation_error:.2f}",
        f"{line.mean:.2f} ± {line.standard_error:.2f}",
        str(len(line.errors)),
        f"{line.seconds:.1f}",
        f"{line.n_parameters:,}" if line.n_parameters else "–",
    ]
    return f"| {' | '.join(cells)} |"


def _options(of_folds: Sequence[Mapping[str, Any]]) -> str:
    """Selected options by the last part of their names, with all values that folds have selected."""
    values = {name: list(dict.fromkeys(options[name] for options in of_folds)) for name in of_folds[0]}
    return ", ".join(f"{name.split('__')[-1]} {' or '.join(map(_word, found))}" for name, found in values.items())


def _word(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
