"""Contexts: what is asked of a set of rows is computed once, whoever asks first, and nobody can change it.

And rows: which of them are held out.
"""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from tanager.learning import ENSEMBLE_PRESETS, PRESETS, Context, Recipe, Rows, choose, hold_out
from tanager.learning import context as context_module
from tanager.learning import members as members_module
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
    monkeypatch.setattr(members_module, "ENSEMBLE_PRESETS", short)
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
    parts = [(Context(kept), held) for kept, held in split(make_context().rows, 0)]
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


# Rows to train on and rows to hold out.


@st.composite
def encoded_rows(draw, max_rows=60):
    """Few values, so that some rows are equal; whole weights, other weights or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(2, max_rows)), draw(st.integers(1, 3))
    codes = rng.integers(0, 3, (n_rows, n_features)).astype(np.uint8)
    weights = {"none": None, "whole": rng.integers(1, 5, n_rows) * 1.0, "other": rng.uniform(0.1, 3.0, n_rows)}
    weight = weights[draw(st.sampled_from(sorted(weights)))]
    return Rows(codes, rng.integers(0, 3, n_rows), weight, codes.max(axis=0).astype(np.int64) + 1, 3)


def split(rows, seed, *more):
    """The rows themselves of each pair of parts."""
    return [(rows.take_part(kept), rows.take_part(held)) for kept, held in hold_out(rows, seed, *more)]


def weight_of_each(rows):
    """Weight of each distinct row with its class."""
    total = Counter()
    for values, label, weight in zip(rows.codes.tolist(), rows.y.tolist(), rows.full_weight().tolist(), strict=True):
        total[(*values, label)] += weight
    return total


def repeat(rows):
    times = rows.weight.astype(int)
    return rows._replace(codes=np.repeat(rows.codes, times, axis=0), y=np.repeat(rows.y, times), weight=None)


@given(encoded_rows())
def test_merged_rows_are_the_distinct_ones_with_their_weights(rows):
    merged = rows.merged()
    found = list(map(tuple, np.column_stack([merged.codes, merged.y]).tolist()))
    assert len(set(found)) == len(found)
    assert weight_of_each(merged) == pytest.approx(weight_of_each(rows))
    assert merged._replace(codes=None, y=None, weight=None) == rows._replace(codes=None, y=None, weight=None)


@given(encoded_rows(), st.integers(0, 99))
def test_merged_rows_are_the_same_for_any_order_and_for_repeated_rows(rows, seed):
    rows = rows._replace(weight=np.arange(len(rows.y)) % 4 + 1.0)
    repeated = repeat(rows)
    shuffled = repeated.take(np.random.default_rng(seed).permutation(len(repeated.y)))
    for other in (repeated, shuffled):
        for ours, theirs in zip(rows.merged()[:3], other.merged()[:3], strict=True):
            np.testing.assert_array_equal(ours, theirs)


@given(encoded_rows(), st.integers(0, 99), st.sampled_from([None, 2, 5]))
def test_every_row_is_held_out_once_and_kept_in_all_other_parts(rows, seed, n_parts):
    everything, parts = weight_of_each(rows), split(rows, seed, n_parts)
    assert len(parts) == (n_parts or 3)
    for kept, held in parts:
        assert weight_of_each(kept) + weight_of_each(held) == pytest.approx(everything)
    assert sum((weight_of_each(held) for _, held in parts), Counter()) == pytest.approx(everything)


@given(encoded_rows(), st.integers(0, 99))
def test_parts_number_the_rows(rows, seed):
    for parts in hold_out(rows, seed):
        for part in parts:
            taken = rows.take_part(part)
            assert len(set(part.rows.tolist())) == len(part.rows)
            np.testing.assert_array_equal(taken.codes, rows.codes[part.rows])
            np.testing.assert_array_equal(taken.y, rows.y[part.rows])


@given(encoded_rows(), st.integers(0, 99))
def test_classes_are_in_all_parts_alike(rows, seed):
    if rows.weight is not None and not (rows.weight % 1 == 0).all():
        rows = rows._replace(weight=None)
    held = [weight_of_each(part) for _, part in split(rows, seed)]
    for label in set(rows.y.tolist()):
        numbers = [sum(n for row, n in part.items() if row[-1] == label) for part in held]
        assert max(numbers) - min(numbers) <= 1


@pytest.mark.parametrize("is_weighted", [False, True])
def test_equal_rows_are_held_out_at_random(is_weighted):
    """Spread evenly, they would tell a classifier that learns rows by heart the classes of the others."""
    codes = np.repeat(np.arange(60), 1 if is_weighted else 30)[:, None].astype(np.uint8)
    weight = np.full(60, 30.0) if is_weighted else None
    rows = Rows(codes, np.zeros(len(codes), np.int64), weight, np.array([60]), 1)
    held = [
        np.array([weight_of_each(part)[k, 0] for k in range(60)]) for seed in range(20) for _, part in split(rows, seed)
    ]
    # The number of 30 copies that are among a third of 1,800 rows is hypergeometric.
    assert np.mean(held) == 10
    assert np.var(held) == pytest.approx(30 * 1 / 3 * 2 / 3 * 1770 / 1799, rel=0.1)


@given(encoded_rows(), st.integers(0, 99))
def test_a_row_of_weight_two_is_two_rows(rows, seed):
    rows = rows._replace(weight=np.arange(len(rows.y)) % 4 + 1.0)
    for weighted, repeated in zip(split(rows, seed), split(repeat(rows), seed), strict=True):
        assert list(map(weight_of_each, weighted)) == list(map(weight_of_each, repeated))


@given(encoded_rows(), st.integers(0, 99))
def test_other_weights_stay_with_their_rows(rows, seed):
    weight = np.arange(len(rows.y)) + 0.5
    found = [part.weight for _, part in split(rows._replace(weight=weight), seed)]
    assert sorted(np.concatenate(found)) == weight.tolist()


@given(encoded_rows(), st.integers(0, 99))
def test_parts_keep_what_is_known_of_the_features(rows, seed):
    rows = rows._replace(n_ordered=np.arange(len(rows.cards)))
    for part in (part for pair in split(rows, seed) for part in pair):
        assert part.cards is rows.cards
        assert part.n_ordered is rows.n_ordered
        assert part.n_classes == rows.n_classes


def random_rows(n_rows, n_values, n_classes):
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, n_values, (n_rows, 5)).astype(np.uint8), rng.integers(0, n_classes, n_rows)
    return Rows(codes, y, None, np.full(5, n_values), n_classes)


def test_seeds_hold_out_other_rows():
    rows = random_rows(200, 9, 2)
    first, again, other = (weight_of_each(split(rows, seed)[0][1]) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(("n_rows", "n_used"), [(2_500, 2_500), (20_001, 20_000), (90_000, 20_000)])
def test_of_many_rows_some_take_part_and_a_quarter_is_held_out(n_rows, n_used):
    rows = random_rows(n_rows, 200, 3)
    [(kept, held)] = split(rows, 0)
    n_kept, n_held = len(kept.y), len(held.y)
    assert n_kept + n_held == n_used
    assert n_held / n_used == pytest.approx(0.25, abs=0.01)
    assert not weight_of_each(kept).keys() & weight_of_each(held).keys()
    np.testing.assert_allclose(np.bincount(held.y) / n_held, np.bincount(rows.y) / n_rows, atol=0.002)


@pytest.mark.parametrize("n_rows", [1_001, 1_500, 9_000])
def test_no_more_rows_take_part_than_are_asked_for(n_rows):
    rows = random_rows(n_rows, 200, 3)
    parts = hold_out(rows, 0, 3, 1_000)
    assert [len(held.rows) for _, held in parts] == [333] * 3
    for kept, held in parts:
        others = np.concatenate([other.rows for _, other in parts if other is not held])
        assert sorted(kept.rows) == sorted(others)
        assert not set(kept.rows) & set(held.rows)


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
