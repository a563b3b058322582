"""The console of all commands: names and values from files are shown as text and never act on the terminal.

A name such as ``"\\x1b[2J"`` would clear the screen, and others may move the cursor over what was printed before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from tanager.cli.errors import visible

_WITHOUT_LINES = re.compile(r"[^\n]+")


class PlainConsole(Console):
    """A console that shows control characters as their escape sequences, ``\\x1b`` for instance."""

    @property
    def shows_progress(self) -> bool:
        """Whether somebody watches."""
        return self.is_terminal and not self.quiet

    def say(self, message: str) -> None:
        """Print a line of text as it is, however long."""
        self.print(message, soft_wrap=True, highlight=False, markup=False)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render, with all text made visible; what the console itself sends to the terminal stays."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(_WITHOUT_LINES.sub(lambda part: visible(part[0]), segment.text), segment.style)
