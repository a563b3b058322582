"""Wrong arguments from right ones: types, shapes, contiguity, alignment, values, fields of tuples."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

HUGE = (2**41, 2**62, 2**63 - 1, -(2**63))
TYPES = "?bBhHiIlLefdgFDOSMV"
NUMBERS = (-1, 0, 1, 2, 7, *HUGE, 2**64, -1.0, 0.5, 1e300, np.nan, np.inf, -np.inf, True, None, "x", b"x", [1], ())
ENTRIES = (-1, 0, 1, 2, 3, 9, 127, 128, 255, 256, 2**15, 2**31, *HUGE, np.nan, np.inf, -np.inf, 1e300, -1e-300)


def misaligned(array):
    moved = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def unwritable(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def cut(array, rng):
    """One entry less or more along one axis."""
    axis = int(rng.integers(array.ndim))
    size = array.shape[axis]
    if size == 0:
        return np.zeros([length + (d == axis) for d, length in enumerate(array.shape)], array.dtype)
    return np.take(array, range(size - 1) if rng.random() < 0.5 else [*range(size), 0], axis)


def with_entries(array, rng):
    """Some entries out of their range, or exchanged."""
    array = array.copy()
    if array.size == 0:
        return array
    if rng.random() < 0.3 or array.dtype.kind not in "biufc":
        return np.ascontiguousarray(rng.permuted(array))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in rng.integers(array.size, size=rng.integers(1, 3)):
            array.flat[place] = np.array(ENTRIES[rng.integers(len(ENTRIES))], np.float64).astype(array.dtype)
    if rng.random() < 0.5 and array.dtype.kind in "iu":  # exactly, which a float64 is not
        limits = np.iinfo(array.dtype)
        array.flat[rng.integers(array.size)] = rng.choice([limits.min, limits.max, limits.max - 1])
    return array


ARRAY_DAMAGES: dict[str, Callable[[np.ndarray, np.random.Generator], Any]] = {
    "type": lambda array, rng: array.astype(TYPES[rng.integers(len(TYPES))] if array.dtype.kind in "biufc" else object),
    "byte order": lambda array, rng: array.astype(array.dtype.newbyteorder()),
    "length": cut,
    "empty": lambda array, rng: np.empty((0, *array.shape[1:]), array.dtype),
    "no columns": lambda array, rng: np.empty((*array.shape[:-1], 0), array.dtype),
    "flat": lambda array, rng: array.ravel(),
    "one axis more": lambda array, rng: array[..., None],
    "no axis": lambda array, rng: np.array(7, array.dtype),
    "every second": lambda array, rng: np.repeat(array, 2, axis=-1)[..., ::2],
    "backwards": lambda array, rng: array[::-1],
    "transposed": lambda array, rng: array.T,
    "Fortran": lambda array, rng: np.asfortranarray(array),
    "broadcast": lambda array, rng: np.broadcast_to(array.ravel()[:1], array.shape) if array.size else array,
    "unwritable": lambda array, rng: unwritable(array),
    "misaligned": lambda array, rng: misaligned(array),
    "list": lambda array, rng: array.tolist(),
    "bytes": lambda array, rng: array.tobytes(),
    "view": lambda array, rng: memoryview(array.copy()) if array.dtype.kind in "biuf" else array,
    "other": lambda array, rng: NUMBERS[rng.integers(len(NUMBERS))],
}


def damage_array(array, rng, others):
    """An array with one thing wrong, or another one of the same call."""
    kind = rng.random()
    if kind < 0.1 and others:
        return "another", others[rng.integers(len(others))]
    if kind < 0.4 and array.ndim > 0:
        return "entries", with_entries(array, rng)
    name = "other" if array.ndim == 0 else str(rng.choice(list(ARRAY_DAMAGES)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return name, ARRAY_DAMAGES[name](array, rng)
        except (ValueError, TypeError):  # a type that cannot be turned into the other
            return "other", NUMBERS[rng.integers(len(NUMBERS))]


def damage_fields(fields, rng):
    """A tuple of another length or kind, or with two fields exchanged."""
    which = int(rng.integers(5))
    a, b = rng.integers(len(fields), size=2) if fields else (0, 0)
    exchanged = list(fields)
    if fields:
        exchanged[a], exchanged[b] = fields[b], fields[a]
    choices = (fields[:-1], (*fields, 0), list(fields), None, tuple(exchanged))
    return ("short", "long", "list", "None", f"exchanged {a} {b}")[which], choices[which]


def fail(*_):
    raise RuntimeError("a callback that fails")


def damage_names(names, rng):
    """A dict with a wrong name, kind or value."""
    wrong = (None, {1: 2}, {**names, "x": 1}, list(names), dict.fromkeys(names, fail), dict.fromkeys(names, int))
    which = int(rng.integers(len(wrong)))
    return f"dict {which}", wrong[which]


def arrays_in(value):
    """Arrays of an argument, in tuples and dicts as well."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(part)


def damage(value, rng, others):
    """What was done, and the value with one thing wrong somewhere; others are all arrays of the call."""
    if isinstance(value, np.ndarray):
        return damage_array(value, rng, others)
    if isinstance(value, (tuple, dict)) and value and rng.random() < 0.8:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = keys[rng.integers(len(keys))]
        what, wrong = damage(value[key], rng, others)
        if isinstance(value, dict):
            return f"{key}: {what}", {**value, key: wrong}
        return f"{key}: {what}", (*value[:key], wrong, *value[key + 1 :])
    if isinstance(value, tuple):
        return damage_fields(value, rng)
    if isinstance(value, dict):
        return damage_names(value, rng)
    which = int(rng.integers(len(NUMBERS) + 2))
    if which < len(NUMBERS):
        return repr(NUMBERS[which]), NUMBERS[which]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        step = rng.choice([-1, 1])
        return f"{step:+d}", value + type(value)(step)
    return "an array", np.zeros(3)


def damage_call(arguments, rng):
    """Arguments of which some are damaged, left out, or those of another name."""
    arguments, done, others = dict(arguments), [], list(arrays_in(arguments))
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice(list(arguments)))
        kind = rng.random()
        if kind < 0.03:
            del arguments[name]
            done.append(f"without {name}")
            if not arguments:
                break
        elif kind < 0.06:
            other = str(rng.choice(list(arguments)))
            arguments[name] = arguments[other]
            done.append(f"{name} is {other}")
        else:
            what, arguments[name] = damage(arguments[name], rng, others)
            done.append(f"{name}: {what}")
    return "; ".join(done), arguments
