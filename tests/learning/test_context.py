"""Contexts: what is asked of a set of rows is computed once, whoever asks first, and nobody can change it."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from tanager import (
    ChowLiu,
    DisjointTrees,
    Free,
    GradientDescent,
    IndependentSearches,
    SampledStructures,
    Screened,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.learning import PRESETS, TREE_PARAMETERS, Context, Counts, Recipe, Rows, choose
from tanager.learning import context as context_module
from tanager.learning import members as members_module

QUICK = GradientDescent(epochs=2)
SCORES = ["information", "explaining-away", "conditional", "margin"]


def shifted_rows(n_rows=300):
    """Feature 1 is feature 0 shifted by the class, so that only a tree tells the classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    X = rng.integers(0, 3, (n_rows, 5))
    X[:, 1] = (X[:, 0] + y) % 3
    return X, y


def make_context(n_rows=300, weight=None, **options):
    X, y = shifted_rows(n_rows)
    return Context(Rows(X.astype(np.uint8), y, weight, np.full(5, 3), 3), **options)


class Recorder:
    """Calls a function, and keeps what it was asked and of which rows."""

    def __init__(self, function, key, seconds=0.0):
        self.function, self.key, self.seconds = function, key, seconds
        self.calls = []

    def __call__(self, *args, **kwargs):
        self.calls.append(self.key(*args, **kwargs))
        time.sleep(self.seconds)
        return self.function(*args, **kwargs)


def rows_key(codes, y, weight):
    """What tells one set of rows from another."""
    return codes.tobytes(), y.tobytes(), None if weight is None else weight.tobytes()


@pytest.fixture
def counted(monkeypatch):
    """The score and the rows of each count of pairs."""
    recorder = Recorder(context_module.pair_scores, lambda name, rows, *more: (name, rows_key(*rows)))
    monkeypatch.setattr(context_module, "pair_scores", recorder)
    return recorder.calls


@pytest.fixture
def merged(monkeypatch):
    """The rows, the batch size and the permission to merge of each problem that is made."""

    def key(codes, y, weight, batch_size, *, may_merge):
        return rows_key(codes, y, weight), batch_size, may_merge

    recorder = Recorder(context_module.make_problem, key)
    monkeypatch.setattr(context_module, "make_problem", recorder)
    return recorder.calls


def n_sets_of_rows(calls):
    return len({rows for _, rows in calls})


# Through the estimators.


def test_a_default_fit_counts_and_merges_once_for_each_set_of_rows(counted, merged):
    clf = TANClassifier(random_state=0).fit(*shifted_rows(150))
    # Four of the presets go by the scores, and one of them wins: three parts and all rows, each counted once.
    assert sum(recipe.structure in (Free(candidates="mixed"), ChowLiu()) for recipe in PRESETS.values()) == 4
    assert clf.choice_["tried"] == list(PRESETS)
    assert clf.options_["structure"] in (Free(candidates="mixed"), ChowLiu())
    assert len(counted) == 3 + 1
    assert n_sets_of_rows(counted) == 4
    assert {name for name, _ in counted} == {"information"}
    # Four are trained, and all on the same batches.
    assert sum(isinstance(recipe.parameters, GradientDescent) for recipe in PRESETS.values()) == 4
    assert isinstance(clf.options_["parameters"], GradientDescent)
    assert len(merged) == len(set(merged)) == 3 + 1


def test_of_many_rows_one_part_and_all_rows_are_counted(counted):
    clf = TANClassifier(parameters="ml", random_state=0).fit(*shifted_rows(3000))
    assert clf.choice_["preset"] == "chow-liu"
    assert len(counted) == n_sets_of_rows(counted) == 1 + 1


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("training", ["auto", "separate", "joint"])
def test_an_ensemble_of_presets_counts_once_for_each_set_of_rows(counted, merged, monkeypatch, n_jobs, training):
    short = {name: each.set_params(epochs=2) for name, each in TREE_PARAMETERS.items() if each != Counts()}
    monkeypatch.setattr(members_module, "TREE_PARAMETERS", short)
    clf = TANEnsembleClassifier(training=training, n_jobs=n_jobs, random_state=0)
    clf.fit(*shifted_rows())
    assert len(clf.choice_["tried"]) > 3
    assert len(counted) == n_sets_of_rows(counted) == 3 + 1
    assert len(merged) == len(set(merged)) == 3 + 1


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
@pytest.mark.parametrize("training", ["separate", "joint"])
@pytest.mark.parametrize(
    "members",
    [
        IndependentSearches(Free(2, "mixed"), 5),
        SampledStructures(Free(2, "mixed"), 5),
        IndependentSearches("chow-liu", 5),
        DisjointTrees(3),
    ],
    ids=repr,
)
def test_members_in_threads_share_one_count(counted, merged, members, training, n_jobs):
    TANEnsembleClassifier(members, QUICK, training=training, n_jobs=n_jobs, random_state=0).fit(*shifted_rows())
    assert [name for name, _ in counted] == ["information"]
    assert len(merged) == 1


def test_each_score_is_counted_for_itself(counted):
    context = make_context()
    recipes = {
        "a": Recipe(ChowLiu("margin"), "ml"),
        "b": Recipe(Free(2, Screened("margin")), QUICK),
        "c": Recipe(ChowLiu(), "ml"),
        "d": Recipe(Free(2, "mixed"), QUICK),
        "e": Recipe("none", "ml"),
    }
    choose(recipes, lambda recipe, part: recipe.learn(part, 0).network.log_joint, context, calibrate="auto", seed=0)
    assert Counter(name for name, _ in counted) == {"margin": 3, "information": 3}
    assert len(set(counted)) == 6


def test_memory_is_found_with_one_count(counted):
    TANClassifier().memory_needed(*shifted_rows())
    assert [name for name, _ in counted] == ["information"]


# The contexts themselves.


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_counted_once_and_are_read_only(counted, name):
    context = make_context()
    first = context.scores(name)
    assert context.scores(name) is first
    assert context.with_options(n_threads=2).scores(name) is first
    assert context.with_options(verbose=1).scores(name) is first
    assert [asked for asked, _ in counted] == [name]
    assert not first.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        first[0, 1] = 1.0


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("weight", [None, np.arange(300) % 3 * 0.5])
def test_scores_are_those_of_the_rows_for_any_number_of_threads(name, weight):
    one, two = (make_context(weight=weight, n_threads=n_threads) for n_threads in (1, 2))
    rows = (one.rows.codes, one.rows.y, np.ones(300) if weight is None else weight)
    expected = context_module.pair_scores(name, rows, one.rows.cards, 3)
    np.testing.assert_array_equal(one.scores(name), expected)
    np.testing.assert_array_equal(two.scores(name), expected)


def test_scores_that_are_unknown_are_refused_again_and_again():
    context = make_context()
    for _ in range(2):
        with pytest.raises((KeyError, ValueError), match="luck"):
            context.scores("luck")
    assert context.scores("information").shape == (5, 5)


def test_problems_are_made_once_for_each_batch_size(merged):
    context = make_context()
    first = context.problem(100, may_merge=True)
    assert context.problem(100, may_merge=True) is first
    assert context.with_options(n_threads=2).problem(100, may_merge=True) is first
    assert len(merged) == 1
    with pytest.raises(FrozenInstanceError):
        first.weight = None
    others = [context.problem(100, may_merge=False), context.problem(500, may_merge=True)]
    assert len({id(problem) for problem in [first, *others]}) == len(merged) == 3


def test_problems_merge_equal_rows_and_keep_what_is_in_order():
    rows = make_context().rows._replace(n_ordered=np.array([3, 0, 0, 3, 3]))
    merged, apart = (Context(rows).problem(1000, may_merge=may_merge) for may_merge in (True, False))
    n_distinct = len(np.unique(np.column_stack([rows.codes, rows.y]), axis=0))
    assert len(merged.y) == n_distinct < len(apart.y) == 300
    assert merged.n_ordered is apart.n_ordered is rows.n_ordered


def ask_at_once(ask, n_threads=6):
    """Ask from several threads at the same time."""
    barrier = threading.Barrier(n_threads)

    def wait_and_ask(number):
        barrier.wait()
        return ask(number)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(wait_and_ask, range(n_threads)))


def test_askers_at_the_same_time_get_the_same_scores(monkeypatch):
    slow = Recorder(context_module.pair_scores, lambda name, *more: name, seconds=0.2)
    monkeypatch.setattr(context_module, "pair_scores", slow)
    context = make_context()
    found = ask_at_once(lambda number: context.with_options(n_threads=1 + number % 2).scores("information"))
    assert slow.calls == ["information"]
    assert all(each is found[0] for each in found)


def test_askers_at_the_same_time_get_the_same_problem(monkeypatch):
    slow = Recorder(context_module.make_problem, lambda *rows, may_merge: may_merge, seconds=0.2)
    monkeypatch.setattr(context_module, "make_problem", slow)
    context = make_context()
    found = ask_at_once(lambda number: context.problem(100, may_merge=True))
    assert slow.calls == [True]
    assert all(each is found[0] for each in found)


def test_askers_of_other_scores_do_not_wait_for_each_other(monkeypatch):
    """Both counts must have begun before either can end."""
    both_begun = threading.Barrier(2, timeout=30)
    count = context_module.pair_scores

    def pair_scores(name, *more):
        both_begun.wait()
        return count(name, *more)

    monkeypatch.setattr(context_module, "pair_scores", pair_scores)
    context = make_context()
    names = ["information", "margin"]
    found = ask_at_once(lambda number: context.scores(names[number]), n_threads=2)
    for name, scores in zip(names, found, strict=True):
        assert context.scores(name) is scores


def test_an_answer_that_fails_is_asked_again(monkeypatch):
    count, failures = context_module.pair_scores, [MemoryError("too large")]

    def pair_scores(*args):
        if failures:
            raise failures.pop()
        return count(*args)

    monkeypatch.setattr(context_module, "pair_scores", pair_scores)
    context = make_context()
    with pytest.raises(MemoryError):
        context.scores("information")
    assert context.scores("information").shape == (5, 5)


def test_contexts_of_other_rows_share_nothing(counted):
    first, second = make_context(), make_context()
    assert first.scores("information") is not second.scores("information")
    assert len(counted) == 2


# Rows.


def test_rows_count_with_whole_weights():
    rows = make_context().rows
    assert rows.n_counted == 300
    assert rows._replace(weight=np.full(300, 2.0)).n_counted == 600
    assert rows._replace(weight=np.full(300, 0.5)).n_counted == 300
    np.testing.assert_array_equal(rows.full_weight(), np.ones(300))


def test_some_of_the_rows():
    rows = make_context(weight=np.arange(300.0)).rows
    some = rows.take(np.array([7, 3]))
    np.testing.assert_array_equal(some.codes, rows.codes[[7, 3]])
    assert some.y.tolist() == rows.y[[7, 3]].tolist()
    assert some.weight.tolist() == [7.0, 3.0]
    assert rows._replace(weight=None).take(np.array([7])).weight is None


def test_memory_of_the_rows():
    rows = make_context().rows
    assert rows.n_bytes == 300 * 5 + 2 * 300 * 8
    assert rows._replace(weight=np.ones(300)).n_bytes == rows.n_bytes + 300 * 8
