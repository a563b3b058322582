"""The results page of the documentation, written from stored results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tanager.datasets import CATALOGUE
from tanager.experiments.costs import grid_cost
from tanager.experiments.grids import paper_grid
from tanager.experiments.methods import METHODS
from tanager.experiments.search import HalvingPlan
from tanager.experiments.selection import Cell, method_cell, order_holds, table_cells
from tanager.experiments.store import Record
from tanager.files import written_whole

# Largest distance to the paper, in points, that a learned column is meant to have.
_TARGETS = {"letter": 0.35, "satimage": 0.35, "usps": 0.35, "mnist": 0.4}
_DASH = "–"

_TABLE_TEXT = """\
Test error in per cent. *Paper* is the lowest test error over the paper's grid; no rows were held out. *Ours,
selected on test* is the same over the configurations that were run here: like the paper's figure it is
optimistic, because the test rows made the choice. *Ours, selected on validation* is the test error of the
configuration with the lowest error on held-out training rows, retrained on all training rows.
*Configurations* is the number of configurations compared, on test and on validation."""

_COST_TEXT = """\
| | runs | core-hours |
|---|---|---:|
| the grid | {cost.n_runs:,} of 500 epochs | {cost.grid_hours:,.1f} |
| successive halving over the whole grid | {whole_rungs} | {whole_hours:,.1f} |
| `--search` | {rungs} | {hours:.2f} |

Core-hours on this machine with one thread per run, from the median processor time per epoch of {cost.n_measured} stored
runs: {cost.seconds_per_epoch:.3f} seconds on average over the grid. Halving holds out a fifth of the training rows and
ends with one run on all of them."""

_FIGURE_TEXT = """\
Each point is a configuration trained on all training rows: its test error over log10 of lambda. Lines are lower
convex hulls of points of one colour."""


def write_results_page(records: Sequence[Record], path: Path, figures: Iterable[Path] = ()) -> None:
    """Write the results page.

    Parameters
    ----------
    records : sequence of Record
    path : Path
        Markdown file to write; it appears only when it is complete.
    figures : iterable of Path
        Pictures to include.

    Notes
    -----
    Handwritten remarks in a file next to the page, ``results-notes.md`` for ``results.md``, are included.
    """
    cells = table_cells(records)
    parts = [
        "# Results",
        f"Written by `tanager reproduce --page` from {len(records):,} stored runs; see [reproduce.md](reproduce.md).",
        "## Table 1",
        _TABLE_TEXT,
        table_markdown(cells),
        "## Against the paper",
        _verdicts(cells),
        *_notes(path),
        "## Selected configurations",
        _best(cells),
        "## Cycles allowed",
        _pseudo(records),
        "## Recovering the Chow-Liu tree",
        _recovery(records),
        "## What the Subset grid of letter costs",
        _cost(records),
        *_figures(figures, path.parent),
    ]
    text = "\n\n".join(parts) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def table_markdown(cells: Iterable[Cell]) -> str:
    """Table 1 in Markdown, one line per cell."""
    lines = [
        "| data set | method | paper | ours, selected on test | ours, selected on validation | configurations |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for cell in cells:
        errors = " | ".join(map(percent, (cell.paper, cell.on_test, cell.on_validation)))
        title = METHODS[cell.method].title
        lines.append(f"| {cell.dataset} | {title} | {errors} | {cell.n_tested:,} / {cell.n_validated:,} |")
    return "\n".join(lines)


def percent(error: float | None) -> str:
    """An error in per cent with two decimals, or a dash.

    >>> percent(8.732), percent(None)
    ('8.73', '–')
    """
    return _DASH if error is None else f"{error:.2f}"


def _verdicts(cells: Sequence[Cell]) -> str:
    lines = ["| data set | learned columns within | farthest from the paper | NB > Random, Chow-Liu > Subset |"]
    lines.append("|---|---|---|---|")
    for dataset, target in _TARGETS.items():
        measured = [
            cell
            for cell in cells
            if cell.dataset == dataset and METHODS[cell.method].is_trained and cell.gap is not None
        ]
        gaps = [(cell.gap or 0.0, METHODS[cell.method].title) for cell in measured]
        inside = sum(gap <= target for gap, _ in gaps)
        farthest = "{1}, {0:+.2f}".format(*max(gaps)) if gaps else _DASH
        order = {True: "yes", False: "no", None: _DASH}[order_holds(cells, dataset)]
        lines.append(f"| {dataset} | {inside} of {len(gaps)} within {target} points or better | {farthest} | {order} |")
    return "\n".join(lines)


def _notes(path: Path) -> list[str]:
    notes = path.with_name(f"{path.stem}-notes.md")
    return [notes.read_text(encoding="utf-8").strip()] if notes.is_file() else []


def _best(cells: Sequence[Cell]) -> str:
    """The configurations selected on test, in the paper's numbering."""
    names = ("ordering", "draw", "max_parents", "lam", "gamma", "eta", "learning_rate", "epochs")
    lines = [
        "| data set | method | ordering | draw | K | lambda | gamma | eta | learning rate | epochs |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for cell in cells:
        if cell.best is not None and METHODS[cell.method].is_trained:
            values = " | ".join(_short(getattr(cell.best, name)) for name in names)
            lines.append(f"| {cell.dataset} | {METHODS[cell.method].title} | {values} |")
    return "\n".join(lines) if len(lines) > 2 else "No runs yet."


def _short(value: float | str | None) -> str:
    if value is None:
        return _DASH
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _pseudo(records: Sequence[Record]) -> str:
    lines = [
        "Pseudo-TAN: candidates need not precede their child, so structures may have cycles and are then not Bayesian "
        "networks. The paper reports 7.98 % on letter, and no change elsewhere.",
    ]
    rows = [method_cell(records, dataset, "pseudo") for dataset in CATALOGUE]
    present = [cell for cell in rows if cell.n_tested or cell.n_validated]
    return "\n\n".join([*lines, table_markdown(present) if present else "No runs yet."])


def _recovery(records: Sequence[Record]) -> str:
    text = (
        "Trained on the likelihood alone, over an ordering of the Chow-Liu tree, the search should find that tree. "
        "Edges without information (those of a feature with a single value) are not counted."
    )
    runs = [record for record in records if record.spec.method == "recover" and record.result.recovered is not None]
    if not runs:
        return f"{text}\n\nNo runs yet."
    lines = [
        "| data set | fold | learning rate of CPTs | of the parent distribution | epochs | edges found |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    names = list(CATALOGUE)
    for record in sorted(runs, key=lambda run: (names.index(run.spec.dataset), run.spec.fold, run.spec.to_json())):
        spec, (found, n_edges) = record.spec, record.result.recovered or (0, 0)
        rates = f"{spec.learning_rate} | {spec.structure_learning_rate}"
        lines.append(f"| {spec.dataset} | {spec.fold} | {rates} | {spec.epochs} | {found} of {n_edges} |")
    return f"{text}\n\n" + "\n".join(lines)


def _cost(records: Sequence[Record]) -> str:
    cost = grid_cost(paper_grid("letter", "subset"), records)
    if cost is None:
        return "No runs of TAN Subset on letter yet."
    plan, whole = HalvingPlan(), HalvingPlan(n_configurations=cost.n_runs)
    text = _COST_TEXT.format(
        cost=cost,
        rungs=_rungs(plan),
        hours=cost.search_hours(plan),
        whole_rungs=_rungs(whole),
        whole_hours=cost.search_hours(whole),
    )
    if not cost.is_complete:
        text += " Not every K of the grid was run; the most expensive one that was stands in for the others."
    return text


def _rungs(plan: HalvingPlan) -> str:
    return ", ".join(f"{n:,} of {epochs} epochs" for n, epochs in plan.rungs)


def _figures(figures: Iterable[Path], folder: Path) -> list[str]:
    pictures = [path for path in figures if path.suffix == ".svg"]
    if not pictures:
        return []
    lines = [f"![{path.stem}]({_relative(path, folder)})" for path in pictures]
    return ["## Figures", _FIGURE_TEXT, *lines]


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
