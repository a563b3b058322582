"""Ctrl-C, SIGTERM and SIGHUP in the middle of a command: the exit code is right, and no file is left behind."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

SCRIPT = "from tanager.cli import main; main()"


@contextmanager
def tanager(*arguments):
    """A command in a process of its own, killed at the end if it still runs."""
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate(timeout=30)


def interrupt(started, condition, number=signal.SIGINT):
    end = time.monotonic() + 100
    while not condition():
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
    started.send_signal(number)
    output = started.communicate(timeout=60)
    return started.returncode, output


@pytest.fixture
def long_file(flowers, tmp_path):
    """Enough rows to take some seconds to predict."""
    header, rows = flowers.read_text().split("\n", 1)
    path = tmp_path / "long.csv"
    with path.open("w") as stream:
        stream.write(header + "\n")
        for _ in range(8000):
            stream.write(rows)
    return path


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_predict(model, long_file, tmp_path, number, code):
    out = tmp_path / "p.csv"

    def has_begun():
        return any(path.stat().st_size > 10_000 for path in tmp_path.glob(".p-*"))

    with tanager("predict", model, long_file, "--out", out, "--proba", "--chunk-rows", 1000) as started:
        returned, (_, messages) = interrupt(started, has_begun, number)
    assert returned == code, messages
    assert "Traceback" not in messages
    assert list(tmp_path.iterdir()) == [long_file]
    if number == signal.SIGINT:
        assert messages.endswith("interrupted: nothing was written\n")


@pytest.mark.parametrize("options", [[], ["--ensemble", "4", "--jobs", "2"]])
def test_fit(tmp_path, options):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(3000, 20))
    path, out = tmp_path / "t.csv", tmp_path / "m.tanager"
    rows = [",".join(f"v{code}" for code in row) for row in codes]
    path.write_text("\n".join([",".join(f"c{i}" for i in range(20)), *rows]) + "\n")
    arguments = ["fit", path, "--target", "c0", "--out", out, "--no-test", *options]
    with tanager(*arguments, "--structure", "subset", "--epochs", "100000") as started:
        # The columns are printed before training begins.
        line = ""
        while "└" not in line:
            line = started.stderr.readline()
            assert line, started.wait()
        time.sleep(1.0)
        started.send_signal(signal.SIGINT)
        messages = started.stderr.read()
        assert started.wait(timeout=60) == 130
    assert "Traceback" not in messages
    assert messages.endswith("interrupted: nothing was written\n")
    assert list(tmp_path.iterdir()) == [path]


def test_reader_that_leaves(model, long_file):
    """As in tanager predict ... | head."""
    with tanager("predict", model, long_file, "--quiet") as started:
        assert started.stdout.readline() == "prediction\n"
        started.stdout.close()
        messages = started.stderr.read()
        assert started.wait(timeout=60) in (1, 128 + signal.SIGPIPE)
    assert messages == ""
    assert os.path.exists(model)
