"""The local classifiers with another `fit`, and with predictions that map over partitions."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tanager import estimators
from tanager.dask.cluster import Cluster
from tanager.dask.partitions import DaskPartitions, by_rows
from tanager.data.sources import DEFAULT_MEMORY
from tanager.estimators.shards import ShardData
from tanager.learning import Limits
from tanager.learning.limits import Callback


class _OnCluster:
    """What makes a local classifier one for a cluster."""

    _local: ClassVar[type[Any]]

    client: Any
    time_limit: float | None
    classes_: Any

    def __init_subclass__(cls) -> None:
        """Give the class a constructor with the options of the local one, and with ``client``."""

        def make(self: Any, *args: Any, client: Any = None, **options: Any) -> None:
            cls._local.__init__(self, *args, **options)
            self.client = client

        signature = inspect.signature(cls._local.__init__)
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        parameters = [*signature.parameters.values(), client]
        made: Any = make
        made.__signature__ = signature.replace(parameters=parameters)  # which scikit-learn reads
        cls.__init__ = made  # type: ignore[method-assign]

    def fit(
        self: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        memory: int = DEFAULT_MEMORY,
        folder: Path | str | None = None,
        callback: Callback | None = None,
    ) -> Any:
        """Learn structure and probabilities from rows on a cluster.

        Parameters
        ----------
        X : Dask frame, or Dask array of shape (N, D)
        y : Dask series, or Dask array of shape (N,)
            Classes, with the partitions of X.
        sample_weight : Dask series, or Dask array of shape (N,), optional
            With the partitions of X.
        memory : int, default=2**30
            Bytes for the sample of the rows, which is on this machine.
        folder : path, optional
            Where to keep checkpoints, on this machine. A fit that was interrupted then goes on from the last epoch.
        callback : callable, optional
            As in `tanager.TANClassifier.fit`.

        Returns
        -------
        self

        Raises
        ------
        ClusterError
            If the scheduler is lost, or if there are no workers for 30 seconds. The classifier stays as it was.
        """
        recipes, limits = self._check(), Limits.begin(self.time_limit, callback)
        rows = DaskPartitions(Cluster(self.client), X, y, sample_weight, memory, folder)
        try:
            return self._fit(recipes, ShardData(self._unfitted(), rows, self._n_threads(), limits), limits)
        finally:
            rows.release()

    def to_local(self) -> Any:
        """The same classifier, fitted if this one is, without a cluster."""
        local = self._unfitted()
        options = local.get_params(deep=False)
        vars(local).update({name: value for name, value in vars(self).items() if name not in ("client", *options)})
        return local

    def predict(self: Any, X: Any) -> Any:
        """Most probable class of each row, shape (N,); a Dask array if X is a Dask frame or array."""
        return self._predict("predict", X, ())

    def predict_proba(self: Any, X: Any) -> Any:
        """Probability of each class given each row, shape (N, C); a Dask array if X is a Dask frame or array."""
        return self._predict("predict_proba", X)

    def predict_log_proba(self: Any, X: Any) -> Any:
        """Log-probability of each class given each row, shape (N, C); a Dask array if X is a Dask frame or array."""
        return self._predict("predict_log_proba", X)

    def save(self, *args: Any, **options: Any) -> None:
        """Write the fitted classifier to a file, as the local one does."""
        self.to_local().save(*args, **options)

    def _predict(self: Any, method: str, X: Any, shape: tuple[int, ...] | None = None) -> Any:
        check_is_fitted(self)
        local = self.to_local()
        if not hasattr(X, "dask"):
            return getattr(local, method)(X)
        columns = (len(self.classes_),) if shape is None else shape
        kind = np.float64 if columns else self.classes_.dtype
        meta = np.empty((0, *columns), kind)
        if hasattr(X, "map_partitions"):
            return X.map_partitions(_predict_rows, local, method, meta, meta=meta)
        X = by_rows(X)
        shapes: dict[str, Any] = {"chunks": (X.chunks[0], columns)} if columns else {"drop_axis": 1}
        return X.map_blocks(_predict_rows, local, method, meta, meta=meta, **shapes)

    def _unfitted(self: Any) -> Any:
        options = self.get_params(deep=False)
        del options["client"]
        return self._local(**options)

    def __getstate__(self: Any) -> dict[str, Any]:
        """Everything but the client, which cannot be sent anywhere."""
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def __sklearn_clone__(self: Any) -> Any:
        """The same options and the same client."""
        return type(self)(**clone(self._unfitted()).get_params(deep=False), client=self.client)


def _predict_rows(X: Any, local: Any, method: str, nothing: Any) -> Any:
    return getattr(local, method)(X) if len(X) else nothing


class TANClassifier(_OnCluster, estimators.TANClassifier):  # type: ignore[misc]  # another fit
    """`tanager.TANClassifier` for rows on a Dask cluster.

    Rows stay where they are: they are summarised, encoded and counted in their partitions, and gradients are summed
    over 32 shards of the rows in a fixed order. The result is the same, to the last bit, for any number of workers.

    Parameters
    ----------
    client : distributed.Client, optional
        The connection to the cluster; the client that was made last by default. It is left out of pickles.
    structure, parameters, ... : as of `tanager.TANClassifier`
        ``n_jobs`` is for what is done on this machine. A worker uses all its threads.

    Notes
    -----
    "auto" stands for other lengths of `GradientDescent` than on one machine: 10 epochs of 100 steps, since each step
    takes messages to all workers and back.

    Examples
    --------
    >>> import dask.array
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> X, y = (dask.array.from_array(each, chunks=50) for each in load_iris(return_X_y=True))
    >>> with Client(n_workers=1, processes=False, dashboard_address=":0") as client:
    ...     clf = TANClassifier("chow-liu", "ml", client=client).fit(X, y)
    ...     share = (clf.predict(X) == y).mean().compute()
    >>> bool(share > 0.9)
    True
    """

    _local = estimators.TANClassifier

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Log-probability of each row together with each class, shape (N, C); a Dask array if X is one or a frame."""
        return self._predict("predict_joint_log_proba", X)


class TANEnsembleClassifier(_OnCluster, estimators.TANEnsembleClassifier):  # type: ignore[misc]
    """`tanager.TANEnsembleClassifier` for rows on a Dask cluster; see `TANClassifier` of this module.

    Parameters
    ----------
    client : distributed.Client, optional
    members, parameters, ... : as of `tanager.TANEnsembleClassifier`
    """

    _local = estimators.TANEnsembleClassifier
