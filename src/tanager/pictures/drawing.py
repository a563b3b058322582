"""Figures as files: matplotlib imported on demand, and atomic writes."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tanager.files import written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Colours that are distinguishable with any colour vision (Okabe and Ito)."""

# Keep text as text, and make files reproducible.
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "tanager"}
_METADATA: dict[str, dict[str, None]] = {"svg": {"Date": None}, "png": {"Software": None}}


def import_matplotlib(module: str) -> Any:
    """Import a module of matplotlib; the error says how to install it."""
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install 'tanager[plots]'") from error


def literal(text: str, longest: int) -> str:
    """Text for matplotlib, truncated if too long; dollar signs are escaped, as they would start mathematics.

    >>> literal("price in $, before tax", 12)
    'price in \\\\$,…'
    """
    flat = " ".join(text.split()) or text
    return (flat if len(flat) <= longest else f"{flat[: longest - 1]}…").replace("$", r"\$")


def save_figure(figure: Figure, folder: Path, name: str, formats: Sequence[str] = ("svg", "png")) -> list[Path]:
    """Save a figure in several formats; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    context = importlib.import_module("matplotlib").rc_context
    paths = []
    for suffix in formats:
        path = folder / f"{name}.{suffix}"
        with written_whole(path) as temporary, context(_STYLE):
            figure.savefig(temporary, dpi=150, bbox_inches="tight", metadata=_METADATA.get(suffix))
        paths.append(path)
    return paths
