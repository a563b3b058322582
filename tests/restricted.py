"""Python in a process that may do less than the tests: permissions count for root, too."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_DROP, _READ_AND_WRITE_ANYTHING = 24, (1, 2)  # PR_CAPBSET_DROP; CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
_LIBC = ctypes.CDLL(None)


def run_without_privileges(code, *, env=None, folder=None, limit=None, timeout=120):
    """Run a program that may read and write only what permissions allow; returns the finished process.

    Parameters
    ----------
    code : str
    env : dict, optional
        The whole environment; by default that of the tests.
    folder : path, optional
        Where it runs.
    limit : callable, optional
        Called in the new process before Python starts.
    """

    def restrict():
        for capability in _READ_AND_WRITE_ANYTHING:
            _LIBC.prctl(_DROP, capability, 0, 0, 0)
        if limit is not None:
            limit()

    environment = dict(os.environ if env is None else env)
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=environment,
        cwd=folder,
        preexec_fn=restrict,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
