"""Worker processes on this machine, one kernel thread each.

Each worker has its own pipe. If one dies (killed, or out of memory), the pool knows which run it had and gives that run
to a new worker; the other workers continue. The standard library's pools would abandon all pending work instead.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait

from joblib import cpu_count
from threadpoolctl import threadpool_limits

from tanager.experiments.engine import MAX_ATTEMPTS, Failed, Outcome, read_answer, run_task
from tanager.experiments.spec import RunSpec


class LocalPool:
    """Worker processes, spawned (not forked) for each call of `run`.

    Parameters
    ----------
    n_workers : int, optional
        Defaults to one for each processor available to this process.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        if n_workers is not None and n_workers < 1:
            raise ValueError(f"the number of workers must be at least 1, got {n_workers}")
        self.n_workers = n_workers or cpu_count()

    def run(self, specs: Sequence[RunSpec]) -> Generator[Outcome]:
        """Yield one outcome for each spec as soon as it is available."""
        waiting, n_attempts = deque(specs), Counter[str]()
        workers: list[_Worker] = []
        try:
            while True:
                self._share_out(waiting, workers)
                busy = [worker for worker in workers if worker.spec is not None]
                if not busy:
                    return
                for worker in _ready(busy):
                    spec, outcome = worker.take()
                    if outcome is not None:
                        yield outcome
                        continue
                    worker.stop()
                    workers.remove(worker)
                    n_attempts[spec.key] += 1
                    if n_attempts[spec.key] < MAX_ATTEMPTS:
                        waiting.appendleft(spec)
                    else:
                        yield Failed(spec, f"its worker died {MAX_ATTEMPTS} times; is memory short?")
        finally:
            for worker in workers:
                worker.stop()

    def _share_out(self, waiting: deque[RunSpec], workers: list[_Worker]) -> None:
        """Give runs to idle workers, and to new ones up to the maximum."""
        idle = [worker for worker in workers if worker.spec is None]
        while waiting and (idle or len(workers) < self.n_workers):
            if not idle:
                workers.append(_Worker())
                idle.append(workers[-1])
            idle.pop().give(waiting.popleft())


class _Worker:
    """A process, the pipe to it, and its current run."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _interrupt_ignored():
            self._process.start()
        theirs.close()
        self.spec: RunSpec | None = None

    @property
    def connection(self) -> Connection:
        return self._connection

    def give(self, spec: RunSpec) -> None:
        """Hand over a run. If the worker has died, `take` notices."""
        self.spec = spec
        with suppress(OSError):
            self._connection.send(spec.to_json())

    def take(self) -> tuple[RunSpec, Outcome | None]:
        """The run and its outcome, which is None if the worker died."""
        spec, self.spec = self.spec, None
        assert spec is not None
        try:
            return spec, read_answer(spec, self._connection.recv())
        except (EOFError, OSError):
            return spec, None

    def stop(self) -> None:
        """Kill the process; it has nothing to clean up."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._connection.close()


def _ready(workers: list[_Worker]) -> list[_Worker]:
    """Wait until some workers have answered or died."""
    ready = wait([worker.connection for worker in workers])
    return [worker for worker in workers if worker.connection in ready]


@contextmanager
def _interrupt_ignored() -> Iterator[None]:
    """Make child processes ignore Ctrl-C from the start; their parent handles it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(connection: Connection) -> None:
    """Main loop of a worker: one run after another, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with threadpool_limits(1), suppress(EOFError, OSError):
        while True:
            connection.send(run_task(connection.recv()))


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, even if the parent was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
