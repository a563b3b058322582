"""The crew that kernels run on."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager._threads import Crew


@given(st.integers(1, 5), st.lists(st.integers(0, 9), max_size=20))
@settings(max_examples=50)
def test_ranges_cover_every_item_once(n_threads, cost):
    with Crew(n_threads) as crew:
        for ranges in (crew.split_by_cost(np.array(cost, dtype=float)), crew.split(len(cost))):
            assert len(ranges) <= n_threads
            assert [item for lo, hi in ranges for item in range(lo, hi)] == list(range(len(cost)))


def test_ranges_have_nearly_equal_cost():
    with Crew(3) as crew:
        assert crew.split(9) == [(0, 3), (3, 6), (6, 9)]
        assert crew.split_by_cost(np.array([9.0, 1, 1, 1, 3, 3])) == [(0, 1), (1, 4), (4, 6)]


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_function_is_called_for_every_range(n_threads):
    seen, lock = [], threading.Lock()

    def note(lo, hi, argument):
        with lock:
            seen.append((lo, hi, argument))

    with Crew(n_threads) as crew:
        crew.run(note, [(0, 2), (2, 5), (5, 6)], "x")
    assert sorted(seen) == [(0, 2, "x"), (2, 5, "x"), (5, 6, "x")]


@pytest.mark.parametrize("bad", [0, 5])
def test_error_in_any_thread_is_raised(bad):
    def fail(lo, hi):
        if lo == bad:
            raise ValueError("out of range")

    with Crew(2) as crew, pytest.raises(ValueError, match="out of range"):
        crew.run(fail, [(0, 5), (5, 10)])


def test_crew_works_on_after_an_error():
    """Neither is a task left undone nor its outcome taken for that of a later one."""
    seen = []

    def fail(lo, hi):
        seen.append(lo)
        raise KeyError(lo)

    with Crew(3) as crew:
        with pytest.raises(KeyError, match="0"):
            crew.run(fail, [(0, 1), (1, 2), (2, 3), (3, 4)])
        assert sorted(seen) == [0, 1, 2, 3]
        crew.run(lambda lo, hi: seen.append(10 + lo), [(0, 1), (1, 2)])
    assert sorted(seen) == [0, 1, 2, 3, 10, 11]


def test_threads_end_with_the_crew():
    before = threading.active_count()
    with Crew(3) as crew:
        crew.run(lambda lo, hi: None, [(0, 1), (1, 2)])
        assert threading.active_count() == before + 2
    assert threading.active_count() == before


def test_an_interrupt_while_threads_start_is_what_is_raised(monkeypatch):
    start, started = threading.Thread.start, []

    def interrupt(self):
        if len(started) == 1:
            raise KeyboardInterrupt
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", interrupt)
    with pytest.raises(KeyboardInterrupt), Crew(4) as crew:
        crew.run(lambda lo, hi: None, crew.split(8))
    assert not started[0].is_alive()


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, True, "2", None, float("nan")])
def test_wrong_numbers_of_threads(n_threads):
    with pytest.raises(ValueError, match="n_threads must be a whole number of at least 1"):
        Crew(n_threads)


def test_very_many_threads_are_not_started():
    assert Crew(2**62).n_threads == Crew(10**6).n_threads <= 4096
