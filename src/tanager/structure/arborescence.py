"""The best forest among free candidates: a maximum arborescence.

A search without an order may end in cycles. The forest of largest summed score has one candidate for each feature and
no cycle; "no parent" is an edge from a virtual root.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.core import best_forest
from tanager.structure.parent_sets import NO_PARENT, ParentSets


def maximum_arborescence(parent_sets: ParentSets, scores: ArrayLike) -> NDArray[np.int64]:
    """Choose one candidate for each feature, without cycles, that maximise the sum of the scores.

    Parameters
    ----------
    parent_sets : ParentSets
        Of D features; each must be reachable from one that has "no parent" among its candidates.
    scores : float array of shape (E,)
        Score of each candidate, for instance its log-probability.

    Returns
    -------
    int64 array of shape (D,)
        Index of the chosen candidate of each feature.

    Examples
    --------
    >>> sets = ParentSets.from_lists([[-1, 1], [-1, 0]])
    >>> chosen = maximum_arborescence(sets, [0.0, 3.0, 0.0, 2.0])
    >>> sets.select(chosen)
    array([ 1, -1])
    """
    weight = np.array(scores, np.float64)
    if weight.shape != (parent_sets.n_candidates,):
        raise ValueError(f"scores must have one entry for each of {parent_sets.n_candidates} candidates")
    n_features = parent_sets.n_features
    parent = parent_sets.parents.astype(np.int64)
    parent[parent == NO_PARENT] = n_features
    chosen = np.empty(n_features, np.int64)
    lost = best_forest(weight, parent_sets.ptr.astype(np.int64), parent, chosen)
    if lost >= 0:
        raise ValueError(f"feature {lost}: no forest is possible; add -1, no parent, to the candidates")
    return chosen
