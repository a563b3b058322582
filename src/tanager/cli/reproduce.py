"""``tanager reproduce``: the paper's experiments, its table and its figures."""

from __future__ import annotations

from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

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
from tanager.experiments.selection import Cell, method_cell, table_cells
from tanager.experiments.store import Record, Store

_RUNS, _WHERE, _REPORTS = (
    "Which runs",
    "Where they run and are kept",
    "Reports from the store (run nothing by themselves)",
)


class _Protocol(StrEnum):
    both = "both"
    test = "test"
    validation = "validation"


def reproduce(
    datasets: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(CATALOGUE)}; {DEFAULT_DATASET} if none is named.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(METHODS)}; all columns of Table 1 if none is named.", rich_help_panel=_RUNS),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Random configurations of each grid ({DEFAULT_RUNS}; {DEFAULT_SEARCH_RUNS} to start a search with).",
            rich_help_panel=_RUNS,
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The authors' best configurations.", rich_help_panel=_RUNS)
    ] = False,
    search: Annotated[
        bool,
        typer.Option(
            "--search",
            help="Successive halving, selected on validation: the recommended way.",
            rich_help_panel=_RUNS,
        ),
    ] = False,
    pseudo: Annotated[bool, typer.Option("--pseudo", help="The pseudo-TAN experiment.", rich_help_panel=_RUNS)] = False,
    recover: Annotated[
        bool, typer.Option("--recover", help="The Chow-Liu recovery experiment.", rich_help_panel=_RUNS)
    ] = False,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of a run, 500 as in the paper.", rich_help_panel=_RUNS)
    ] = None,
    max_parents: Annotated[
        list[int] | None, typer.Option(help="Only configurations with this K.", rich_help_panel=_RUNS)
    ] = None,
    ordering: Annotated[
        list[str] | None,
        typer.Option(help="Only configurations with this ordering: 0 to 4, A, B or C.", rich_help_panel=_RUNS),
    ] = None,
    draw: Annotated[
        list[int] | None,
        typer.Option(help="Only configurations with this draw of parents: 0 to 9.", rich_help_panel=_RUNS),
    ] = None,
    learning_rate: Annotated[
        list[float] | None, typer.Option(help="Only configurations with this learning rate.", rich_help_panel=_RUNS)
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(
            metavar="LAMBDA,GAMMA",
            help="Prefer configurations near these, or near the best published one: --around published.",
            rich_help_panel=_RUNS,
        ),
    ] = None,
    protocol: Annotated[
        _Protocol,
        typer.Option(
            help="Train on all rows (test), with rows held back (validation), or both.", rich_help_panel=_RUNS
        ),
    ] = _Protocol.both,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the runs.", rich_help_panel=_RUNS)] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Local processes; one for each processor.", rich_help_panel=_WHERE)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, to run there.", rich_help_panel=_WHERE)
    ] = None,
    store: Annotated[Path, typer.Option(help="File with the results.", rich_help_panel=_WHERE)] = Path(
        "tanager-results.sqlite"
    ),
    resume: Annotated[
        bool, typer.Option("--resume", help="Make the runs that earlier commands left over.", rich_help_panel=_WHERE)
    ] = False,
    table: Annotated[bool, typer.Option("--table", help="Print Table 1.", rich_help_panel=_REPORTS)] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Draw the paper's figures to this folder.", rich_help_panel=_REPORTS)
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write the results page to this file.", rich_help_panel=_REPORTS)
    ] = None,
) -> None:
    """Run the paper's experiments, or report on those that were run.

    Results are kept in a file. Whatever is in it already is not run again, so a command that was interrupted, or
    killed, goes on when it is given again.

    Examples:

    tanager reproduce letter --published

    tanager reproduce letter satimage --method subset --runs 20

    tanager reproduce usps --search --workers 2

    tanager reproduce --table --figures figures
    """
    try:
        near = read_around(around)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    extra = [name for name, is_asked in (("pseudo", pseudo), ("recover", recover)) if is_asked]
    options = RunOptions(
        datasets=tuple(datasets or ()),
        methods=(*(method or ()), *extra),
        n_configurations=runs,
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
    is_report = table or figures is not None or page is not None
    is_run = not is_report or runs is not None or published or search or resume or bool(extra)
    pool: Pool = LocalPool(workers) if scheduler is None else DaskPool(scheduler)
    progress = Console(stderr=True)
    try:
        with Store(store, must_exist=resume or not is_run) as opened:
            n_failed = _run(options, opened, pool, progress, is_local=scheduler is None) if is_run else 0
            _report(options, opened.records(), Console(), table or is_run, figures, page)
    except KeyboardInterrupt:
        message = f"Interrupted. Finished runs are in {store}; tanager reproduce --resume goes on from there."
        progress.print(message, soft_wrap=True, highlight=False, markup=False)
        raise typer.Exit(INTERRUPTED) from None
    if n_failed:
        progress.print(f"{n_failed} runs failed; the same command tries them again.")
        raise typer.Exit(1)


def _check(options: RunOptions, workers: int | None, scheduler: str | None) -> None:
    """Refuse names that do not exist and options that exclude each other."""
    if options.n_configurations is not None and options.is_published:
        raise typer.BadParameter("--runs and --published exclude each other")
    if options.around is not None and options.is_published:
        raise typer.BadParameter("--around and --published exclude each other")
    if options.is_search and options.is_published:
        raise typer.BadParameter("--search and --published exclude each other")
    if workers is not None and scheduler is not None:
        raise typer.BadParameter("--workers and --scheduler exclude each other")
    for names, known, what in ((options.datasets, CATALOGUE, "data set"), (options.methods, METHODS, "method")):
        for name in names:
            if name not in known:
                raise typer.BadParameter(f"there is no {what} {name!r}; there are {', '.join(known)}")


def _run(options: RunOptions, store: Store, pool: Pool, console: Console, is_local: bool) -> int:
    """Make all runs that the store lacks; returns how many failed."""
    n_failed = 0
    for stage in plan_stages(options, store):
        missing = store.missing(stage.specs)
        n_stored = len(stage.specs) - len(missing)
        console.print(f"{stage.title}: {len(missing)} to make, {n_stored} stored already", highlight=False)
        if not missing:
            continue
        if is_local:
            # Once and here, so that files are downloaded once, and what is wrong with them is said at once.
            for dataset, fold in sorted({(spec.dataset, spec.fold) for spec in missing}):
                load_dataset(dataset, fold)
        with closing(execute(missing, store, pool)) as outcomes:
            n_failed += show_runs(outcomes, missing, stage.title, console).n_failed
    return n_failed


def _report(
    options: RunOptions,
    records: list[Record],
    console: Console,
    is_table: bool,
    figures: Path | None,
    page: Path | None,
) -> None:
    if is_table:
        datasets = chosen_datasets(options) if options.datasets else None
        cells = [cell for cell in table_cells(records, datasets) if cell.paper is not None or cell.n_tested]
        others = [method_cell(records, dataset, "pseudo") for dataset in datasets or CATALOGUE]
        console.print(_table([*cells, *(cell for cell in others if cell.n_tested or cell.n_validated)]))
        _print_recoveries(records, console)
    drawn: list[Path] = []
    if figures is not None:
        from tanager.report.paper_figures import save_paper_figures

        drawn = save_paper_figures(records, figures)
        console.print(f"{len(drawn)} files drawn to {figures}", soft_wrap=True, highlight=False)
    if page is not None:
        from tanager.report.results_page import write_results_page

        write_results_page(records, page, drawn)
        console.print(f"results page written to {page}", soft_wrap=True, highlight=False)


def _table(cells: list[Cell]) -> Table:
    from tanager.report.results_page import percent

    table = Table("data set", "method", title="Table 1: test error in per cent")
    for column in ("paper", "ours, selected on test", "ours, selected on validation", "tried on test / validation"):
        table.add_column(column, justify="right")
    for cell in cells:
        errors = map(percent, (cell.paper, cell.on_test, cell.on_validation))
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
