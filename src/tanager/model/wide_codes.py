"""Codes of features, and of pairs of features that are parents together."""

from __future__ import annotations

import numpy as np

from tanager import core
from tanager._threads import Crew
from tanager._types import IntArray


def wide_cards(cards: IntArray, pairs: IntArray) -> IntArray:
    """Number of values of every column that can be a parent, int64[D + P + 1]; the last is for no parent.

    >>> wide_cards(np.array([3, 2]), np.array([[0, 1]]))
    array([3, 2, 6, 1])
    """
    return np.concatenate([cards, cards[pairs[:, 0]] * cards[pairs[:, 1]], [1]])


def wide_codes(codes: IntArray, pairs: IntArray, cards: IntArray, crew: Crew | None = None) -> IntArray:
    """The codes with an additional column for each pair, [N, D + P]; without pairs, the codes themselves.

    Parameters
    ----------
    codes : int array of shape (N, D)
    pairs : int64 array of shape (P, 2)
    cards : int64 array of shape (D + P + 1,)
        From `wide_cards`. A code equal to the number of values is unknown; so is a pair with an unknown value.
    crew : Crew, optional

    Examples
    --------
    >>> pairs = np.array([[0, 1]])
    >>> wide_codes(np.array([[2, 1], [0, 2]]), pairs, wide_cards(np.array([3, 2]), pairs))
    array([[2, 1, 5],
           [0, 2, 6]], dtype=uint8)
    """
    if not len(pairs):
        return codes
    crew = crew or Crew()
    wide = np.empty((len(codes), codes.shape[1] + len(pairs)), np.min_scalar_type(int(cards.max())))
    crew.run(core.widen_codes, crew.split(len(codes)), codes, pairs, cards, wide)
    return wide
