"""
Sweeping on Dask
================

The paper's experiments are runs with a name each, kept in a store that survives anything. The same runs go to local
processes or to the workers of a Dask cluster; here to a small cluster on this machine, with three runs on scikit-
learn's digits. ``tanager reproduce --scheduler ADDRESS`` is this as a command.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

from distributed import LocalCluster

from tanager.experiments import Store, execute, paper_grid, sample_grid
from tanager.experiments.dask_pool import DaskPool


def main() -> None:
    # A configuration of the paper's grid for naive Bayes, shortened; its hash is its identity.
    specs = [replace(spec, epochs=5) for spec in sample_grid(paper_grid("digits", "nb"), 3)]
    print(*(spec.key[:12] for spec in specs))
    path = Path(tempfile.mkdtemp()) / "results.sqlite"
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR") as cluster,
        Store(path) as store,
    ):
        for outcome in execute(specs, store, DaskPool(cluster.scheduler_address)):
            print(
                f"lambda {outcome.spec.lam:.3g}, gamma {outcome.spec.gamma:.3g}: {outcome.result.test_error:.2%} wrong"
            )
        # What is stored is not run again.
        print("missing:", len(store.missing(specs)))


if __name__ == "__main__":
    main()
