"""The command ``python -m benchmarks.tables``: trials, the cache of their results, and resuming."""

import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from benchmarks import tables
from benchmarks.rivals import outcomes, trials
from benchmarks.rivals.methods import METHODS, installed_methods
from benchmarks.rivals.outcomes import NOT_FINISHED, Result, Stopped, keep_outcome, kept_outcome

RESULT = Result(100, 50, 4, 3, 2, 0.1, 3.0, 0.5, 0.01, 2000, 33, "a machine")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TANAGER_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    return tmp_path


def test_a_small_comparison(cache, capsys, monkeypatch):
    page = cache / "comparison.md"
    command = ["iris", "--method", "nb", "--method", "logistic", "--page", str(page)]
    tables.main(command)
    text = page.read_text()
    assert "| iris | **6.67 ± 2.04** | *7.33 ± 2.13* |" in text
    assert "there are no results for 35 of 36 data sets: wine" in text
    assert "letter (`letter_paper.npz`)" in text
    assert (cache / "figures" / "comparison-ranks.svg").exists()
    assert "[2 of 2] iris, logistic: error 7.33 +- 2.13 %" in capsys.readouterr().out
    kept = kept_outcome("iris", "nb")
    assert (kept.n_train, kept.n_test, kept.n_columns, kept.n_classes, kept.n_wrong) == (120, 150, 4, 3, 10)
    assert kept.n_parameters == 36
    assert 0 < kept.fit_seconds < 10
    assert kept.n_bytes > 1000
    monkeypatch.setattr(tables, "run_trial", None)
    tables.main(command)
    assert page.read_text() == text


def test_a_trial_that_takes_too_long_is_not_finished(cache):
    outcome = trials.run_trial("iris", "boosting", 1e-3)
    assert outcome == Stopped(NOT_FINISHED, 1e-3)


def test_a_trial_that_fails_says_why(cache):
    outcome = trials.run_trial("letter", "nb", 10.0)
    assert isinstance(outcome, Stopped)
    assert outcome.why.startswith("failed: FileNotFoundError: letter_paper.npz of data set 'letter' is missing")


def test_more_time_is_another_try(cache, monkeypatch, capsys):
    monkeypatch.setattr(tables, "run_trial", lambda *_: RESULT)
    keep_outcome("iris", "nb", Stopped(NOT_FINISHED, 5.0))
    tables.main(["iris", "--method", "nb", "--seconds", "5", "--no-page"])
    assert kept_outcome("iris", "nb") == Stopped(NOT_FINISHED, 5.0)
    assert "not finished (limit 5 s)" in capsys.readouterr().out
    tables.main(["iris", "--method", "nb", "--seconds", "6", "--no-page"])
    assert kept_outcome("iris", "nb") == RESULT


def test_again_forgets_one_method(cache, monkeypatch):
    made = []

    def invent(table, method, seconds):
        made.append((table, method))
        return RESULT

    monkeypatch.setattr(tables, "run_trial", invent)
    command = ["iris", "wine", "--method", "nb", "--method", "tan", "--no-page"]
    tables.main(command)
    made.clear()
    tables.main([*command, "--again", "tan"])
    assert made == [("iris", "tan"), ("wine", "tan")]


def test_finished_runs_nothing(cache, monkeypatch):
    monkeypatch.setattr(tables, "run_trial", None)
    keep_outcome("wine", "nb", RESULT)
    tables.main(["--finished", "--page", str(cache / "page.md")])
    assert "| wine | **4.00 ± 2.77** |" in (cache / "page.md").read_text()


def test_a_killed_trial_is_not_kept_and_the_others_go_on(cache, monkeypatch, capsys):
    def invent(table, method, seconds):
        if table == "iris":
            raise trials.ProcessEndedError("iris, nb: ended by SIGKILL")
        return RESULT

    monkeypatch.setattr(tables, "run_trial", invent)
    tables.main(["iris", "wine", "--method", "nb", "--no-page"])
    assert kept_outcome("iris", "nb") is None
    assert kept_outcome("wine", "nb") == RESULT
    assert "ended by SIGKILL; not kept" in capsys.readouterr().out


def test_unknown_data_sets_are_refused(cache, capsys):
    with pytest.raises(SystemExit):
        tables.main(["irish"])
    assert "no data set irish; there are iris, wine" in capsys.readouterr().err


def test_missing_data_and_packages_are_named(cache, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "interpret", None)
    found, missing = installed_methods(list(METHODS))
    assert "explainable" not in found
    assert {name for name, method in METHODS.items() if method.needs is None} <= set(found)
    assert "interpret (pip install 'tanager[bench]')" in missing
    assert len(missing) == len(METHODS) - len(found)
    tables.main(["letter", "--no-page"])
    out = capsys.readouterr().out
    assert "MISSING letter: no file letter_paper.npz" in out
    assert "MISSING interpret" in out


def test_ctrl_c_ends_the_trial_too(cache):
    command = [sys.executable, "-m", "benchmarks.tables", "iris", "--method", "nb", "--no-page"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "naive Bayes ..." in process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=60)
    assert process.returncode == 1
    assert complaints.strip() == "stopped; finished trials are kept, and the same command resumes from there"
    assert kept_outcome("iris", "nb") is None


def test_published_outcomes_are_adopted_where_there_are_no_others(cache, monkeypatch):
    monkeypatch.setattr(outcomes, "PUBLISHED", cache / "outcomes.csv")
    keep_outcome("iris", "nb", RESULT)
    keep_outcome("wine", "nb", replace(RESULT, n_parameters=None))
    keep_outcome("wine", "logistic", Stopped(NOT_FINISHED, 5.0))
    kept = tables.kept_outcomes()
    tables.main(["iris", "--method", "nb", "--finished", "--publish", "--no-page"])
    monkeypatch.setenv("TANAGER_BENCH_CACHE", str(cache / "another"))
    keep_outcome("iris", "nb", replace(RESULT, n_wrong=7))
    tables.main(["iris", "--method", "nb", "--finished", "--from-published", "--no-page"])
    assert tables.kept_outcomes() == {**kept, "iris": {"nb": replace(RESULT, n_wrong=7)}}
