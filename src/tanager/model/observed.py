"""The observed values that queries condition on, checked: codes of features, numbers of classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager._types import IntArray

UNKNOWN_CLASS = -1


class Observed(NamedTuple):
    """The observed values of each row."""

    codes: NDArray[np.int64]  # [N, D]: the feature's number of values if unknown
    classes: NDArray[np.int64]  # [N]: -1 if unknown

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)


def read_observed(
    cards: IntArray, n_classes: int, codes: ArrayLike | None = None, classes: ArrayLike | None = None
) -> Observed:
    """Check codes and classes; if both are None, the result is one row without observed values.

    >>> read_observed(np.array([3, 2]), 2, classes=[1, -1])
    Observed(codes=array([[3, 2],
           [3, 2]]), classes=array([ 1, -1]))
    """
    if codes is None:
        known_classes = np.array([UNKNOWN_CLASS]) if classes is None else _read_classes(classes, n_classes)
        return Observed(np.tile(np.asarray(cards, np.int64), (len(known_classes), 1)), known_classes)
    known_codes = _read_codes(codes, cards)
    if classes is None:
        return Observed(known_codes, np.full(len(known_codes), UNKNOWN_CLASS))
    known_classes = _read_classes(classes, n_classes)
    if len(known_classes) != len(known_codes):
        raise ValueError(f"codes has {len(known_codes)} rows, but classes has {len(known_classes)}")
    return Observed(known_codes, known_classes)


def _read_codes(codes: ArrayLike, cards: IntArray) -> NDArray[np.int64]:
    array = np.asarray(codes)
    if array.ndim != 2 or array.shape[1] != len(cards):
        raise ValueError(f"codes must have shape (N, {len(cards)}), one column for each feature, got {array.shape}")
    _check_integers(array, "codes")
    read = np.ascontiguousarray(array, dtype=np.int64)
    outside = np.argwhere((read < 0) | (read > cards))
    if outside.size:
        n, i = outside[0]
        raise ValueError(
            f"row {n}, feature {i}: code {read[n, i]} is outside 0 to {cards[i]}; the feature has {cards[i]} values, "
            f"and {cards[i]} means unknown"
        )
    return read


def _read_classes(classes: ArrayLike, n_classes: int) -> NDArray[np.int64]:
    array = np.asarray(classes)
    if array.ndim != 1:
        raise ValueError(f"classes must have shape (N,), one class for each row, got {array.shape}")
    _check_integers(array, "classes")
    read = np.ascontiguousarray(array, dtype=np.int64)
    outside = np.flatnonzero((read < UNKNOWN_CLASS) | (read >= n_classes))
    if outside.size:
        n = outside[0]
        raise ValueError(
            f"row {n}: class number {read[n]} is outside 0 to {n_classes - 1}; {UNKNOWN_CLASS} means unknown"
        )
    return read


def _check_integers(array: NDArray[np.generic], name: str) -> None:
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, got {array.dtype}")
