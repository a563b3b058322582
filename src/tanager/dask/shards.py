"""Shards of rows on the workers of a cluster, and sums over them.

Neighbouring shards are on one worker, which adds up what they give; only these sums travel.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from tanager.dask.cluster import Actor, Cluster, ClusterError, LostActorError, import_dask

_ATTEMPTS = 5  # at one question, each after a worker was lost


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


class Failure(NamedTuple):
    """An error as an answer: Dask waits forever for an error of an actor that it cannot send."""

    error: bytes  # pickled; empty if it cannot be
    text: str


class Holder:
    """The shards of one worker, in its memory. An actor answers in a tenth of the time that a task of Dask's takes.

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
        self._pool = ThreadPoolExecutor(n_threads)
        self._question, self._own = b"", threading.local()

    def reduce(self, question: bytes, argument: bytes) -> bytes:
        """What the function of a question gives for the shards, merged as far as neighbours are here; pickled."""
        try:
            return pickle.dumps(self._reduce(question, argument))
        except Exception as error:
            try:
                dumped = import_dask("cloudpickle").dumps(error)
            except Exception:
                dumped = b""
            return pickle.dumps(Failure(dumped, f"{type(error).__name__}: {error}"))

    def _reduce(self, question: bytes, argument: bytes) -> dict[tuple[int, int], Any]:
        if question != self._question:
            self._question, self._own, (_, self._merge, _) = question, threading.local(), pickle.loads(question)
        merging, own = Merging(self._n_shards, self._merge), self._own

        def apply(block: Any) -> Any:
            if not hasattr(own, "function"):
                # Every thread has its own copy: a loss of the user's may have memory that it writes to.
                prepare, _, given = pickle.loads(question)
                own.function = prepare(given)
            return own.function(block, asked)

        asked = pickle.loads(argument)
        for number, item in zip(self._numbers, self._pool.map(apply, self._blocks), strict=True):
            merging.add(item, number)
        return merging.waiting


def load_answer(message: bytes) -> Any:
    """The answer of a holder; an error is raised."""
    answer = pickle.loads(message)
    if not isinstance(answer, Failure):
        return answer
    try:
        error = pickle.loads(answer.error)
    except Exception:
        error = RuntimeError(answer.text)
    raise error


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
        self._lock = threading.Lock()  # members of an ensemble may be trained at the same time

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self._futures)

    def reduce(self, prepare: Callable[..., Any], merge: Callable[[Any, Any], Any], given: Any, argument: Any) -> Any:
        """What a function of a block of rows and the argument gives for each shard, merged in pairs.

        The function is what ``prepare`` makes of ``given``. Every thread of a worker keeps it for the next call.
        """
        dumps = import_dask("cloudpickle").dumps
        messages = dumps((prepare, merge, given)), dumps(argument)
        for attempt in range(1, _ATTEMPTS + 1):
            holders: list[Actor] = []
            try:
                with self._lock:
                    holders = self._holders = self._holders or self._hold()
                answers = self._cluster.call(holders, "reduce", *messages)
                break
            except LostActorError as error:
                with self._lock:
                    if self._holders is holders:
                        self._let_go()
                if attempt == _ATTEMPTS:
                    raise ClusterError(
                        f"workers were lost {_ATTEMPTS} times at the same step, out of memory?"
                    ) from error
        merging = Merging(len(self._futures), merge)
        for answer in map(load_answer, answers):
            for (level, place), item in answer.items():
                merging.add(item, place, level)
        return merging.result

    def release(self) -> None:
        """Let the cluster forget the rows."""
        self._let_go()
        self._futures = []

    def _let_go(self) -> None:
        self._cluster.cancel([future for future, _ in self._holders])
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


def place_in_runs(preferred: Sequence[str], n_threads: dict[str, int]) -> list[str | None]:
    """A worker for each shard: neighbours are together, so that their sums are, and stay where they are if possible.

    Without workers any that comes will do.

    >>> place_in_runs(["b", "a", "b", "a", "a"], {"a": 1, "b": 1})
    ['b', 'b', 'b', 'a', 'a']
    """
    if not n_threads:
        return [None] * len(preferred)
    left, placed = dict(n_threads), list[str | None]()

    def run_of(worker: str) -> int:
        return -(-(len(preferred) - len(placed)) * left[worker] // sum(left.values()))

    while left:
        ahead = {worker: preferred[len(placed) : len(placed) + run_of(worker)] for worker in left}
        worker = max(left, key=lambda each: ahead[each].count(each))
        placed += [worker] * len(ahead[worker])
        del left[worker]
    return placed
