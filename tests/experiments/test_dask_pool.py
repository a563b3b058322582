"""A Dask scheduler that is not there, and Dask that is not installed; real clusters are in tests/cli."""

import socket
import sys

import pytest

from tanager.experiments.dask_pool import DaskPool
from tanager.experiments.engine import EngineError
from tanager.experiments.spec import RunSpec

SPEC = RunSpec(dataset="digits", method="nb-ml")


def run(address):
    list(DaskPool(address, timeout=0.5).run([SPEC]))


def test_scheduler_that_is_not_there():
    pytest.importorskip("distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(EngineError, match=f"no Dask scheduler answers at {address}: Timed out"):
        run(address)


@pytest.mark.parametrize("address", ["nonsense://here:1", "tcp://"])
def test_address_that_makes_no_sense(address):
    pytest.importorskip("distributed")
    with pytest.raises(EngineError, match=f"no Dask scheduler answers at {address}"):
        run(address)


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"needs Dask: pip install 'tanager\[experiments\]'"):
        run("tcp://127.0.0.1:8786")


class StandInClient:
    """A cluster whose workers leave and come back, and whose one run is done after that."""

    loop = None

    def __init__(self):
        self.workers = [{"a": 1}, {}, {}, {"b": 1}, {"b": 1}]
        self.n_asked = 0

    def scheduler_info(self):
        self.n_asked += 1
        return {"workers": self.workers[self.n_asked - 1]}

    # What `distributed.as_completed` gives.

    def as_completed(self, futures, loop):
        self.futures = list(futures)
        return self

    def count(self):
        return len(self.futures)

    def has_ready(self):
        return self.n_asked == len(self.workers)

    def __next__(self):
        return self.futures.pop()


def test_it_says_once_that_all_workers_are_gone(monkeypatch, caplog):
    monkeypatch.setattr("tanager.experiments.dask_pool._SECONDS_BETWEEN_LOOKS", 1e-3)
    client = StandInClient()
    pool = DaskPool("tcp://here:1", patience=2e-3)
    assert list(pool._completed(client, client, ["a run"])) == ["a run"]
    assert [record.getMessage() for record in caplog.records] == [
        "the cluster at tcp://here:1 has no workers left; 1 runs wait for new ones. Ctrl-C ends the waiting, and "
        "finished runs stay"
    ]
