"""Positions of the features of a learned structure in a list: each on its own line, indented below its parent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._types import IntArray
from tanager.structure import find_cycle


class TreeLayout(NamedTuple):
    """Line and indentation of each feature, int64[D] each."""

    row: NDArray[np.int64]
    depth: NDArray[np.int64]


def lay_out_tree(parents: IntArray) -> TreeLayout:
    """Give each feature a line below its parent; siblings with few descendants come first.

    If the parents form a cycle, as in a pseudo-TAN, it is cut above one of its features.

    Parameters
    ----------
    parents : int array of shape (D,)
        Extra parent of each feature, -1 for none.

    Examples
    --------
    >>> lay_out_tree([1, -1, 1, 0])
    TreeLayout(row=array([2, 0, 1, 3]), depth=array([1, 0, 1, 2]))
    """
    above = _without_cycles(np.asarray(parents, np.int64))
    children: list[list[int]] = [[] for _ in above]
    for child, parent in enumerate(above.tolist()):
        if parent >= 0:
            children[parent].append(child)
    sizes = _sizes(above, children)
    row, depth = np.zeros_like(above), np.zeros_like(above)
    stack = [(i, 0) for i in _by_size(np.flatnonzero(above < 0).tolist(), sizes)]
    n_placed = 0
    while stack:
        feature, level = stack.pop()
        row[feature], depth[feature] = n_placed, level
        n_placed += 1
        stack.extend((child, level + 1) for child in _by_size(children[feature], sizes))
    return TreeLayout(row, depth)


def _without_cycles(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    above = parents.copy()
    while (cycle := find_cycle(above)) is not None:
        above[min(cycle)] = -1
    return above


def _sizes(above: NDArray[np.int64], children: list[list[int]]) -> NDArray[np.int64]:
    """Number of descendants of each feature, itself included."""
    order = np.flatnonzero(above < 0).tolist()
    for feature in order:  # grows during the loop: every feature comes after its parent
        order.extend(children[feature])
    sizes = np.ones_like(above)
    for feature in reversed(order):
        if above[feature] >= 0:
            sizes[above[feature]] += sizes[feature]
    return sizes


def _by_size(features: list[int], sizes: NDArray[np.int64]) -> list[int]:
    """Largest first, since the last on the stack is placed first."""
    return sorted(features, key=lambda feature: (-sizes[feature], -feature))
