"""Tables drawn towards the tables of the same features without a parent."""

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
