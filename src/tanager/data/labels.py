"""What the codes of a column stand for, in words: for frames, pictures and other programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tanager._types import IntArray
from tanager.data.coders import CategoryColumn, NumericColumn

MISSING_LABEL = "missing"
POOLED_LABEL = "other"

_LONGEST_LIST = 40  # characters of the names in a group; those of more are counted
_LEAST_WITH_EXPONENT = 1e9
_LONGEST_NUMBER = 10  # characters of a single number that is shown with all its digits


def value_labels(column: NumericColumn | CategoryColumn) -> list[str]:
    """One label for each code of a column, all different.

    A bin in which training showed a single number has that number for its label. Others are labelled by the whole
    numbers in them if the cuts suggest that the column has no others.

    Examples
    --------
    >>> value_labels(NumericColumn(np.array([2.5, 10.0]), has_missing=True))
    ['< 2.5', '2.5 to 10', '>= 10', 'missing']
    >>> value_labels(NumericColumn(np.array([0.5, 1.5, 4.5])))
    ['< 1', '1', '2 to 4', '>= 5']
    >>> value_labels(CategoryColumn(np.array(["blue", "red"], dtype=object)))
    ['blue', 'red']
    """
    if isinstance(column, NumericColumn):
        label = _range_labeller(column.cuts.tolist())
        single = column.contents.single_values()
        texts = _single_texts([value for value in single if value is not None])
        labels = [label(code, code) if value is None else texts[value] for code, value in enumerate(single)]
    else:
        labels = [_text(value) for value in column.categories.tolist()]
        if column.pooled.size:
            labels.append(POOLED_LABEL)
    if column.has_missing:
        labels.append(MISSING_LABEL)
    return unique_labels(labels)


def group_labels(column: NumericColumn | CategoryColumn, groups: IntArray) -> list[str]:
    """One label for each group of the codes of a column, all different.

    Neighbouring bins are labelled by the range that they cover together. Categories are listed, as far as they fit.

    Parameters
    ----------
    column : NumericColumn or CategoryColumn
    groups : int array of shape (column.card,)
        Group of each code, numbered from 0 on.

    Examples
    --------
    >>> group_labels(NumericColumn(np.array([1.2, 2.3, 3.4]), has_missing=True), np.array([0, 1, 1, 2, 3]))
    ['< 1.2', '1.2 to 3.4', '>= 3.4', 'missing']
    >>> group_labels(CategoryColumn(np.array(["blue", "green", "red"], dtype=object)), np.array([1, 0, 1]))
    ['green', 'blue, red']
    """
    names = value_labels(column)
    n_bins = column.cuts.size + 1 if isinstance(column, NumericColumn) else 0
    label = _range_labeller(column.cuts.tolist()) if isinstance(column, NumericColumn) else None
    labels = []
    for group in range(int(groups.max()) + 1):
        codes = np.flatnonzero(groups == group)
        runs = [] if label is None else _runs(codes[codes < n_bins].tolist())
        ranges = [names[first] if first == last or label is None else label(first, last) for first, last in runs]
        labels.append(_join([*ranges, *(names[code] for code in codes[codes >= n_bins].tolist())]))
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


def _range_labeller(cuts: list[float]) -> Callable[[int, int], str]:
    """A function from the first and the last of some neighbouring bins to the label of the range that they cover."""
    if _are_between_whole_numbers(cuts):
        lowest = [math.ceil(cut) for cut in cuts]
        lows, highs = [str(number) for number in lowest], [str(number - 1) for number in lowest]
    else:
        lows = highs = _cut_texts(cuts)

    def label(first: int, last: int) -> str:
        if first == 0:
            return "any" if last == len(cuts) else f"< {lows[last]}"
        low = lows[first - 1]
        if last == len(cuts):
            return f">= {low}"
        return low if low == highs[last] else f"{low} to {highs[last]}"

    return label


def _are_between_whole_numbers(cuts: list[float]) -> bool:
    """Whether cuts are such as whole numbers have: in the middle between two, and mostly between neighbours.

    A single cut may lie there by chance. Where the training data have a gap, a cut is a whole number itself.
    """
    halves = [2 * cut for cut in cuts]
    is_between = [half % 2 == 1 for half in halves]
    if len(cuts) < 2 or not all(half.is_integer() for half in halves) or 2 * sum(is_between) <= len(cuts):
        return False
    return all(math.ceil(low) < math.ceil(high) for low, high in pairwise(cuts))


def _cut_texts(cuts: list[float]) -> list[str]:
    """Cuts with as many digits as keep neighbours apart."""
    texts = _apart(cuts, 4)
    # Numbers such as 3.379e+04 are hard to read.
    return [
        f"{float(text):.0f}" if "e+" in text and abs(float(text)) < _LEAST_WITH_EXPONENT else text for text in texts
    ]


def _single_texts(values: list[float]) -> dict[float, str]:
    """The text of each number that has a bin of its own; a long one has as many digits as keep them apart.

    >>> _single_texts([0.1, -5.535652774370123, 123456789012.0])
    {0.1: '0.1', -5.535652774370123: '-5.535653', 123456789012.0: '123456789012.0'}
    """
    exact, short = map(_text, values), _apart(values, 7)
    return {
        value: text if len(text) <= _LONGEST_NUMBER or value.is_integer() else shorter
        for value, text, shorter in zip(values, exact, short, strict=True)
    }


def _apart(numbers: list[float], fewest: int) -> list[str]:
    """Numbers with as many digits as keep them apart, and no fewer than these."""
    digits = next((n for n in range(fewest, 17) if len({f"{each:.{n}g}" for each in numbers}) == len(numbers)), 17)
    return [f"{each:.{digits}g}" for each in numbers]


def _runs(codes: list[int]) -> list[tuple[int, int]]:
    """First and last of each run of neighbouring codes.

    >>> _runs([0, 1, 2, 5, 7, 8])
    [(0, 2), (5, 5), (7, 8)]
    """
    starts = [code for k, code in enumerate(codes) if k == 0 or code > codes[k - 1] + 1]
    ends = [code for k, code in enumerate(codes) if k == len(codes) - 1 or code + 1 < codes[k + 1]]
    return list(zip(starts, ends, strict=True))


def _join(names: list[str]) -> str:
    """Names in a list, of which the first are written out if it would be too long.

    >>> _join(["Holand-Netherlands", "Honduras", "Hong", "Hungary", "Yugoslavia"])
    'Holand-Netherlands, Honduras, Hong and 2 more'
    """
    lengths = np.cumsum([len(name) + 2 for name in names])
    n_shown = max(1, int(np.searchsorted(lengths, _LONGEST_LIST, side="right")))
    n_more = len(names) - n_shown
    return ", ".join(names[:n_shown]) + (f" and {n_more} more" if n_more > 0 else "")


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and value.is_integer() and abs(value) < 1e6 else str(value)
