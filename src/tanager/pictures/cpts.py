"""The conditional probability table of a feature as heat maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tanager._types import FloatArray
from tanager.pictures.drawing import import_matplotlib, literal

_MOST_COLUMNS = 6
_MOST_WRITTEN = 36  # largest number of cells of a heat map that shows its numbers

# Letters of a label below a column that is not slanted, and the inches that labels need: each letter, each slanted
# label, and each line. Axes shrink by up to a quarter when the figure is laid out.
_LONGEST_LEVEL = 5
_LETTER, _SLANTED, _LINE = 0.08, 0.25, 0.17


@dataclass(frozen=True)
class Axis:
    """Name and tick labels of the rows or columns of a heat map."""

    name: str
    labels: Sequence[str]


def draw_probabilities(panels: Sequence[tuple[str, FloatArray]], rows: Axis, columns: Axis, *, ax: Any = None) -> Any:
    """Draw matrices of probabilities side by side on one colour scale; requires the extra ``tanager[plots]``.

    Parameters
    ----------
    panels : sequence of (str, float array of shape (n_rows, n_columns))
        Titles and matrices.
    rows, columns : Axis
    ax : matplotlib axes, or an array of them, optional
        One for each panel.

    Returns
    -------
    matplotlib axes, or an array of them if there are several panels
    """
    axes, n_columns = _axes_for(len(panels), (len(rows.labels), len(columns.labels)), ax)
    top = max(float(np.max(table)) for _, table in panels)
    for panel, (title, table) in zip(axes, panels, strict=True):
        image = _draw_cells(panel, table, cmap="Blues", limits=(0.0, top))
        panel.set_title(literal(title, 32), fontsize="medium")
        _label(panel, rows, columns)
    for k, panel in enumerate(axes):
        if k % n_columns:
            panel.set_ylabel("")
            panel.tick_params(labelleft=False)
        if k + n_columns < len(panels):
            panel.set_xlabel("")
            panel.tick_params(labelbottom=False)
    axes[0].figure.colorbar(image, ax=list(axes), label="probability", shrink=0.8, aspect=30)
    return axes[0] if len(axes) == 1 else axes


def draw_log_ratio(table: FloatArray, title: str, rows: Axis, columns: Axis, *, ax: Any = None) -> Any:
    """Draw a matrix of differences of log-probabilities, positive blue and negative red; returns the axes."""
    (panel,), _ = _axes_for(1, table.shape, ax)
    reach = float(np.abs(table).max()) or 1.0
    image = _draw_cells(panel, table, cmap="RdBu", limits=(-reach, reach))
    panel.set_title(literal(title, 70), fontsize="medium")
    _label(panel, rows, columns)
    panel.figure.colorbar(image, ax=panel, label="log-odds", shrink=0.8)
    return panel


def _axes_for(n_panels: int, shape: tuple[int, ...], ax: Any) -> tuple[Any, int]:
    """The given axes, or new ones of suitable size, as a flat array, and the number of them per line."""
    if ax is not None:
        axes = np.asarray(ax, dtype=object).ravel()
        if len(axes) != n_panels:
            raise ValueError(f"there are {n_panels} heat maps to draw, but ax holds {len(axes)} axes; leave ax out")
        return axes, 1
    n_columns = n_panels if n_panels <= 4 else min(_MOST_COLUMNS, int(np.ceil(np.sqrt(n_panels))))
    n_lines = -(-n_panels // n_columns)
    cell = 0.5 if n_panels <= 4 else 0.28
    width, height = (min(max(cell * n, 1.5), 4.5 if n_panels <= 2 else 3.0) for n in (shape[1], shape[0]))
    size = (width * n_columns + 2.6, height * n_lines + 0.35 * n_lines + 1.2)
    figure = import_matplotlib("pyplot").figure(figsize=size, layout="constrained")
    return np.array([figure.add_subplot(n_lines, n_columns, k + 1) for k in range(n_panels)]), n_columns


def _draw_cells(ax: Any, table: FloatArray, *, cmap: str, limits: tuple[float, float]) -> Any:
    image = ax.imshow(table, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto", interpolation="nearest")
    if table.size <= _MOST_WRITTEN and max(table.shape) <= 10:
        for (row, column), value in np.ndenumerate(table):
            share = (value - limits[0]) / (limits[1] - limits[0])
            is_dark = share > 0.6 if limits[0] == 0 else abs(share - 0.5) > 0.35
            colour = "white" if is_dark else "black"
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize="x-small", color=colour)
    return image


def _label(ax: Any, rows: Axis, columns: Axis) -> None:
    width, height = (side / ax.figure.dpi for side in ax.bbox.size)
    n_letters = max(map(len, columns.labels))
    is_long = n_letters > _LONGEST_LEVEL
    room = _SLANTED if is_long else _LETTER * (n_letters + 1)
    turn = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if is_long else {}
    ax.set_xticks(*_ticks(columns.labels, 16, width / room), fontsize="x-small", **turn)
    ax.set_yticks(*_ticks(rows.labels, 30, height / _LINE), fontsize="x-small")
    ax.set_xlabel(literal(columns.name, 36), fontsize="small")
    ax.set_ylabel(literal(rows.name, 28), fontsize="small")


def _ticks(labels: Sequence[str], longest: int, most: float) -> tuple[list[int], list[str]]:
    """Positions and texts of tick labels, at most so many: all of them, every second, and so on."""
    step = math.ceil(len(labels) / max(most, 1.0))
    places = list(range(0, len(labels), step))
    return places, [literal(labels[k], longest) for k in places]
