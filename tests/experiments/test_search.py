"""Successive halving: rungs, what survives, what is trained again, and that the store is its only memory."""

import pytest

from tanager.experiments.run import Result
from tanager.experiments.search import HalvingPlan, make_search
from tanager.experiments.store import Store

PLAN = HalvingPlan(n_configurations=9, epochs=90)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.sqlite") as opened:
        yield opened


def add(store, specs, errors):
    for spec, error in zip(specs, errors, strict=True):
        store.add(spec, Result(0.5, error, (-1,), None, seconds=1.0, cpu_seconds=1.0))


def test_rungs():
    assert PLAN.rungs == [(9, 10), (3, 30), (1, 90)]
    assert PLAN.n_epochs == 270
    assert HalvingPlan(n_configurations=2, epochs=4).rungs == [(2, 1), (1, 1), (1, 4)]


@pytest.mark.parametrize("change", [{"n_configurations": 0}, {"epochs": 0}, {"n_rungs": 0}, {"factor": 1}])
def test_plans_that_make_no_sense_are_refused(change):
    with pytest.raises(ValueError, match="must be at least"):
        HalvingPlan(**change)


def test_the_better_third_goes_on_and_the_best_is_trained_again(store):
    search = make_search("satimage", "subset", 2, PLAN)
    first = search.rung(0, store)
    assert [spec.epochs for spec in first] == [10] * 9
    assert {(spec.fold, spec.validation_share) for spec in first} == {(2, 0.2)}
    errors = [0.5, 0.2, 0.5, 0.1, 0.5, 0.5, 0.3, 0.5, 0.5]
    add(store, first, errors)
    second = search.rung(1, store)
    assert [spec.epochs for spec in second] == [30] * 3
    assert [spec.lam for spec in second] == [first[place].lam for place in (3, 1, 6)]
    add(store, second, [0.3, 0.2, 0.1])
    third = search.rung(2, store)
    assert [(spec.lam, spec.epochs) for spec in third] == [(first[6].lam, 90)]
    assert search.refit(store) == []
    add(store, third, [0.1])
    (refit,) = search.refit(store)
    assert (refit.is_full, refit.epochs, refit.fold, refit.configuration) == (True, 90, 2, third[0].configuration)


def test_ties_go_to_the_one_drawn_first(store):
    search = make_search("letter", "nb", 1, PLAN)
    first = search.rung(0, store)
    add(store, first, [0.2] * 9)
    assert [spec.lam for spec in search.rung(1, store)] == [spec.lam for spec in first[:3]]


def test_failed_runs_drop_out(store):
    search = make_search("letter", "nb", 1, PLAN)
    first = search.rung(0, store)
    add(store, first[:2], [0.2, 0.1])
    assert [spec.lam for spec in search.rung(1, store)] == [first[1].lam, first[0].lam]


def test_a_new_search_over_the_same_store_goes_on_where_the_old_one_was(store):
    search = make_search("letter", "nb", 1, PLAN)
    add(store, search.rung(0, store), [k / 10 for k in range(9)])
    again = make_search("letter", "nb", 1, PLAN)
    assert again.rung(1, store) == search.rung(1, store)
