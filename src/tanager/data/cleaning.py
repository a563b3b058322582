"""What to do with the columns of a table as people keep it: one plan for each column, found from the training rows.

Text that is a number, a date or an answer in several spellings is read as such; columns that cannot help, such as
identifiers, constants and free text, are left out. Every plan but "as it is" says in one sentence what is done.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import MISSING, object_array
from tanager.data.written import (
    MISSING_WORDS,
    DateStyle,
    NumberStyle,
    find_date_style,
    find_number_style,
    find_yes_or_no,
    read_yes_or_no,
)

_MANY_ROWS = 20  # from here on, a column whose values are all different says nothing about the class
_LONG_TEXT, _SEVERAL_WORDS = 25, 3  # of free text, on average
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = datetime.datetime(1970, 1, 1)
_PARTS: dict[str, Callable[[Any], Any]] = {
    "days": lambda time: (time - _EPOCH).days,
    "month": lambda time: time.month,
    "weekday": lambda time: _WEEKDAYS[time.weekday()],
    "hour": lambda time: time.hour,
}

AS_IS, NUMBER, ANSWER, SPELLING, DATE, LEFT_OUT = "as is", "number", "yes or no", "spelling", "date", "left out"
_KINDS = (AS_IS, NUMBER, ANSWER, SPELLING, DATE, LEFT_OUT)


@dataclass(frozen=True)
class ColumnPlan:
    """What is done with a column.

    Attributes
    ----------
    name : str
    kind : {"as is", "number", "yes or no", "spelling", "date", "left out"}
    decimal, unit : str
        Of numbers (see `NumberStyle`).
    day_first : bool
        Of dates (see `DateStyle`).
    parts : tuple of str
        The columns that a date becomes: "days" since 1970, "month", "weekday" and "hour".
    missing : tuple of str
        Words that mark a missing cell, in lower case.
    spellings : tuple of str
        The spelling of each word that has several.
    note : str
        What is done, in a sentence; empty if there is nothing to say.
    """

    name: str
    kind: str = AS_IS
    decimal: str = "."
    unit: str = ""
    day_first: bool = False
    parts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a model file."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Any) -> ColumnPlan:
        """The plan that `to_dict` described; anything else is a ValueError.

        >>> ColumnPlan.from_dict(ColumnPlan("when", DATE, parts=("days",)).to_dict()).made
        ['when: days']
        """
        defaults = asdict(cls(""))
        is_plan = isinstance(values, dict) and set(values) == set(defaults)
        for name, default in defaults.items() if is_plan else ():
            kind = list if isinstance(default, tuple) else type(default)
            is_plan &= isinstance(values[name], kind)
            is_plan &= kind is not list or all(isinstance(each, str) for each in values[name])
        if not is_plan or values["kind"] not in _KINDS or not set(values["parts"]) <= set(_PARTS):
            raise ValueError(f"this is not the plan of a column: {values!r}")
        read: dict[str, Any] = {k: tuple(each) if isinstance(each, list) else each for k, each in values.items()}
        return cls(**read)

    @property
    def made(self) -> list[str]:
        """Names of the columns that come out."""
        if self.kind == LEFT_OUT:
            return []
        return [f"{self.name}: {part}" for part in self.parts] if self.kind == DATE else [self.name]

    def makes_numbers(self, name: str) -> bool:
        """Whether the column of this name that comes out of text holds numbers."""
        return self.kind == NUMBER or (self.kind == DATE and name != f"{self.name}: weekday")

    def apply(self, codes: NDArray[Any], levels: Sequence[str]) -> dict[str, NDArray[Any]]:
        """The columns that come out of coded text: float64 for numbers, objects with None for text."""
        if self.kind == LEFT_OUT:
            return {}
        gone = set(self.missing)
        present = [None if text.strip().lower() in gone else text for text in levels]
        if self.kind == NUMBER:
            style = NumberStyle(self.decimal, self.unit)
            return {self.name: _taken([None if t is None else self._number(style, t) for t in present], codes, np.nan)}
        if self.kind == DATE:
            times = [None if text is None else self._date(text) for text in present]
            return {
                f"{self.name}: {part}": _taken(
                    [None if time is None else _PARTS[part](time) for time in times],
                    codes,
                    None if part == "weekday" else np.nan,
                )
                for part in self.parts
            }
        spell = {_key(text): text for text in self.spellings}
        read = read_yes_or_no if self.kind == ANSWER else lambda text: spell.get(_key(text), text)
        return {self.name: _taken([None if text is None else read(text) for text in present], codes, None)}

    def _number(self, style: NumberStyle, text: str) -> float:
        value = style.read(text)
        if value is None:
            raise ValueError(
                f"column {self.name!r} holds numbers, but {text!r} is not one that is written with the decimal sign "
                f"{self.decimal!r}; correct the cell, or keep the column as text when fitting (as_is, --as-is)"
            )
        return value

    def _date(self, text: str) -> Any:
        time = DateStyle(self.day_first).read(text)
        if time is None:
            order = "the day" if self.day_first else "the month"
            raise ValueError(
                f"column {self.name!r} holds dates, but {text!r} is not one ({order} comes first where the year comes "
                "last); correct the cell, or keep the column as text when fitting (as_is, --as-is)"
            )
        return time


def plan_text(
    name: str,
    codes: NDArray[Any],
    levels: Sequence[str],
    *,
    decimal: str | None = None,
    day_first: bool | None = None,
) -> ColumnPlan:
    """Find out what to do with a column of text.

    Parameters
    ----------
    name : str
    codes : int array of shape (N,)
        Number of the text of each cell, -1 where it is missing.
    levels : sequence of str
        The distinct texts.
    decimal : {".", ","}, optional
    day_first : bool, optional

    Examples
    --------
    >>> plan_text("price", np.array([0, 1, 2]), ["EUR 1.284,68", "EUR 3,50", "n/a"]).note
    "read as numbers: 'EUR 1.284,68' is 1284.68; 'n/a' is missing"
    >>> plan_text("code", np.arange(30), [f"K{k}" for k in range(30)]).note
    'left out: all 30 values are different, as those of an identifier'
    """
    counts = np.bincount(codes[codes != MISSING], minlength=len(levels))
    used = [text for text, count in zip(levels, counts.tolist(), strict=True) if count]
    words = [text for text in used if text.strip().lower() not in MISSING_WORDS]
    gone = tuple(sorted({text.strip().lower() for text in used} & set(MISSING_WORDS)))
    if not words:
        return ColumnPlan(name, LEFT_OUT, note="left out: it is empty")
    style = find_number_style(words, decimal)
    if style is not None:
        return ColumnPlan(name, NUMBER, style.decimal, style.unit, missing=gone, note=_number_note(style, words, gone))
    dates = find_date_style(words, day_first=day_first)
    if dates is not None:
        return _plan_dates(name, dates, words, gone)
    if len(set(map(_key, words))) == 1 and not gone and (codes != MISSING).all():
        return ColumnPlan(name, LEFT_OUT, note=f"left out: its only value is {words[0]!r}")
    if find_yes_or_no(words):
        shown = ", ".join(map(repr, sorted(words)))
        return ColumnPlan(name, ANSWER, missing=gone, note=f"read as yes or no: {shown}{_gone_note(gone)}")
    n_rows = int(counts.sum())
    n_numbers = sum(map(_is_plain_number, words))
    if n_rows > _MANY_ROWS and len(words) >= 0.95 * n_rows and n_numbers < 0.5 * len(words):
        return ColumnPlan(name, LEFT_OUT, note=_unique_note(words, n_rows))
    return _plan_spellings(name, Counter(dict(zip(levels, counts.tolist(), strict=True))), words)


def plan_numbers(name: str, values: NDArray[Any]) -> ColumnPlan:
    """Find out what to do with a column of numbers.

    >>> plan_numbers("row", np.arange(100)).note, plan_numbers("income", np.arange(100) * 37).kind
    ('left out: it numbers the rows', 'as is')
    """
    present = values[values == values]
    if not present.size:
        return ColumnPlan(name, LEFT_OUT, note="left out: it is empty")
    low, high = present.min(), present.max()
    if low == high and present.size == values.size:
        return ColumnPlan(name, LEFT_OUT, note=f"left out: its only value is {low:g}")
    is_whole = values.dtype.kind in "iu" or bool((present == np.floor(present)).all())
    if (
        values.size > _MANY_ROWS
        and is_whole
        and high - low == values.size - 1
        and np.unique(present).size == values.size
    ):
        return ColumnPlan(name, LEFT_OUT, note="left out: it numbers the rows")
    return ColumnPlan(name)


def leak_note(name: str, codes: NDArray[Any], y: NDArray[Any]) -> str | None:
    """A sentence about a column that tells the class all but exactly; None for others.

    ``codes`` number the values of the column, and ``y`` the classes, from 0.
    """
    n_values, n_classes = int(codes.max()) + 1, int(y.max()) + 1
    if not n_classes <= n_values <= max(2 * n_classes, n_classes + 2) or len(y) <= _MANY_ROWS:
        return None
    counts = np.zeros((n_values, n_classes))
    np.add.at(counts, (codes, y), 1)
    share, most = counts.max(axis=1).sum() / len(y), counts.sum(axis=0).max() / len(y)
    if share < 0.99 or share - most < 0.05:
        return None
    return (
        f"column {name!r} alone tells the class of {share:.1%} of the rows; leave it out if it is known only after the "
        "class"
    )


def spelling_note(labels: Sequence[str]) -> str | None:
    """A question about classes that differ only in case or space.

    >>> spelling_note(["yes", "no", "Yes "])
    "the classes 'Yes ' and 'yes' differ only in case or space: are they one class?"
    >>> spelling_note(["yes", "no", "Yes", "No"])
    "the classes 'No' and 'no', 'Yes' and 'yes' differ only in case or space: is each of these one class?"
    """
    by_key: dict[str, list[str]] = {}
    for label in sorted(labels):
        by_key.setdefault(_key(label), []).append(label)
    alike = [" and ".join(map(repr, same)) for same in by_key.values() if len(same) > 1]
    if not alike:
        return None
    question = "are they one class?" if len(alike) == 1 else "is each of these one class?"
    return f"the classes {', '.join(alike)} differ only in case or space: {question}"


def _plan_dates(name: str, style: DateStyle, words: list[str], gone: tuple[str, ...]) -> ColumnPlan:
    times = [time for time in map(style.read, words) if time is not None]
    parts = tuple(part for part, read in _PARTS.items() if len({read(time) for time in times}) > 1)
    if not parts:
        return ColumnPlan(name, LEFT_OUT, note=f"left out: its only value is {words[0]!r}")
    example = style.read(words[0])
    shown = "" if example is None else f": {words[0]!r} is {example:%d %B %Y}"
    unsure = ", which could be the other way round" if style.is_ambiguous else ""
    note = f"read as dates{shown}{unsure}; split into {', '.join(parts)}{_gone_note(gone)}"
    return ColumnPlan(name, DATE, day_first=style.day_first, parts=parts, missing=gone, note=note)


def _plan_spellings(name: str, counts: Counter[str], words: list[str]) -> ColumnPlan:
    """Words that differ only in case or space become the most frequent spelling."""
    by_key: dict[str, list[str]] = {}
    for word in words:
        by_key.setdefault(_key(word), []).append(word)
    several = [sorted(same, key=lambda word: (-counts[word], word)) for same in by_key.values() if len(same) > 1]
    if not several:
        return ColumnPlan(name)
    first = several[0]
    note = f"spellings joined: {', '.join(map(repr, first[1:]))} is {first[0]!r}"
    more = f", and {len(several) - 1} more" if len(several) > 1 else ""
    return ColumnPlan(name, SPELLING, spellings=tuple(same[0] for same in several), note=note + more)


def _number_note(style: NumberStyle, words: list[str], gone: tuple[str, ...]) -> str:
    odd = [word for word in words if not _is_plain_number(word)]
    if not odd and not gone:
        return ""
    example = max(odd or words, key=len)
    unsure = ", though the decimal sign could be ','" if style.is_ambiguous else ""
    return f"read as numbers: {example!r} is {style.read(example):.10g}{unsure}{_gone_note(gone)}"


def _is_plain_number(text: str) -> bool:
    """Whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _gone_note(gone: tuple[str, ...]) -> str:
    shown = [word for word in gone if word]
    return f"; {', '.join(map(repr, shown))} {'is' if len(shown) == 1 else 'are'} missing" if shown else ""


def _unique_note(words: list[str], n_rows: int) -> str:
    n_letters = sum(map(len, words)) / len(words)
    if n_letters >= _LONG_TEXT and sum(len(word.split()) for word in words) / len(words) >= _SEVERAL_WORDS:
        return f"left out: free text, {n_letters:.0f} characters on average"
    shown = f"all {n_rows} values are" if len(words) == n_rows else f"{len(words)} of {n_rows} values are"
    return f"left out: {shown} different, as those of an identifier"


def _key(text: str) -> str:
    """What spellings of one word have in common."""
    return " ".join(text.split()).casefold()


def _taken(values: list[Any], codes: NDArray[Any], missing: Any) -> NDArray[Any]:
    """The value of each cell; the code -1 and the value None are missing."""
    if missing is None:
        return object_array([*values, None])[codes]
    numbers = np.array([np.nan if value is None else value for value in [*values, None]], np.float64)
    return numbers[codes]
