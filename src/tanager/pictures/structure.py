"""A learned structure as a picture: on the pixel grid for images, as a forest otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.files import written_whole
from tanager.pictures.drawing import import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_structure(
    parents: IntArray,
    strength: FloatArray | None = None,
    *,
    names: list[str] | None = None,
    image: FloatArray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw an arrow from each feature's parent to the feature; needs the extra ``tanager[plots]``.

    The class, a parent of every feature, is left out.

    Parameters
    ----------
    parents : int array of shape (D,)
        Extra parent of each feature, -1 for none.
    strength : float array of shape (D,), optional
        Width of the arrows, from 0 to 1, for instance the probability of the parent.
    names : list of str, optional
        Feature names.
    image : float array of shape (rows, columns), optional
        Draw on the pixel grid, over this image; features are pixels, numbered row by row.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    parents = np.asarray(parents)
    widths = np.ones(len(parents)) if strength is None else np.asarray(strength)
    if ax is None:
        _, ax = import_matplotlib("pyplot").subplots(figsize=(7, 7) if image is not None else (10, 6))
    if image is not None:
        ax.imshow(image, cmap="Greys", alpha=0.5)
        places = np.stack(np.unravel_index(np.arange(image.size), image.shape)[::-1], axis=1).astype(float)
    else:
        places = _forest_places(parents)
        _label(ax, places, names or [str(i) for i in range(len(parents))])
    _draw_arrows(ax, places, parents, widths, near=0.18 if image is not None else 0.0)
    is_root = parents < 0
    ax.scatter(*places[~is_root].T, s=12, color="tab:blue", zorder=3)
    ax.scatter(*places[is_root].T, s=40, color="tab:red", zorder=3, label="no extra parent")
    ax.legend(loc="lower right", fontsize="small")
    ax.set_axis_off()
    return ax


def save_structure(path: Path, parents: IntArray, strength: FloatArray | None, *, title: str, **options: Any) -> None:
    """Draw a structure (see `draw_structure`) to a file, which appears only when it is complete."""
    figure = import_matplotlib("figure").Figure(figsize=(7, 7))
    ax = draw_structure(parents, strength, ax=figure.subplots(), **options)
    ax.set_title(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as temporary:
        figure.savefig(temporary, dpi=120, bbox_inches="tight", format=path.suffix[1:] or "png")


def _draw_arrows(ax: Any, places: NDArray[np.float64], parents: IntArray, widths: FloatArray, near: float) -> None:
    for child, parent in enumerate(parents):
        if parent < 0:
            continue
        ax.annotate(
            "",
            xy=places[child],
            xytext=places[parent],
            arrowprops={
                "arrowstyle": "-|>",
                "color": "tab:blue",
                "alpha": 0.25 + 0.75 * float(widths[child]),
                "lw": 0.5 + 1.5 * float(widths[child]),
                "shrinkA": 2,
                "shrinkB": 4,
                "connectionstyle": f"arc3,rad={near}",
            },
        )


def _label(ax: Any, places: NDArray[np.float64], names: list[str]) -> None:
    for (x, y), name in zip(places, names, strict=True):
        ax.annotate(name, (x, y), textcoords="offset points", xytext=(5, 5), fontsize="small", rotation=30)


def _forest_places(parents: IntArray) -> NDArray[np.float64]:
    """Depth downwards, leaves side by side, parents above the middle of their children.

    Features on a cycle, which only a pseudo-TAN has, stand in a row of their own at the top.
    """
    n_features = len(parents)
    children: list[list[int]] = [[] for _ in range(n_features)]
    for child, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(child)
    places = np.full((n_features, 2), np.nan)
    n_leaves = 0
    for root in np.flatnonzero(np.asarray(parents) < 0):
        stack = [(int(root), 0, False)]
        while stack:
            feature, depth, is_done = stack.pop()
            if is_done or not children[feature]:
                x = float(np.mean(places[children[feature], 0])) if children[feature] else float(n_leaves)
                n_leaves += not children[feature]
                places[feature] = (x, -depth)
            else:
                stack.append((feature, depth, True))
                stack.extend((child, depth + 1, False) for child in reversed(children[feature]))
    is_cyclic = np.isnan(places[:, 0])
    places[is_cyclic] = np.column_stack([np.arange(is_cyclic.sum()), np.ones(is_cyclic.sum())])
    return places
