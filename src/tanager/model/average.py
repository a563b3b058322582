"""The average of several networks in log space, as one sum of CPT rows.

The mean over members of log p(x, c) has the same softmax over c as the mean of log p(c | x), because their difference
does not depend on c. It is a sum of scaled CPT rows, and the CPTs with the same child and parents can be added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager._types import Cpts, FloatArray, IntArray
from tanager.model.layout import Groups, grouped_codes, padded, wide_cards
from tanager.model.network import Network, as_codes, check_codes
from tanager.model.refining import common_groups, regrouped_cpt


@dataclass(frozen=True)
class LogAverage:
    """Mean log-joint of networks over the same features; made by `average_networks`.

    Attributes
    ----------
    members : tuple of Network
    cpts : Cpts
        One slot for each distinct combination of child and parents among the members.
    theta : float32 array
        Summed and scaled CPTs.
    log_prior : float64 array of shape (C,)
    pairs : int64 array of shape (P, 2)
        Features of the pairs that are parents in CPTs; usually empty.
    groups : Groups or None
        Groups of parents' values; where those of members differ, the values that no member tells apart.
    """

    members: tuple[Network, ...]
    cpts: Cpts
    theta: FloatArray
    log_prior: FloatArray
    pairs: IntArray
    groups: Groups | None

    @property
    def n_parameters(self) -> int:
        """Number of CPT entries and class terms."""
        return int(self.cpts.offset[-1]) + len(self.log_prior)

    def log_joint(self, codes: IntArray, n_threads: int = 1) -> FloatArray:
        """Mean log-joint of the members, float64[N, C].

        Each member sums out the unknown values of a row separately; the results are averaged.
        """
        array = as_codes(codes, self.members[0].n_features)
        wide = array if self.groups is None else grouped_codes(array, self.groups, n_threads)
        log_joint, incomplete = self._predictor.log_joint(wide, n_threads)
        if incomplete is not None:
            check_codes(array, self.members[0].cards)
            part = array[incomplete]
            log_joint[incomplete] = np.mean([member.log_joint(part) for member in self.members], axis=0)
        return log_joint

    @cached_property
    def _predictor(self) -> core.Predictor:
        return core.Predictor(self.theta, self.log_prior, tuple(self.cpts), self.pairs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_predictor"}


def average_networks(members: Sequence[Network]) -> LogAverage:
    """Merge networks with equal weight."""
    first = members[0]
    groups = common_groups(members)
    n_classes = first.n_classes
    share = np.float32(1.0 / len(members))
    merged: dict[tuple[int, int, int], NDArray[np.float32]] = {}
    for member in members:
        for child, parents in enumerate(member.extra_parents.tolist()):
            cpt = regrouped_cpt(member, child, groups) * share
            key = (child, *parents)
            merged[key] = merged[key] + cpt if key in merged else cpt
    edges = sorted(merged)
    sizes = [merged[edge].size for edge in edges]
    theta = np.zeros(sum(sizes) + padded(n_classes), np.float32)
    theta[: sum(sizes)] = np.concatenate([merged[edge].ravel() for edge in edges])
    pairs = sorted({(a, b) for _, a, b in edges if b >= 0})
    pair_array = np.array(pairs, np.int64).reshape(-1, 2)
    cards, first_parent = wide_cards(first.cards, pair_array), 0
    if groups is not None:
        cards, first_parent = np.concatenate([first.cards, groups.cards, [1]]), first.n_features
    columns: dict[tuple[int, int], int] = {pair: first.n_features + p for p, pair in enumerate(pairs)}
    columns |= {(j, -1): first_parent + j for j in range(first.n_features)} | {(-1, -1): len(cards) - 1}
    cpts = Cpts(
        child=np.array([child for child, *_ in edges]),
        ptr=np.arange(len(edges) + 1),
        parent=np.array([columns[a, b] for _, a, b in edges]),
        offset=np.concatenate([[0], np.cumsum(sizes)]),
        cards=cards,
    )
    log_prior = np.mean([member.log_prior for member in members], axis=0)
    return LogAverage(tuple(members), cpts, theta, log_prior, pair_array, groups)
