"""One prediction as a picture: the contribution of each feature to the log-odds of two classes, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tanager._types import FloatArray
from tanager.pictures.drawing import import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FOR, _AGAINST = "tab:blue", "tab:orange"
_LONGEST_LINE = 44


def draw_explanation(
    labels: Sequence[str],
    contributions: FloatArray,
    classes: tuple[str, str],
    *,
    max_bars: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw contributions to the log-odds of two classes as bars, the largest on top; requires ``tanager[plots]``.

    Parameters
    ----------
    labels : sequence of str
        Label of each contribution, of one or two lines.
    contributions : float array
        Positive for the first class, negative for the second.
    classes : (str, str)
    max_bars : int, default=15
        If there are more contributions, the last bar is the sum of the smallest.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    if isinstance(max_bars, bool) or not isinstance(max_bars, (int, np.integer)) or max_bars < 1:
        raise ValueError(f"max_bars must be a whole number of at least 1, got {max_bars!r}")
    names, sizes = _largest(list(labels), np.asarray(contributions, np.float64), int(max_bars))
    if ax is None:
        n_lines = sum(1 + name.count("\n") for name in names)
        figure_size = (8, 1.2 + 0.12 * len(names) + 0.2 * n_lines)
        _, ax = import_matplotlib("pyplot").subplots(figsize=figure_size, layout="constrained")
    places = np.arange(len(names))
    ax.barh(places, sizes, color=[_FOR if size >= 0 else _AGAINST for size in sizes])
    ax.set_yticks(places, [_shorten(name) for name in names], fontsize="small")
    ax.invert_yaxis()
    ax.axvline(0.0, color="black", linewidth=0.8)
    _write_sizes(ax, sizes)
    favoured = [_shorten(name, 24) for name in classes]
    ax.set_xlabel(f"← for {favoured[1]}     log-odds     for {favoured[0]} →")
    ax.set_title(f"{favoured[0]} against {favoured[1]}: log-odds {np.sum(contributions):.2f}")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _largest(labels: list[str], contributions: FloatArray, max_bars: int) -> tuple[list[str], FloatArray]:
    """The largest contributions, in descending order, and the sum of the others if not all fit."""
    order = np.argsort(-np.abs(contributions), kind="stable")
    if len(order) <= max_bars:
        return [labels[k] for k in order], contributions[order]
    shown, others = order[: max_bars - 1], order[max_bars - 1 :]
    names = [*(labels[k] for k in shown), f"{len(others)} others together"]
    return names, np.append(contributions[shown], contributions[others].sum())


def _write_sizes(ax: Any, sizes: FloatArray) -> None:
    """Write each size next to the end of its bar, with space for it."""
    for place, size in enumerate(sizes):
        side = 1 if size >= 0 else -1
        ax.annotate(
            f"{size:+.2f}",
            (size, place),
            xytext=(4 * side, 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize="small",
        )
    low, high = min(sizes.min(), 0.0), max(sizes.max(), 0.0)
    room = 0.12 * ((high - low) or 1.0)
    ax.set_xlim(low - room, high + room)


def _shorten(text: str, longest: int = _LONGEST_LINE) -> str:
    """Truncate each line that is too long."""
    lines = text.split("\n")
    cut = (line if len(line) <= longest else line[: longest - 1] + "…" for line in lines)
    return "\n".join(cut).replace("$", r"\$")  # a dollar sign would start mathematics
