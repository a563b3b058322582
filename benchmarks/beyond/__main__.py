"""``python -m benchmarks.beyond [data set ...]``: compare the methods beyond the paper, and write the page.

Trials are cached in ``.benchmarks/beyond``, or below the folder that TANAGER_BENCH_CACHE names, so an interrupted
comparison resumes where it stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.beyond.comparison import N_SEEDS, Line, compare
from benchmarks.beyond.methods import COMPARED
from benchmarks.beyond.page import write_page
from benchmarks.beyond.sizes import Point, size_curve
from benchmarks.beyond.trials import NotFinishedError

DATASETS = ("letter", "satimage", "usps", "mnist")
PAGE = Path(__file__).parents[2] / "docs" / "beyond-results.md"


def main(arguments: list[str] | None = None) -> None:
    """Compare, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beyond", description=__doc__)
    parser.add_argument("datasets", nargs="*", metavar="data set", help=f"default: {' '.join(DATASETS)}")
    parser.add_argument("--method", action="append", choices=COMPARED, help="default: all, and error over size")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help=f"seeds to test (default: {N_SEEDS})")
    parser.add_argument("--page", type=Path, default=PAGE, help="file to write")
    parser.add_argument("--finished", action="store_true", help="train nothing; use finished trials only")
    parser.add_argument("--no-page", action="store_true", help="only run and print")
    options = parser.parse_args(arguments)
    lines: dict[str, list[Line]] = {}
    curves: dict[str, list[Point]] = {}
    for dataset in options.datasets or DATASETS:
        for method in options.method or COMPARED:
            try:
                lines.setdefault(dataset, []).append(_compare(dataset, method, options.seeds, options.finished))
            except NotFinishedError:
                print(f"{dataset}, {method}: not finished")
        if options.method:
            continue
        print(f"{dataset}, error over size", flush=True)
        try:
            curves[dataset] = size_curve(dataset, only_finished=options.finished)
        except NotFinishedError:
            print(f"{dataset}, error over size: not finished")
    if not any(lines.values()):
        print("nothing is finished, so no page was written")
    elif not options.no_page:
        write_page(lines, curves, options.page)
        print(f"written to {options.page}")


def _compare(dataset: str, method: str, n_seeds: int, only_finished: bool) -> Line:
    for said in compare(dataset, method, n_seeds, only_finished=only_finished):
        if isinstance(said, Line):
            result = f"{said.mean:.2f} +- {said.standard_error:.2f} % on test rows, {said.seconds:.1f} s"
            print(f"{dataset}, {method}: {result}", flush=True)
            return said
        if not only_finished:
            print(said, flush=True)
    raise AssertionError("a comparison ends with its line")


if __name__ == "__main__":
    main()
