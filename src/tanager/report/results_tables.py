"""Tables of the results page, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tanager.datasets import CATALOGUE
from tanager.experiments.extrapolation import evenly_drawn, extrapolate_minimum
from tanager.experiments.grids import best_published, n_experiments
from tanager.experiments.methods import METHODS
from tanager.experiments.published import LEARNING_RATES
from tanager.experiments.selection import PAPER_ERRORS, Cell, Results, order_holds
from tanager.experiments.store import Record

# Largest distance to the paper, in points, that a learned column is meant to have.
_TARGETS = {"letter": 0.35, "satimage": 0.35, "usps": 0.35, "mnist": 0.4}
_DASH = "–"


def table_markdown(cells: Iterable[Cell]) -> str:
    """Table 1, one line per cell."""
    lines = []
    for cell in cells:
        errors = " | ".join(map(percent, (cell.paper, cell.on_test, cell.on_validation, cell.optimism)))
        n_grid = n_experiments(cell.dataset, cell.method)
        if METHODS[cell.method].has_margin:
            n_grid *= len(LEARNING_RATES)
        counts = f"{cell.n_tested:,} / {cell.n_validated:,} of {n_grid:,}"
        lines.append(f"| {cell.dataset} | {METHODS[cell.method].title} | {errors} | {counts} |")
    ours = "ours, selected on test | ours, selected on validation | optimism"
    return _table(f"data set | method | paper | {ours} | configurations", "--:::::", lines)


def percent(error: float | None) -> str:
    """An error in per cent with two decimals, or a dash.

    >>> percent(8.732), percent(None)
    ('8.73', '–')
    """
    return _DASH if error is None else f"{error:.2f}"


def verdicts(cells: Sequence[Cell]) -> str:
    """How far each data set is from the paper."""
    lines = []
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
    head = "data set | learned columns within | farthest from the paper | NB > Random, Chow-Liu > Subset"
    return _table(head, "----", lines)


def minima(results: Results) -> str:
    """The paper's minima beside those that as many of our experiments would have."""
    lines = []
    for (dataset, method), paper in PAPER_ERRORS.items():
        if not METHODS[method].has_margin:
            continue
        drawn = evenly_drawn(results.points(dataset, method), dataset, method)
        n = n_experiments(dataset, method)
        expected = extrapolate_minimum([point.error for point in drawn], n)
        lowest = min((point.error for point in drawn), default=None)
        cells = [dataset, METHODS[method].title, percent(paper), percent(lowest), f"{len(drawn):,} of {n:,}"]
        if expected is None:
            cells += [_DASH, "too few runs"]
        else:
            bounds = f"{expected.median:.2f} ({expected.low:.2f} to {expected.high:.2f})"
            cells += [bounds, expected.verdict(paper)]
        lines.append(f"| {' | '.join(cells)} |")
    columns = "expected lowest of as many as in the paper | the paper's is"
    return _table(f"data set | method | paper | our lowest | experiments | {columns}", "--::::-", lines)


def seeds(results: Results) -> str:
    """The authors' best configurations with several seeds."""
    lines = []
    for dataset in CATALOGUE:
        for method in ("subset", "all"):
            if (dataset, method) not in PAPER_ERRORS:
                continue
            for configuration in best_published(dataset, method):
                errors = results.errors_by_seed(configuration)
                if errors:
                    mean = sum(errors.values()) / len(errors)
                    values = f"{percent(PAPER_ERRORS[dataset, method])} | {percent(mean)} | "
                    values += ", ".join(map(percent, errors.values()))
                    title = METHODS[method].title
                    lines.append(f"| {dataset} | {title} | {configuration.learning_rate} | {values} |")
    head = "data set | method | learning rate | paper, lowest of all | ours, mean | each seed"
    return _table(head, "--:::-", lines) if lines else "No runs yet."


def selected(cells: Sequence[Cell]) -> str:
    """The configurations selected on test, in the paper's numbering."""
    names = ("ordering", "draw", "max_parents", "lam", "gamma", "eta", "learning_rate", "epochs")
    lines = []
    for cell in cells:
        if cell.best is not None and METHODS[cell.method].is_trained:
            values = " | ".join(_short(getattr(cell.best, name)) for name in names)
            lines.append(f"| {cell.dataset} | {METHODS[cell.method].title} | {values} |")
    head = "data set | method | ordering | draw | K | lambda | gamma | eta | learning rate | epochs"
    return _table(head, "--::::::::", lines) if lines else "No runs yet."


def pseudo(results: Results) -> str:
    """The pseudo-TAN experiment."""
    rows = [results.cell(dataset, "pseudo") for dataset in CATALOGUE]
    present = [cell for cell in rows if cell.n_tested or cell.n_validated]
    return table_markdown(present) if present else "No runs yet."


def recovery(records: Sequence[Record]) -> str:
    """The recovery experiment."""
    runs = [record for record in records if record.spec.method == "recover" and record.result.recovered is not None]
    names = list(CATALOGUE)
    lines = []
    for record in sorted(runs, key=lambda run: (names.index(run.spec.dataset), run.spec.fold, run.spec.to_json())):
        spec, (found, n_edges) = record.spec, record.result.recovered or (0, 0)
        rates = f"{spec.learning_rate} | {spec.structure_learning_rate}"
        lines.append(f"| {spec.dataset} | {spec.fold} | {rates} | {spec.epochs} | {found} of {n_edges} |")
    head = "data set | fold | learning rate of CPTs | of the parent distribution | epochs | edges found"
    return _table(head, "-:::::", lines) if lines else "No runs yet."


def _short(value: float | str | None) -> str:
    if value is None:
        return _DASH
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(head: str, columns: str, lines: Sequence[str]) -> str:
    """A table; a colon stands for a column that is aligned to the right."""
    rule = "|".join("---:" if column == ":" else "---" for column in columns)
    return "\n".join([f"| {head} |", f"|{rule}|", *lines])
