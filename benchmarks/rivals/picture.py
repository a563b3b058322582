"""The critical-difference picture: mean ranks on a line, with bars over methods that do not differ significantly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.rivals.ranks import Ranking, alike
from tanager.files import written_whole

_LINE, _BAR = "#404040", "#2a788e"
_FIRST_BAR, _BAR_STEP, _LABEL_STEP = 0.35, 0.3, 0.55
_MARGIN = 0.25  # room for names on each side, as a share of the line


def draw_ranks(titles: Sequence[str], ranking: Ranking, path: Path) -> None:
    """Draw mean ranks as an SVG file; the same ranks give the same file.

    Parameters
    ----------
    titles : sequence of str
        Of the methods, in the order of the ranking.
    ranking : Ranking
    path : Path
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    ranks = ranking.mean_ranks.tolist()
    groups = alike(ranks, ranking.critical_difference)
    order = sorted(range(len(ranks)), key=lambda method: ranks[method])
    n_left = (len(order) + 1) // 2
    depth = _FIRST_BAR + _BAR_STEP * len(groups) + _LABEL_STEP * n_left
    with rc_context({"svg.hashsalt": "tanager", "font.size": 9}):
        figure = Figure(figsize=(8.0, 0.75 + 0.42 * (depth + 1.0)), layout="constrained")
        axes = figure.add_subplot()
        _draw_axis(axes, len(ranks), ranking.critical_difference)
        for place, group in enumerate(groups):
            y = -_FIRST_BAR - _BAR_STEP * place
            axes.plot([ranks[group[0]], ranks[group[-1]]], [y, y], color=_BAR, linewidth=4)
        below = -_FIRST_BAR - _BAR_STEP * len(groups)
        for side, methods in ((-1, order[:n_left]), (1, order[: n_left - 1 : -1])):
            for place, method in enumerate(methods, start=1):
                label = f"{titles[method]}  {ranks[method]:.2f}"
                _draw_label(
                    axes, ranks[method], below - _LABEL_STEP * place, 1 if side < 0 else len(ranks), side, label
                )
        margin = _MARGIN * (len(ranks) - 1)
        axes.set_xlim(1 - margin, len(ranks) + margin)
        axes.set_ylim(-depth - 0.4, 1.25)
        axes.axis("off")
        with written_whole(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})


def _draw_axis(axes: Any, n_methods: int, difference: float) -> None:
    """The line of ranks, with the critical difference above its left end."""
    axes.plot([1, n_methods], [0, 0], color=_LINE, linewidth=1.2)
    for rank in range(1, n_methods + 1):
        axes.plot([rank, rank], [0, 0.12], color=_LINE, linewidth=1.2)
        axes.text(rank, 0.2, str(rank), ha="center", va="bottom")
    axes.plot([1, 1 + difference], [0.85, 0.85], color=_LINE, linewidth=1.2, marker="|", markersize=7)
    text = f"critical difference {difference:.2f}"
    axes.annotate(text, (1 + difference, 0.85), xytext=(8, 0), textcoords="offset points", ha="left", va="center")


def _draw_label(axes: Any, rank: float, y: float, end: float, side: int, label: str) -> None:
    """A line from the rank down and out to an end of the axis, with the name and the rank beyond it."""
    axes.plot([rank, rank, end], [0, y, y], color=_LINE, linewidth=0.8)
    align = "right" if side < 0 else "left"
    axes.annotate(label, (end, y), xytext=(4 * side, 0), textcoords="offset points", ha=align, va="center")
