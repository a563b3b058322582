"""Pairs of features as parents: numbering, checks, and orders.

Where a feature may have two extra parents, a candidate is a pair of features. Pair p of a search space over D features
is candidate number ``D + p``: a single parent whose values are the pairs of values of the two features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.structure.orderings import check_int_vector

Candidate = int | tuple[int, int]
"""A parent, -1 for none, or a pair of parents."""


def no_pairs() -> NDArray[np.int64]:
    """The array of no pairs, int64[0, 2]."""
    return np.empty((0, 2), np.int64)


def check_pairs(pairs: ArrayLike, n_features: int) -> NDArray[np.int64]:
    """Return pairs as int64[P, 2]: two different features each, the smaller number first, without duplicates."""
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"pairs must be integers of shape (P, 2), got {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    strays = np.flatnonzero((array[:, 0] < 0) | (array[:, 0] >= array[:, 1]) | (array[:, 1] >= n_features))
    if strays.size:
        rule = f"a pair must be two features from 0 to {n_features - 1}, the smaller number first"
        raise ValueError(f"there is no pair {tuple(array[strays[0]].tolist())}: {rule}")
    numbers, counts = np.unique(array[:, 0] * n_features + array[:, 1], return_counts=True)
    if (counts > 1).any():
        pair = divmod(int(numbers[counts > 1][0]), n_features)
        raise ValueError(f"the pair {pair} is listed more than once")
    return array


def number_pairs(candidates: Sequence[Any]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Replace each pair in lists of candidates by its number; returns the lists and the pairs.

    Examples
    --------
    >>> number_pairs([[-1], [-1, 0], [0, (1, 0)]])
    ([array([-1]), array([-1,  0]), array([0, 3])], array([[0, 1]]))
    """
    known: dict[tuple[int, int], int] = {}
    vectors = []
    for i, entry in enumerate(candidates):
        numbers: Any = entry
        if isinstance(entry, (list, tuple)) and any(isinstance(candidate, tuple) for candidate in entry):
            numbers = [_number(candidate, i, known, len(candidates)) for candidate in entry]
        vectors.append(check_int_vector(numbers, f"feature {i}: the candidates"))
    return vectors, np.array(list(known), np.int64).reshape(-1, 2)


def _number(candidate: Any, feature: int, known: dict[tuple[int, int], int], n_features: int) -> Any:
    if not isinstance(candidate, tuple):
        return candidate
    pair = check_int_vector(candidate, f"feature {feature}: a pair of parents")
    if pair.size != 2:
        raise ValueError(f"feature {feature}: a candidate can have at most two parents, got {candidate}")
    first, second = sorted(pair.tolist())
    return n_features + known.setdefault((first, second), len(known))


def extra_parents_of(parents: NDArray[Any], pairs: NDArray[Any], n_features: int) -> NDArray[np.int64]:
    """Features that each parent number stands for, int64[E, 2], -1 where there are fewer than two.

    Examples
    --------
    >>> extra_parents_of(np.array([-1, 0, 3]), np.array([[0, 1]]), 3)
    array([[-1, -1],
           [ 0, -1],
           [ 0,  1]])
    """
    numbers = np.asarray(parents, np.int64)
    extra_parents = np.stack([numbers, np.full_like(numbers, -1)], axis=1)
    is_pair = numbers >= n_features
    extra_parents[is_pair] = pairs[numbers[is_pair] - n_features]
    return extra_parents


def dependence_order(extra_parents: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """An order in which all parents come before their children, int64[D]; None if there is a cycle.

    Parameters
    ----------
    extra_parents : int64 array of shape (D, 2)
        Up to two parents of each feature, -1 for none.

    Examples
    --------
    >>> dependence_order(np.array([[1, 2], [-1, -1], [1, -1]]))
    array([1, 2, 0])
    >>> dependence_order(np.array([[1, -1], [0, -1]])) is None
    True
    """
    order: list[int] = []
    is_placed = np.zeros(len(extra_parents) + 1, np.bool_)
    is_placed[-1] = True  # no parent
    while len(order) < len(extra_parents):
        ready = np.flatnonzero(~is_placed[:-1] & is_placed[extra_parents].all(axis=1))
        if not ready.size:
            return None
        is_placed[ready] = True
        order.extend(ready.tolist())
    return np.array(order, np.int64)
