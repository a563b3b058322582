"""Importances of features as bars, the largest on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tanager._options import check_count
from tanager._types import FloatArray
from tanager.pictures.drawing import COLOURS, import_matplotlib, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 40


def draw_importance(
    names: Sequence[str], importances: FloatArray, *, max_bars: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw importances as bars; requires the extra ``tanager[plots]``.

    Parameters
    ----------
    names : sequence of str
    importances : float array of shape (D,)
        Shares that sum to one.
    max_bars : int, default=20
        If there are more features, the last bar is the sum of the smallest.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    check_count("max_bars", max_bars)
    order = np.argsort(-importances, kind="stable")
    shown = order if len(order) <= max_bars else order[: max_bars - 1]
    labels, sizes = [literal(names[i], _LONGEST) for i in shown], importances[shown].tolist()
    if len(shown) < len(order):
        labels.append(f"{len(order) - len(shown)} others together")
        sizes.append(float(importances[order[len(shown) :]].sum()))
    if ax is None:
        size = (7.0, 0.9 + 0.26 * len(labels))
        _, ax = import_matplotlib("pyplot").subplots(figsize=size, layout="constrained")
    places = np.arange(len(labels))
    bars = ax.barh(places, [100 * size for size in sizes], color=COLOURS[0])
    ax.bar_label(bars, [f"{size:.1%}" for size in sizes], padding=3, fontsize="small")
    ax.set_yticks(places, labels, fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("share of the contributions to the log-odds, %")
    ax.margins(x=0.12)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
