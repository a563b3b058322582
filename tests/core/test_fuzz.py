"""Every callable of the core with damaged arguments: it works or raises an error, and touches nothing but its outputs.

Rounds are seeded; ``TANAGER_FUZZ_ROUNDS=2000`` makes more of them, and ``pytest -s`` prints each before the call, so
that the last line names the one that crashed. Without sanitizers arrays lie between guards that must not change; with
them they are allocated exactly, so that reads beyond their ends are found, too.
"""

import copy
import os
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tanager import core
from tests.core.calls import MAKERS
from tests.core.damages import arrays_in, damage_call

N_ROUNDS = int(os.environ.get("TANAGER_FUZZ_ROUNDS", "60"))
IS_SANITIZED = "sanitize" in os.environ.get("TANAGER_CORE_PATH", "")
ERRORS = (ValueError, TypeError, MemoryError, RuntimeError)
GUARD = 64  # bytes on both sides of an array


def placed(value, memory):
    """The value with its arrays between guards, which are kept in memory by the identity of the array that has them."""
    if isinstance(value, tuple):
        return tuple(placed(part, memory) for part in value)
    if isinstance(value, dict):
        return {name: placed(part, memory) for name, part in value.items()}
    if (
        type(value) is not np.ndarray
        or value.dtype.hasobject
        or not value.flags.c_contiguous
        or not value.flags.aligned
    ):
        return value
    size = GUARD + value.nbytes + GUARD
    room = np.full(size + 64, 0xA5, np.uint8)
    room = room[-room.ctypes.data % 64 :][:size]
    inside = np.ndarray(value.shape, value.dtype, room[GUARD : GUARD + value.nbytes])
    inside[...] = value
    inside.flags.writeable = value.flags.writeable
    memory.append(room)
    return inside


def state_of(array):
    return array.shape, array.strides, array.dtype, array.ctypes.data


def content_of(arguments, writes):
    """Bytes of the arrays that must stay as they are; those that share memory with an output need not."""
    written = [array for name in writes for array in arrays_in(arguments.get(name))]
    kept = [array for name in arguments for array in arrays_in(arguments[name]) if not array.dtype.hasobject]
    kept = [array for array in kept if not any(np.may_share_memory(array, other) for other in written)]
    return [array.tobytes() for array in kept]


def call_safely(function, arguments, writes):
    """Call; return the error, if there is one of those that are allowed. Only outputs may have changed."""
    rooms: list[np.ndarray] = []
    if not IS_SANITIZED:
        arguments = placed(arguments, rooms)
    arrays = [array for value in arguments.values() for array in arrays_in(value)]
    before, content = [state_of(array) for array in arrays], content_of(arguments, writes)
    try:
        function(**arguments)
        error = None
    except ERRORS as raised:
        error = raised
    assert [state_of(array) for array in arrays] == before
    assert content_of(arguments, writes) == content
    for room in rooms:
        assert (room[:GUARD] == 0xA5).all()
        assert (room[-GUARD:] == 0xA5).all()
    return error


def callables_of_the_core():
    """Functions, classes and methods, as `MAKERS` names them."""
    for name, value in vars(core._module).items():
        if name.startswith("_") or not callable(value):
            continue
        yield name
        if isinstance(value, type):
            yield from (
                f"{name}.{each}" for each in vars(value) if not each.startswith("_") and callable(getattr(value, each))
            )


def test_no_callable_is_left_out():
    assert set(callables_of_the_core()) == set(MAKERS)


def generator(name, n):
    return np.random.default_rng([zlib.crc32(name.encode()), n])


@pytest.mark.parametrize("name", MAKERS)
def test_right_arguments_are_taken(name):
    for n in range(max(N_ROUNDS // 5, 5)):
        call = MAKERS[name](generator(name, n))
        assert call_safely(call.function, call.arguments, call.writes) is None, n


@pytest.mark.parametrize("name", MAKERS)
def test_damaged_arguments_raise_errors_or_work(name):
    n_errors = 0
    for n in range(N_ROUNDS):
        rng = generator(name, n)
        call = MAKERS[name](rng)
        what, arguments = damage_call(call.arguments, rng)
        print(name, n, what, flush=True)
        n_errors += call_safely(call.function, arguments, call.writes) is not None
    assert n_errors >= N_ROUNDS // 4


@pytest.mark.parametrize("name", [name for name in MAKERS if "." in name])
def test_an_object_may_be_called_from_several_threads(name):
    """Each call works, or is refused because another one is running; the object stays usable."""
    call = MAKERS[name](generator(name, 1))

    def attempt(_):
        arguments = copy.deepcopy(call.arguments)
        return call_safely(call.function, arguments, call.writes)

    with ThreadPoolExecutor(4) as pool:
        for error in pool.map(attempt, range(40)):
            assert error is None or "twice at a time" in str(error)
    assert attempt(0) is None


@pytest.mark.parametrize("name", [name for name in MAKERS if isinstance(getattr(core, name, None), type)])
def test_objects_that_were_not_made_are_refused(name):
    kind = getattr(core, name)
    for each in callables_of_the_core():
        if each.startswith(f"{name}."):
            call = MAKERS[each](generator(each, 0))
            method = getattr(kind, each.partition(".")[2])
            with pytest.raises(TypeError):
                method(object(), **call.arguments)
            with pytest.raises(TypeError), pytest.warns(RuntimeWarning, match="uninitialized"):
                method(kind.__new__(kind), **call.arguments)
