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
