"""Which pairs of a structure are worth an effect of their own: those that add more to the main effects than chance.

A tree joins all features, whether pairs of them tell anything about the class or not. All pairs share one strength of
their penalty, so that many which tell nothing make it strong for the few that tell much. Where held-out rows show it
(see `tanager.learning.strengths`), only pairs with a clear gain are kept, and what is left of a tree is a forest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.learning.context import RESIDUAL, Context
from tanager.model import Layout, make_layout
from tanager.structure import NO_PARENT, fixed_parents


def clearness(context: Context) -> FloatArray:
    """What each pair of features adds to the main effects, in standard deviations of what chance adds, float64[D, D].

    By chance a cell's residual G has the mean square H, its curvature, and G^2 the variance 2 H^2. So the gain, half
    the sum of (G^2 - H) / H over the cells and classes, has half their number as its variance.
    """

    def compute() -> FloatArray:
        cards = context.groups().cards
        width = 1 if context.rows.n_classes == 2 else context.rows.n_classes
        return context.scores(RESIDUAL) / np.sqrt(np.outer(cards, cards) * width / 2)

    return context.remember("clearness of pairs", compute)


def thin(layouts: Sequence[Layout], context: Context, least: float) -> list[Layout]:
    """The structures of layouts without pairs whose gain is less clear than ``least``.

    The clearest pair of all stays, and so do edges that are required.
    """
    clear = clearness(context)
    parents = np.stack([each.parent_sets.parents for each in layouts]).astype(np.int64)  # one candidate for each
    children, is_edge = np.arange(parents.shape[1]), parents != NO_PARENT
    of_edge = np.where(is_edge, clear[children, parents], -np.inf)
    is_kept = is_edge & (of_edge >= min(least, float(of_edge.max())))
    if context.rules is not None:
        is_kept |= is_edge & (context.rules.required == parents)
    return [
        _with_parents(layout, np.where(kept, own, NO_PARENT))
        for layout, kept, own in zip(layouts, is_kept, parents, strict=True)
    ]


def _with_parents(layout: Layout, parents: IntArray) -> Layout:
    return make_layout(fixed_parents(parents), layout.cards, layout.n_classes, groups=layout.groups)
