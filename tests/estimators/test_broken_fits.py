"""A fit is all or nothing, wherever it is broken; ``TANAGER_FUZZ_ROUNDS=2000`` breaks it at more places."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.estimators.breaking import KINDS, At, BrokenError, Whole, fail

ROUNDS = int(os.environ.get("TANAGER_FUZZ_ROUNDS", "60"))


@pytest.mark.parametrize("is_second", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_at_any_call(kind, is_second):
    """An exception in the first and the last call of a function of tanager, and in some between."""
    whole = Whole(KINDS[kind], is_second)
    twin = whole.twin()
    with At(0, fail) as counted:
        twin.fit(*whole.rows)
    n_calls = counted.n_calls
    assert n_calls > 50
    rng = np.random.default_rng(n_calls)
    for call in {2, n_calls - 3, *rng.integers(2, n_calls - 2, ROUNDS // 10).tolist()}:
        with pytest.raises(BrokenError), At(call, fail):
            whole.fit()
        whole.check(may_be_done=True)


@pytest.mark.parametrize("kind", ["counts", "search", "separate members", "counts in pieces", "gradients in pieces"])
def test_the_last_calls_of_all(kind):
    """Where attributes are set, every single call."""
    whole = Whole(KINDS[kind], is_second=True)
    twin = whole.twin()
    with At(0, fail) as counted:
        twin.fit(*whole.rows)
    for call in range(counted.n_calls - 20, counted.n_calls):
        with pytest.raises(BrokenError), At(call, fail):
            whole.fit()
        whole.check(may_be_done=True)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals to a thread")
def test_a_signal_at_any_moment():
    """Ctrl-C, while Python runs and while the compiled core does, in a process of its own."""
    command = [sys.executable, "-m", "tests.estimators.breaking", "signals", str(max(ROUNDS, 2 * len(KINDS)))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2 * len(KINDS)
