"""``python -m benchmarks.tables [data set ...]``: compare classifiers without options, and write the page.

Each trial runs in a process of its own and is cached in ``.benchmarks/tables``, or below the folder that
TANAGER_BENCH_CACHE names, so an interrupted comparison resumes where it stopped. ``--from-published`` adds the outcomes
of the page in the documentation, so that they are not repeated. The page shows everything in the cache, whatever was
run this time. After a change of a method, ``--again`` with its name clears its results. Set TANAGER_DATA to the folder
of the data sets; without it only those of scikit-learn are available.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.page import DOCS
from benchmarks.rivals.data import TABLES, is_there, needed_file
from benchmarks.rivals.methods import METHODS, installed_methods
from benchmarks.rivals.outcomes import (
    NOT_FINISHED,
    Outcome,
    Outcomes,
    Stopped,
    adopt_published,
    forget_outcome,
    keep_outcome,
    kept_outcome,
    publish,
)
from benchmarks.rivals.page import write_page
from benchmarks.rivals.trials import ProcessEndedError, run_trial

PAGE = DOCS / "comparison.md"
SECONDS = 600.0


def main(arguments: list[str] | None = None) -> None:
    """Run the trials that are not cached, and write the page."""
    options = _parser().parse_args(arguments)
    unknown = sorted(set(options.tables) - set(TABLES))
    if unknown:
        _parser().error(f"no data set {', '.join(unknown)}; there are {', '.join(TABLES)}")
    asked = options.tables or TABLES
    missing = [f"{table}: no file {needed_file(table)}" for table in asked if not is_there(table)]
    methods, not_installed = installed_methods(options.method or list(METHODS))
    for line in [*missing, *not_installed]:
        print(f"MISSING {line}", flush=True)
    if options.from_published:
        adopt_published()
    for table in asked:
        for method in options.again or []:
            forget_outcome(table, method)
    if not options.finished:
        pairs = [(table, method) for table in asked if is_there(table) for method in methods]
        try:
            _run(pairs, options.seconds)
        except KeyboardInterrupt:
            sys.exit("stopped; finished trials are kept, and the same command resumes from there")
    if options.publish:
        publish(kept_outcomes())
    if not options.no_page:
        write_page(kept_outcomes(), options.page)
        print(f"written to {options.page}")


def kept_outcomes() -> Outcomes:
    """All cached outcomes, in the order of data sets and methods; data sets without any are left out."""
    kept = {table: {method: kept_outcome(table, method) for method in METHODS} for table in TABLES}
    found = {table: {method: it for method, it in of.items() if it is not None} for table, of in kept.items()}
    return {table: of for table, of in found.items() if of}


def _run(pairs: Sequence[tuple[str, str]], seconds: float) -> None:
    for number, (table, method) in enumerate(pairs, start=1):
        head = f"[{number} of {len(pairs)}] {table}, {METHODS[method].title}"
        outcome = kept_outcome(table, method)
        if outcome is None or _was_given_less(outcome, seconds):
            print(f"{head} ...", flush=True)
            try:
                outcome = run_trial(table, method, seconds)
            except ProcessEndedError as error:
                print(f"{head}: {error}; not kept", flush=True)
                continue
            keep_outcome(table, method, outcome)
        print(f"{head}: {_describe(outcome)}", flush=True)


def _was_given_less(outcome: Outcome, seconds: float) -> bool:
    """Whether a trial did not finish, but had less time than there is now."""
    return isinstance(outcome, Stopped) and outcome.why == NOT_FINISHED and outcome.seconds < seconds


def _describe(outcome: Outcome) -> str:
    if isinstance(outcome, Stopped):
        return f"{outcome.why} (limit {outcome.seconds:g} s)"
    return (
        f"error {outcome.error:.2f} +- {outcome.standard_error:.2f} %, log-loss {outcome.log_loss:.4f}, calibration "
        f"error {outcome.calibration_error:.2f} %, fit {outcome.fit_seconds:.3g} s, predict "
        f"{outcome.predict_seconds:.3g} s"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="data set", help=f"default: {' '.join(TABLES)}")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="default: all that are installed")
    parser.add_argument(
        "--again", action="append", choices=list(METHODS), help="clear the results of a method and run it again"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help="limit on the processor time of a fit and its prediction (default: 600)",
    )
    parser.add_argument("--finished", action="store_true", help="run nothing; write the page from the cache")
    parser.add_argument(
        "--page", type=Path, default=PAGE, help="file to write; its picture goes into figures beside it"
    )
    parser.add_argument("--from-published", action="store_true", help="begin with benchmarks/rivals/outcomes.csv")
    parser.add_argument("--publish", action="store_true", help="write all outcomes to that file")
    parser.add_argument("--no-page", action="store_true", help="only run and print")
    return parser


if __name__ == "__main__":
    main()
