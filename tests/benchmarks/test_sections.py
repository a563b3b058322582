"""Every section of the benchmarks runs on tiny sizes, and the page comes out whole."""

import importlib
import json
import sys

import pytest

from benchmarks.__main__ import SECTIONS
from benchmarks.machine import copy_call, describe, multiply_add_call
from benchmarks.page import write_page
from benchmarks.records import Row, Section, Target
from benchmarks.shapes import SHAPES, random_candidates
from benchmarks.timing import Timing, best_wall, time_in_turns

_MARKS = {"memory": pytest.mark.slow, "steps": pytest.mark.slow}


# Other libraries warn of what they do within themselves.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [pytest.param(name, marks=_MARKS.get(name, ())) for name in SECTIONS])
def test_sections_run_on_tiny_sizes(name):
    section = importlib.import_module(f"benchmarks.{name}").run(tiny=True)
    assert section.rows or section.lines or section.missing
    assert all(row.ratio > 0 for row in section.rows)
    assert section.text()[0] == section.title
    json.dumps(section.as_dict())


def test_missing_peers_are_named(monkeypatch):
    from benchmarks import chow_liu

    monkeypatch.setitem(sys.modules, "pyagrum", None)
    section = chow_liu.run(tiny=True)
    assert section.missing == ["pyAgrum (pip install 'tanager[bench]')"]
    assert section.lines
    assert not section.rows


def test_targets():
    time = Timing(1.0, 1.0, 1.0)
    assert Row("a", time, "b", time, 21.0, Target(20.0)).verdict == "met"
    assert Row("a", time, "b", time, 19.0, Target(20.0)).verdict == "missed"
    assert Row("a", time, "b", time, 2.9, Target(3.0, at_most=True)).verdict == "met"
    assert Row("a", time, "b", time, 3.1, Target(3.0, at_most=True)).verdict == "missed"
    assert Row("a", time, "b", time, 3.1).verdict == ""


def test_page_is_written_whole(tmp_path):
    pytest.importorskip("matplotlib")
    time = Timing(1.0, 0.9, 1.1)
    row = Row("step", time, "peer", time.times(30), 30.0, Target(20.0), "error 1 %")
    write_page([Section("Steps", [row], ["a note"], missing=["x"])], "a machine", "a command", tmp_path)
    text = (tmp_path / "benchmarks.md").read_text()
    assert "| step | 1 ms (0.9 to 1.1) | peer | 30 ms (27 to 33) | 30 | at least 20 | met | error 1 % |" in text
    assert "1 of 1 met" in text
    assert "Missing: x" in text
    assert (tmp_path / "benchmarks.svg").read_text().startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["benchmarks.md", "benchmarks.svg"]


def test_a_page_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "benchmarks.md").write_text("old")
    monkeypatch.setattr("benchmarks.page._page", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_page([], "a machine", "a command", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["benchmarks.md"]
    assert (tmp_path / "benchmarks.md").read_text() == "old"


def test_timing_counts_calls():
    seen = []
    times = time_in_turns({"a": lambda: seen.append(1)}, rounds=3, calls={"a": 2}, warm_up=1)
    assert len(seen) == 7
    assert times["a"].low <= times["a"].median <= times["a"].high
    best = best_wall({"a": lambda: None}, rounds=3)["a"]
    assert best.median <= best.high


def test_machine_probes():
    copy, n_bytes = copy_call(1 << 20)
    copy()
    assert n_bytes >= 1 << 20
    call, n_operations = multiply_add_call()
    call()
    assert n_operations == 32 * 2048 * 200
    assert "Python" in describe()


def test_dense_steps_have_more_work():
    from benchmarks.limits import step_work

    candidates = random_candidates(SHAPES["mnist"], 0)
    dense, selected = (step_work(SHAPES["mnist"], candidates, optimiser) for optimiser in ("dense", "selected"))
    assert dense.bytes > selected.bytes
    assert dense.operations > selected.operations
    cells = sum(
        SHAPES["mnist"].cards[i] * (1 if j < 0 else SHAPES["mnist"].cards[j]) * 10
        for i, parents in enumerate(candidates)
        for j in parents
    )
    assert dense.bytes == 24 * cells + 250 * 196
