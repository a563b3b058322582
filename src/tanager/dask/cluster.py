"""Work on the machines of a Dask cluster, and what is said when they are gone.

Rows are results of Dask's tasks, made from partitions, so that what a lost worker had is made again by others. Steps
are asked of actors, objects on the workers, which are made anew where they are lost. The scheduler has no such
replacement: without it, or without workers, waiting ends with a `ClusterError`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

WORKERLESS_SECONDS = 30.0
"""How long a cluster may be without workers before waiting for them ends."""

_LOOK_SECONDS = 2.0  # between looks at the state of the cluster
_GATHER_SECONDS = 60.0  # for what is computed already to arrive
_ATTEMPTS = 5  # at one question, each after a worker was lost


class ClusterError(RuntimeError):
    """A cluster that cannot do the work: the scheduler is lost, or there are no workers."""


class LostActorError(Exception):
    """The worker of an actor is gone: it must be made again."""


Actor = tuple[Any, Any]
"""An object on a worker whose methods can be called from here: the future that keeps it there, and its proxy."""


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
        while not all(future.status == "finished" for future in futures):
            try:
                self._wait(list(futures), timeout=_LOOK_SECONDS)
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
                if future.status == "cancelled":
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

    def make_actors(self, futures: Sequence[Any]) -> list[Actor]:
        """The actors that tasks make."""
        try:
            self.wait(futures)
            with self.client.as_current():
                return list(zip(futures, self.gather(futures), strict=True))
        except ClusterError:
            raise
        except RuntimeError as error:  # of Dask's, which was about to say where they are
            raise LostActorError("the worker of an actor was lost") from error

    def call(self, actors: Sequence[Actor], method: str, *given: Any) -> list[Any]:
        """What a method gives of actors that work at the same time."""
        self._check_actors(actors)
        return self._answers(actors, [getattr(actor, method)(*given) for _, actor in actors])

    def end_actors(self, actors: Sequence[Actor]) -> None:
        """Let workers forget actors. (Dask's proxies are parts of cycles, so that to forget these is not enough.)"""
        if self.client.status == "running":
            self.client.cancel([future for future, _ in actors], force=True)

    def _answers(self, actors: Sequence[Actor], calls: Sequence[Any]) -> list[Any]:
        async def all_of_them() -> list[Any]:
            return [await call for call in calls]

        while True:
            try:
                answers: list[Any] = self.client.sync(all_of_them, callback_timeout=_LOOK_SECONDS)
                return answers
            except TimeoutError:
                if all(call.done() for call in calls):
                    raise  # the error is that of a method
            except OSError:
                # Perhaps a worker is gone, and the scheduler has not said so yet.
                time.sleep(_LOOK_SECONDS)
                self._check_actors(actors)
                raise
            self.ask(self.client.nthreads)
            self._check_actors(actors)

    def _check_actors(self, actors: Sequence[Actor]) -> None:
        if not all(future.status == "finished" for future, _ in actors):
            raise LostActorError("the worker of an actor was lost")

    def _lost(self) -> ClusterError:
        return ClusterError(
            "the connection to the Dask scheduler is lost; with a folder, the next call of fit goes on from the last "
            "checkpoint"
        )


class Merging:
    """Items merged with their neighbours as soon as both are there: in a way that depends on nothing but their number.

    Two neighbours become an item of the next level, where they have a neighbour again.

    Parameters
    ----------
    n_items : int
    merge : callable
        Makes one item of two.

    Attributes
    ----------
    waiting : dict
        By level and place: items whose neighbour is not there yet.
    """

    def __init__(self, n_items: int, merge: Callable[[Any, Any], Any]) -> None:
        self._n_items, self._merge = n_items, merge
        self.waiting: dict[tuple[int, int], Any] = {}

    def add(self, item: Any, place: int, level: int = 0) -> None:
        """Merge an item with its neighbour, the result with its own one, and so on as far as they are there."""
        while (width := -(-self._n_items >> level)) > 1:
            neighbour = place ^ 1
            if neighbour < width:
                if (level, neighbour) not in self.waiting:
                    break
                other = self.waiting.pop((level, neighbour))
                item = self._merge(item, other) if place < neighbour else self._merge(other, item)
            place, level = place // 2, level + 1
        self.waiting[level, place] = item

    @property
    def result(self) -> Any:
        """What all items were merged into."""
        (result,) = self.waiting.values()
        return result


def merge_pairs(items: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Merge neighbours until one item is left.

    >>> merge_pairs(["a", "b", "c"], lambda one, other: f"({one}{other})")
    '((ab)c)'
    """
    merging = Merging(len(items), merge)
    for place, item in enumerate(items):
        merging.add(item, place)
    return merging.result


class Holder:
    """The shards of one worker, in its memory. It is asked without a task, which takes a tenth of the time.

    Parameters
    ----------
    n_shards : int
        Of all workers.
    numbers : list of int
        Of the shards here.
    blocks : list of Block
        Their rows.
    n_threads : int
    """

    def __init__(self, n_shards: int, numbers: list[int], blocks: list[Any], n_threads: int) -> None:
        self._n_shards, self._numbers, self._blocks = n_shards, numbers, blocks
        self._pool = concurrent.futures.ThreadPoolExecutor(n_threads)
        self._task = b""

    def reduce(self, task: bytes, argument: bytes) -> dict[tuple[int, int], Any]:
        """What the function of a task gives for the shards, merged as far as neighbours are here."""
        if task != self._task:
            self._task, self._loaded, self._own = task, pickle.loads(task), threading.local()
        prepare, merge, given = self._loaded
        asked, merging, own = pickle.loads(argument), Merging(self._n_shards, merge), self._own

        def apply(block: Any) -> Any:
            if not hasattr(own, "function"):
                own.function = prepare(given)
            return own.function(block, asked)

        for number, item in zip(self._numbers, self._pool.map(apply, self._blocks), strict=True):
            merging.add(item, number)
        return merging.waiting


class DaskShards:
    """Shards that are results of tasks.

    Every worker has a `Holder` of those that are with it. Where one is lost, shards are made again by other workers,
    holders are made anew, and the question is asked again.

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
        self._holders: list[Actor] = []

    def reduce(self, prepare: Callable[..., Any], merge: Callable[[Any, Any], Any], task: Any, argument: Any) -> Any:
        """What a function of a block of rows and the argument gives for each shard, merged in pairs.

        The function is what ``prepare`` makes of the task. Every thread of a worker keeps it for the next call.
        """
        dumps = import_dask("cloudpickle").dumps
        messages = dumps((prepare, merge, task)), dumps(argument)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._holders = self._holders or self._hold()
                answers = self._cluster.call(self._holders, "reduce", *messages)
                break
            except LostActorError as error:
                self._let_go()
                if attempt == _ATTEMPTS:
                    raise ClusterError(f"{_ATTEMPTS} workers died at the same step, out of memory?") from error
        merging = Merging(len(self._futures), merge)
        for answer in answers:
            for (level, place), item in answer.items():
                merging.add(item, place, level)
        return merging.result

    def release(self) -> None:
        """Let the cluster forget the rows."""
        self._let_go()
        self._futures = []

    def _let_go(self) -> None:
        self._cluster.end_actors(self._holders)
        self._holders = []

    def _hold(self) -> list[Actor]:
        """A holder on every worker that has shards."""
        cluster, client = self._cluster, self._cluster.client
        cluster.wait(self._futures)
        places = cluster.ask(partial(client.who_has, self._futures))
        n_threads = cluster.ask(client.nthreads)
        of_worker: dict[str | None, list[int]] = {}
        for number, future in enumerate(self._futures):
            of_worker.setdefault(next(iter(places.get(future.key, ())), None), []).append(number)

        def submit(worker: str | None, numbers: list[int]) -> Any:
            blocks, where = [self._futures[number] for number in numbers], None if worker is None else [worker]
            given = (len(self._futures), numbers, blocks, n_threads.get(worker, 1))
            options = {"workers": where, "allow_other_workers": where is not None, "actor": True, "pure": False}
            return client.submit(Holder, *given, **options)

        return cluster.make_actors(cluster.ask(lambda: [submit(*each) for each in of_worker.items()]))


def place_in_runs(preferred: Sequence[str], n_threads: dict[str, int]) -> list[str]:
    """A worker for each shard: neighbours are together, so that their sums are, and most stay where they are.

    >>> place_in_runs(["b", "a", "b", "a", "a"], {"a": 1, "b": 1})
    ['b', 'b', 'b', 'a', 'a']
    """
    left, placed = dict(n_threads), list[str]()

    def run_of(worker: str) -> int:
        return -(-(len(preferred) - len(placed)) * left[worker] // sum(left.values()))

    while left:
        ahead = {worker: preferred[len(placed) : len(placed) + run_of(worker)] for worker in left}
        worker = max(left, key=lambda each: ahead[each].count(each))
        placed += [worker] * len(ahead[worker])
        del left[worker]
    return placed
