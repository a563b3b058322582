"""The results page of the documentation, written from stored results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tanager.experiments.costs import grid_cost
from tanager.experiments.grids import paper_grid
from tanager.experiments.search import HalvingPlan
from tanager.experiments.selection import Results
from tanager.experiments.store import Record
from tanager.files import written_whole
from tanager.report import results_tables as tables
from tanager.report.findings import describe
from tanager.report.paper_figures import paper_figures

_HEAD = """\
Written by `tanager reproduce --page` from {n:,} runs ({hours:,.1f} core-hours); see [reproduce.md](reproduce.md). The
runs are part of the package, so this command draws everything again in seconds:

    tanager reproduce --from-published --figures docs/figures --page docs/results.md"""

_TABLE_TEXT = """\
Test error in per cent. *Paper* is the lowest test error over the paper's grid; no rows were held out. *Ours,
selected on test* is the same over the configurations that were run here: like the paper's figure it is
optimistic, because the test rows made the choice. *Ours, selected on validation* is the test error of the
configuration with the lowest error on held-out training rows, retrained on all training rows. *Optimism* is the
difference between the two selections among the same configurations. *Configurations* is the number of
configurations compared on test, on validation, and in the paper; each learning rate counts."""

_MINIMA_TEXT = """\
The paper's figures are minima over hundreds or thousands of experiments, and the minimum of more experiments is
lower. *Expected lowest* is the median, with the range of 90 % of cases, of the minimum of as many experiments as the
paper had, each with both learning rates, extrapolated from ours: the lowest errors are taken to follow a generalised
Pareto distribution, fitted to the lowest 2 sqrt(m) of our m errors by probability-weighted moments, with its shape
between an exponential tail and one that piles up at its end; the range includes the uncertainty of the fit, by 2,000
resamples of our errors. Only experiments drawn evenly from the grid count. The paper's minimum is *within* that range,
*below* it (its runs had something that ours lack) or *above*. Cells with fewer than 20 experiments are not
extrapolated."""

_SEEDS_TEXT = """\
The configurations that the authors named as their best. Their errors were selected on the test rows, the seed
included; ours are not, so a mean a little above the paper's figure is expected."""

_PSEUDO_TEXT = """\
Pseudo-TAN: candidates need not precede their child, so structures may have cycles and are then not Bayesian \
networks. The paper reports 7.98 % on letter, and no change elsewhere."""

_RECOVERY_TEXT = """\
Trained on the likelihood alone, over an ordering of the Chow-Liu tree, the search should find that tree. \
Edges without information (those of a feature with a single value) are not counted."""

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
Each point is an experiment trained on all training rows, with the better of its learning rates: its test error over
log10 of lambda. Lines are lower convex hulls of points of one colour; the legend gives the lowest error and the
number of experiments, and arrows at the right edge mark the paper's lowest errors. In the sentences, an experiment is
compared with that of the other method that has the nearest lambda and gamma."""


def write_results_page(results: Results, path: Path, figures: Iterable[Path] = ()) -> None:
    """Write the results page.

    Parameters
    ----------
    results : Results
    path : Path
        Markdown file to write; it appears only when it is complete.
    figures : iterable of Path
        Pictures to include.

    Notes
    -----
    Handwritten remarks in a file next to the page, ``results-notes.md`` for ``results.md``, are included.
    """
    cells, records = results.table(), results.records
    hours = sum(record.result.cpu_seconds for record in records) / 3600
    parts = [
        "# Results",
        _HEAD.format(n=len(records), hours=hours),
        "## Table 1",
        _TABLE_TEXT,
        tables.table_markdown(cells),
        "## Against the paper",
        tables.verdicts(cells),
        *_notes(path),
        "## The minimum of as many experiments",
        _MINIMA_TEXT,
        tables.minima(results),
        "## The authors' best configurations, seed by seed",
        _SEEDS_TEXT,
        tables.seeds(results),
        *_figures(results, figures, path.parent),
        "## Selected configurations",
        tables.selected(cells),
        "## Cycles allowed",
        _PSEUDO_TEXT,
        tables.pseudo(results),
        "## Recovering the Chow-Liu tree",
        _RECOVERY_TEXT,
        tables.recovery(records),
        "## What the Subset grid of letter costs",
        _cost(records),
    ]
    text = "\n\n".join(parts) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _notes(path: Path) -> list[str]:
    notes = path.with_name(f"{path.stem}-notes.md")
    return [notes.read_text(encoding="utf-8").strip()] if notes.is_file() else []


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


def _figures(results: Results, figures: Iterable[Path], folder: Path) -> list[str]:
    pictures = [path for path in figures if path.suffix == ".svg"]
    if not pictures:
        return []
    texts = {figure.name: describe(figure) for figure in paper_figures(results)}
    parts = ["## Figures", _FIGURE_TEXT]
    for path in pictures:
        text = texts.get(path.stem) or "Too few runs to compare anything."
        parts += [f"![{path.stem}]({_relative(path, folder)})", text]
    return parts


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
