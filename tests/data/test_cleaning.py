"""Plans for single columns."""

import json

import numpy as np
import pytest

from tanager.data.cleaning import ColumnPlan, leak_note, plan_numbers, plan_text, spelling_note


def plan(cells, **options):
    levels = list(dict.fromkeys(cell for cell in cells if cell is not None))
    codes = np.array([-1 if cell is None else levels.index(cell) for cell in cells])
    return plan_text("it", codes, levels, **options), codes, levels


def applied(cells, **options):
    found, codes, levels = plan(cells, **options)
    return {name: column.tolist() for name, column in found.apply(codes, levels).items()}


def test_numbers_with_gaps():
    np.testing.assert_equal(applied(["1,5", "n/a", None, "2,25"]), {"it": [1.5, np.nan, np.nan, 2.25]})
    np.testing.assert_equal(applied(["1.5", "#DIV/0!", "#REF!", "2"]), {"it": [1.5, np.nan, np.nan, 2.0]})


def test_dates_become_the_parts_that_differ():
    cells = ["2026-11-16", "2026-11-17", None]
    assert applied(cells)["it: weekday"] == ["Monday", "Tuesday", None]
    assert list(applied(cells)) == ["it: days", "it: weekday"]
    assert list(applied(["2026-11-16 10:00", "2026-11-16 12:30"])) == ["it: hour"]


def test_a_date_that_cannot_be():
    found, codes, levels = plan(["2026-02-28", "2026-02-30", "2026-03-01"])
    with pytest.raises(ValueError, match=r"column 'it' holds dates, but '2026-02-30' is not one"):
        found.apply(codes, levels)


def test_a_number_that_cannot_be():
    found, *_ = plan(["1,5", "2,5"])
    with pytest.raises(ValueError, match=r"column 'it' holds numbers, but 'many' is not one.*','"):
        found.apply(np.array([0]), ["many"])


def test_spellings_join_the_most_frequent():
    assert applied(["Wien", "wien", "Wien", "GRAZ", "Wien "]) == {"it": ["Wien", "Wien", "Wien", "GRAZ", "Wien"]}
    found, *_ = plan(["Wien", "wien", "Graz"])
    assert found.apply(np.array([0, 1]), ["WIEN", "Linz"])["it"].tolist() == ["Wien", "Linz"]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([None, ""], "it is empty"),
        (["a", "A ", "a"], "its only value is 'a'"),
        ([f"K{k}" for k in range(50)], "all 50 values are different"),
        ([f"K{k % 49}" for k in range(50)], "49 of 50 values are different"),
        ([f"the number {k} of these remarks is long" for k in range(50)], "free text"),
        (["2026-01-01"] * 3, "its only value is '2026-01-01'"),
    ],
)
def test_left_out(cells, reason):
    found, codes, levels = plan(cells)
    assert found.kind == "left out"
    assert reason in found.note
    assert found.apply(codes, levels) == {}


def test_numbers_that_are_kept_and_those_that_are_not():
    incomes = np.random.default_rng(0).permutation(100_000)[:500]
    assert plan_numbers("income", incomes).kind == "as is"
    assert plan_numbers("row", np.random.default_rng(0).permutation(500)).kind == "left out"
    assert plan_numbers("row", np.arange(10)).kind == "as is"
    assert plan_numbers("one", np.ones(5)).note == "left out: its only value is 1"
    assert plan_numbers("some", np.array([1.0, np.nan])).kind == "as is"
    assert plan_numbers("none", np.array([np.nan])).kind == "left out"


def test_one_word_beside_gaps_is_kept():
    assert plan(["x", None, "x"])[0].kind == "as is"
    assert plan(["x", "?", "x"])[0].kind == "as is"


def test_numbers_with_a_few_words_are_not_an_identifier():
    assert plan([*map(str, range(40)), "tall"])[0].kind == "as is"


def test_codes_with_leading_zeros_stay_text():
    assert plan(["01234", "99999", "01234"])[0].kind == "as is"


def test_leaks():
    y = np.arange(200) % 2
    assert "100.0% of the rows" in leak_note("it", 1 - y, y)
    assert leak_note("it", np.arange(200) // 2 % 2, y) is None
    assert leak_note("it", np.arange(200), y) is None
    rare = (np.arange(200) > 196).astype(int)
    assert leak_note("it", rare, rare) is None  # next to the most frequent class it tells too little to be sure


def test_classes_in_several_spellings():
    assert spelling_note(["a", "b"]) is None
    assert "'A' and 'a'" in spelling_note(["a", "b", "A"])


def test_plans_as_plain_values():
    found, *_ = plan(["3.11.2026", "4.12.2026", "?"])
    assert ColumnPlan.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    for damaged in (None, {}, {**found.to_dict(), "kind": "script"}, {**found.to_dict(), "parts": ["second"]}):
        with pytest.raises(ValueError, match="not the plan of a column"):
            ColumnPlan.from_dict(damaged)
