"""Search spaces in which a feature may have two extra parents: pairs added to the candidates of a search space.

A CPT with the parents a and b has ``R_a R_b R_i C`` entries. Pairs whose CPT would exceed a limit are left out, since
it would take too much memory, or too many rows to learn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.structure.orderings import Rng, check_int_vector
from tanager.structure.parent_sets import ParentSets


@dataclass(frozen=True)
class PairRule:
    """Which pairs become candidates.

    Attributes
    ----------
    n_pairs : int
        Number of pairs per feature, or all if there are fewer.
    max_cells : int
        Maximum number of entries ``R_a * R_b * R_i`` of a CPT per class.
    n_random : int
        How many of the pairs are random if there are scores; without scores all are.
    """

    n_pairs: int
    max_cells: int
    n_random: int = 0


def with_pairs(
    parent_sets: ParentSets, cards: ArrayLike, rule: PairRule, rng: Rng, scores: ArrayLike | None = None
) -> ParentSets:
    """Add pairs of its candidates to the candidates of each feature.

    Parameters
    ----------
    parent_sets : ParentSets
        Without pairs. If it is ordered, so is the result.
    cards : int array of shape (D,)
        Number of values of each feature. Features with a single value form no pairs, which would add nothing to the
        other feature.
    rule : PairRule
    rng : numpy Generator or RandomState
        Used for one permutation per feature, in turn.
    scores : float array of shape (D, D), optional
        ``scores[i, j]`` rates j as a parent of i; pairs with the highest sum come first.

    Returns
    -------
    ParentSets
        The original candidates, then pairs, best first, then random pairs.

    Examples
    --------
    >>> from tanager.structure import all_candidates
    >>> rule = PairRule(n_pairs=2, max_cells=12)
    >>> with_pairs(all_candidates([0, 1, 2, 3]), [2, 2, 2, 3], rule, np.random.default_rng(0)).to_lists()
    [[-1], [-1, 0], [-1, 0, 1, (0, 1)], [-1, 0, 1, 2, (1, 2), (0, 1)]]
    """
    n_values = check_int_vector(cards, "cards")
    matrix = None if scores is None else np.asarray(scores, np.float64)
    lists = parent_sets.to_lists()
    for i, candidates in enumerate(lists):
        first, second = _open_pairs(parent_sets.candidates_of(i), n_values, rule.max_cells // int(n_values[i]))
        drawn = rng.permutation(len(first))
        if matrix is not None:
            ranked = np.argsort(-(matrix[i, first] + matrix[i, second]), kind="stable")
            best = ranked[: rule.n_pairs - rule.n_random]
            drawn = np.concatenate([best, drawn[~np.isin(drawn, best)]])
        taken = drawn[: rule.n_pairs]
        candidates.extend(zip(first[taken].tolist(), second[taken].tolist(), strict=True))
    return ParentSets.from_lists(lists, parent_sets.order)


def _open_pairs(
    candidates: NDArray[np.int32], cards: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of candidates, smaller number first, with at most ``most`` combined values."""
    parents = np.sort(candidates[candidates >= 0]).astype(np.int64)
    parents = parents[cards[parents] > 1]
    first, second = (parents[side] for side in np.triu_indices(len(parents), 1))
    is_open = cards[first] * cards[second] <= most
    return first[is_open], second[is_open]
