"""Numbers, dates and answers as people write them."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data.written import (
    DateStyle,
    NumberStyle,
    find_date_style,
    find_number_style,
    find_yes_or_no,
    read_yes_or_no,
)

AMOUNTS = st.integers(-(10**9), 10**9).map(lambda cents: cents / 100)


@given(st.lists(AMOUNTS, min_size=1), st.sampled_from([".", ","]), st.sampled_from(["", "%", "€", "EUR ", "$"]))
def test_amounts_are_read_as_they_were_written(values, decimal, unit):
    texts = [f"{value:,.2f}" for value in values]
    if decimal == ",":
        texts = [text.translate(str.maketrans(",.", ".,")) for text in texts]
    texts = [f"{text}{unit}" if unit == "%" else f"{unit}{text}" for text in texts]
    style = find_number_style(texts)
    assert style is not None
    assert (style.decimal, style.is_ambiguous) == (decimal, False)
    assert [style.read(text) for text in texts] == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        (".5", 0.5),
        ("-$1,200.50", -1200.5),
        ("$-1,200.50", -1200.5),
        ("(300)", -300.0),
        ("1 234 567.8", 1234567.8),
        ("1'234.5", 1234.5),
        ("\u22123", -3.0),
        ("70 kg", 70.0),
        ("12B", None),
        ("1,23,456", None),
        ("1.2.3", None),
        ("K12", None),
        ("(300", None),
        ("", None),
    ],
)
def test_single_numbers(text, value):
    assert NumberStyle().read(text) == value


def test_styles():
    assert find_number_style(["1", "2.5"]) == NumberStyle()
    assert find_number_style(["1,234", "1,234,567"]) == NumberStyle(".", "", False)
    assert find_number_style(["1.234", "1,5"]) == NumberStyle(",", "", False)
    assert find_number_style(["1,234"]) == NumberStyle(".", "", True)
    assert find_number_style(["1,234"], ",") == NumberStyle(",", "", False)
    assert find_number_style(["1.5", "1,5"]) is None
    assert find_number_style(["5 kg", "6 g"]) is None
    assert find_number_style(["5%", "6"]) == NumberStyle(".", "%", False)
    assert find_number_style([]) is None


@given(st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)))
def test_dates(time):
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    for text in (f"{day:%Y-%m-%d}", f"{day:%d %B %Y}", f"{day:%b %d, %Y}", f"{day:%Y/%m/%d}"):
        assert find_date_style([text]).read(text) == day
    assert DateStyle(day_first=True).read(f"{day:%d/%m/%Y}") == day
    assert DateStyle(day_first=False).read(f"{day:%m/%d/%Y}") == day
    second = time.replace(microsecond=0)
    assert DateStyle().read(f"{second:%Y-%m-%dT%H:%M:%S}Z") == second


def test_order_of_day_and_month():
    assert find_date_style(["13/01/2026", "02/03/2026"]) == DateStyle(True, False)
    assert find_date_style(["01/13/2026", "02/03/2026"]) == DateStyle(False, False)
    assert find_date_style(["01/02/2026"]) == DateStyle(False, True)
    assert find_date_style(["01.02.2026"]) == DateStyle(True, False)
    assert find_date_style(["01/02/2026"], day_first=True) == DateStyle(True, False)
    assert find_date_style(["2026-01-02", "soon"]) is None
    assert find_date_style(["99/99/2026"]) is None
    assert DateStyle().read("2026-02-30") is None


def test_answers():
    assert find_yes_or_no(["yes", "Yes", "NO"])
    assert not find_yes_or_no(["yes", "Yes"])
    assert not find_yes_or_no(["1", "0"])
    assert [read_yes_or_no(text) for text in ("T", "f", " JA", "perhaps ")] == ["yes", "no", "yes", "perhaps"]
