"""Learning curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tanager._types import FloatArray
from tanager.pictures.drawing import import_matplotlib

_TITLES = {
    "loss": "loss",
    "error": "error on training rows",
    "entropy": "entropy of the parent distribution",
    "learning_rate": "learning rate",
    "tau": "tau",
}


def draw_history(history: Mapping[str, FloatArray], *, column: str | None = None, ax: Any = None) -> Any:
    """Draw columns of a training history by epoch; requires the extra ``tanager[plots]``.

    Parameters
    ----------
    history : mapping of str to float array
        As `tanager.TANClassifier.history_`.
    column : str, optional
        The column to draw. Defaults to the loss if ``ax`` is given; otherwise loss, error and, after a search, the
        entropy of the parent distribution are drawn side by side.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes, or an array of them if several columns were drawn
    """
    if column is not None and column not in history:
        raise ValueError(f"column must be one of {', '.join(map(repr, history))}, got {column!r}")
    if not len(history["loss"]):
        raise ValueError(
            "there is no history: the parameters were not trained by gradient descent; options_ has what was used, and "
            "parameters='gradient' trains"
        )
    if ax is not None or column is not None:
        if ax is None:
            _, ax = import_matplotlib("pyplot").subplots(figsize=(5, 3.4), layout="constrained")
        return _draw_curve(ax, column or "loss", history)
    columns = ["loss", "error", *(["entropy"] if np.any(history["entropy"]) else [])]
    size = (3.7 * len(columns), 3.2)
    _, axes = import_matplotlib("pyplot").subplots(1, len(columns), figsize=size, layout="constrained")
    for panel, name in zip(axes, columns, strict=True):
        _draw_curve(panel, name, history)
    return axes


def _draw_curve(ax: Any, column: str, history: Mapping[str, FloatArray]) -> Any:
    values = history[column]
    ax.plot(np.arange(1, len(values) + 1), values, color="tab:blue", marker="o" if len(values) == 1 else "")
    ax.set(title=_TITLES.get(column, column), xlabel="epoch")
    if column in ("error", "entropy"):
        ax.set_ylim(bottom=0)
    if column == "error":
        ax.yaxis.set_major_formatter(import_matplotlib("ticker").PercentFormatter(1.0))
    if column in ("learning_rate", "tau"):
        ax.set_yscale("log")
    ax.xaxis.set_major_locator(import_matplotlib("ticker").MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    return ax
