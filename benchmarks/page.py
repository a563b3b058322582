"""The page ``docs/benchmarks.md`` and its picture, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.records import Row, Section

DOCS = Path(__file__).resolve().parent.parent / "docs"

_INTRODUCTION = """# Benchmarks

Times of this library against what one could use instead, all measured in one run. Times depend on the machine; ratios
much less. A time is the median of several rounds, with the quartiles in brackets, in processor time on one thread
unless the row says otherwise. Compiling is not counted. Accuracy stands beside each speed.
"""


def write_page(sections: list[Section], machine: str, command: str, folder: Path = DOCS) -> None:
    """Write ``benchmarks.md`` and ``benchmarks.svg`` into a folder.

    Parameters
    ----------
    sections : list of Section
    machine : str
        What it was measured on.
    command : str
        What was typed.
    folder : Path
    """
    is_drawn = _write(folder / "benchmarks.svg", lambda path: draw_ratios(sections, path))
    _write(folder / "benchmarks.md", lambda path: path.write_text(_page(sections, machine, command, is_drawn)))


def _write(target: Path, make: Callable[[Path], object]) -> bool:
    """Let ``make`` fill a temporary file beside the target and put it in its place; False if there is nothing."""
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
    cells = [row.what, row.ours, row.peer, row.theirs, f"{row.ratio:.3g}", row.target or "", row.verdict, row.accuracy]
    return "| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |"


def draw_ratios(sections: list[Section], path: Path) -> bool:
    """Draw the ratios that have a target as bars, each with a mark at its target; False without matplotlib or rows."""
    rows = [row for section in sections for row in section.rows if row.target and row.ratio > 0]
    if not rows:
        return False
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"svg.hashsalt": "tanager", "font.size": 8}):
        figure, axes = plt.subplots(figsize=(9, 0.24 * len(rows) + 1.0), layout="constrained")
        colours = ["#2a788e" if row.verdict == "met" else "#c0504d" for row in rows]
        axes.barh(range(len(rows)), [row.ratio for row in rows], color=colours, height=0.7)
        axes.plot([row.target.value for row in rows], range(len(rows)), "k|", markersize=9, label="target")
        for place, row in enumerate(rows):
            axes.annotate(f"{row.ratio:.3g}", (row.ratio, place), (3, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(rows)), [_bar_label(row) for row in rows])
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.margins(x=0.08, y=0.01)
        axes.set_xlabel("ratio: times faster, or, where the target is at most, times larger than the other")
        axes.legend(loc="lower right")
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)
    return True


def _bar_label(row: Row) -> str:
    direction = "at most" if row.target and row.target.at_most else "at least"
    return f"{row.what}; {row.peer} ({direction} {row.target.value:g})" if row.target else row.what
