"""``tanager reproduce``: the paper's experiments, Table 1 and the figures."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tanager.cli.console import PlainConsole
from tanager.cli.errors import INTERRUPTED
from tanager.cli.plan import (
    DEFAULT_DATASET,
    DEFAULT_RUNS,
    DEFAULT_SEARCH_RUNS,
    RunOptions,
    chosen_datasets,
    plan_stages,
    read_around,
)
from tanager.cli.run_display import show_runs
from tanager.datasets import CATALOGUE, load_dataset
from tanager.experiments.dask_pool import DaskPool
from tanager.experiments.engine import Pool, execute
from tanager.experiments.local_pool import LocalPool
from tanager.experiments.methods import METHODS
from tanager.experiments.published_runs import read_runs, write_runs
from tanager.experiments.selection import Cell, Results
from tanager.experiments.store import Record, Store

_RUNS, _WHERE, _REPORTS = (
    "Which runs",
    "Where to run them and keep the results",
    "Reports on stored results (nothing is run for them)",
)


_EXCLUSIVE = (
    *((option, "--published") for option in ("--runs", "--around", "--search", "--campaign")),
    *((option, "--campaign") for option in ("--runs", "--around", "--search")),
    ("--workers", "--scheduler"),
)


class _Protocol(StrEnum):
    both = "both"
    test = "test"
    validation = "validation"


@dataclass(frozen=True)
class _Reports:
    """What to make of stored results: Table 1 on the screen, and files."""

    table: bool
    figures: Path | None
    page: Path | None
    runs: Path | None

    @property
    def any(self) -> bool:
        return self.table or any(path is not None for path in (self.figures, self.page, self.runs))


def reproduce(
    datasets: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(CATALOGUE)}. Defaults to {DEFAULT_DATASET}.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{', '.join(METHODS)}. Repeatable. Defaults to all columns of Table 1.", rich_help_panel=_RUNS
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Number of configurations, drawn evenly from each grid. Defaults to {DEFAULT_RUNS}, or "
            f"{DEFAULT_SEARCH_RUNS} for --search.",
            rich_help_panel=_RUNS,
        ),
    ] = None,
    campaign: Annotated[
        bool,
        typer.Option(
            "--campaign",
            help="Run the grids of all data sets, or of those named, side by side: the runs can end at any moment.",
            rich_help_panel=_RUNS,
        ),
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Run the authors' best configurations.", rich_help_panel=_RUNS)
    ] = False,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="Search by successive halving and select on validation rows (recommended).",
            rich_help_panel=_RUNS,
        ),
    ] = False,
    pseudo: Annotated[
        bool, typer.Option("--pseudo", help="Run the pseudo-TAN experiment.", rich_help_panel=_RUNS)
    ] = False,
    recover: Annotated[
        bool, typer.Option("--recover", help="Run the Chow-Liu recovery experiment.", rich_help_panel=_RUNS)
    ] = False,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Epochs of each run. Defaults to 500, as in the paper.", rich_help_panel=_RUNS),
    ] = None,
    max_parents: Annotated[
        list[int] | None, typer.Option(help="Only configurations with this K. Repeatable.", rich_help_panel=_RUNS)
    ] = None,
    ordering: Annotated[
        list[str] | None,
        typer.Option(
            help="Only configurations with this ordering: 0 to 4, A, B or C. Repeatable.", rich_help_panel=_RUNS
        ),
    ] = None,
    draw: Annotated[
        list[int] | None,
        typer.Option(help="Only configurations with this draw of parents: 0 to 9. Repeatable.", rich_help_panel=_RUNS),
    ] = None,
    learning_rate: Annotated[
        list[float] | None,
        typer.Option(help="Only configurations with this learning rate. Repeatable.", rich_help_panel=_RUNS),
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(
            metavar="LAMBDA,GAMMA",
            help="Prefer configurations near these values, or near the best published ones: --around published.",
            rich_help_panel=_RUNS,
        ),
    ] = None,
    protocol: Annotated[
        _Protocol,
        typer.Option(
            help="Train on all rows (test), on all but the validation rows (validation), or both.",
            rich_help_panel=_RUNS,
        ),
    ] = _Protocol.both,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the runs.", rich_help_panel=_RUNS)] = 0,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of local processes. Defaults to one per CPU.", rich_help_panel=_WHERE),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the Dask scheduler at this address.", rich_help_panel=_WHERE)
    ] = None,
    store: Annotated[Path, typer.Option(help="File that keeps the results.", rich_help_panel=_WHERE)] = Path(
        "tanager-results.sqlite"
    ),
    resume: Annotated[
        bool, typer.Option("--resume", help="Finish the runs that earlier commands left.", rich_help_panel=_WHERE)
    ] = False,
    from_published: Annotated[
        bool,
        typer.Option(
            "--from-published", help="Add the published runs to the stored ones first.", rich_help_panel=_WHERE
        ),
    ] = False,
    table: Annotated[bool, typer.Option("--table", help="Print Table 1.", rich_help_panel=_REPORTS)] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Draw the paper's figures in this folder.", rich_help_panel=_REPORTS)
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write the results page to this file.", rich_help_panel=_REPORTS)
    ] = None,
    publish: Annotated[
        Path | None,
        typer.Option(help="Write all stored runs to this file, as published_runs.csv.gz.", rich_help_panel=_REPORTS),
    ] = None,
) -> None:
    """Run the paper's experiments, or report on earlier runs.

    A file keeps the results, and runs that it already has are not repeated.
    After an interruption, the same command continues where it stopped.

    Examples:

    tanager reproduce letter --published

    tanager reproduce letter satimage --method subset --runs 20

    tanager reproduce usps --search --workers 2

    tanager reproduce --from-published --figures figures

    tanager reproduce --from-published letter --campaign
    """
    try:
        near = read_around(around)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    extra = [name for name, is_given in (("pseudo", pseudo), ("recover", recover)) if is_given]
    options = RunOptions(
        datasets=tuple(datasets or ()),
        methods=(*(method or ()), *extra),
        n_configurations=runs,
        is_campaign=campaign,
        is_published=published,
        is_search=search,
        is_resumed=resume,
        epochs=epochs,
        max_parents=tuple(max_parents or ()),
        orderings=tuple(ordering or ()),
        draws=tuple(draw or ()),
        learning_rates=tuple(learning_rate or ()),
        around=near,
        protocol=protocol.value,
        seed=seed,
    )
    _check(options, workers, scheduler)
    reports = _Reports(table, figures, page, publish)
    is_run = not (reports.any or from_published) or runs is not None or bool(extra)
    is_run = is_run or campaign or published or search or resume
    pool: Pool = LocalPool(workers) if scheduler is None else DaskPool(scheduler)
    progress = PlainConsole(stderr=True)
    try:
        with Store(store, must_exist=not from_published and (resume or not is_run)) as opened:
            if from_published:
                _add_published(opened, progress)
            n_failed = _run(options, opened, pool, progress, is_local=scheduler is None) if is_run else 0
            if is_run or not reports.any:
                reports = replace(reports, table=True)
            _report(options, Results(opened.records()), PlainConsole(), reports)
    except KeyboardInterrupt:
        message = f"interrupted: {store} has the finished runs; tanager reproduce --resume continues from there"
        progress.print(message, soft_wrap=True, highlight=False, markup=False)
        raise typer.Exit(INTERRUPTED) from None
    if n_failed:
        progress.print(f"{n_failed} runs failed; the same command tries them again")
        raise typer.Exit(1)


def _check(options: RunOptions, workers: int | None, scheduler: str | None) -> None:
    """Refuse unknown names, and options that exclude each other."""
    given = {
        "--runs": options.n_configurations is not None,
        "--around": options.around is not None,
        "--search": options.is_search,
        "--published": options.is_published,
        "--campaign": options.is_campaign,
        "--workers": workers is not None,
        "--scheduler": scheduler is not None,
    }
    for first, second in _EXCLUSIVE:
        if given[first] and given[second]:
            raise typer.BadParameter(f"give only one of {first} and {second}")
    for names, known, what in ((options.datasets, CATALOGUE, "data set"), (options.methods, METHODS, "method")):
        for name in names:
            if name not in known:
                raise typer.BadParameter(f"unknown {what} {name!r}; choose from {', '.join(known)}")


def _run(options: RunOptions, store: Store, pool: Pool, console: Console, is_local: bool) -> int:
    """Make all runs that the store does not have; returns how many failed."""
    n_failed = 0
    for stage in plan_stages(options, store):
        missing = store.missing(stage.specs)
        n_stored = len(stage.specs) - len(missing)
        console.print(f"{stage.title}: {len(missing)} to do, {n_stored} already stored", highlight=False)
        if not missing:
            continue
        if is_local:
            # Here, so that each file is downloaded once, and a problem with it shows at once.
            for dataset, fold in sorted({(spec.dataset, spec.fold) for spec in missing}):
                load_dataset(dataset, fold)
        with closing(execute(missing, store, pool)) as outcomes:
            n_failed += show_runs(outcomes, missing, stage.title, console).n_failed
    return n_failed


def _add_published(store: Store, console: Console) -> None:
    runs = read_runs()
    n_new = store.add_all(runs)
    console.print(f"{len(runs):,} published runs, {n_new:,} of them new", highlight=False)


def _report(options: RunOptions, results: Results, console: Console, reports: _Reports) -> None:
    if reports.table:
        datasets = chosen_datasets(options) if options.datasets else None
        cells = [cell for cell in results.table(datasets) if cell.paper is not None or cell.n_tested]
        others = [results.cell(dataset, "pseudo") for dataset in datasets or CATALOGUE]
        console.print(_table([*cells, *(cell for cell in others if cell.n_tested or cell.n_validated)]))
        _print_recoveries(results.records, console)
    drawn: list[Path] = []
    if reports.figures is not None:
        from tanager.report.paper_figures import save_paper_figures

        drawn = save_paper_figures(results, reports.figures)
        console.print(f"{len(drawn)} files saved in {reports.figures}", soft_wrap=True, highlight=False)
    if reports.page is not None:
        from tanager.report.results_page import write_results_page

        write_results_page(results, reports.page, drawn)
        console.print(f"results page saved as {reports.page}", soft_wrap=True, highlight=False)
    if reports.runs is not None:
        n_runs = write_runs(results.records, reports.runs)
        console.print(f"{n_runs:,} runs saved as {reports.runs}", soft_wrap=True, highlight=False)


def _table(cells: list[Cell]) -> Table:
    from tanager.report.results_tables import percent

    table = Table("data set", "method", title="Table 1: test error in percent")
    columns = ("ours, selected on test", "ours, selected on validation", "optimism", "tried on test / validation")
    for column in ("paper", *columns):
        table.add_column(column, justify="right")
    for cell in cells:
        errors = map(percent, (cell.paper, cell.on_test, cell.on_validation, cell.optimism))
        counts = f"{cell.n_tested} / {cell.n_validated}"
        table.add_row(cell.dataset, METHODS[cell.method].title, *errors, counts)
    return table


def _print_recoveries(records: list[Record], console: Console) -> None:
    for record in records:
        if record.result.recovered is not None:
            found, n_edges = record.result.recovered
            spec = record.spec
            rates = f"learning rates {spec.learning_rate} and {spec.structure_learning_rate}"
            console.print(
                f"{spec.dataset}, fold {spec.fold}, {rates}, {spec.epochs} epochs: "
                f"{found} of {n_edges} edges of the Chow-Liu tree recovered",
                highlight=False,
            )
