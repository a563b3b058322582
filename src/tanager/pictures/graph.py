"""A structure as a graph with the class: a tree from left to right, or all edges of an ensemble on a circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.pictures.drawing import COLOURS, import_matplotlib, literal
from tanager.pictures.tree_layout import lay_out_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 22
_OF_CLASS = "0.82"
_BOX = {"boxstyle": "round,pad=0.3", "fc": "white", "ec": "0.35", "lw": 0.8}
_CLASS_BOX = {"boxstyle": "round,pad=0.45", "fc": "0.92", "ec": "0.2", "lw": 1.0}


def draw_tree(
    parents: IntArray,
    widths: FloatArray,
    names: Sequence[str],
    target: str,
    *,
    second: IntArray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree from left to right, with the class as the parent of all; requires the extra ``tanager[plots]``.

    Parameters
    ----------
    parents : int array of shape (D,)
        Extra parent of each feature, -1 for none.
    widths : float array of shape (D,)
        Width of the arrow to each feature, from 0 to 1.
    names : sequence of str
    target : str
        Name of the class.
    second : int array of shape (D,), optional
        The other parent of features that have two, -1 for the rest; drawn as dotted arrows.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    places = _tree_places(parents)
    n_lines, depth = len({y for _, y in places.tolist()}), float(places[:, 0].max())
    if ax is None:
        size = (2.2 * (depth + 2), max(2.0, 0.42 * n_lines + 0.6))
        _, ax = import_matplotlib("pyplot").subplots(figsize=size, layout="constrained")
    at = np.array([-1.0, float(places[:, 1].mean())])
    for place in places:
        _arrow(ax, at, place, color=_OF_CLASS, lw=0.6, zorder=1)
    _draw_edges(ax, places, [(i, j) for i, j in enumerate(parents.tolist()) if j >= 0], widths)
    for i, j in enumerate([] if second is None else second.tolist()):
        if j >= 0:
            _arrow(ax, places[j], places[i], color=COLOURS[0], lw=1.0, zorder=2, linestyle=":")
    _draw_names(ax, places, names)
    ax.annotate(literal(target, _LONGEST), at, ha="center", va="center", fontsize="medium", bbox=_CLASS_BOX, zorder=4)
    ax.set_xlim(-1.5, depth + 0.6)
    ax.set_ylim(places[:, 1].min() - 0.7, places[:, 1].max() + 0.7)
    ax.set_axis_off()
    return ax


def draw_circle(
    edges: Sequence[tuple[int, int]], widths: FloatArray, names: Sequence[str], target: str, *, ax: Axes | None = None
) -> Axes:
    """Draw features on a circle around the class, with all edges; requires the extra ``tanager[plots]``.

    Parameters
    ----------
    edges : sequence of (child, parent)
    widths : float array of shape (E,)
        From 0 to 1.
    names : sequence of str
    target : str
        Name of the class.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    n_features = len(names)
    if ax is None:
        size = min(max(5.0, 0.28 * n_features), 14.0)
        _, ax = import_matplotlib("pyplot").subplots(figsize=(size + 2.0, size + 1.0), layout="constrained")
    angle = np.pi / 2 - 2 * np.pi * np.arange(n_features) / n_features
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    for place in places:
        _arrow(ax, np.zeros(2), place, color=_OF_CLASS, lw=0.5, zorder=1)
    order = np.argsort(widths, kind="stable")
    _draw_edges(ax, places, [edges[k] for k in order], widths, order, bend=0.12)
    ax.scatter(*places.T, s=22, color="0.25", zorder=3)
    for place, name, turn in zip(places, names, angle, strict=True):
        degrees, is_left = np.degrees(turn) % 360, np.cos(turn) < -1e-9
        ax.annotate(
            literal(name, _LONGEST),
            place * 1.05,
            rotation=degrees + (180 if is_left else 0),
            rotation_mode="anchor",
            ha="right" if is_left else "left",
            va="center",
            fontsize="small",
        )
    ax.annotate(literal(target, _LONGEST), (0, 0), ha="center", va="center", bbox=_CLASS_BOX, zorder=4)
    ax.set_xlim(-1.75, 1.75)
    ax.set_ylim(-1.75, 1.75)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _draw_edges(
    ax: Any,
    places: NDArray[np.float64],
    edges: Sequence[tuple[int, int]],
    widths: FloatArray,
    order: Sequence[int] | NDArray[Any] | None = None,
    bend: float = 0.0,
) -> None:
    """Arrows from parents to children; widths are those of the children, or of the edges in an order."""
    for k, (child, parent) in enumerate(edges):
        width = float(widths[child] if order is None else widths[order[k]])
        style = {"color": COLOURS[0], "alpha": 0.45 + 0.55 * width, "lw": 0.8 + 1.8 * width, "zorder": 2}
        _arrow(ax, places[parent], places[child], bend=bend, **style)


def _arrow(ax: Any, start: NDArray[Any], end: NDArray[Any], *, bend: float = 0.0, **style: Any) -> None:
    shape = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 12, "shrinkB": 14, "patchA": None}
    ax.annotate("", xy=end, xytext=start, arrowprops={**shape, "connectionstyle": f"arc3,rad={bend}", **style})


def _draw_names(ax: Any, places: NDArray[np.float64], names: Sequence[str]) -> None:
    for place, name in zip(places, names, strict=True):
        ax.annotate(literal(name, _LONGEST), place, ha="center", va="center", fontsize="small", bbox=_BOX, zorder=4)


def _tree_places(parents: IntArray) -> NDArray[np.float64]:
    """Depth to the right, a line for each leaf, parents beside the middle of their children."""
    row, depth = lay_out_tree(parents)
    order = np.argsort(row)
    y = np.full(len(parents), np.nan)
    n_leaves = 0
    for feature in order[::-1].tolist():  # children come after their parents
        below = [i for i in np.flatnonzero(parents == feature).tolist() if depth[i] == depth[feature] + 1]
        if below:
            y[feature] = float(np.mean(y[below]))
        else:
            y[feature] = n_leaves
            n_leaves += 1
    return np.column_stack([depth, y]).astype(np.float64)
