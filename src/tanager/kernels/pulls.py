"""Tables drawn towards those of the same features without a parent, and lines of tables towards their neighbours."""

from __future__ import annotations

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray, Tables


@kernel
def shrink_tables(
    lo: int,
    hi: int,
    theta: FloatArray,
    tables: Tables,
    selected: IntArray,
    goals: FloatArray,
    goal_offset: IntArray,
    share: float,
) -> None:
    """Move the selected tables of slots lo to hi by ``share`` of the way to their goals.

    The goal of child i is ``goals[goal_offset[i]:goal_offset[i + 1]]``, read as ``[x_i, c]``, for every value of the
    parent. Tables without a parent stay. What a table's normaliser loses by the move, its next update restores.
    """
    n_features = tables.cards.shape[0] - 1
    part = np.float32(share)
    for s in range(lo, hi):
        e, i = selected[s], tables.child[s]
        if tables.parent[e] == n_features:
            continue
        goal = goals[goal_offset[i] : goal_offset[i + 1]]
        table = theta[tables.offset[e] : tables.offset[e + 1]]
        for j in range(tables.cards[tables.parent[e]]):
            block = table[j * goal.shape[0] : (j + 1) * goal.shape[0]]
            for k in range(goal.shape[0]):
                block[k] += part * (goal[k] - block[k])


@kernel
def smooth_tables(
    lo: int, hi: int, theta: FloatArray, tables: Tables, selected: IntArray, n_ordered: IntArray, share: float
) -> None:
    """Let neighbouring lines of the selected tables of slots lo to hi exchange ``share`` of their difference.

    The first ``n_ordered[i]`` values of column i are in order: lines of values that follow each other are neighbours,
    for the child and for the parent. This is one explicit step of the diffusion equation.
    """
    largest = 0
    for s in range(lo, hi):
        e = selected[s]
        largest = max(largest, tables.offset[e + 1] - tables.offset[e])
    scratch = np.empty(largest, np.float32)
    part = np.float32(share)
    for s in range(lo, hi):
        e, i = selected[s], tables.child[s]
        table = theta[tables.offset[e] : tables.offset[e + 1]]
        before = scratch[: table.shape[0]]
        before[:] = table
        slab = table.shape[0] // tables.cards[tables.parent[e]]
        line = slab // tables.cards[i]
        n_moving = (n_ordered[i] - 1) * line
        for j in range(tables.cards[tables.parent[e]] if n_moving > 0 else 0):
            first = j * slab
            _exchange(before[first : first + n_moving + line], table[first : first + n_moving + line], line, part)
        n_lines = n_ordered[tables.parent[e]] * slab
        if n_lines > slab:
            _exchange(before[:n_lines], table[:n_lines], slab, part)


@kernel
def _exchange(before: FloatArray, table: FloatArray, step: int, part: float) -> None:
    """Move entries that are ``step`` apart towards each other by ``part`` of their difference before."""
    n_pairs = table.shape[0] - step
    low, high, gain, loss = before[:n_pairs], before[step:], table[:n_pairs], table[step:]
    for k in range(n_pairs):
        gain[k] += part * (high[k] - low[k])
    for k in range(n_pairs):
        loss[k] -= part * (high[k] - low[k])
