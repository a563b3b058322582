"""``python -m benchmarks.defaults [data set ...]``: measure each preset and the choice among them, and write the page.

Problems are parts of the training rows of the data sets of ``benchmarks.tables`` (see `benchmarks.defaults.problems`).
Results are cached below ``.benchmarks`` or the folder that TANAGER_BENCH_CACHE names; after a change of the presets,
``--again`` clears the cache.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from threadpoolctl import threadpool_limits

from benchmarks.data import error_percent
from benchmarks.defaults.problems import Problem, load_problem, problems_of
from benchmarks.page import DOCS
from benchmarks.rivals.data import TABLES, is_there
from benchmarks.rivals.methods import METHODS
from tanager import TANClassifier, TANEnsembleClassifier
from tanager.files import written_whole
from tanager.learning import ENSEMBLE_PRESETS, PRESETS

PAGE = DOCS / "defaults-results.md"

_DEFAULT_TABLES = tuple(table for table in TABLES if table not in ("mnist", "kddcup99"))
_CHOICE = "choice"
_BASELINES = ("nb", "chow-liu", "logistic")
_memory = Memory(Path(os.environ.get("TANAGER_BENCH_CACHE", ".benchmarks")) / "defaults", verbose=0)


def main(arguments: list[str] | None = None) -> None:
    """Measure what is not cached, print all results and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    known = ", ".join(TABLES)
    parser.add_argument("tables", nargs="*", metavar="data set", help=f"of {known}; default: all but the largest two")
    parser.add_argument("--again", action="store_true", help="clear the cache and measure everything again")
    parser.add_argument("--page", type=Path, default=PAGE, help="file to write")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.tables) - set(TABLES))
    if unknown:
        parser.error(f"no data set {', '.join(unknown)}; there are {known}")
    if options.again:
        _memory.clear()
    tables = [table for table in options.tables or _DEFAULT_TABLES if is_there(table)]
    measured: dict[str, dict[Problem, dict[str, list[float]]]] = {"one tree": {}, "several trees": {}}
    for problem in [problem for table in tables for problem in problems_of(table)]:
        for kind, results in measured.items():
            results[problem] = _memory.cache(measure_problem)(tuple(problem), kind)
            line = ", ".join(f"{name} {error:.2f}" for name, (error, _) in results[problem].items())
            print(f"{problem.table}, {problem.n_rows} rows, {kind}: {line}", flush=True)
    missing = [table for table in TABLES if not is_there(table)]
    with written_whole(options.page) as path:
        path.write_text("\n".join(_page(measured, missing)) + "\n")
    print(f"written to {options.page}")


def measure_problem(problem: tuple[str, int, int], kind: str) -> dict[str, list[float]]:
    """Error in per cent and processor seconds of the fit, for each preset alone, the choice, and baselines."""
    split = load_problem(Problem(*problem))
    seed = problem[2]
    with threadpool_limits(1):
        return {name: _measure(model, split) for name, model in make_models(kind, seed).items()}


def make_models(kind: str, seed: int) -> dict[str, Any]:
    """What is measured, by name: baselines, each preset alone, and the choice."""
    if kind == "several trees":
        alone = {
            name: TANEnsembleClassifier(
                preset.members, preset.parameters, training="joint", calibrate=False, random_state=seed
            )
            for name, preset in ENSEMBLE_PRESETS.items()
        }
        return {**alone, _CHOICE: TANEnsembleClassifier(random_state=seed)}
    baselines = {name: METHODS[name].make() for name in _BASELINES}
    single = {
        name: TANClassifier(**recipe.get_params(deep=False), calibrate=False, random_state=seed)
        for name, recipe in PRESETS.items()
    }
    return {**baselines, **single, _CHOICE: TANClassifier(random_state=seed)}


def _measure(model: Any, split: Any) -> list[float]:
    start = time.process_time()
    model.fit(split.X_train, split.y_train)
    seconds = time.process_time() - start
    return [error_percent(model.predict(split.X_test), split.y_test.to_numpy()), seconds]


def _page(measured: dict[str, dict[Problem, dict[str, list[float]]]], missing: list[str]) -> list[str]:
    lines = [
        "# Presets on parts of the training rows",
        "",
        "Written by `python -m benchmarks.defaults`. Errors are in per cent of up to 5,000 training rows that were not",
        "learned from; no test row is used. [defaults.md](defaults.md) describes the presets. The lowest error of the",
        "presets is bold; *choice* is what `TANClassifier()` and `TANEnsembleClassifier()` do, and its time includes",
        "that of all presets.",
    ]
    if missing:
        lines += ["", f"**Missing, because TANAGER_DATA does not have them: {', '.join(missing)}.**"]
    for kind, results in measured.items():
        lines += ["", f"## {kind.capitalize()}", "", *_table(results)]
    return lines


def _table(results: dict[Problem, dict[str, list[float]]]) -> list[str]:
    names = list(next(iter(results.values())))
    lines = [
        f"| data set | rows | {' | '.join(names)} | seconds of the choice |",
        f"|---|---:|{'---:|' * len(names)}---:|",
    ]
    errors = defaultdict(list)
    for problem, of in results.items():
        presets = [name for name in names if name not in (*_BASELINES, _CHOICE)]
        lowest = min(of[name][0] for name in presets)
        cells = []
        for name in names:
            errors[name].append(of[name][0])
            shown = f"{of[name][0]:.2f}"
            cells.append(f"**{shown}**" if name in presets and of[name][0] == lowest else shown)
        lines.append(f"| {problem.table} | {problem.n_rows:,} | {' | '.join(cells)} | {of[_CHOICE][1]:.1f} |")
    means = " | ".join(f"{np.mean(errors[name]):.2f}" for name in names)
    return [*lines, f"| mean | | {means} | |"]


if __name__ == "__main__":
    main()
