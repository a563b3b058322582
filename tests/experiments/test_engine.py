"""Running specs: only what is missing, the same results from every pool, workers that are killed or fail."""

import multiprocessing
import os
import signal
from contextlib import closing
from dataclasses import replace

import pytest

from tanager.experiments import engine, local_pool
from tanager.experiments.engine import EngineError, Failed, Finished, SerialPool, execute, run_task
from tanager.experiments.grids import paper_grid, sample_grid
from tanager.experiments.local_pool import LocalPool
from tanager.experiments.run import Result
from tanager.experiments.spec import RunSpec
from tanager.experiments.store import Store
from tests.experiments import light_worker

SPECS = [replace(spec, epochs=3) for spec in sample_grid(paper_grid("digits", "subset"), 6)]


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


class CountingPool:
    """Invents results, and notes what it was asked for."""

    def __init__(self, bad=()):
        self.asked, self.bad, self.is_closed = [], bad, False

    def run(self, specs):
        try:
            for spec in specs:
                self.asked.append(spec)
                if spec in self.bad:
                    yield Failed(spec, "ValueError: no luck")
                else:
                    yield Finished(spec, Result(0.5, None, (-1,), None, seconds=1.0, cpu_seconds=1.0))
        finally:
            self.is_closed = True


def test_only_what_is_missing_is_run(store):
    list(execute(SPECS[:2], store, CountingPool()))
    pool = CountingPool()
    outcomes = list(execute(SPECS, store, pool))
    assert pool.asked == SPECS[2:]
    assert [outcome.spec for outcome in outcomes] == SPECS[2:]
    assert len(store) == len(SPECS)


def test_stopping_keeps_what_was_finished_and_remembers_the_rest(store):
    pool = CountingPool()
    with closing(execute(SPECS, store, pool)) as outcomes:
        next(outcomes)
        next(outcomes)
    assert pool.is_closed
    assert len(store) == 2
    assert store.outstanding() == SPECS[2:]


def test_failed_runs_do_not_stop_the_others_and_are_tried_again(store):
    outcomes = list(execute(SPECS, store, CountingPool(bad=SPECS[1:3])))
    assert [outcome.spec for outcome in outcomes if isinstance(outcome, Failed)] == SPECS[1:3]
    assert len(store) == len(SPECS) - 2
    again = CountingPool()
    list(execute(SPECS, store, again))
    assert again.asked == SPECS[1:3]


def test_many_failures_stop_the_work(store):
    specs = sample_grid(paper_grid("digits", "nb"), 50)
    pool = CountingPool(bad=specs[5:])
    with pytest.raises(EngineError, match="10 runs failed, the last with: ValueError: no luck"):
        list(execute(specs, store, pool))
    assert len(store) == 5
    assert pool.is_closed


def test_task_reports_errors_as_text(monkeypatch):
    def fail(spec):
        raise ArithmeticError("the loss is nan")

    monkeypatch.setattr(engine, "run_spec", fail)
    assert run_task(SPECS[0].to_json()) == (False, "ArithmeticError: the loss is nan")


def test_task_refuses_a_spec_of_another_version():
    is_good, text = run_task(SPECS[0].to_json().replace('"recipe":1', '"recipe":2'))
    assert not is_good
    assert "the spec has version 2" in text


@pytest.mark.slow
def test_processes_give_the_results_of_a_serial_run_though_one_is_killed_and_one_run_fails(store, monkeypatch):
    monkeypatch.setenv("TANAGER_DATA", "/nowhere")
    bad = RunSpec(dataset="letter", method="nb-ml")
    expected = {outcome.spec: outcome.result for outcome in SerialPool().run(SPECS)}
    outcomes = []
    for outcome in execute([bad, *SPECS], store, LocalPool(2)):
        outcomes.append(outcome)
        if len(outcomes) == 2:
            os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
    assert {record.spec: record.result for record in store.records()} == expected
    (failed,) = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    assert failed == Failed(bad, "DataError: TANAGER_DATA is /nowhere, which is not a folder")
    assert multiprocessing.active_children() == []


def test_run_that_always_ends_its_worker_is_given_up(monkeypatch):
    monkeypatch.setattr(local_pool, "_work", light_worker.end_suddenly)
    (outcome,) = LocalPool(2).run(SPECS[:1])
    assert isinstance(outcome, Failed)
    assert "its worker died 3 times" in outcome.reason


def test_workers_end_when_the_work_is_stopped(monkeypatch):
    monkeypatch.setattr(local_pool, "_work", light_worker.answer_once)
    with closing(LocalPool(2).run(SPECS)) as outcomes:
        assert isinstance(next(outcomes), Finished)
        assert len(multiprocessing.active_children()) == 2
    assert multiprocessing.active_children() == []


def test_no_more_workers_than_runs(monkeypatch):
    monkeypatch.setattr(local_pool, "_work", light_worker.answer_once)
    with closing(LocalPool(4).run(SPECS[:1])) as outcomes:
        next(outcomes)
        assert len(multiprocessing.active_children()) == 1


def test_no_specs_need_no_workers():
    assert list(LocalPool(2).run([])) == []


def test_number_of_workers():
    assert LocalPool().n_workers >= 1
    with pytest.raises(ValueError, match="the number of workers must be at least 1, got 0"):
        LocalPool(0)
