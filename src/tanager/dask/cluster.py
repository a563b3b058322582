"""Work on the machines of a Dask cluster, and what is said when they are gone.

Everything is a task of Dask's, made from partitions, so that what a lost worker had is made again by others. The
scheduler has no such replacement: without it, or without workers, waiting ends with a `ClusterError`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

WORKERLESS_SECONDS = 30.0
"""How long a cluster may be without workers before waiting for them ends."""

_LOOK_SECONDS = 2.0  # between looks at the state of the cluster
_GATHER_SECONDS = 60.0  # for what is computed already to arrive


class ClusterError(RuntimeError):
    """A cluster that cannot do the work: the scheduler is lost, or there are no workers."""


def import_dask(name: str) -> Any:
    """A module of Dask's."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError("work on a cluster needs Dask: pip install 'tanager[dask]'") from error


class Cluster:
    """A client whose answers are waited for, but not forever.

    Parameters
    ----------
    client : distributed.Client or None
        None is the client that was made last.
    """

    def __init__(self, client: Any = None) -> None:
        distributed = import_dask("distributed")
        if client is None:
            try:
                client = distributed.get_client()
            except ValueError as error:
                raise ValueError(
                    "there is no Dask client: make one, such as distributed.Client('tcp://HOST:8786'), and give it as "
                    "client=... if there are several"
                ) from error
        self.client = client
        self._wait = distributed.wait
        self._killed_worker = distributed.KilledWorker

    def ask(self, question: Callable[[], Any]) -> Any:
        """What the scheduler answers."""
        try:
            return question()
        except Exception as error:
            if isinstance(error, OSError) or self.client.status != "running":
                raise self._lost() from error
            raise

    def wait(self, futures: Sequence[Any]) -> None:
        """Wait until all futures have a result; the first error is raised."""
        workerless: float | None = None
        while True:
            try:
                self._wait(list(futures), timeout=_LOOK_SECONDS)
                break
            except (concurrent.futures.CancelledError, asyncio.CancelledError) as error:
                raise self._lost() from error
            except TimeoutError:
                has_workers = bool(self.ask(self.client.nthreads))
                workerless = None if has_workers else workerless or time.monotonic()
                if workerless is not None and time.monotonic() - workerless > WORKERLESS_SECONDS:
                    raise ClusterError(
                        f"the cluster has had no workers for {WORKERLESS_SECONDS:.0f} s; with a folder, the next call "
                        "of fit goes on from the last checkpoint"
                    ) from None
        for future in futures:
            if future.status == "error":
                failure = future.exception()
                if isinstance(failure, self._killed_worker):
                    raise ClusterError(f"workers die at the same task again and again, out of memory? {failure}")
                raise failure
            if future.status != "finished":
                raise self._lost()

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """The results of futures."""
        while True:
            self.wait(futures)
            try:
                fetch = partial(self.client.gather, list(futures), asynchronous=True)
                return list(self.client.sync(fetch, callback_timeout=_GATHER_SECONDS))
            except (concurrent.futures.CancelledError, asyncio.CancelledError) as error:
                raise self._lost() from error
            except TimeoutError:
                continue

    def _lost(self) -> ClusterError:
        return ClusterError(
            "the connection to the Dask scheduler is lost; with a folder, the next call of fit goes on from the last "
            "checkpoint"
        )


def merge_pairs(items: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Merge neighbours until one is left: in a way that depends on nothing but their number.

    >>> merge_pairs(["a", "b", "c"], lambda one, other: f"({one}{other})")
    '((ab)c)'
    """
    left = list(items)
    while len(left) > 1:
        left = [merge(*left[k : k + 2]) if k + 1 < len(left) else left[k] for k in range(0, len(left), 2)]
    return left[0]


class DaskShards:
    """Shards that are results of tasks.

    Parameters
    ----------
    cluster : Cluster
    futures : list
        Of the blocks of rows.
    n_rows : int
        Of all of them.
    """

    def __init__(self, cluster: Cluster, futures: list[Any], n_rows: int) -> None:
        self._cluster, self._futures, self.n_rows = cluster, futures, n_rows
        self._groups: list[tuple[list[str] | None, list[int]]] = []
        self._looked = -_LOOK_SECONDS

    def map(self, function: Callable[..., Any], argument: Any) -> list[Any]:
        """What a function gives for each shard, in order. A worker has one task for each of its threads."""
        groups, message = self._where(), _packed((function, argument))

        def submit(workers: list[str] | None, group: list[int]) -> Any:
            blocks, options = [self._futures[number] for number in group], {"workers": workers, "pure": False}
            options["allow_other_workers"] = workers is not None
            return self._cluster.client.submit(_apply_to_all, message, blocks, **options)

        tasks = self._cluster.ask(lambda: [submit(*each) for each in groups])
        found: dict[int, Any] = {}
        for (_, group), results in zip(groups, self._cluster.gather(tasks), strict=True):
            found.update(zip(group, results, strict=True))
        return [found[number] for number in range(len(self._futures))]

    def reduce(self, function: Callable[..., Any], merge: Callable[[Any, Any], Any], argument: Any) -> Any:
        """The same, merged where shards are."""
        submit, message = partial(self._cluster.client.submit, pure=False), _packed((function, argument))

        def submit_all() -> Any:
            parts = [submit(_apply, message, future) for future in self._futures]
            return merge_pairs(parts, partial(submit, merge))

        return self._cluster.gather([self._cluster.ask(submit_all)])[0]

    def release(self) -> None:
        """Let the cluster forget the rows."""
        self._futures = []

    def _where(self) -> list[tuple[list[str] | None, list[int]]]:
        """Groups of shards with the worker that has them; looked up again now and then, since workers come and go."""
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            client = self._cluster.client
            holders = self._cluster.ask(partial(client.who_has, self._futures))
            n_threads = self._cluster.ask(client.nthreads)
            of_worker: dict[str | None, list[int]] = {}
            for number, future in enumerate(self._futures):
                of_worker.setdefault(next(iter(holders.get(future.key, ())), None), []).append(number)
            self._groups = [
                (None if worker is None else [worker], numbers[k :: n_threads.get(worker, 1)])
                for worker, numbers in of_worker.items()
                for k in range(min(len(numbers), n_threads.get(worker, 1)))
            ]
            self._looked = time.monotonic()
        return self._groups


def place_evenly(preferred: Sequence[str], n_threads: dict[str, int]) -> list[str]:
    """A worker for each shard: the one that has most of it, unless that has its share already.

    >>> place_evenly(["a", "a", "a", "b"], {"a": 1, "b": 1})
    ['a', 'a', 'b', 'b']
    """
    room = {worker: -(-len(preferred) * own // sum(n_threads.values())) for worker, own in n_threads.items()}
    placed = []
    for worker in preferred:
        if room.get(worker, 0) <= 0:
            worker = max(room, key=lambda each: room[each])
        room[worker] -= 1
        placed.append(worker)
    return placed


def _packed(message: Any) -> bytes:
    """A message that only workers look into."""
    dumped: bytes = import_dask("cloudpickle").dumps(message)
    return dumped


def _apply(message: bytes, block: Any) -> Any:
    function, argument = import_module("pickle").loads(message)
    return function(block, argument)


def _apply_to_all(message: bytes, blocks: list[Any]) -> list[Any]:
    function, argument = import_module("pickle").loads(message)
    return [function(block, argument) for block in blocks]
