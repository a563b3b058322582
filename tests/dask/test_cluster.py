"""Clusters that cannot do the work: a scheduler that is killed, one without workers, none at all; and one of two."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from distributed import Client, LocalCluster

from tanager import GradientDescent
from tanager.dask import ClusterError
from tanager.dask.cluster import Cluster
from tests.dask.test_classifiers import assert_same, fit


def start(*arguments, **options):
    return subprocess.Popen([sys.executable, "-m", *arguments], stderr=subprocess.DEVNULL, **options)


@pytest.fixture
def scheduler(tmp_path):
    """The process of a scheduler, with one worker, and a client."""
    path = str(tmp_path / "scheduler.json")
    options = ["--scheduler-file", path, "--dashboard-address", ":0"]
    processes = [start("distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", *options)]
    processes.append(start("distributed.cli.dask_worker", "--no-nanny", *options))
    try:
        with Client(scheduler_file=path, timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            yield processes[0], client
    finally:
        for process in processes:
            process.kill()
            process.wait(timeout=30)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_scheduler_that_is_killed(scheduler, tmp_path, monkeypatch):
    process, client = scheduler
    parameters, steps = GradientDescent(epochs=4), []
    step = Cluster.call

    def counted(self, *args):
        steps.append(args)
        if len(steps) == 8:  # in the third epoch of three steps
            os.kill(process.pid, signal.SIGKILL)
        return step(self, *args)

    monkeypatch.setattr(Cluster, "call", counted)
    with pytest.raises(ClusterError, match="the connection to the Dask scheduler is lost"):
        fit(client, "subset", parameters, folder=tmp_path)
    assert len(steps) == 8
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as other:
        resumed = fit(other, "subset", parameters, folder=tmp_path)
        assert len(steps) == 8 + 6 + 1  # the epochs that were not complete, and the counts
        whole = fit(other, "subset", parameters)
    assert_same(resumed, whole)
    assert np.isfinite(resumed.network_.theta).all()


def test_a_cluster_without_workers(monkeypatch):
    monkeypatch.setattr("tanager.dask.cluster.WORKERLESS_SECONDS", 1.0)
    monkeypatch.setattr("tanager.dask.cluster._LOOK_SECONDS", 0.3)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        Client(empty) as alone,
        pytest.raises(ClusterError, match="the cluster has had no workers for 1 s"),
    ):
        fit(alone, "none", "ml")


def test_without_a_client():
    with pytest.raises(ValueError, match="there is no Dask client"):
        fit(None, "none", "ml")


def test_another_client_than_the_last_one():
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as one, LocalCluster(**options) as two, Client(one) as mine, Client(two):
        assert_same(fit(mine, "none", GradientDescent(epochs=1)), fit(None, "none", GradientDescent(epochs=1)))
