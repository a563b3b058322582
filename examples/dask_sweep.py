"""
A parameter sweep on Dask
=========================

The paper's experiments are runs, each with its own identity, in a store that survives crashes. The same runs work in
local processes or on a Dask cluster. Here, a small cluster on this machine makes three runs on scikit-learn's digits.
``tanager reproduce --scheduler ADDRESS`` does this from the command line.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

from distributed import LocalCluster

from tanager.experiments import Store, execute, paper_grid, sample_grid
from tanager.experiments.dask_pool import DaskPool


def main() -> None:
    # Three configurations from the paper's grid for naive Bayes, with fewer epochs. The hash of a run is its identity.
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
        # Stored runs are not repeated.
        print("missing:", len(store.missing(specs)))


if __name__ == "__main__":
    main()
