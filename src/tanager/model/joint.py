"""Several TANs in one arena, trained jointly on the loss of their mean log-joint.

The search spaces of the members are concatenated: feature i of member m is number ``m * D + i``, and no candidate
connects two members. The kernels see ``M * D`` slots over D features and sum all of them; the training step divides
by M.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray
from tanager.model.layout import Layout, make_layout
from tanager.model.network import Network
from tanager.model.parent_distribution import ParentDistribution
from tanager.structure import NO_PARENT, ParentSets


def join_layouts(layouts: Sequence[Layout]) -> Layout:
    """One layout with the CPTs of all members.

    Parameters
    ----------
    layouts : sequence of M Layout
        With the same features and classes.

    Examples
    --------
    >>> from tanager.structure import fixed_parents
    >>> first, second = (make_layout(fixed_parents(parents), [2, 3], 2) for parents in ([-1, 0], [1, -1]))
    >>> joint = join_layouts([first, second])
    >>> joint.cpts.child, joint.parent_sets.parents
    (array([0, 1, 0, 1]), array([-1,  0,  3, -1], dtype=int32))
    """
    first = layouts[0]
    n_features = len(first.cards)
    sets = [layout.parent_sets for layout in layouts]
    starts = np.cumsum([0, *(each.n_candidates for each in sets)])
    ptr = np.concatenate([[0], *(each.ptr[1:] + start for each, start in zip(sets, starts, strict=False))])
    first_pairs = np.cumsum([len(sets) * n_features, *(len(each.pairs) for each in sets)])
    parents = []
    for m, (each, first_pair) in enumerate(zip(sets, first_pairs, strict=False)):
        shift = np.where(each.parents < n_features, m * n_features, first_pair - n_features)
        parents.append(np.where(each.parents < 0, NO_PARENT, each.parents + shift))
    pairs = np.concatenate([each.pairs + m * n_features for m, each in enumerate(sets)])
    orders = [each.order + m * n_features for m, each in enumerate(sets) if each.order is not None]
    order = np.concatenate(orders) if len(orders) == len(sets) else None
    joint = ParentSets(ptr, np.concatenate(parents).astype(np.int32), order, pairs)
    return make_layout(joint, first.cards, first.n_classes, len(layouts))


def split_distribution(distribution: ParentDistribution, n_members: int) -> list[ParentDistribution]:
    """The members' own distributions over parents, each over the features 0 to D - 1."""
    sets = distribution.parent_sets
    n_features = sets.n_features // n_members
    edges = np.arange(0, sets.n_features + 1, n_features)
    members = []
    for m, (lo, hi) in enumerate(pairwise(edges)):
        start, stop = sets.ptr[lo], sets.ptr[hi]
        parents = sets.parents[start:stop]
        is_own = sets.pairs[:, 0] // n_features == m
        first_pair = sets.n_features + int(np.flatnonzero(is_own)[0]) if is_own.any() else 0
        shift = np.where(parents < sets.n_features, m * n_features, first_pair - n_features)
        parents = np.where(parents < 0, NO_PARENT, parents - shift).astype(np.int32)
        order = None if sets.order is None else sets.order[lo:hi] - m * n_features
        own = ParentSets(sets.ptr[lo : hi + 1] - start, parents, order, sets.pairs[is_own] - m * n_features)
        members.append(ParentDistribution(own, distribution.phi[start:stop]))
    return members


def split_networks(
    layout: Layout, theta: FloatArray, log_prior: FloatArray, chosen: NDArray[np.int64]
) -> list[Network]:
    """The members as separate networks; ``chosen``, int64[M * D], holds the selected candidates."""
    return [Network.from_arena(layout, theta, log_prior, own) for own in np.split(chosen, layout.n_members)]
