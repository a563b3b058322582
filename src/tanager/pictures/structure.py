"""A learned structure as a picture: on the pixel grid for images, otherwise as a tree with a line per feature."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.files import written_whole
from tanager.pictures.drawing import import_matplotlib, literal
from tanager.pictures.tree_layout import lay_out_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHILD, _ROOT = "tab:blue", "tab:red"
_CERTAIN = 0.9995  # probability from which on a parent is as good as certain
_MOST_LINES = 64  # features that are drawn as labelled lines; more are drawn as points, level by level


def draw_structure(
    parents: IntArray,
    strength: FloatArray | None = None,
    *,
    second: IntArray | None = None,
    names: list[str] | None = None,
    image: FloatArray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw an arrow from each feature's parent to the feature; requires the extra ``tanager[plots]``.

    The class, a parent of every feature, is not drawn.

    Parameters
    ----------
    parents : int array of shape (D,)
        Extra parent of each feature, -1 for none.
    strength : float array of shape (D,), optional
        Width of the arrows, from 0 to 1, for instance the probability of the parent.
    second : int array of shape (D,), optional
        The other parent of features that have two, -1 for the rest; drawn as dotted arrows.
    names : list of str, optional
        Feature names, shown for up to 64 features.
    image : float array of shape (rows, columns), optional
        Draw on the pixel grid, over this image; features are pixels, numbered row by row.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    parents = np.asarray(parents)
    widths = np.ones(len(parents)) if strength is None else np.asarray(strength)
    n_features = len(parents)
    if ax is None:
        _, ax = import_matplotlib("pyplot").subplots(figsize=_figure_size(parents, image), layout="constrained")
    if image is not None:
        places = _draw_on_grid(ax, parents, widths, image)
    elif n_features <= _MOST_LINES:
        places = _draw_lines(ax, parents, widths, names or [str(i) for i in range(n_features)])
    else:
        places = _draw_levels(ax, parents, widths)
    if second is not None:
        _draw_arrows(ax, places, np.asarray(second), widths, bend=0.3, scale=0.7, linestyle=":")
    ax.set_axis_off()
    return ax


def save_structure(path: Path, parents: IntArray, strength: FloatArray | None, *, title: str, **options: Any) -> None:
    """Draw a structure (see `draw_structure`) to a file, which is written atomically."""
    figure = import_matplotlib("figure").Figure(figsize=(7, 7))
    ax = draw_structure(parents, strength, ax=figure.subplots(), **options)
    ax.set_title(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as temporary:
        figure.savefig(temporary, dpi=120, bbox_inches="tight", format=path.suffix[1:] or "png")


def _figure_size(parents: IntArray, image: FloatArray | None) -> tuple[float, float]:
    if image is not None:
        rows, columns = image.shape
        return (7.0, min(max(7.0 * rows / columns, 2.0), 14.0) + 0.4)
    if len(parents) > _MOST_LINES:
        return (12.0, 7.0)
    depth = int(lay_out_tree(parents).depth.max())
    return (4.5 + 0.4 * depth, 0.9 + 0.27 * len(parents))


def _draw_on_grid(ax: Any, parents: IntArray, widths: FloatArray, image: FloatArray) -> NDArray[np.float64]:
    high = float(np.max(image)) or 1.0  # a blank image stays blank
    ax.imshow(image, cmap="Greys", alpha=0.5, vmin=min(float(np.min(image)), 0.0), vmax=high)
    places = np.stack(np.unravel_index(np.arange(image.size), image.shape)[::-1], axis=1).astype(float)
    scale = min(1.0, 16 / max(image.shape))
    _draw_arrows(ax, places, parents, widths, bend=0.18, scale=scale)
    _draw_points(ax, places, parents, scale)
    return places


def _draw_lines(ax: Any, parents: IntArray, widths: FloatArray, names: list[str]) -> NDArray[np.float64]:
    """A line for each feature, indented below its parent, so that labels do not overlap."""
    row, depth = lay_out_tree(parents)
    places = np.column_stack([depth, -row]).astype(float)
    for child, parent in enumerate(parents.tolist()):
        if parent < 0:
            continue
        (x, y), (x_above, y_above) = places[child], places[parent]
        style = {"color": _CHILD, "lw": 0.6 + 2.4 * float(widths[child]), "alpha": 0.35 + 0.65 * float(widths[child])}
        if depth[child] == 0:  # closes a cycle: it comes from below
            back = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=-0.5", "shrinkA": 5, "shrinkB": 5, **style}
            ax.annotate("", xy=(x, y), xytext=(x_above, y_above), arrowprops={**back, "color": _ROOT})
            continue
        ax.plot([x_above, x_above, x - 0.12], [y_above, y, y], solid_joinstyle="round", zorder=1, **style)
    was_choice = bool((widths[parents >= 0] < _CERTAIN).any())
    for (x, y), name, parent, width in zip(places, names, parents.tolist(), widths.tolist(), strict=True):
        label = literal(name, 48) + (f"  ({width:.0%})" if was_choice and parent >= 0 else "")
        ax.annotate(label, (x, y), textcoords="offset points", xytext=(8, 0), va="center", fontsize="small")
    is_root = parents < 0
    ax.scatter(*places[~is_root].T, s=30, color=_CHILD, zorder=3)
    ax.scatter(*places[is_root].T, s=36, color=_ROOT, zorder=3, label="no parent except the class")
    ax.set_xlim(-0.6, depth.max() + 3.5)
    ax.set_ylim(-len(parents) + 0.3, 1.4 if is_root.any() else 0.7)
    if is_root.any():
        ax.legend(loc="upper left", fontsize="small", frameon=False, borderaxespad=0, handletextpad=0.2)
    return places


def _draw_levels(ax: Any, parents: IntArray, widths: FloatArray) -> NDArray[np.float64]:
    places = _forest_places(parents)
    _draw_arrows(ax, places, parents, widths, bend=0.0, scale=0.6)
    _draw_points(ax, places, parents, 0.7)
    return places


def _draw_points(ax: Any, places: NDArray[np.float64], parents: IntArray, scale: float) -> None:
    is_root = parents < 0
    ax.scatter(*places[~is_root].T, s=14 * scale, color=_CHILD, zorder=3)
    ax.scatter(*places[is_root].T, s=40 * scale, color=_ROOT, zorder=3, label="no parent except the class")
    if is_root.any():
        ax.legend(loc="upper left", bbox_to_anchor=(0, 0), fontsize="small", frameon=False)


def _draw_arrows(
    ax: Any,
    places: NDArray[np.float64],
    parents: IntArray,
    widths: FloatArray,
    *,
    bend: float,
    scale: float,
    linestyle: str = "-",
) -> None:
    for child, parent in enumerate(parents.tolist()):
        if parent < 0:
            continue
        ax.annotate(
            "",
            xy=places[child],
            xytext=places[parent],
            arrowprops={
                "arrowstyle": "-|>",
                "mutation_scale": 11 * scale,
                "color": _CHILD,
                "alpha": 0.25 + 0.75 * float(widths[child]),
                "lw": (0.5 + 1.5 * float(widths[child])) * scale,
                "shrinkA": 2,
                "shrinkB": 4 * scale,
                "connectionstyle": f"arc3,rad={bend}",
                "linestyle": linestyle,
            },
        )


def _forest_places(parents: IntArray) -> NDArray[np.float64]:
    """Depth downwards, leaves side by side, parents centred above their children."""
    row, depth = lay_out_tree(parents)
    order = np.argsort(row)
    x = np.full(len(parents), np.nan)
    n_leaves = 0
    for position, feature in reversed(list(enumerate(order.tolist()))):  # children come after their parents
        is_leaf = position + 1 == len(order) or depth[order[position + 1]] <= depth[feature]
        if is_leaf:
            x[feature] = n_leaves
            n_leaves += 1
        else:
            below = [i for i in np.flatnonzero(parents == feature).tolist() if depth[i] == depth[feature] + 1]
            x[feature] = np.mean(x[below])
    return np.column_stack([x, -depth])
