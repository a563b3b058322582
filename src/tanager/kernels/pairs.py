"""Codes of pairs of features: the pair (a, b) has the code ``x_a R_b + x_b``, and is unknown where one of them is."""

from __future__ import annotations

import numpy as np

from tanager._jit import inlined, kernel
from tanager._types import IntArray


@inlined
def _pair_code(x, y, card_x, card_y):  # type: ignore[no-untyped-def]
    return x * card_y + y if (x < card_x) & (y < card_y) else card_x * card_y


@kernel
def fill_pair_lines(pairs: IntArray, cards: IntArray, batch: IntArray) -> None:
    """Fill the lines of the P pairs, which follow those of the D features, in ``batch[D + P + 1, B]``."""
    n_features = batch.shape[0] - 1 - pairs.shape[0]
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        first, second, out = batch[a], batch[b], batch[n_features + p]
        card_a, card_b = np.int32(cards[a]), np.int32(cards[b])
        for n in range(out.shape[0]):
            out[n] = _pair_code(first[n], second[n], card_a, card_b)


@kernel
def widen_codes(lo: int, hi: int, codes: IntArray, pairs: IntArray, cards: IntArray, wide: IntArray) -> None:
    """Fill rows lo to hi of ``wide[N, D + P]`` with the codes of the features and of the pairs."""
    n_features = codes.shape[1]
    for n in range(lo, hi):
        row, out = codes[n], wide[n]
        for i in range(n_features):
            out[i] = row[i]
        for p in range(pairs.shape[0]):
            a, b = pairs[p, 0], pairs[p, 1]
            out[n_features + p] = _pair_code(np.int64(row[a]), np.int64(row[b]), cards[a], cards[b])
