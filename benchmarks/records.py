"""What a section of the benchmarks returns: lines to print, and rows of a table in ``docs/benchmarks.md``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from benchmarks.timing import Timing


class Target(NamedTuple):
    """A ratio to reach: at least ``value``, or at most.

    >>> Target(20.0).is_met(25.6), str(Target(3.0, at_most=True))
    (True, 'at most 3')
    """

    value: float
    at_most: bool = False

    def is_met(self, ratio: float) -> bool:
        """Whether a measured ratio reaches the target."""
        return bool(ratio <= self.value if self.at_most else ratio >= self.value)

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.value:g}"


@dataclass(frozen=True)
class Row:
    """One measured ratio.

    Attributes
    ----------
    what : str
        What was measured.
    ours : Timing or str
        Of this library.
    peer : str
        What it is compared with.
    theirs : Timing or str
        Of the peer.
    ratio : float
        How many times faster this library is; where the target is "at most", how many times slower or larger.
    target : Target, optional
    accuracy : str
        Accuracy and other results to show beside the speed.
    """

    what: str
    ours: Timing | str
    peer: str
    theirs: Timing | str
    ratio: float
    target: Target | None = None
    accuracy: str = ""

    @property
    def verdict(self) -> str:
        """ "met", "missed", or nothing if there is no target."""
        if self.target is None:
            return ""
        return "met" if self.target.is_met(self.ratio) else "missed"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = asdict(self) | {"verdict": self.verdict}
        for side in ("ours", "theirs"):
            timing = getattr(self, side)
            values[side] = timing._asdict() if isinstance(timing, Timing) else timing
        values["target"] = None if self.target is None else self.target._asdict()
        return values


@dataclass(frozen=True)
class Section:
    """What one module measured.

    Attributes
    ----------
    title : str
    rows : list of Row
    notes : list of str
        Sentences that explain the numbers, printed below them.
    lines : list of str
        Results that are not ratios, as lines of text.
    missing : list of str
        Peers and data that were not available.
    """

    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def text(self) -> list[str]:
        """Lines to print."""
        out = [self.title, *self.lines]
        for row in self.rows:
            goal = f"  [{row.target}: {row.verdict}]" if row.target else ""
            out.append(f"  {row.what}: {row.ours} against {row.peer} {row.theirs} -> {row.ratio:.3g}{goal}")
            if row.accuracy:
                out.append(f"      {row.accuracy}")
        return [*out, *(f"  {note}" for note in self.notes), *(f"  missing: {name}" for name in self.missing)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self) | {"rows": [row.as_dict() for row in self.rows]}
