"""The network that describes the data: a structure with counted CPTs, smoothed as much as the data say.

A network that is trained to tell the classes apart has other probabilities than the data. This one has theirs:
frequencies that back off to coarser ones (see `tanager.model.backoff`). Rows that are left out in turn say how well
that describes rows that were not counted.

The tree that describes rows best is that of Chow and Liu (1968), given the class: the one of the largest mutual
information. Features that have nothing to do with each other seem to have some, by chance: (R_i - 1) (R_j - 1) C / 2
nats over all rows. That is taken off, so that pairs of many values have no advantage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tanager._threads import Crew
from tanager._types import Cpts, FloatArray, IntArray
from tanager.model.backoff import Counted, Smoothed, best_prior_rows, smooth
from tanager.model.cpt_counts import CptCounts, conditional_mutual_information, count_rows
from tanager.model.layout import Groups, Layout, grouped_codes, make_layout
from tanager.model.network import Network
from tanager.structure import NO_PARENT, fixed_parents, maximum_spanning_tree

_MOST_PAIRS_OF_CELLS = 2e9  # that a tree is chosen by, over all pairs of features; some seconds
_CLEARLY = 1.01  # times the surprise of the best tree, beyond which a tree does not describe rows well enough


class Description(NamedTuple):
    """A network that describes the data, and how well."""

    network: Network
    surprise: float  # mean of -log p(x, c) of rows that are left out in turn, in nats
    information: FloatArray  # float64[D]: how much more probable its parents make the value of each feature


def describe(counts: CptCounts) -> Description:
    """The network of a structure with the probabilities of the data.

    Its information is the mean of log p(x_i | x_parent, c) - log p(x_i | c), with each row left out of the frequencies
    in its turn, so that a parent that tells nothing gets about zero or less. Features without a parent have zero.

    Parameters
    ----------
    counts : CptCounts
        Of the rows, in a layout with one candidate for each feature.

    Examples
    --------
    >>> from tanager.structure import fixed_parents
    >>> layout = make_layout(fixed_parents([-1, 0]), [2, 2], n_classes=1)
    >>> counts = CptCounts.empty(layout)
    >>> counts.add(np.array([[0, 0], [1, 1]]).repeat(50, axis=0), np.zeros(100, np.int64))
    >>> found = describe(counts)
    >>> found.network.cpt(1)[:, :, 0].round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> found.information.round(1)
    array([0. , 0.7])
    """
    counted, layout = Counted.of(counts), counts.layout
    smoothed = (
        counted.smoothed() if layout.groups is None else _smoothed_in_groups(layout, layout.groups, counted.cells)
    )
    n_rows = max(float(counted.classes.sum()), 1.0)
    surprise = -float(counted.classes @ np.log(np.maximum(counted.classes, 1.0) / n_rows)) / n_rows
    is_seen = counted.cells > 0
    log_left_out = np.log(smoothed.left_out, where=is_seen, out=np.zeros(layout.size))
    totals = np.add.reduceat([counted.cells, counted.cells * log_left_out], layout.cpts.offset[:-1], axis=1)
    surprise -= float((totals[1] / np.maximum(totals[0], 1.0)).sum())
    return Description(counted.network(np.log(smoothed.values)), surprise, smoothed.gains)


def _smoothed_in_groups(layout: Layout, groups: Groups, cells: FloatArray) -> Smoothed:
    """Frequencies of groups of values, and of the values within each group, smoothed apart from each other.

    Many fine bins need more smoothing than what is known of them together. The values of each group have a CPT of their
    own, and it is found for each of these how much coarser frequencies count for.
    """
    n_above, n_classes = layout.cpts.cards[layout.cpts.parent], layout.n_classes
    sizes = [np.bincount(groups.of(i)) for i in range(len(n_above))]
    n_groups = groups.cards.astype(np.int64)
    coarse = _cpts(n_groups, n_above, n_classes)
    fine = _cpts(np.concatenate(sizes), np.repeat(n_above, n_groups), n_classes)
    in_coarse, in_fine = (np.concatenate(each) for each in zip(*_places(groups, n_above, sizes), strict=True))
    lines = cells.reshape(-1, n_classes)
    of_groups, within = np.zeros((coarse.offset[-1] // n_classes, n_classes)), np.empty_like(lines)
    np.add.at(of_groups, in_coarse, lines)
    within[in_fine] = lines
    first, second = (
        smooth(cpts, each.ravel(), n_classes, best_prior_rows(cpts, each.ravel(), n_classes))
        for cpts, each in ((coarse, of_groups), (fine, within))
    )
    values, left_out = (
        (own.reshape(-1, n_classes)[in_coarse] * each.reshape(-1, n_classes)[in_fine]).ravel()
        for own, each in zip(first[:2], second[:2], strict=True)
    )
    # What a parent tells about the groups, and about the values in a group, for the rows that have it.
    n_rows = np.add.reduceat(within.ravel(), fine.offset[:-1])
    starts = np.cumsum(n_groups) - n_groups
    of_feature = np.maximum(np.add.reduceat(n_rows, starts), 1.0)
    return Smoothed(values, left_out, first.gains + np.add.reduceat(n_rows * second.gains, starts) / of_feature)


def _cpts(n_values: IntArray, n_above: IntArray, n_classes: int) -> Cpts:
    """CPTs with so many values of a child and a parent, one after the other."""
    slots = np.arange(len(n_values))
    offset = np.concatenate([[0], np.cumsum(n_values * n_above * n_classes)])
    return Cpts(slots, np.arange(len(slots) + 1), len(slots) + slots, offset, np.concatenate([n_values, n_above]))


def _places(groups: Groups, n_above: IntArray, sizes: Sequence[IntArray]) -> Iterator[tuple[IntArray, IntArray]]:
    """Where the lines of each CPT are among those of groups, and among those of values in the order of groups."""
    n_coarse = n_fine = 0
    for i, (n_lines, own) in enumerate(zip(n_above.tolist(), sizes, strict=True)):
        group, line = groups.of(i), np.arange(n_lines)[:, None]
        starts, rank = np.cumsum(own) - own, np.empty(len(group), np.int64)
        rank[np.argsort(group, kind="stable")] = np.arange(len(group)) - np.repeat(starts, own)
        yield (
            n_coarse + (line * len(own) + group).ravel(),
            n_fine + (n_lines * starts[group] + line * own[group] + rank).ravel(),
        )
        n_coarse, n_fine = n_coarse + n_lines * len(own), n_fine + n_lines * len(group)


def clearer_description(
    learned: Description, rows: tuple[IntArray, IntArray, FloatArray], count: Callable[[Layout], CptCounts], crew: Crew
) -> Description | None:
    """The description by the best tree, if that is clearly better than the description by a structure that was learned.

    Parameters
    ----------
    learned : Description
    rows : codes (N, D), classes (N,) and weights (N,)
    count : callable
        Counts the rows in a layout.
    crew : Crew
    """
    best = describe(count(_best_tree(learned.network.layout, *rows, crew)))
    return best if learned.surprise > _CLEARLY * best.surprise else None


def _best_tree(like: Layout, codes: IntArray, y: IntArray, weight: FloatArray, crew: Crew) -> Layout:
    """The tree that describes the rows best, with the values and groups of a layout.

    Features that tell nothing of others have no parent.
    """
    n_features = codes.shape[1]
    step = -(-len(y) * n_features**2 // int(2 * _MOST_PAIRS_OF_CELLS))
    codes, y, weight = np.ascontiguousarray(codes[::step]), y[::step].copy(), weight[::step].copy()
    cards = like.cards
    if like.groups is not None:
        codes, cards = grouped_codes(codes, like.groups)[:, n_features:], like.groups.cards
    scores = conditional_mutual_information(codes, y, weight, cards.astype(np.int64), crew)
    by_chance = like.n_classes / (2 * max(count_rows(weight), 1.0))
    scores -= by_chance * np.outer(cards - 1.0, cards - 1.0)
    parents = maximum_spanning_tree(scores)
    parents[scores[np.arange(n_features), parents] <= 0] = NO_PARENT
    return make_layout(fixed_parents(parents), like.cards, like.n_classes, groups=like.groups)
