"""Error over surprise: a line from the network that describes the data to the one that classifies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tanager.pictures.drawing import COLOURS, import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_frontier(
    both: Sequence[tuple[float, float, float]], alone: tuple[float, float] | None, *, ax: Axes | None = None
) -> Axes:
    """Draw a frontier; requires the extra ``tanager[plots]``.

    Parameters
    ----------
    both : sequence of (dial, surprise, error)
        Points of the line, with dials from 0 to 1; may be empty.
    alone : (surprise, error), optional
        The point of the network that classifies alone.
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    if ax is None:
        _, ax = import_matplotlib("pyplot").subplots(figsize=(6.5, 4.2), layout="constrained")
    if both:
        dials, surprises, errors = zip(*both, strict=True)
        percent = [100 * error for error in errors]
        ax.plot(surprises, percent, "-", color="0.6", lw=1, zorder=1)
        ax.scatter(surprises, percent, c=dials, cmap="viridis_r", s=36, zorder=2, label="both networks, by the dial")
        for dial, surprise, error in (both[0], both[-1]):
            word = {0.0: "0: describes", 1.0: "1: classifies"}.get(dial, f"{dial:g}")
            ax.annotate(word, (surprise, 100 * error), xytext=(7, 5), textcoords="offset points", fontsize="small")
    if alone is not None:
        ax.scatter(
            [alone[0]],
            [100 * alone[1]],
            marker="D",
            s=40,
            color=COLOURS[1],
            zorder=3,
            label="classifying network alone",
        )
    ax.set_xlabel("surprise: $-\\log p(x, c)$, nats a feature")
    ax.set_ylabel("error, %")
    ax.margins(x=0.16, y=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc="best")
    return ax
