"""Runs that are killed, with local processes and on a real Dask cluster, and then go on."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace

import pytest

from tanager.experiments import SerialPool, Store, expand, paper_grid, sample_grid

pytestmark = pytest.mark.slow

N_CONFIGURATIONS, EPOCHS = 10, 30
COMMAND = ["digits", "--method", "subset", "--runs", str(N_CONFIGURATIONS), "--epochs", str(EPOCHS)]
SPECS = [
    run
    for spec in sample_grid(paper_grid("digits", "subset"), N_CONFIGURATIONS)
    for run in expand(replace(spec, epochs=EPOCHS))
]
ENVIRONMENT = os.environ | {"COLUMNS": "120", "PYTHONWARNINGS": "ignore"}


@pytest.fixture(scope="module")
def expected():
    """Results of a serial run."""
    assert len(SPECS) == 20
    return {outcome.spec: outcome.result for outcome in SerialPool().run(SPECS)}


@contextmanager
def process(*arguments, **options):
    """A process in a group of its own, killed at the end with all it has started."""
    started = subprocess.Popen(arguments, start_new_session=True, env=ENVIRONMENT, text=True, **options)
    try:
        yield started
    finally:
        kill_group(started)
        started.communicate(timeout=30)


def kill_group(started):
    with suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)


def tanager(store, *arguments):
    script = "from tanager.cli import main; main()"
    command = [sys.executable, "-c", script, "reproduce", *COMMAND, "--store", str(store), *arguments]
    return process(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_until(condition, seconds=100):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def n_stored(path):
    """Results in a store that others write to."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0


def check_complete(path, expected):
    """Twenty results, each once, equal to those of a serial run."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Store(path) as store:
        assert len(store) == len(SPECS)
        assert {record.spec: record.result for record in store.records()} == expected
        assert store.outstanding() == []


def children_of(pid):
    """Processes that a process has started, as the system lists them."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stream:
                    parent = int(stream.read().rsplit(")", 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == pid:
                found.append(int(entry))
    return found


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs /proc to look at processes")
def test_local_run_is_killed_and_then_resumed(tmp_path, expected):
    path = tmp_path / "results.sqlite"
    with tanager(path, "--workers", "2") as driver:
        wait_until(lambda: n_stored(path) >= 4)
        workers = children_of(driver.pid)
        assert len(workers) >= 2
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait(timeout=30)
        # No worker outlives its driver.
        wait_until(lambda: not any(map(is_running, workers)), seconds=20)
    n_left = len(SPECS) - n_stored(path)
    assert 0 < n_left <= 16
    with tanager(path, "--workers", "2") as driver:
        _, messages = driver.communicate(timeout=100)
    assert driver.returncode == 0, messages
    assert f"{n_left} to do, {20 - n_left} already stored" in messages
    check_complete(path, expected)


def test_interrupted_run_says_how_to_go_on(tmp_path):
    path = tmp_path / "results.sqlite"
    with tanager(path, "--workers", "1") as driver:
        wait_until(lambda: n_stored(path) >= 1)
        # To the whole group, as the terminal does it.
        os.killpg(driver.pid, signal.SIGINT)
        _, messages = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert "has the finished runs; tanager reproduce --resume continues" in messages
    assert "Traceback" not in messages
    assert 1 <= n_stored(path) < len(SPECS)


@contextmanager
def dask_cluster(folder):
    """A scheduler and two worker processes on loopback: the address, and the workers."""
    file = folder / "scheduler.json"
    run = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    with ExitStack() as stack:
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        stack.enter_context(process(*run, "scheduler", *options, **quiet))
        # The file exists for a moment before it has its content.
        wait_until(lambda: file.exists() and file.stat().st_size > 0)
        options = ["--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        workers = [
            stack.enter_context(process(*run, "worker", *options, "--local-directory", str(folder / name), **quiet))
            for name in ("first", "second")
        ]
        yield json.loads(file.read_text())["address"], workers


def test_dask_run_loses_a_worker_and_the_driver_and_is_then_resumed(tmp_path, expected):
    pytest.importorskip("distributed")
    path = tmp_path / "results.sqlite"
    with dask_cluster(tmp_path) as (address, workers):
        with tanager(path, "--scheduler", address) as driver:
            wait_until(lambda: n_stored(path) >= 3)
            kill_group(workers[0])
            n_before = n_stored(path)
            wait_until(lambda: n_stored(path) >= n_before + 3)
            os.kill(driver.pid, signal.SIGKILL)
            driver.wait(timeout=30)
        n_left = len(SPECS) - n_stored(path)
        assert 0 < n_left < len(SPECS)
        with tanager(path, "--scheduler", address) as driver:
            _, messages = driver.communicate(timeout=100)
        assert driver.returncode == 0, messages
        assert f"{n_left} to do, {20 - n_left} already stored" in messages
    check_complete(path, expected)
