"""Checks of the arguments of this layer. Errors say what is wrong and with which feature."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_int_vector(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return ``values`` as a one-dimensional int64 array."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, got {array.dtype}")
    return array.astype(np.int64)


def check_count(value: int, name: str) -> int:
    """Return ``value`` as an int of at least one."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {count}")
    return count


def check_order(order: ArrayLike) -> NDArray[np.int64]:
    """Return ``order`` as an int64 array that holds every feature once."""
    vector = check_int_vector(order, "order")
    n_features = check_count(vector.size, "the number of features in order")
    rule = f"order must hold each of 0 to {n_features - 1} once"
    outside = vector[(vector < 0) | (vector >= n_features)]
    if outside.size:
        raise ValueError(f"{rule}, but it holds {outside[0]}")
    missing = np.flatnonzero(np.bincount(vector, minlength=n_features) == 0)
    if missing.size:
        raise ValueError(f"{rule}, but feature {missing[0]} is missing")
    return vector


def check_max_parents(k: int, n_features: int) -> int:
    """Return ``k`` as an int that at least one of ``n_features`` features can reach."""
    k = check_count(k, "max_parents")
    if k > n_features - 1:
        features = "is only 1 feature" if n_features == 1 else f"are only {n_features} features"
        raise ValueError(f"max_parents={k} but there {features}, so at most {n_features - 1}")
    return k
