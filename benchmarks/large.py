"""Fits to rows that do not fit into memory: time, peak memory and error, by the number of rows.

    python -m benchmarks.large make FOLDER --rows 10000000      # Parquet files
    python -m benchmarks.large fit FOLDER --recipe chow-liu     # one fit, in a process of its own

The rows are drawn from a known tree: 50 columns of 8 to 1,000 whole values, of which each depends on the class and on
one column before it, and two classes. Every row depends on its number alone, so that files of any length begin alike.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

N_COLUMNS = 50
ROWS_OF_FILE = 1_000_000
MEMORY = 700 << 20
RECIPES = ("none", "chow-liu", "gradient", "default")


def make_rows(file: int, n_rows: int) -> dict[str, np.ndarray]:
    """Columns and classes of one file."""
    rng, tree = np.random.default_rng([7, file]), np.random.default_rng(7)
    y = rng.integers(0, 2, n_rows)
    columns: list[np.ndarray] = []
    for j in range(N_COLUMNS):
        n_values = int(tree.choice([8, 20, 100, 1000]))
        pull, lean = tree.uniform(0.1, 0.6), tree.uniform(-0.15, 0.15)
        level = rng.normal(size=n_rows) + lean * (2 * y - 1)
        if j:
            above = columns[int(tree.integers(j))]
            level += pull * (above - above.mean()) / above.std() * np.where(y, 1.0, tree.uniform(-1, 1))
        columns.append(np.clip((level + 4) / 8 * n_values, 0, n_values - 1).astype(np.int16))
    return {**{f"x{j}": column for j, column in enumerate(columns)}, "y": y.astype(np.int8)}


def make(folder: Path, n_rows: int) -> None:
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    for file in range(-(-n_rows // ROWS_OF_FILE)):
        rows = make_rows(file, min(ROWS_OF_FILE, n_rows - file * ROWS_OF_FILE))
        path = folder / f"part-{file:05d}.parquet"
        parquet.write_table(pyarrow.table(rows), path, compression="zstd", row_group_size=1 << 17)
        print(f"{path}: {path.stat().st_size / 2**20:.0f} MiB", flush=True)


def classifier(recipe: str, n_jobs: int):
    from tanager import GradientDescent, Hybrid, TANClassifier

    options = {"random_state": 0, "n_jobs": n_jobs}
    if recipe == "default":
        return TANClassifier(**options)
    if recipe == "gradient":
        return TANClassifier("chow-liu", GradientDescent(Hybrid(lam=10.0)), binning="quantile", **options)
    return TANClassifier(recipe, "ml", binning="quantile", **options)


def fit(folder: Path, recipe: str, n_jobs: int, work: Path | None) -> dict[str, object]:
    from tanager import FileSource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    source = FileSource(folder, "y", memory=MEMORY, folder=work)
    start = time.perf_counter()
    clf = classifier(recipe, n_jobs).fit(source)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fresh = make_rows(10**6, 200_000)
    X = np.stack([fresh[f"x{j}"] for j in range(N_COLUMNS)], axis=1)
    return {
        "rows": source.n_rows,
        "recipe": recipe,
        "seconds": round(seconds, 1),
        "MiB beyond the libraries": round((peak - before) / 1024),
        "error on fresh rows": round(1 - float(np.mean(clf.predict(X) == fresh["y"])), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "fit"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--recipe", choices=RECIPES, default="chow-liu")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.rows)
    else:
        import pyarrow.dataset  # noqa: F401  -- libraries that are there anyway

        import tanager.estimators  # noqa: F401

        print(json.dumps(fit(given.folder, given.recipe, given.jobs, given.work)), flush=True)


if __name__ == "__main__":
    main()
