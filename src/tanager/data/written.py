"""Numbers, dates and yes-or-no answers as people write them: 44,364.85, 1.9 %, EUR 284,68, 3.11.2026, Yes.

A style is what all cells of a column have in common, such as the sign before the decimals; it is found from the
distinct texts of a column and then reads any further cell.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MISSING_WORDS = (
    *("", "?", "-", "--", "na", "n/a", "n.a.", "nan", "null", "none", "missing", "unknown"),
    *("#n/a", "#div/0!", "#name?", "#null!", "#num!", "#ref!", "#value!"),  # what spreadsheets show for an error
)
"""Words that often mark a missing cell, in lower case."""

_SIGNS = "€$£¥₹"
_CURRENCIES = "EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|BRL|MXN|ZAR|KRW|SGD|HKD"
_BEFORE = rf"[{_SIGNS}]|{_CURRENCIES}"
# Other units, as in 70 kg, stand behind a space, so that codes such as 12B are not numbers.
_AFTER = rf"%|[{_SIGNS}]|{_CURRENCIES}|(?<=\s)[A-Za-z]{{1,3}}"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+\u2212])?\s*(?P<before>{_BEFORE})?\s*(?P<late_sign>[-+\u2212])?"
    r"(?P<digits>[0-9][0-9.,'\u2019 \u00a0\u202f]*|[.,][0-9]+)(?P<power>[eE][-+]?[0-9]+)?"
    rf"\s*(?P<after>{_AFTER})?\s*(?P<close>\))?"
)
_SPACES = re.compile(r"['\u2019 \u00a0\u202f]")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")

_YES = frozenset({"yes", "y", "true", "t", "1", "on", "ja", "j", "oui", "si", "sí"})
_NO = frozenset({"no", "n", "false", "f", "0", "off", "nein", "non"})

_MONTHS = {name: k + 1 for k, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"))}
_TIME = r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){_TIME}")
_YEAR_LAST = re.compile(rf"(?P<a>\d{{1,2}})(?P<by>[-/.])(?P<b>\d{{1,2}})(?P=by)(?P<y>\d{{4}}){_TIME}")
_MONTH_NAMED = re.compile(rf"(?P<d>\d{{1,2}})[- .]*(?P<name>[A-Za-z]{{3}})[a-z]*[- .,]*(?P<y>\d{{4}}){_TIME}")
_MONTH_FIRST = re.compile(rf"(?P<name>[A-Za-z]{{3}})[a-z]*\.? (?P<d>\d{{1,2}}),? (?P<y>\d{{4}}){_TIME}")


class NumberStyle(NamedTuple):
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        The sign before the decimals, "." or ",".
    unit : str
        The unit of all numbers, such as "%" or "EUR"; empty if they have none.
    is_ambiguous : bool
        Whether the numbers could be read with the other sign, too, as 1,234 can.
    """

    decimal: str = "."
    unit: str = ""
    is_ambiguous: bool = False

    def read(self, text: str) -> float | None:
        """The number that a text stands for; None if it is not one in this style.

        >>> NumberStyle(",", "EUR").read("EUR 1.284,68"), NumberStyle().read("(1,200)"), NumberStyle().read("many")
        (1284.68, -1200.0, None)
        """
        found = _NUMBER.fullmatch(text.strip())
        if found is None or bool(found["open"]) != bool(found["close"]):
            return None
        unit = found["before"] or found["after"] or ""
        if unit and self.unit and unit.lower() != self.unit.lower():
            return None
        digits = _SPACES.sub("", found["digits"])
        whole, _, decimals = digits.partition(self.decimal)
        other = "," if self.decimal == "." else "."
        if other in decimals or self.decimal in decimals or not _is_grouped(whole, other):
            return None
        value = float(f"{whole.replace(other, '') or '0'}.{decimals or '0'}{found['power'] or ''}")
        is_negative = bool(found["open"]) or (found["sign"] or found["late_sign"] or "") in ("-", "\u2212")
        return -value if is_negative else value


def find_number_style(texts: Sequence[str], decimal: str | None = None) -> NumberStyle | None:
    """The style in which all texts are numbers; None if there is none, or if texts look like codes with leading zeros.

    Parameters
    ----------
    texts : sequence of str
    decimal : {".", ","}, optional
        The sign before the decimals, if it is known.

    Examples
    --------
    >>> find_number_style(["44,364.85", "12"])
    NumberStyle(decimal='.', unit='', is_ambiguous=False)
    >>> find_number_style(["284,68", "1.100,00"]).decimal, find_number_style(["1,234", "5,600"]).is_ambiguous
    (',', True)
    >>> find_number_style(["EUR 5", "USD 5"]) is None, find_number_style(["01234", "99999"]) is None
    (True, True)
    """
    if not texts or any(_LEADING_ZERO.fullmatch(text.strip()) for text in texts):
        return None
    units = set()
    for text in texts:
        found = _NUMBER.fullmatch(text.strip())
        if found is None:
            return None
        if found["before"] or found["after"]:
            units.add(found["before"] or found["after"])
    if len({unit.lower() for unit in units}) > 1:
        return None
    unit = units.pop() if units else ""
    fitting = [
        sign
        for sign in ([decimal] if decimal else [".", ","])
        if all(NumberStyle(sign, unit).read(t) is not None for t in texts)
    ]
    if not fitting:
        return None
    values = [[NumberStyle(sign, unit).read(text) for text in texts] for sign in fitting]
    is_ambiguous = len(fitting) == 2 and values[0] != values[1]
    return NumberStyle(fitting[0], unit, is_ambiguous)


def _is_grouped(whole: str, sign: str) -> bool:
    """Whether the digits before the decimals are one group, or groups of three with a sign between."""
    head, *groups = whole.split(sign)
    return not groups or (0 < len(head) <= 3 and all(len(group) == 3 for group in groups))


def find_yes_or_no(texts: Iterable[str]) -> bool:
    """Whether texts are answers, yes and no, in more than one spelling.

    >>> find_yes_or_no(["yes", "Yes", "N", "no"]), find_yes_or_no(["yes", "no"]), find_yes_or_no(["yes", "maybe"])
    (True, False, False)
    """
    all_texts = set(texts)
    words = {text.strip().lower() for text in all_texts}
    return len(all_texts) > 2 and words <= _YES | _NO and bool(words & _YES) and bool(words & _NO)


def read_yes_or_no(text: str) -> str:
    """An answer in one spelling; other texts stay as they are.

    >>> read_yes_or_no(" Y"), read_yes_or_no("false"), read_yes_or_no("maybe")
    ('yes', 'no', 'maybe')
    """
    word = text.strip().lower()
    return "yes" if word in _YES else "no" if word in _NO else text.strip()


class DateStyle(NamedTuple):
    """How the dates of a column are written: with the day or the month first, where the year comes last.

    `is_ambiguous` says that they could be read the other way round, too.
    """

    day_first: bool = False
    is_ambiguous: bool = False

    def read(self, text: str) -> datetime.datetime | None:
        """The time that a text stands for; None if it is not a date.

        >>> DateStyle(day_first=True).read("3.11.2026"), DateStyle().read("2026-02-30")
        (datetime.datetime(2026, 11, 3, 0, 0), None)
        """
        found = _match_date(text)
        if found is None:
            return None
        part = found.groupdict()
        if "name" in part:
            month, day = _MONTHS.get(part["name"].lower(), 0), int(part["d"])
        elif "m" in part:
            month, day = int(part["m"]), int(part["d"])
        else:
            day, month = (int(part["a"]), int(part["b"])) if self.day_first else (int(part["b"]), int(part["a"]))
        hour, minute, second = (int(part[unit] or 0) for unit in ("hour", "minute", "second"))
        try:
            return datetime.datetime(int(part["y"]), month, day, hour, minute, second)
        except ValueError:
            return None


def find_date_style(texts: Sequence[str], *, day_first: bool | None = None) -> DateStyle | None:
    """The style in which most texts are dates; None if they do not look like dates.

    Texts that look like dates but cannot be one, as 2026-02-30, do not keep the others from being dates.

    Examples
    --------
    >>> find_date_style(["2026-11-17", "2025-01-02 10:30"])
    DateStyle(day_first=False, is_ambiguous=False)
    >>> find_date_style(["13/01/2026", "02/03/2026"]).day_first, find_date_style(["1/2/2026"]).is_ambiguous
    (True, True)
    """
    if not texts or any(_match_date(text) is None for text in texts):
        return None
    last = [found for found in map(_YEAR_LAST.fullmatch, (text.strip() for text in texts)) if found]
    choices = [day_first] if day_first is not None else [False, True]
    read = {choice: sum(DateStyle(choice).read(text) is not None for text in texts) for choice in choices}
    is_dotted = bool(last) and all(found["by"] == "." for found in last)
    best = max(choices, key=lambda choice: (read[choice], choice == is_dotted))
    if not read[best]:
        return None
    is_ambiguous = bool(last) and not is_dotted and len(read) == 2 and len(set(read.values())) == 1
    return DateStyle(best, is_ambiguous)


def _match_date(text: str) -> re.Match[str] | None:
    for pattern in (_YEAR_FIRST, _YEAR_LAST, _MONTH_NAMED, _MONTH_FIRST):
        found = pattern.fullmatch(text.strip())
        if found is not None:
            return found
    return None
