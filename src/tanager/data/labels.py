"""What the codes of a column stand for, in words: for frames, pictures and other programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tanager.data.coders import CategoryColumn, NumericColumn

MISSING_LABEL = "missing"
POOLED_LABEL = "other"


def value_labels(column: NumericColumn | CategoryColumn) -> list[str]:
    """One label for each code of a column, all different.

    Examples
    --------
    >>> import numpy as np
    >>> value_labels(NumericColumn(np.array([2.5, 10.0]), has_missing=True))
    ['< 2.5', '2.5 to 10', '>= 10', 'missing']
    >>> value_labels(CategoryColumn(np.array(["blue", "red"], dtype=object)))
    ['blue', 'red']
    """
    if isinstance(column, NumericColumn):
        labels = _bin_labels(column.cuts.tolist())
    else:
        labels = [_text(value) for value in column.categories.tolist()]
        if column.pooled.size:
            labels.append(POOLED_LABEL)
    if column.has_missing:
        labels.append(MISSING_LABEL)
    return unique_labels(labels)


def unique_labels(labels: Sequence[str]) -> list[str]:
    """Labels with a number behind those that stand for something before them already.

    >>> unique_labels(["a", "b", "a", "a"])
    ['a', 'b', 'a (2)', 'a (3)']
    """
    taken: set[str] = set()
    unique = []
    for label in labels:
        number, candidate = 1, label
        while candidate in taken:
            number += 1
            candidate = f"{label} ({number})"
        taken.add(candidate)
        unique.append(candidate)
    return unique


def _bin_labels(cuts: list[float]) -> list[str]:
    """Labels of bins, with as many digits as keep neighbouring cuts apart."""
    if not cuts:
        return ["any"]
    digits = next((n for n in range(4, 17) if len({f"{cut:.{n}g}" for cut in cuts}) == len(cuts)), 17)
    texts = [f"{cut:.{digits}g}" for cut in cuts]
    inner = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"< {texts[0]}", *inner, f">= {texts[-1]}"]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value.is_integer() and abs(value) < 1e6 else str(value)
