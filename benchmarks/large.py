"""Fits to many rows, from files, in memory and on a cluster: time, peak memory and error, by the number of rows.

    python -m benchmarks.large make FOLDER --rows 10000000         # Parquet files
    python -m benchmarks.large fit FOLDER --recipe chow-liu        # one fit, in a process of its own
    python -m benchmarks.large memory FOLDER --recipe default      # the same with all rows in memory, or lightgbm
    python -m benchmarks.large dask FOLDER --workers 2             # on a Dask cluster of processes with a thread each

The rows are drawn from a known tree: 50 columns of 8 to 1,000 whole values, of which each depends on the class and on
one column before it, and two classes. Every row depends on its number alone, so that files of any length begin alike.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from pathlib import Path

import numpy as np

N_COLUMNS = 50
ROWS_OF_FILE = 1_000_000
MEMORY = 700 << 20
RECIPES = ("none", "chow-liu", "gradient", "default", "lightgbm")


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


def classifier(recipe: str, n_jobs: int, kind=None, **options):
    from tanager import GradientDescent, Hybrid, TANClassifier

    kind = kind or TANClassifier
    options |= {"random_state": 0, "n_jobs": n_jobs}
    if recipe == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=n_jobs, verbose=-1)
    if recipe == "default":
        return kind(**options)
    if recipe == "gradient":
        return kind("chow-liu", GradientDescent(Hybrid(lam=10.0)), binning="quantile", **options)
    return kind(recipe, "ml", binning="quantile", **options)


def fit(given: argparse.Namespace):
    """One fit to files."""
    import pyarrow.dataset  # noqa: F401  -- libraries that are there anyway

    import tanager.estimators  # noqa: F401
    from tanager import FileSource

    source = FileSource(given.folder, "y", memory=MEMORY, folder=given.work)
    clf = classifier(given.recipe, given.jobs)
    return source.n_rows, measured(lambda: clf.fit(source)), clf


def fit_in_memory(given: argparse.Namespace):
    """One fit to rows that have been read before."""
    from pyarrow import parquet

    paths = sorted(given.folder.iterdir())[: -(-given.rows // ROWS_OF_FILE)]
    X = np.concatenate([np.stack(parquet.read_table(path).drop("y").columns, axis=1) for path in paths])
    y = np.concatenate([parquet.read_table(path, columns=["y"])["y"].to_numpy() for path in paths])
    clf = classifier(given.recipe, given.jobs)
    return len(y), measured(lambda: clf.fit(X, y)), clf


def fit_on_cluster(given: argparse.Namespace):
    """One fit on a cluster of processes of this machine."""
    import dask.dataframe
    from distributed import Client, LocalCluster

    from tanager.dask import TANClassifier

    options = {"n_workers": given.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.run(__import__, "tanager.dask")
        paths = sorted(map(str, given.folder.iterdir()))[: -(-given.rows // ROWS_OF_FILE)]
        rows = dask.dataframe.read_parquet(paths, split_row_groups=False)
        X, y = rows.drop(columns="y"), rows["y"]
        clf = classifier(given.recipe, given.jobs, TANClassifier, client=client)
        return len(paths) * ROWS_OF_FILE, measured(lambda: clf.fit(X, y)), clf.to_local()


def measured(run) -> dict[str, float]:
    """Time, processor time and peak memory of this process."""
    before, start, used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter(), time.process_time()
    run()
    seconds, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": round(seconds, 1), "of processors": round(used, 1), "MiB more": round((peak - before) / 1024)}


def error_of(clf) -> float:
    """Share of 200,000 fresh rows that are wrong."""
    fresh = make_rows(10**6, 200_000)
    X = np.stack([fresh[f"x{j}"] for j in range(N_COLUMNS)], axis=1)
    return round(1 - float(np.mean(clf.predict(X) == fresh["y"])), 4)


WAYS = {"fit": fit, "memory": fit_in_memory, "dask": fit_on_cluster}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", *WAYS])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000, help="that are made, or that a fit reads but for files")
    parser.add_argument("--recipe", choices=RECIPES, default="chow-liu")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.rows)
        return
    n_rows, cost, clf = WAYS[given.what](given)
    load = round(os.getloadavg()[0], 1)
    said = {"rows": n_rows, "recipe": given.recipe, **cost, "error": error_of(clf), "load": load}
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
