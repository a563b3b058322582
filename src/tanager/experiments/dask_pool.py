"""Workers of a Dask cluster, found by the address of its scheduler. Only this module imports Dask.

Results are returned to this process, which stores them, so workers need no access to the store. They do need the data:
in the folder that ``TANAGER_DATA`` names on their machine, in their cache, or by download.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tanager.experiments.engine import EngineError, Failed, Outcome, read_answer, run_task
from tanager.experiments.spec import RunSpec

_LOGGER = logging.getLogger(__name__)
_NO_WORKERS_LEFT = (
    "the cluster at %s has no workers left; %d runs wait for new ones. Ctrl-C ends the waiting, and finished runs stay"
)
_SECONDS_BETWEEN_LOOKS = 0.1


class DaskPool:
    """Workers of a Dask cluster.

    If a worker is lost, Dask gives its run to another one.

    Parameters
    ----------
    address : str
        Address of the scheduler, for instance ``tcp://10.0.0.1:8786``.
    timeout : float
        Seconds to wait for the scheduler to answer.
    patience : float
        Seconds without a result after which it looks whether there are workers left.
    """

    def __init__(self, address: str, timeout: float = 15.0, patience: float = 10.0) -> None:
        self.address = address
        self._timeout, self._patience = timeout, patience

    def run(self, specs: Sequence[RunSpec]) -> Generator[Outcome]:
        """Yield one outcome for each spec as soon as it is available."""
        distributed = _import_distributed()
        with _quiet(), self._connect(distributed) as client:
            if not client.scheduler_info()["workers"]:
                _LOGGER.warning("the cluster at %s has no workers yet; waiting for them", self.address)
            keys = {f"tanager-{spec.key}": spec for spec in specs}
            texts = [spec.to_json() for spec in keys.values()]
            futures = client.map(run_task, texts, key=list(keys), pure=False)
            for future in self._completed(distributed, client, futures):
                spec = keys[future.key]
                if future.cancelled():
                    raise EngineError(
                        f"the connection to the Dask scheduler at {self.address} is lost; finished runs are stored, "
                        "and the same command continues from there"
                    )
                error = future.exception()
                if error is None:
                    yield read_answer(spec, future.result())
                else:
                    yield Failed(spec, f"{type(error).__name__}: {error}")
                future.release()

    def _completed(self, distributed: Any, client: Any, futures: list[Any]) -> Iterator[Any]:
        """Yield futures as they are completed; say it when all workers are gone and the runs wait for others."""
        completed, waited, had_workers = distributed.as_completed(futures, loop=client.loop), 0.0, True
        while completed.count():
            if completed.has_ready():
                waited = 0.0
                yield next(completed)
                continue
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            waited += _SECONDS_BETWEEN_LOOKS
            if waited >= self._patience:
                waited, has_workers = 0.0, bool(client.scheduler_info()["workers"])
                if had_workers and not has_workers:
                    _LOGGER.warning(_NO_WORKERS_LEFT, self.address, completed.count())
                had_workers = has_workers

    def _connect(self, distributed: Any) -> Any:
        try:
            scheme, _ = distributed.comm.parse_address(self.address)
            distributed.comm.registry.get_backend(scheme)
            return distributed.Client(self.address, timeout=self._timeout, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(f"no Dask scheduler answers at {self.address}: {error}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from printing the stack trace of a lost connection; our error says it in one line."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise EngineError("running on a cluster needs Dask: pip install 'tanager[experiments]'") from error
    return distributed
