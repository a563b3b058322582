"""Pieces of HTML: tables, cards and paragraphs, with everything escaped that comes from data."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

MISSING = "–"


def measured_table(
    heads: Sequence[str], lines: Iterable[Sequence[str]], own: int | None = None, *, ends_in_text: bool = False
) -> str:
    """A table of numbers; the first cell of each line is its heading, and line ``own`` stands out.

    A cell may have a second part after a line break, which is printed smaller. The last column may be text.
    """
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    body = "\n".join(_line(cells, number == own) for number, cells in enumerate(lines))
    kind = "measured texts" if ends_in_text else "measured"
    head = f"<thead><tr>{head}</tr></thead>"
    return f'<div class="framed"><table class="{kind}">{head}<tbody>\n{body}\n</tbody></table></div>'


def _line(cells: Sequence[str], is_own: bool) -> str:
    first, *others = (_two_parts(cell) for cell in cells)
    rest = "".join(f"<td>{cell}</td>" for cell in others)
    return f'<tr{" class=own" if is_own else ""}><th scope="row">{first}</th>{rest}</tr>'


def _two_parts(cell: str) -> str:
    main, _, small = cell.partition("\n")
    return html.escape(main) + (f" <small>{html.escape(small)}</small>" if small else "")


def plain_table(lines: Iterable[tuple[str, str]]) -> str:
    """A table of headings and texts."""
    body = "\n".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in lines
    )
    return f'<div class="scroll"><table class="plain"><tbody>\n{body}\n</tbody></table></div>'


def card(label: str, value: str, note: str) -> str:
    """A number with its name and a note."""
    small = f"<small>{html.escape(note)}</small>" if note else ""
    return f'<div class="card"><dt>{html.escape(label)}</dt><dd>{html.escape(value)}{small}</dd></div>'


def details(summary: str, content: str) -> str:
    """Content that is shown on demand."""
    return f"<details><summary>{html.escape(summary)}</summary>\n{content}</details>"


def percent(share: float, digits: int = 1) -> str:
    """A share in percent, a dash if it is not a number.

    >>> percent(0.1234), percent(float("nan"))
    ('12.3 %', '–')
    """
    return MISSING if math.isnan(share) else f"{100 * share:.{digits}f} %"


def number(value: float, digits: int = 3) -> str:
    """A number with a fixed number of digits, a dash if it is not a number.

    >>> number(0.12345), number(-0.00001), number(float("nan"))
    ('0.123', '0.000', '–')
    """
    return MISSING if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"
