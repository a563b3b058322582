"""The page ``docs/comparison.md`` with its picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.rivals.checks import check_all, finished, is_within, results_of
from benchmarks.rivals.data import TABLES, needed_file
from benchmarks.rivals.measures import N_BINS, SMALLEST_PROBABILITY
from benchmarks.rivals.methods import METHODS
from benchmarks.rivals.outcomes import NOT_FINISHED, Outcome, Outcomes, Result, Stopped
from benchmarks.rivals.picture import draw_ranks
from benchmarks.rivals.ranks import Ranking, rank_methods
from tanager.files import written_whole

PICTURE = "figures/comparison-ranks.svg"

_INTRODUCTION = """\
# Comparison over data sets

Classifiers with their defaults. Data sets: {n_tables}. Written by `python -m benchmarks.tables` (`TANAGER_DATA` names
the folder with the data). Results with tuned options are in [beyond-results.md](beyond-results.md), times of single
operations in [benchmarks.md](benchmarks.md). The defaults of `TANClassifier` and `TANEnsembleClassifier` were developed
on training rows of the tables of KEEL, from australian on, and of wine, breast_cancer, digits, car, krkopt, waveform,
satimage, letter, adult, usps and mnist ([defaults.md](defaults.md)): these prove little for other data sets."""

_PROTOCOL = f"""\
## How it was measured

* letter, satimage (first fold), usps and mnist: the paper's codes, given as numbers, and the paper's split. adult and
  kddcup99: their own split. Data sets of fewer than 2,000 rows: five-fold cross-validation. The others: a third of the
  rows are test rows. Both are drawn once and stratified by class. Words are pandas categories, and a question mark is
  a missing cell. The codes of usps and mnist were made, as in the paper, from rows that include some of the test rows
  here, for all methods alike.
* The error is in per cent of the test rows, with its binomial standard error. An error is "within one standard error of
  the lowest" if it exceeds the lowest by no more than the standard error of the lowest.
* Log-loss: the mean of -ln of the probability of the true class; probabilities below {SMALLEST_PROBABILITY:g} count as
  {SMALLEST_PROBABILITY:g}. Calibration error: expected calibration error of the predicted class, {N_BINS} bins of equal
  width, in per cent.
* Test rows of a class that no training row has (6 % of kddcup99) count as errors; log-loss and calibration error are
  those of the other rows.
* Times are processor times of one run on one thread: of the fit, including all preparation of the rows, and of the
  probabilities of all test rows. A fit to few rows comes before, which loads and compiles what is needed (except for
  explainable boosting, which compiles nothing). The machine had other work to do, too.
* A fit that exceeds the limit on processor time, together with its prediction, is shown as not finished.
* The size is that of the pickled classifier. Parameters are entries of CPTs or weights, where these are defined.
* One run each, `random_state=0`. Trials of methods other than TAN, TAN ensemble, boosting, LightGBM and logistic are of
  earlier runs, on a machine where our own fits take 1.4 times as long: their times and log-losses were kept to three
  and four digits, and defaults may have changed since."""

_LEGEND = "**Bold**: the lowest of the row; *italic*: within one standard error of it."

_Value = Callable[[Result], float | None]
_Cells = Callable[[Mapping[str, Result]], dict[str, str]]

_MEASURES: dict[str, tuple[_Value, str]] = {
    "Log-loss": (lambda result: result.log_loss, ".4f"),
    "Calibration error in per cent": (lambda result: result.calibration_error, ".2f"),
    "Seconds of the fit": (lambda result: result.fit_seconds, ".3g"),
    "Seconds of the prediction": (lambda result: result.predict_seconds, ".3g"),
    "Size of the pickled classifier in kB": (lambda result: result.n_bytes / 1e3, ",.1f"),
    "Parameters": (lambda result: result.n_parameters, ",d"),
}

_RANKED: dict[str, _Value] = {
    "error": lambda result: result.n_wrong,
    "log-loss": lambda result: result.log_loss,
    "calibration error": lambda result: result.calibration_error,
}

_OWN = ("tan", "ensemble")
_MOST_TABLES = 0.8  # share of the data sets that a method must have finished to be ranked


def write_page(outcomes: Outcomes, path: Path) -> None:
    """Write the page and its picture, in ``figures`` beside it.

    Parameters
    ----------
    outcomes : Outcomes
        Missing data sets are named at the top of the page.
    path : Path
    """
    methods = [method for method in METHODS if any(method in of for of in outcomes.values())]
    parts = [_INTRODUCTION.format(n_tables=len(outcomes)), *_missing(outcomes), "## What it says"]
    parts.append("\n".join(f"* {sentence}" for sentence in check_all(outcomes)))
    parts += ["## Ranks", *_ranks(outcomes, methods, path), *_in_pairs(outcomes, methods)]
    parts += ["## Error in per cent", _LEGEND, _table(outcomes, methods, _mark_error)]
    for title, (value, form) in _MEASURES.items():
        parts += [f"## {title}", _table(outcomes, methods, partial(_mark_lowest, value, form))]
    parts += ["## Data sets", _data_sets(outcomes), "## Methods", _method_list(methods), _PROTOCOL]
    parts.append("\n".join([_holes(outcomes, methods), *(f"* Machine: {machine}" for machine in _machines(outcomes))]))
    with written_whole(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _missing(outcomes: Outcomes) -> list[str]:
    """What is missing from the page, in bold."""
    lacking = [f"{table} (`{needed_file(table)}`)" for table in TABLES if table not in outcomes]
    parts = []
    if lacking:
        parts.append(
            f"**This page is incomplete: there are no results for {len(lacking)} of {len(TABLES)} data sets: "
            f"{', '.join(lacking)}. `TANAGER_DATA` must name the folder that holds these files.**"
        )
    failures = [
        f"{METHODS[method].title} on {table}: {outcome.why.removeprefix('failed: ')}"
        for table, of in outcomes.items()
        for method, outcome in of.items()
        if isinstance(outcome, Stopped) and outcome.why != NOT_FINISHED
    ]
    return parts + ([f"**Failed: {'; '.join(failures)}.**"] if failures else [])


def _holes(outcomes: Outcomes, methods: Sequence[str]) -> str:
    """Which trials were not run, by method."""
    holes = {method: [table for table, of in outcomes.items() if method not in of] for method in methods}
    listed = [f"{METHODS[method].title} on {', '.join(tables)}" for method, tables in holes.items() if tables]
    return f"* Not run: {'; '.join(listed)}." if listed else "* All trials were run."


def _ranks(outcomes: Outcomes, methods: Sequence[str], path: Path) -> list[str]:
    """Mean ranks of the methods that finished most data sets, with the picture, and of those that finished all."""
    methods = [method for method in methods if len(finished(outcomes, [method])) >= _MOST_TABLES * len(outcomes)]
    if len(methods) < 2 or not finished(outcomes, methods):
        return ["No data set was finished by all methods."]
    picture = path.parent / PICTURE
    picture.parent.mkdir(exist_ok=True)
    draw_ranks([METHODS[method].title for method in methods], _rankings(outcomes, methods)["error"], picture)
    parts = ["Rank 1 is the best, and ties share the mean of their ranks.", *_mean_ranks(outcomes, methods)]
    parts.append(f"![Mean ranks by error; a bar joins methods that do not differ significantly]({PICTURE})")
    everywhere = [method for method in methods if len(finished(outcomes, [method])) == len(outcomes)]
    if 3 <= len(everywhere) < len(methods):  # Friedman's test needs three
        parts += _mean_ranks(outcomes, everywhere)
    return parts


def _mean_ranks(outcomes: Outcomes, methods: Sequence[str]) -> list[str]:
    """A paragraph and a table of mean ranks."""
    rankings = _rankings(outcomes, methods)
    tables = finished(outcomes, methods)
    left_out = [table for table in outcomes if table not in tables]
    without = f" (without {', '.join(left_out)})" if left_out else ""
    chances = ", ".join(f"{ranking.p_value:.2g} on {name}" for name, ranking in rankings.items())
    rows = [
        [f"mean rank, {name}", *(f"{rank:.2f}" for rank in ranking.mean_ranks)] for name, ranking in rankings.items()
    ]
    return [
        f"Over the {len(tables)} data sets that these {len(methods)} methods have finished{without}. Friedman's test "
        f"that all are alike: p = {chances}. Nemenyi's critical difference at the level of 0.05 is "
        f"{rankings['error'].critical_difference:.2f}.",
        _markdown(["", *(METHODS[method].title for method in methods)], rows),
    ]


def _rankings(outcomes: Outcomes, methods: Sequence[str]) -> dict[str, Ranking]:
    """Ranks by each measure over the data sets that these methods have finished."""
    present = [results_of(outcomes, table, methods) for table in finished(outcomes, methods)]
    return {
        name: rank_methods([[value(of[method]) for method in methods] for of in present])
        for name, value in _RANKED.items()
    }


def _in_pairs(outcomes: Outcomes, methods: Sequence[str]) -> list[str]:
    """The two classifiers of this library against each of the others."""
    present = [own for own in _OWN if own in methods]
    if not present:
        return []
    head = ["", *(METHODS[method].title for method in methods)]
    return [
        "In pairs: the number of data sets, of those that both have finished, with a lower / equal / higher error.",
        _markdown(head, [_pairs(outcomes, own, methods, lambda *_: 0.0) for own in present]),
        "The same, where errors that differ by no more than two standard errors of their difference count as equal.",
        _markdown(head, [_pairs(outcomes, own, methods, _two_errors) for own in present]),
        "The same for log-loss, any difference counting.",
        _markdown(head, [_pairs(outcomes, own, methods, lambda *_: 0.0, lambda it: it.log_loss) for own in present]),
    ]


def _two_errors(one: Result, other: Result) -> float:
    """Two standard errors of the difference of two errors, in per cent."""
    return 2.0 * math.hypot(one.standard_error, other.standard_error)


def _pairs(
    outcomes: Outcomes,
    own: str,
    methods: Sequence[str],
    slack: Callable[[Result, Result], float],
    value: _Value = lambda result: result.error,
) -> list[str]:
    """How often a method has a lower, an equal and a higher value than each other, by more than the slack."""
    cells = []
    for rival in methods:
        both = [(outcomes[table][own], outcomes[table][rival]) for table in finished(outcomes, [own, rival])]
        surplus = [(value(one) - value(other), slack(one, other)) for one, other in both]
        counts = (
            sum(it < -allowed for it, allowed in surplus),
            sum(abs(it) <= allowed for it, allowed in surplus),
            sum(it > allowed for it, allowed in surplus),
        )
        cells.append("" if rival == own else " / ".join(map(str, counts)))
    return [METHODS[own].title, *cells]


def _table(outcomes: Outcomes, methods: Sequence[str], cells: _Cells) -> str:
    """Data sets as rows and methods as columns."""
    rows = []
    for table, of in outcomes.items():
        present = cells(results_of(outcomes, table, methods))
        rows.append([table, *(present.get(method) or _no_result(of.get(method)) for method in methods)])
    return _markdown(["", *(METHODS[method].title for method in methods)], rows)


def _no_result(outcome: Outcome | None) -> str:
    if isinstance(outcome, Stopped):
        return f"not finished ({outcome.seconds:g} s)" if outcome.why == NOT_FINISHED else "failed"
    return "–"


def _mark_error(results: Mapping[str, Result]) -> dict[str, str]:
    """Errors with their standard errors, the lowest in bold, those near it in italics."""
    cells = {}
    lowest = min(results.values(), key=lambda result: result.n_wrong, default=None)
    for method, result in results.items():
        mark = "**" if result.n_wrong == lowest.n_wrong else "*" if is_within(result, lowest) else ""
        cells[method] = f"{mark}{result.error:.2f} ± {result.standard_error:.2f}{mark}"
    return cells


def _mark_lowest(value: _Value, form: str, results: Mapping[str, Result]) -> dict[str, str]:
    """Values of a measure, the lowest in bold."""
    values = {method: value(result) for method, result in results.items()}
    lowest = min((it for it in values.values() if it is not None), default=None)
    marks = {method: "**" if it == lowest else "" for method, it in values.items()}
    return {method: f"{marks[method]}{it:{form}}{marks[method]}" for method, it in values.items() if it is not None}


def _data_sets(outcomes: Outcomes) -> str:
    rows = []
    for table in outcomes:
        for result in list(results_of(outcomes, table, list(METHODS)).values())[:1]:
            shape = (result.n_train, result.n_test, result.n_columns, result.n_classes)
            rows.append([table, *(f"{number:,}" for number in shape)])
    return _markdown(["", "training rows", "test rows", "columns", "classes in training"], rows)


def _method_list(methods: Sequence[str]) -> str:
    return "\n".join(f"* {METHODS[method].title}: {METHODS[method].about}." for method in methods)


def _machines(outcomes: Outcomes) -> list[str]:
    """The machines that trials ran on, each once."""
    results = (result for table in outcomes for result in results_of(outcomes, table, list(METHODS)).values())
    return list(dict.fromkeys(result.machine for result in results))


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
