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
    PenalisedLikelihood,
    SampledStructures,
    Screened,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager._threads import Crew
from tanager.learning import ENSEMBLE_PRESETS, PRESETS, Context, Recipe, Rows, choose, ensembles, hold_out
from tanager.learning import context as context_module
from tanager.learning.context import RESIDUAL

QUICK = GradientDescent(epochs=2)
pytestmark = pytest.mark.usefixtures("margins_for_three_classes")
SCORES = ["information", "explaining-away", "conditional", "margin", "residual"]


def shifted_rows(n_rows=300):
    """Feature 1 is feature 0 shifted by the class, so that only a tree tells the classes; some classes are wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    X = rng.integers(0, 3, (n_rows, 5))
    X[:, 1] = (X[:, 0] + y) % 3
    y[::20] = (y[::20] + 1) % 3
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
    residual = Recorder(context_module.residual_gains, lambda *rows_and_more: (RESIDUAL, rows_key(*rows_and_more[:3])))
    residual.calls = recorder.calls
    monkeypatch.setattr(context_module, "residual_gains", residual)
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


def names_of(calls):
    return Counter(name for name, _ in calls)


# Through the estimators.


def test_a_default_fit_counts_once_for_each_set_of_rows(counted, merged):
    clf = TANClassifier(random_state=0).fit(*shifted_rows(300))
    assert clf.choice_["tried"] == ["tree"]
    assert clf.options_["structure"] == ChowLiu(RESIDUAL)
    # Strengths are chosen on three folds of all rows, then recipes on three parts, and all rows come last.
    assert names_of(counted) == {RESIDUAL: 3 + 3 + 1}
    assert n_sets_of_rows(counted) == 7
    assert merged == []


def test_a_default_fit_of_many_rows_counts_and_merges_once_for_each_set_of_rows(counted, merged):
    clf = TANClassifier(random_state=0).fit(*shifted_rows(3000))
    assert clf.choice_["tried"] == list(PRESETS)
    is_searched = clf.options_["structure"] == Free(candidates="mixed")
    # One part is held out, which a search by pairs' information counts once. The best is learned from all rows.
    assert names_of(counted) == {RESIDUAL: 3 + 1 + (not is_searched), "information": 1 + is_searched}
    assert len(set(counted)) == len(counted)
    # What edges add is measured on a part of its own, with the bins of all rows.
    assert len(merged) == 1 + 2 * is_searched


def test_of_many_rows_one_part_and_all_rows_are_counted(counted):
    clf = TANClassifier(parameters="ml", random_state=0).fit(*shifted_rows(3000))
    assert clf.choice_["preset"] == "chow-liu"
    assert len(counted) == n_sets_of_rows(counted) == 1 + 1


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("training", ["auto", "separate", "joint"])
def test_an_ensemble_of_presets_counts_once_for_each_set_of_rows(counted, merged, monkeypatch, n_jobs, training):
    short = {
        name: each.set_params(parameters__epochs=2) if isinstance(each.parameters, GradientDescent) else each
        for name, each in ENSEMBLE_PRESETS.items()
    }
    monkeypatch.setattr(ensembles, "ENSEMBLE_PRESETS", short)
    clf = TANEnsembleClassifier(training=training, n_jobs=n_jobs, random_state=0)
    clf.fit(*shifted_rows(3000))
    assert clf.choice_["tried"][:3] == ["trees", "margin", "wide margin"]
    is_trained = isinstance(clf.options_["parameters"], GradientDescent)
    assert is_trained == (training == "separate")
    # Trees that are learned together have a strength in common, which is chosen on three folds, as is which pairs are
    # kept; separate ones have folds of their own. Recipes are tried on one part, and the best is learned on all rows.
    n_folds = 9 if training == "separate" else 3
    assert names_of(counted) == {RESIDUAL: n_folds + 1 + (not is_trained), "information": 1 + is_trained}
    assert len(set(counted)) == len(counted)
    # What edges add is measured on a part of its own, with the bins of all rows.
    assert len(merged) == 1 + 2 * is_trained


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
    recipes = {
        "a": Recipe(ChowLiu("margin"), "ml"),
        "b": Recipe(Free(2, Screened("margin")), QUICK),
        "c": Recipe(ChowLiu(), "ml"),
        "d": Recipe(Free(2, "mixed"), QUICK),
        "e": Recipe("none", "ml"),
        "f": Recipe(ChowLiu(RESIDUAL), PenalisedLikelihood(1.0, 1.0)),
        "g": Recipe(ChowLiu(RESIDUAL), PenalisedLikelihood(3.0, 3.0, max_groups=2)),
    }
    rows = make_context().rows
    parts = [(Context(rows.take_part(kept)), rows.take_part(held)) for kept, held in hold_out(rows, 0)]
    choose(recipes, lambda recipe, part: recipe.learn(part, 0).network.log_joint, lambda _: parts, calibrate="auto")
    assert names_of(counted) == {"margin": 3, "information": 3, RESIDUAL: 3}
    assert len(set(counted)) == 9


def test_memory_is_found_with_one_count_of_each_score(counted):
    TANClassifier().memory_needed(*shifted_rows(3000))
    assert names_of(counted) == {RESIDUAL: 1, "information": 1}


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
    if name == RESIDUAL:
        codes, y, weights = one.rows.merged()[:3]
        expected = context_module.residual_gains(codes, y, weights, 3, one.n_ordered, one.groups(), Crew(1))
    else:
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


def many_classes(validation=None):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(150), rng.integers(0, 150, 450)])
    rows = Rows(rng.integers(0, 4, (600, 2)).astype(np.uint8), y, np.arange(1.0, 601.0), np.full(2, 4), 150)
    return Context(rows, validation=validation)


def test_of_many_classes_a_hundred_are_drawn_with_all_their_rows():
    context = many_classes()
    few = context.few_classes(seed=1)
    assert (few.rows.n_classes, set(few.rows.y.tolist())) == (100, set(range(100)))
    assert few.rows.class_copies == 149 / 99
    positions = few.rows.weight.astype(int) - 1
    own = context.rows.y[positions]
    assert np.array_equal(np.unique(own)[few.rows.y], own)
    assert len(positions) == np.isin(context.rows.y, own).sum()
    assert np.array_equal(few.rows.codes, context.rows.codes[positions])
    assert set(own.tolist()) != set(context.rows.y[context.few_classes(2).rows.weight.astype(int) - 1].tolist())


def test_classes_with_validation_rows_are_drawn_first():
    rows = many_classes().rows
    validation = rows.take(np.flatnonzero(np.isin(rows.y, [3, 149])))
    few = many_classes(validation).few_classes(seed=1)
    assert len(few.validation.y) == len(validation.y)
    assert (few.validation.n_classes, few.validation.class_copies) == (100, 149 / 99)


def test_few_classes_stay():
    context = make_context()
    assert context.few_classes(0) is context


@pytest.mark.parametrize(
    ("n_classes", "n_of_each", "expected"), [(100, 6, 12), (400, 2, 6), (400, 16, 9), (2_500, 1, 3)]
)
def test_many_classes_have_fewer_groups_unless_each_has_many_rows(n_classes, n_of_each, expected):
    y = np.repeat(np.arange(n_classes), n_of_each)
    codes = np.random.default_rng(0).integers(0, 40, (len(y), 2)).astype(np.uint8)
    context = Context(Rows(codes, y, None, np.full(2, 40), n_classes, np.full(2, 40)))
    assert context.groups().cards.tolist() == [expected] * 2
    assert context.few_classes(0).groups().cards.tolist() == [expected] * 2
