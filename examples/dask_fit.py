"""
One fit on Dask
===============

Rows in a Dask frame stay where they are. Columns are summarised and encoded in their partitions, and counts and
gradients are summed over them. Here, a small cluster on this machine learns from handwritten digits; on a real one,
only the address of the client is another.
"""

import dask.dataframe
from distributed import Client, LocalCluster
from sklearn.datasets import load_digits

import tanager
from tanager.dask import TANClassifier


def main() -> None:
    X, y = load_digits(return_X_y=True, as_frame=True)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR") as cluster,
        Client(cluster) as client,
    ):
        rows = dask.dataframe.from_pandas(X.assign(digit=y), npartitions=4)
        # So little memory for rows here that they must stay there; 1 GiB is the default.
        clf = TANClassifier("chow-liu", "ml", client=client)
        clf.fit(rows[list(X.columns)], rows["digit"], memory=1_000_000)
        wrong = (clf.predict(rows[list(X.columns)]) != rows["digit"].to_dask_array()).mean().compute()
        print(f"{wrong:.2%} of the training rows are wrong")
    # The classifier without the cluster; counts are exact, so that the tree is that of one machine.
    local = clf.to_local()
    once = tanager.TANClassifier("chow-liu", "ml").fit(X, y)
    print("same tree:", bool((local.parents_ == once.parents_).all()))


if __name__ == "__main__":
    main()
