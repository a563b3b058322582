"""Work on the machines of a Dask cluster, and what is said when they are gone.

Rows are results of Dask's tasks, made from partitions, so that what a lost worker had is made again by others. Steps
are asked of actors, objects on the workers, which are made anew where they are lost. The scheduler has no such
replacement: without it, or without workers, waiting ends with a `ClusterError`.
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
_LOST_ACTOR = "the worker of an actor was lost"


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
            with self.client.as_current():
                return list(zip(futures, self.gather(futures), strict=True))
        except BaseException as error:
            self.cancel(futures)
            if isinstance(error, RuntimeError) and not isinstance(error, ClusterError):
                raise LostActorError(_LOST_ACTOR) from error  # Dask's word for it
            raise

    def call(self, actors: Sequence[Actor], method: str, *given: Any) -> list[Any]:
        """What a method gives of actors that work at the same time. It must not raise errors that Dask cannot send."""
        self._check_actors(actors)
        try:
            calls = [getattr(actor, method)(*given) for _, actor in actors]
        except RuntimeError as error:  # it was lost a moment ago
            raise LostActorError(_LOST_ACTOR) from error
        return self._answers(actors, calls)

    def cancel(self, futures: Sequence[Any]) -> None:
        """Let workers forget results. (Dask's proxies of actors are in cycles: to forget these is not enough.)"""
        if self.client.status == "running":
            self.client.cancel(list(futures), force=True)

    def _answers(self, actors: Sequence[Actor], calls: Sequence[Any]) -> list[Any]:
        async def all_of_them() -> list[Any]:
            return await asyncio.gather(*calls, return_exceptions=True)

        while True:
            try:
                answers: list[Any] = self.client.sync(all_of_them, callback_timeout=_LOOK_SECONDS)
                break
            except TimeoutError:
                self.ask(self.client.nthreads)
                self._check_actors(actors)
        for answer in answers:
            if isinstance(answer, OSError):
                raise LostActorError(_LOST_ACTOR) from answer
            if isinstance(answer, BaseException):
                raise answer
        return answers

    def _check_actors(self, actors: Sequence[Actor]) -> None:
        if not all(future.status == "finished" for future, _ in actors):
            raise LostActorError(_LOST_ACTOR)

    def _lost(self) -> ClusterError:
        return ClusterError(
            "the connection to the Dask scheduler is lost; with a folder, the next call of fit goes on from the last "
            "checkpoint"
        )
