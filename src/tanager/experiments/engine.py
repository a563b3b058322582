"""Running specs: what is missing is handed to a pool of workers, and each result is stored as it comes.

A pool is anything with a method ``run(specs)`` that yields an outcome for every spec, in any order. What it yields does
not depend on the pool, so the same specs give the same store on one machine and on a cluster.
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
"""How often a run is tried whose worker ended in the middle."""

_MAX_FAILURES = 10


class EngineError(RuntimeError):
    """Runs cannot go on."""


@dataclass(frozen=True)
class Finished:
    """A run that came to its end."""

    spec: RunSpec
    result: Result


@dataclass(frozen=True)
class Failed:
    """A run that did not, and why."""

    spec: RunSpec
    reason: str


Outcome = Finished | Failed


class Pool(Protocol):
    """Workers that run specs."""

    def run(self, specs: Sequence[RunSpec]) -> Generator[Outcome]:
        """Yield one outcome for each spec. Closing the iterator stops the work."""
        ...


class SerialPool:
    """Runs one spec after the other in this process."""

    def run(self, specs: Sequence[RunSpec]) -> Generator[Outcome]:
        """Yield one outcome for each spec."""
        for spec in specs:
            yield read_answer(spec, run_task(spec.to_json()))


def execute(specs: Iterable[RunSpec], store: Store, pool: Pool) -> Generator[Outcome]:
    """Run what the store lacks.

    Parameters
    ----------
    specs : iterable of RunSpec
        Runs that are wanted; they are noted in the store first.
    store : Store
    pool : Pool

    Yields
    ------
    Finished or Failed
        Finished runs are in the store by then. Failed ones are not, and so are tried again by the next call.

    Raises
    ------
    EngineError
        Ten runs failed.
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
    """What a worker does: from the text of a spec to whether it went well, and the text of the result or of the error.

    Texts, so that a worker of another version refuses a spec that it would understand differently.
    """
    try:
        return True, run_spec(RunSpec.from_json(text)).to_json()
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


def read_answer(spec: RunSpec, answer: tuple[bool, str]) -> Outcome:
    """Outcome of a run from what `run_task` returned for it."""
    is_good, text = answer
    return Finished(spec, Result.from_json(text)) if is_good else Failed(spec, text)
