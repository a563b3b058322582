"""Networks over groups of values as networks over the values, and networks with other groups of parents' values.

A network that was learned over groups g(x) of the values of each feature knows p(g(x) | parents). With the share of
each value in its group, q(x | g), counted over all classes, p(g(x) | parents) q(x | g(x)) is a network over the values
themselves, with the same class posteriors: q is the same for all classes. Where its features are parents, their groups
are the finest values that it tells apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.model.layout import Groups, Layout, check_bytes, make_groups, make_layout
from tanager.model.network import Network

# What a fit needs for each entry of such CPTs: besides the entry itself, doubles while temperatures are worked in,
# counts, and descriptions. Measured: 283 MB for 8.8 million entries of 13 trees.
_BYTES_OF_ENTRY = 32


def refine(network: Network, groups: Groups, counts: Sequence[FloatArray]) -> Network:
    """The network over values of one that was learned over groups of them.

    Parameters
    ----------
    network : Network
        Features have at most one extra parent; its values are the numbers of ``groups``.
    groups : Groups
    counts : sequence of float arrays of shape (R_i,)
        Weight of the rows with each value of each feature; one is added to each, so that no value is impossible.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> clf = TANClassifier("chow-liu", "ml", binning="quantile", max_bins=2).fit(*load_iris(return_X_y=True))
    >>> groups = make_groups([np.array([0, 0, 1])] * 4)
    >>> fine = refine(clf.network_, groups, [np.array([1.0, 3.0, 5.0])] * 4)
    >>> fine.cpt(0).sum(axis=1).round(4).tolist()
    [[1.0, 1.0, 1.0]]
    >>> odds = [np.diff(net.log_joint(np.full((1, 4), x))) for net, x in ((clf.network_, 0), (fine, 0), (fine, 1))]
    >>> bool(np.allclose(odds[0], odds[1]) and np.allclose(odds[0], odds[2]))
    True
    """
    network = network.expanded
    fine = _lay_out(network, np.diff(groups.start), groups)
    theta = np.zeros(fine.arena_size, np.float32)
    for i, of_values in enumerate(counts):
        own, smoothed = groups.of(i), of_values + 1.0
        log_share = np.log(smoothed / groups.totals(i, smoothed)[own])
        fine.cpt(theta, i)[...] = network.layout.cpt(network.theta, i)[:, own] + log_share[:, None]
    return replace(network, layout=fine, theta=theta)


def regroup(network: Network, groups: Groups) -> Network:
    """The same network with finer groups of its parents' values, such as those of `common_groups`."""
    layout = _lay_out(network, network.cards, groups)
    theta = np.zeros(layout.arena_size, np.float32)
    for i in range(network.n_features):
        layout.cpt(theta, i)[...] = regrouped_cpt(network, i, groups)
    return replace(network, layout=layout, theta=theta)


def in_common_groups(networks: Sequence[Network]) -> list[Network]:
    """The same networks with groups of their parents' values that they share (see `common_groups`)."""
    common = common_groups(networks)
    if common is None:
        return list(networks)
    n_entries = sum(_lay_out(each, each.cards, common).arena_size for each in networks)
    check_bytes(
        n_entries * _BYTES_OF_ENTRY,
        f"the CPTs of {len(networks)} trees with finer groups of values would take",
        "use companion=None, fewer members, or lower max_bins or max_categories",
    )
    return [regroup(each, common) for each in networks]


def common_groups(networks: Sequence[Network]) -> Groups | None:
    """The groups of all networks, or the coarsest ones that are finer than those of each; None if no one has any."""
    first, found = networks[0].layout.groups, [network.layout.groups for network in networks]
    if all(each is first for each in found):
        return first
    cards = networks[0].cards
    start = np.concatenate([[0], np.cumsum(cards)])
    values = np.arange(start[-1]) - np.repeat(start[:-1], cards)  # each a group of its own
    numbers = np.stack([values if each is None else each.of_value for each in found], axis=1)
    if first is not None and (numbers == numbers[:, :1]).all():
        return first
    of_feature = np.split(numbers, start[1:-1])
    return make_groups([np.unique(each, axis=0, return_inverse=True)[1].ravel() for each in of_feature])


def regrouped_cpt(network: Network, child: int, groups: Groups | None) -> FloatArray:
    """The log-CPT of a feature with a line for each of these groups of its parent's values."""
    cpt, parent = network.layout.cpt(network.theta, child), network.parents[child]
    if groups is None or parent < 0 or network.layout.groups is groups:
        return cpt
    _, a_value = np.unique(groups.of(parent), return_index=True)
    own = network.groups_of(parent)
    return cpt[a_value if own is None else own[a_value]]


def _lay_out(network: Network, cards: IntArray, groups: Groups) -> Layout:
    return make_layout(network.layout.parent_sets, cards, network.n_classes, groups=groups)
