"""The page ``docs/benchmarks.md`` and its picture, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.records import Row, Section

DOCS = Path(__file__).resolve().parent.parent / "docs"

_INTRODUCTION = """# Benchmarks

Times of this library against the alternatives, all times of a section from one run. Times depend on the machine, ratios
much less. A time is the median of several rounds, with the quartiles in brackets, in processor time on one thread
unless the row says otherwise. Compilation is not counted. Accuracy stands beside each speed.

[comparison.md](comparison.md) shows how accurate the classifiers are with their defaults, over many data sets.
"""


def write_page(sections: list[Section], machine: str, command: str, folder: Path = DOCS) -> None:
    """Write ``benchmarks.md`` and ``benchmarks.svg`` into a folder.

    Parameters
    ----------
    sections : list of Section
    machine : str
        What it was measured on.
    command : str
        The command that was run.
    folder : Path
    """
    is_drawn = _write(folder / "benchmarks.svg", lambda path: draw_ratios(sections, path))
    _write(folder / "benchmarks.md", lambda path: path.write_text(_page(sections, machine, command, is_drawn)))


def _write(target: Path, make: Callable[[Path], object]) -> bool:
    """Let ``make`` fill a temporary file and move it to the target; False if ``make`` has nothing to write."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.stem}-", suffix=target.suffix)
    os.close(handle)
    path = Path(name)
    try:
        if make(path) is False:
            return False
        path.chmod(0o644)
        path.replace(target)
        return True
    finally:
        path.unlink(missing_ok=True)


def _page(sections: list[Section], machine: str, command: str, is_drawn: bool) -> str:
    with_target = [row for section in sections for row in section.rows if row.target]
    n_met = sum(row.verdict == "met" for row in with_target)
    parts = [_INTRODUCTION, f"* Machine: {machine}", f"* Command: `{command}`"]
    parts.append(f"* Targets: {n_met} of {len(with_target)} met\n")
    if is_drawn:
        parts.append("![Ratios on a logarithmic scale](benchmarks.svg)\n")
    for section in sections:
        parts.append(f"## {section.title}\n")
        if section.rows:
            parts += [
                "| what | ours | against | theirs | ratio | target | | beside it |",
                "|---|---|---|---|---|---|---|---|",
            ]
            parts += [_table_row(row) for row in section.rows]
            parts.append("")
        if section.lines:
            parts += ["```", *section.lines, "```", ""]
        notes = [*section.notes, *(f"Missing: {name}" for name in section.missing)]
        parts += [f"* {note}" for note in notes] + ([""] if notes else [])
    return "\n".join(parts).rstrip() + "\n"


def _table_row(row: Row) -> str:
    cells = [row.what, row.ours, row.peer, row.theirs, _number(row.ratio), row.target or "", row.verdict, row.accuracy]
    return "| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |"


def draw_ratios(sections: list[Section], path: Path) -> bool:
    """Draw the ratios that have a target as bars, each with a mark at its target; False without matplotlib or rows."""
    rows = [row for section in sections for row in section.rows if row.target and row.ratio > 0]
    panels = {
        "times faster: the more the better": [row for row in rows if not row.target.at_most],
        "times as much: the less the better": [row for row in rows if row.target.at_most],
    }
    panels = {label: bars for label, bars in panels.items() if bars}
    if not panels:
        return False
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"svg.hashsalt": "tanager", "font.size": 8}):
        lengths = [len(bars) for bars in panels.values()]
        size = (9, 0.22 * sum(lengths) + 0.7 * len(panels))
        figure, columns = plt.subplots(
            len(panels), figsize=size, height_ratios=lengths, layout="constrained", squeeze=False
        )
        for axes, (label, bars) in zip(columns.flat, panels.items(), strict=True):
            _draw_panel(axes, bars, label)
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)
    return True


def _draw_panel(axes: Any, rows: list[Row], label: str) -> None:
    """Bars from the top down, with the ratio of each at the right."""
    places = range(len(rows))
    colours = ["#2a788e" if row.verdict == "met" else "#c0504d" for row in rows]
    axes.barh(places, [row.ratio for row in rows], color=colours, height=0.7)
    axes.plot([row.target.value for row in rows], places, "k|", markersize=9)
    for place, row in enumerate(rows):
        axes.text(1.01, place, _number(row.ratio), transform=axes.get_yaxis_transform(), va="center")
    axes.set_yticks(places, [f"{row.what}; {row.peer}" for row in rows])
    axes.set_xscale("log")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(f"{label}; | target, red: missed")


def _number(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
