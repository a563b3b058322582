"""Dask frames and arrays as training rows that stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from tanager.dask.cluster import Cluster, import_dask
from tanager.dask.shards import DaskShards, merge_pairs, place_in_runs
from tanager.data import Block, Piece
from tanager.estimators.shards import cut_shards, join_blocks


class DaskPartitions:
    """Rows of Dask collections that have the same partitions.

    Parameters
    ----------
    cluster : Cluster
    X : Dask frame, or Dask array of shape (N, D)
    y, sample_weight : Dask series, or Dask array of shape (N,)
    memory : int
        Bytes that rows may take on this machine.
    folder : path, optional
        Where checkpoints are kept, on this machine.
    """

    def __init__(
        self, cluster: Cluster, X: Any, y: Any, sample_weight: Any, memory: int, folder: Path | str | None
    ) -> None:
        self._cluster, self.memory, self.folder = cluster, memory, None if folder is None else Path(folder)
        self.template = X._meta if hasattr(X, "map_partitions") else np.zeros((1, _width(X)))
        given = {"X": X, "y": y} if sample_weight is None else {"X": X, "y": y, "sample_weight": sample_weight}
        parts = [_delayed(each, name) for name, each in given.items()]
        for name, own in zip(given, parts, strict=True):
            if len(own) != len(parts[0]):
                raise ValueError(
                    f"X has {len(parts[0])} partitions and {name} has {len(own)}: cut both in the same places, for "
                    "instance by taking them from one frame"
                )
        self._parts = list(zip(*parts, strict=True))
        self._made: list[DaskShards] = []
        self.identity = import_dask("dask.base").tokenize(*given.values())

    def reduce(self, function: Callable[..., Any], merge: Callable[[Any, Any], Any], own: Sequence[Any] = ()) -> Any:
        """What a function of a piece, and of what it has of its own, gives for each partition, merged in pairs."""
        merging = import_dask("dask").delayed(merge, pure=False)
        root = merge_pairs(self._tasks(function, own), merging)
        return self._cluster.gather([self._cluster.ask(partial(self._cluster.client.compute, root))])[0]

    def shards(self, function: Callable[..., Block], own: Sequence[Any], n_rows: Sequence[int]) -> DaskShards:
        """The blocks of so many rows that a function gives for each partition, regrouped into shards."""
        client = self._cluster.client
        blocks = self._cluster.ask(partial(client.compute, self._tasks(function, own)))
        self._cluster.wait(blocks)
        holders = self._cluster.ask(partial(client.who_has, blocks))
        shards = [spans for spans in cut_shards(n_rows) if spans]
        largest = [max(spans, key=lambda span: span[2] - span[1])[0] for spans in shards]
        preferred = [next(iter(holders.get(blocks[block].key, ())), "") for block in largest]
        workers = place_in_runs(preferred, self._cluster.ask(client.nthreads))

        def submit(number: int, spans: list[tuple[int, int, int]], worker: str | None) -> Any:
            given = (number, [(lo, hi) for _, lo, hi in spans], [blocks[block] for block, _, _ in spans])
            where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
            return client.submit(join_blocks, *given, **where, pure=False)

        numbered = list(zip(range(len(shards)), shards, workers, strict=True))
        futures = self._cluster.ask(lambda: [submit(*each) for each in numbered])
        self._cluster.wait(futures)
        self._made.append(DaskShards(self._cluster, futures, sum(n_rows)))
        return self._made[-1]

    def release(self) -> None:
        """Let the cluster forget what was made from the rows."""
        for shards in self._made:
            shards.release()

    def _tasks(self, function: Callable[..., Any], own: Sequence[Any]) -> list[Any]:
        """A function called with each partition."""
        delayed = import_dask("dask").delayed
        shared, call = delayed(function, traverse=False), delayed(_on_partition, pure=False)
        owned = zip(own, strict=True) if len(own) else repeat(())
        return [
            call(shared, f"partition {number}", parts, tuple(mine))
            for number, (parts, mine) in enumerate(zip(self._parts, owned, strict=False))
        ]


def _on_partition(function: Callable[..., Any], name: str, parts: Sequence[Any], own: Sequence[Any]) -> Any:
    return function(Piece(*parts, name=name), *own)  # type: ignore[misc]


def _delayed(collection: Any, name: str) -> list[Any]:
    """The partitions of a collection, of which arrays are cut by rows only."""
    if not import_dask("dask").is_dask_collection(collection) or not hasattr(collection, "to_delayed"):
        raise TypeError(
            f"{name} must be a Dask frame, series or array, got {type(collection).__name__}; for rows in memory use "
            "the classifiers of tanager itself"
        )
    # Optimised apart, frames of one file would be cut differently by the number of columns that they have; as they are,
    # they share the task that reads it.
    return list(np.ravel(by_rows(collection).to_delayed(optimize_graph=False)))


def by_rows(collection: Any) -> Any:
    """An array whose chunks have all columns; frames are cut so anyway."""
    if len(getattr(collection, "numblocks", ())) == 2 and collection.numblocks[1] > 1:
        return collection.rechunk({1: -1})
    return collection


def _width(X: Any) -> int:
    """Number of columns of an array."""
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"X must have rows and columns, got an array with {X.ndim} dimensions: use X.reshape(-1, 1)")
    return int(X.shape[1]) if hasattr(X, "shape") else 1
