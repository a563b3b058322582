"""Companions of an ensemble: further trees, learned in another way, whose log-odds are added to its own.

Trees of smooth effects over fine bins and trees that were trained for a margin over coarse bins make different
mistakes, so that a weighted sum of their log-odds is often better than either. The weights are found on held-out rows,
as a temperature is (see `tanager.learning.choosing`).

A companion is learned over groups of the values that the ensemble has: those that the MDL method keeps apart where
values are in order, levels of ordered categories included, and the most frequent ones where they are not. It is then
written as networks over the values, so that all members have the same bins and are averaged like any others: weights
become temperatures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tanager._options import Options, check_number
from tanager._types import FloatArray, IntArray
from tanager.data.mdlp import MDLPBinning, MixedBinning
from tanager.learning.context import Context
from tanager.learning.ensembles import ENSEMBLE_PRESETS, EnsembleRecipe, Learned
from tanager.learning.members import MEMBERS
from tanager.learning.recipes import PARAMETERS, as_parameters
from tanager.learning.rows import Rows
from tanager.model import Groups, can_temper, group_values, in_common_groups, make_groups, refine, temper

MOST_CATEGORIES = 64
"""Words that are kept apart; the rarest of more are put together."""


class Companion(Options):
    """Trees of another kind beside those of an ensemble.

    Parameters
    ----------
    members : Members or str, default=DisjointTrees(5)
        Where the structures of the companion's trees come from; they must be forests.
    parameters : Parameters or str
        How they are learned, jointly, so that it must be `GradientDescent` or `PenalisedLikelihood`. By default they
        are trained for a margin, smoothly.
    own_weight : float, above 0, default=0.6
        What the mean log-odds of the ensemble's own trees are multiplied by. The defaults of both weights are about
        what held-out rows ask for on the data sets of docs/defaults.md.
    weight : float, above 0, default=0.15
        The same for those of the companion's trees, which are surer of themselves.

    Notes
    -----
    Where rows are a sample of more rows than memory holds, a companion is learned from the sample.

    Examples
    --------
    >>> from tanager import DisjointTrees, GradientDescent, Margin, PenalisedLikelihood, TANEnsembleClassifier
    >>> companion = Companion(DisjointTrees(4), GradientDescent(Margin()), own_weight=0.7, weight=0.2)
    >>> clf = TANEnsembleClassifier(DisjointTrees(2, "residual"), PenalisedLikelihood(), companion=companion)
    >>> clf.get_params()["companion__weight"]
    0.2
    """

    short_names: ClassVar = {"members": MEMBERS, "parameters": PARAMETERS}

    members: Any = ENSEMBLE_PRESETS["smooth margin"].members
    parameters: Any = ENSEMBLE_PRESETS["smooth margin"].parameters
    own_weight: float = 0.6
    weight: float = 0.15

    def __post_init__(self) -> None:
        for name in ("own_weight", "weight"):
            check_number(name, getattr(self, name), above=0)
        if not as_parameters(self.parameters).can_join:
            raise ValueError(
                f"a companion requires GradientDescent or PenalisedLikelihood, got parameters={self.parameters!r}"
            )
        self.recipe()

    def recipe(self) -> EnsembleRecipe:
        """The recipe of the companion's trees by themselves."""
        return EnsembleRecipe(self.resolved("members"), self.parameters, is_joint=True)

    def tuned(self, context: Context, seed: int) -> Companion:
        """The companion with all that is chosen on held-out rows decided."""
        return self.set_params(parameters=self.recipe().tuned(_in_groups(context), seed).parameters)

    def used(self, context: Context) -> Companion:
        """The companion as values, with all that depends on the number of rows decided."""
        used = self.recipe().used(_in_groups(context))
        return self.set_params(members=used.members, parameters=used.parameters)

    def join(self, own: Sequence[Learned], context: Context, seed: int) -> list[Learned]:
        """Learn the companion's trees, and weigh and group all so that their mean is the sum that is wanted."""
        found = self.recipe().learn(_in_groups(context), seed)
        if not all(can_temper(each.fitted.network) for each in (*own, *found)):
            raise ValueError("a companion requires forests, but parents form a cycle or a feature has two of them")
        groups, counts = _groups(context), _value_counts(context.rows)
        refined = [refine(each.fitted.network, groups, counts) for each in found]
        networks = in_common_groups([*(each.fitted.network for each in own), *refined])
        n_own, n_all = len(own), len(networks)
        temperatures = [n_own / (n_all * self.own_weight), len(found) / (n_all * self.weight)]
        joined = []
        for k, (each, network) in enumerate(zip([*own, *found], networks, strict=True)):
            fitted = each.fitted._replace(network=temper(network, temperatures[k >= n_own]))
            joined.append(each._replace(fitted=fitted, is_companion=k >= n_own))
        return joined


def _groups(context: Context) -> Groups:
    """The groups of values that companions are learned over, found once."""
    return context.remember("class groups", lambda: class_groups(context.rows))


def _in_groups(context: Context) -> Context:
    """What a companion is learned from."""
    return context.regrouped(_groups(context))


def class_groups(rows: Rows) -> Groups:
    """Groups of values that do not differ in their classes, by the MDL method; of words, the rare ones together.

    Examples
    --------
    >>> codes, y = np.arange(100)[:, None] // 10, np.repeat([0, 1], 50)
    >>> rows = Rows(codes, y, None, np.array([10]), 2, np.array([10]))
    >>> class_groups(rows).of(0)
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    >>> class_groups(Rows(np.arange(100)[:, None], y, None, np.array([100]), 2, np.array([100]))).cards
    array([2])
    """
    n_ordered = np.zeros(len(rows.cards), np.int64) if rows.n_ordered is None else rows.n_ordered
    words = group_values(rows.codes, rows.cards, np.zeros_like(n_ordered), rows.full_weight(), MOST_CATEGORIES)
    numeric = np.flatnonzero(n_ordered > 1)
    weight = None if rows.weight is None else rows.weight.astype(np.float64)
    columns = [np.where(rows.codes[:, j] < n_ordered[j], rows.codes[:, j], np.nan) for j in numeric]
    cuts = dict(zip(numeric.tolist(), MixedBinning(MDLPBinning(rows.y))(columns, weight), strict=True))
    return make_groups(
        [
            _cut_values(int(card), int(n_ordered[j]), cuts[j]) if j in cuts else words.of(j)
            for j, card in enumerate(rows.cards)
        ]
    )


def _cut_values(card: int, n_ordered: int, cuts: FloatArray) -> IntArray:
    """Groups of the values in order between cuts; each of the others is a group of its own."""
    groups = np.searchsorted(cuts, np.arange(n_ordered), side="right")
    return np.concatenate([groups, len(cuts) + 1 + np.arange(card - n_ordered)])


def _value_counts(rows: Rows) -> list[FloatArray]:
    """Weight of the rows with each value of each feature; those where it is unknown do not count."""
    weight = rows.full_weight()
    return [
        np.bincount(column, weight, minlength=int(card) + 1)[: int(card)].astype(np.float64)
        for column, card in zip(rows.codes.T, rows.cards, strict=True)
    ]
