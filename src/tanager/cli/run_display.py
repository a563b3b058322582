"""Progress of runs: how many are done, how long the rest will take, and the best results so far."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from tanager.experiments.costs import relative_cost
from tanager.experiments.engine import Failed, Finished, Outcome
from tanager.experiments.methods import METHODS
from tanager.experiments.spec import RunSpec

# Without a terminal, a line is printed this often.
_SECONDS_BETWEEN_LINES = 30.0


@dataclass
class Tally:
    """Counts and best results of the runs so far."""

    n_finished: int = 0
    n_failed: int = 0
    done_cost: float = 0.0
    best: dict[tuple[str, str], float] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.done_cost += relative_cost(outcome.spec)
        match outcome:
            case Finished(spec, result):
                self.n_finished += 1
                cell = spec.dataset, spec.method
                self.best[cell] = min(self.best.get(cell, 1.0), result.test_error)
            case Failed():
                self.n_failed += 1

    def text(self, latest: RunSpec) -> str:
        """Lowest test error so far of the latest run's method; of single runs, so it differs from Table 1."""
        error = self.best.get((latest.dataset, latest.method))
        shown = "" if error is None else f": {error:.2%}"
        return f"{latest.dataset}, {METHODS[latest.method].title}{shown}"


def show_runs(outcomes: Iterable[Outcome], specs: Sequence[RunSpec], title: str, console: Console) -> Tally:
    """Collect the outcomes of runs and show progress.

    Parameters
    ----------
    outcomes : iterable of Outcome
    specs : sequence of RunSpec
        All runs to expect.
    title : str
    console : Console
        Errors of failed runs are printed to it at once.
    """
    total = sum(map(relative_cost, specs)) or 1.0
    tally, start, last_line = Tally(), time.monotonic(), time.monotonic()
    with _make_progress(console) as progress:
        task = progress.add_task(title, total=total, count=f"0 of {len(specs)}", latest="")
        for outcome in outcomes:
            tally.add(outcome)
            if isinstance(outcome, Failed):
                console.print(f"failed: {outcome.spec.to_json()}: {outcome.reason}", soft_wrap=True, highlight=False)
            count = f"{tally.n_finished + tally.n_failed} of {len(specs)}"
            progress.update(task, completed=tally.done_cost, count=count, latest=tally.text(outcome.spec))
            now = time.monotonic()
            if not console.is_terminal and now - last_line >= _SECONDS_BETWEEN_LINES:
                last_line = now
                left = timedelta(seconds=round((now - start) * (total / tally.done_cost - 1)))
                console.print(f"{title}: {count} runs, {left} left; {tally.text(outcome.spec)}", soft_wrap=True)
    return tally


def _make_progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[count]} runs"),
        TimeElapsedColumn(table_column=Column(min_width=7)),
        TimeRemainingColumn(table_column=Column(min_width=7)),
        TextColumn("{task.fields[latest]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=console,
        # A run may take many minutes, so speed is measured over all of them.
        speed_estimate_period=float("inf"),
    )
