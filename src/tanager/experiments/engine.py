"""Running specs: a pool of workers gets those without a result, and each result is stored as soon as it is available.

A pool is any object with a method ``run(specs)`` that yields an outcome for every spec, in any order. Outcomes do not
depend on the pool, so the same specs give the same store on one machine and on a cluster.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from tanager.experiments.run import Result, run_spec
from tanager.experiments.spec import RunSpec
from tanager.experiments.store import Store

MAX_ATTEMPTS = 3
"""How often a run is tried if its worker dies."""

_MAX_FAILURES = 10


class EngineError(RuntimeError):
    """Runs cannot continue."""


@dataclass(frozen=True)
class Finished:
    """A completed run."""

    spec: RunSpec
    result: Result


@dataclass(frozen=True)
class Failed:
    """A run that failed, and why."""

    spec: RunSpec
    reason: str


Outcome = Finished | Failed


class Pool(Protocol):
    """Workers that run specs."""

    def run(self, specs: Sequence[RunSpec]) -> Generator[Outcome]:
        """Yield one outcome for each spec. Closing the iterator stops the work."""
        ...


class SerialPool:
    """Runs one spec after another in this process."""

    def run(self, specs: Sequence[RunSpec]) -> Generator[Outcome]:
        """Yield one outcome for each spec."""
        for spec in specs:
            yield read_answer(spec, run_task(spec.to_json()))


def execute(specs: Iterable[RunSpec], store: Store, pool: Pool) -> Generator[Outcome]:
    """Run the specs that have no result in the store.

    Parameters
    ----------
    specs : iterable of RunSpec
        Requested runs; the store records them first.
    store : Store
    pool : Pool

    Yields
    ------
    Finished or Failed
        Finished runs are already stored. Failed ones are not, so the next call tries them again.

    Raises
    ------
    EngineError
        If ten runs failed.
    """
    missing = store.missing(specs)
    store.request(missing)
    n_failed = 0
    with closing(pool.run(missing)) as outcomes:
        for outcome in outcomes:
            match outcome:
                case Finished(spec, result):
                    store.add(spec, result)
                case Failed(_, reason):
                    n_failed += 1
                    if n_failed == _MAX_FAILURES:
                        raise EngineError(f"{n_failed} runs failed, the last with: {reason}")
            yield outcome


def run_task(text: str) -> tuple[bool, str]:
    """Run a spec in a worker; return whether it succeeded, and the text of the result or of the error.

    Specs are passed as text, so that a worker with another version refuses those it would interpret differently.
    """
    try:
        return True, run_spec(RunSpec.from_json(text)).to_json()
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


def read_answer(spec: RunSpec, answer: tuple[bool, str]) -> Outcome:
    """The outcome of a run, from the return value of `run_task`."""
    is_good, text = answer
    return Finished(spec, Result.from_json(text)) if is_good else Failed(spec, text)
