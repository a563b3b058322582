"""Reads the page ``docs/benchmarks.md``, so that some of its sections can be measured again and the others stay."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.records import Row, Section, Target

_N_CELLS = 8


def read_sections(path: Path) -> list[Section]:
    """Sections of a page that `benchmarks.page.write_page` wrote, with their times as text."""
    _, *blocks = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [_read_section(block) for block in blocks]


def merge_sections(old: list[Section], new: list[Section]) -> list[Section]:
    """New sections in place of old ones of the same title, and the other new ones at the end.

    >>> [section.title for section in merge_sections([Section("a"), Section("b")], [Section("c"), Section("a")])]
    ['a', 'b', 'c']
    """
    by_title = {section.title: section for section in new}
    kept = [by_title.pop(section.title, section) for section in old]
    return [*kept, *by_title.values()]


def _read_section(block: str) -> Section:
    title, *lines = block.splitlines()
    section = Section(title)
    is_verbatim = False
    for line in lines:
        if line == "```":
            is_verbatim = not is_verbatim
        elif is_verbatim:
            section.lines.append(line)
        elif line.startswith("* Missing: "):
            section.missing.append(line.removeprefix("* Missing: "))
        elif line.startswith("* "):
            section.notes.append(line.removeprefix("* "))
        elif line.startswith("| ") and not line.startswith("| what |"):
            section.rows.append(_read_row(line))
    return section


def _read_row(line: str) -> Row:
    cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
    if len(cells) != _N_CELLS:
        raise ValueError(f"a row of the page has {len(cells)} cells instead of {_N_CELLS}: {line}")
    what, ours, peer, theirs, ratio, target, _, accuracy = cells
    return Row(what, ours, peer, theirs, float(ratio.replace(",", "")), _read_target(target), accuracy)


def _read_target(text: str) -> Target | None:
    if not text:
        return None
    at_most, value = text.startswith("at most"), text.split()[-1]
    return Target(float(value), at_most=at_most)
