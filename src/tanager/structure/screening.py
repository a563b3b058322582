"""Search spaces of screened candidates: those with the highest pair scores, alone or combined with random ones.

A score looks at pairs of features only, so it may miss the better parent in a tree. Additional random candidates make
up for that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.structure.orderings import Rng, check_max_parents, check_order
from tanager.structure.parent_sets import NO_PARENT, ParentSets


def screened_candidates(
    scores: ArrayLike,
    k: int,
    *,
    n_random: int = 0,
    rng: Rng | None = None,
    order: ArrayLike | None = None,
    is_allowed: NDArray[np.bool_] | None = None,
) -> ParentSets:
    """Return, for each feature, no parent, the parents of highest score, and some random ones.

    Parameters
    ----------
    scores : float array of shape (D, D)
        ``scores[i, j]`` rates feature j as a parent of feature i. The diagonal is ignored. Ties go to the feature with
        the smaller number.
    k : int
        Number of candidate parents of a feature, from 1 to D - 1, or all if there are fewer.
    n_random : int, default=0
        How many of the ``k`` are drawn at random from the remaining features.
    rng : numpy Generator or RandomState, optional
        Required for random candidates. Used for one ``rng.permutation(D)`` per feature.
    order : int array of shape (D,), optional
        If given, candidates precede their child, and every structure is acyclic.
    is_allowed : bool array of shape (D, D), optional
        ``is_allowed[i, j]``: whether feature j may be a candidate of feature i.

    Returns
    -------
    ParentSets
        "No parent" comes first, then screened candidates, best first, then random ones.

    Examples
    --------
    >>> scores = [[0, 3, 2], [3, 0, 1], [2, 1, 0]]
    >>> screened_candidates(scores, 1).to_lists()
    [[-1, 1], [-1, 0], [-1, 0]]
    >>> screened_candidates(scores, 2, order=[2, 1, 0]).to_lists()
    [[-1, 1, 2], [-1, 2], [-1]]
    """
    matrix = _check_scores(scores)
    n_features = len(matrix)
    k = check_max_parents(k, n_features)
    if not 0 <= n_random <= k:
        raise ValueError(f"n_random must be from 0 to max_parents={k}, got {n_random!r}")
    if n_random and rng is None:
        raise ValueError("random candidates require rng; give it, or use n_random=0")
    position = None if order is None else np.argsort(check_order(order))
    lists = []
    for i in range(n_features):
        is_open = np.arange(n_features) != i if position is None else position < position[i]
        if is_allowed is not None:
            is_open = is_open & is_allowed[i]
        ranked = np.argsort(-matrix[i], kind="stable")
        best = ranked[is_open[ranked]][: k - n_random]
        is_open[best] = False
        drawn = _draw(is_open, rng)[:n_random]
        lists.append([NO_PARENT, *best.tolist(), *drawn.tolist()])
    return ParentSets.from_lists(lists, order)


def _draw(is_open: NDArray[np.bool_], rng: Rng | None) -> NDArray[np.int64]:
    """The features that are still available, in random order."""
    if rng is None:
        return np.empty(0, np.int64)
    drawn = rng.permutation(len(is_open))
    return drawn[is_open[drawn]]


def _check_scores(scores: ArrayLike) -> NDArray[np.float64]:
    matrix = np.asarray(scores, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"scores must be a square matrix, got shape {matrix.shape}")
    strays = np.argwhere(~np.isfinite(matrix) & ~np.eye(len(matrix), dtype=bool))
    if strays.size:
        i, j = strays[0]
        raise ValueError(f"scores[{i}, {j}] is {matrix[i, j]}, but scores must be finite")
    return matrix
