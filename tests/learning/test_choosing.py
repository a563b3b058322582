"""The choice among recipes by held-out rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import GradientDescent, TANClassifier, TANEnsembleClassifier
from tanager.learning import NO_CHOICE, Choice, Context, Recipe, Rows, calibrated, choose, hold_out
from tanager.learning.choosing import Difference, _judge, best_weights, combined, try_recipes
from tanager.structure import ParentSets

RECIPES = {name: name for name in ("a", "b", "c")}


def make_rows(codes, y, weight=None, n_classes=2):
    return Rows(codes, y, weight, codes.max(axis=0).astype(np.int64) + 1, n_classes)


# The choice.


def learn_nothing(errors, calls=None):
    """A stand-in for learning: a recipe that names the wrong class for a share of the codes."""

    def learn(recipe, context):
        if calls is not None:
            calls.append((recipe, context))

        def log_joint(codes):
            right = codes[:, 0].astype(int)
            is_wrong = codes[:, 1] < 100 * errors[recipe]
            return np.where(np.arange(2) == np.where(is_wrong, 1 - right, right)[:, None], 0.0, -2.0)

        return log_joint

    return learn


def rows_of_known_class(n_rows=600, weight=None):
    y = np.arange(n_rows) % 2
    return make_rows(np.stack([y, np.arange(n_rows) // 2 % 100], axis=1).astype(np.uint8), y, weight)


def parts_of_known_class(rows=None):
    rows = rows_of_known_class() if rows is None else rows
    return [(Context(rows.take_part(kept)), rows.take_part(held)) for kept, held in hold_out(rows, 0)]


def choose_by(errors, parts=None, *, calls=None, recipes=RECIPES, **options):
    parts = parts_of_known_class() if parts is None else parts
    return choose(recipes, learn_nothing(errors, calls), lambda _: parts, **{"calibrate": "auto"} | options)


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_recipe_of_the_least_error_is_chosen(best):
    errors = {name: 0.1 if k == best else 0.3 + 0.05 * k for k, name in enumerate(RECIPES)}
    choice = choose_by(errors)
    assert choice.name == "abc"[best]
    assert [trial.name for trial in choice.trials] == ["a", "b", "c"]
    assert [trial.error for trial in choice.trials] == pytest.approx(list(errors.values()))
    # With p wrong the log-odds should be log((1 - p) / p), and they are 2.
    expected = [2 / math.log((1 - p) / p) for p in errors.values()]
    assert [trial.temperature for trial in choice.trials] == pytest.approx(expected, rel=1e-3)
    losses = [-(p * math.log(p) + (1 - p) * math.log(1 - p)) for p in errors.values()]
    assert [trial.log_loss for trial in choice.trials] == pytest.approx(losses, rel=1e-4)
    assert choice.temperature == choice.trials[best].temperature
    kept = choice.to_dict(2.0)
    assert kept.pop("why").startswith(
        f"Preset {'abc'[best]!r} was best of 3: it has an error of 10.00% and a log-loss of"
    )
    assert kept == {
        "preset": "abc"[best],
        "temperature": 2.0,
        "tried": ["a", "b", "c"],
        "errors": [trial.error for trial in choice.trials],
        "log_losses": [trial.log_loss for trial in choice.trials],
        "notes": [],
    }


def test_recipes_that_do_the_same_are_a_tie_for_the_first():
    assert choose_by(dict.fromkeys("abc", 0.2)).name == "a"
    backwards = {name: name for name in "cba"}
    assert choose_by(dict.fromkeys("abc", 0.2), recipes=backwards).name == "c"


def test_small_weights_do_not_make_a_tie():
    parts = parts_of_known_class(rows_of_known_class(weight=np.full(600, 1e-4)))
    assert choose_by({"a": 0.4, "b": 0.1, "c": 0.2}, parts).name == "b"


def test_every_recipe_learns_from_the_parts_and_is_judged_by_what_is_held_out():
    calls, asked, parts = [], [], parts_of_known_class()

    def parts_of(recipe):
        asked.append(recipe)
        return parts

    choice = choose(RECIPES, learn_nothing(dict.fromkeys("abc", 0.2), calls), parts_of, calibrate="auto")
    assert calls == [(name, kept) for name in "abc" for kept, _ in parts]
    assert [len(kept.rows.y) for _, kept in calls] == [400] * 9
    assert set(asked) == set("abc")
    assert [trial.n_rows for trial in choice.trials] == [600] * 3


def test_recipes_may_have_their_rows_in_other_bins():
    """The second recipe sees the first column upside down, and is told apart by its errors alone."""
    parts = parts_of_known_class()
    turned = [
        (kept, held._replace(codes=np.stack([1 - held.codes[:, 0], held.codes[:, 1]], 1))) for kept, held in parts
    ]
    learn = learn_nothing(dict.fromkeys("ab", 0.2))
    choice = choose({"a": "a", "b": "b"}, learn, {"a": turned, "b": parts}.__getitem__, calibrate=False)
    assert [trial.error for trial in choice.trials] == pytest.approx([0.8, 0.2])
    assert choice.name == "b"


@pytest.mark.parametrize(
    ("names", "calibrate", "n_tried", "has_temperature"),
    [
        *(("abc", "auto", 3, True), ("abc", True, 3, True), ("abc", False, 3, False)),
        *(("a", "auto", 1, True), ("a", True, 1, True), ("a", False, 1, False)),
        *((["given"], "auto", 0, False), (["given"], True, 1, True), (["given"], False, 0, False)),
    ],
)
def test_rows_are_held_out_only_where_there_is_a_use_for_it(names, calibrate, n_tried, has_temperature):
    """To choose, or to judge a preset, which says how good it is; for what is given, only to calibrate it."""
    calls, recipes = [], {name: name for name in names}
    errors = {"a": 0.4, "b": 0.1, "c": 0.2, "given": 0.3}
    choice = choose_by(errors, calls=calls, recipes=recipes, calibrate=calibrate)
    assert choice.name == ("b" if len(names) > 1 else names[0])
    assert len(choice.trials) == n_tried
    assert len(calls) == 3 * n_tried
    assert (choice.temperature is not None) == has_temperature


@pytest.mark.parametrize("calibrate", ["auto", True, False])
def test_without_held_out_rows_the_first_is_taken(calibrate):
    calls = []
    choice = choose_by(dict.fromkeys("abc", 0.2), [], calls=calls, calibrate=calibrate)
    assert choice == Choice("a")
    assert calls == []


def test_verbose_tells_of_every_recipe(capsys):
    choose_by({"a": 0.4, "b": 0.1, "c": 0.2})
    assert capsys.readouterr() == ("", "")
    choice = choose_by({"a": 0.4, "b": 0.1, "c": 0.2}, verbose=1)
    lines = [f"{t.name}: {t.error:.2%} wrong on held-out rows, log-loss {t.log_loss:.3f}" for t in choice.trials]
    assert capsys.readouterr() == ("", "\n".join([*lines, ""]))


def test_trials_come_one_by_one():
    calls, parts = [], parts_of_known_class()
    trials = try_recipes(RECIPES, learn_nothing(dict.fromkeys("abc", 0.2), calls), lambda _: parts)
    assert next(trials).name == "a"
    assert len(calls) == 3


# What has no chance is not learned to the end.


def test_nothing_is_tried_beside_a_recipe_without_errors():
    calls = []
    parts = parts_of_known_class()

    def learn(recipe, kept):
        calls.append(recipe)
        return lambda codes: np.where(codes[:, :1] == [[0, 1]], 50.0, -50.0)

    right = [(kept, held._replace(y=held.codes[:, 0].astype(np.int64))) for kept, held in parts]
    choice = choose(RECIPES, learn, lambda _: right, calibrate="auto")
    assert [trial.name for trial in choice.trials] == ["a"]
    assert calls == ["a"] * 3


def learn_and_watch(errors, of_middle, ended):
    """Like `learn_nothing`, with other errors in the middle of the training; keeps the recipes that came to its end."""

    def learn(recipe, kept):
        if kept.watch is not None:
            kept.watch(learn_nothing(of_middle)(recipe, kept))
        ended.append(recipe)
        return learn_nothing(errors)(recipe, kept)

    return learn


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_recipe_that_is_far_behind_in_the_middle_ends_there(n_threads):
    ended = []
    parts = [(kept.with_options(n_threads=n_threads), held) for kept, held in parts_of_known_class()[:1]]
    learn = learn_and_watch({"a": 0.2, "b": 0.15, "c": 0.1}, {"b": 0.22, "c": 0.5}, ended)
    choice = choose(RECIPES, learn, lambda _: parts, calibrate="auto")
    assert sorted(ended) == ["a", "b"]
    assert [trial.name for trial in choice.trials] == ["a", "b", "c"]
    assert [trial.error for trial in choice.trials] == pytest.approx([0.2, 0.15, 0.5], abs=0.03)
    assert choice.name == "b"


def test_of_several_parts_all_are_learned_to_the_end():
    ended = []
    learn = learn_and_watch({"a": 0.2, "b": 0.15, "c": 0.1}, {"b": 0.5, "c": 0.5}, ended)
    assert choose(RECIPES, learn, lambda _: parts_of_known_class(), calibrate="auto").name == "c"
    assert len(ended) == 9


def test_training_shows_what_it_has_learned_after_a_quarter():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    codes = np.stack([y, rng.integers(0, 2, 200)], 1).astype(np.uint8)
    shown = []
    context = Context(make_rows(codes, y), watch=lambda log_joint: shown.append(log_joint(codes)))
    Recipe("free", GradientDescent(epochs=8)).learn(context, 0)
    assert [scores.shape for scores in shown] == [(200, 2)]
    assert (shown[0].argmax(axis=1) == y).all()


# Whether held-out errors are those of new rows.


@pytest.mark.parametrize(
    "classifier",
    [
        TANClassifier(random_state=0),
        TANEnsembleClassifier(random_state=0),
        TANClassifier(parameters="ml", binning="none", random_state=0),
    ],
    ids=["one", "several", "by heart"],
)
def test_held_out_errors_of_noise_are_those_of_guesses(classifier):
    """Many rows are equal: if they were spread evenly over the parts, learning them by heart would seem to help."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 60, (15_000, 2)).astype(float), rng.integers(0, 2, 15_000)
    choice = classifier.fit(X, y).choice_
    assert choice["tried"]
    standard_error = 0.5 / math.sqrt(15_000 / 4)
    assert choice["errors"] == pytest.approx([0.5] * len(choice["tried"]), abs=2 * standard_error)


# The temperature in the networks.


def networks_of(structures):
    rng = np.random.default_rng(0)
    rows = Rows(rng.integers(0, 3, (90, 3)), rng.integers(0, 2, 90), None, np.full(3, 3), 2)
    return [Recipe(each, "ml").learn(Context(rows), 0).network for each in structures], rows.codes


@pytest.mark.parametrize("calibrate", ["auto", True])
def test_log_odds_are_divided_by_the_temperature(calibrate):
    networks, codes = networks_of(["none", "chow-liu"])
    tempered, temperature = calibrated(networks, Choice("a", (), 2.5), calibrate)
    assert temperature == 2.5
    for before, after in zip(networks, tempered, strict=True):
        np.testing.assert_allclose(
            np.diff(after.log_joint(codes), axis=1), np.diff(before.log_joint(codes), axis=1) / 2.5, atol=1e-5
        )


@pytest.mark.parametrize("choice", [NO_CHOICE, Choice("a")])
@pytest.mark.parametrize("calibrate", ["auto", True, False])
def test_without_a_temperature_networks_stay_as_they_are(choice, calibrate):
    networks, _ = networks_of(["none"])
    assert calibrated(networks, choice, calibrate) == (networks, 1.0)


@pytest.mark.parametrize("candidates", [[[1], [2], [0]], [[-1], [-1], [(0, 1)]]], ids=["cycle", "pair"])
def test_what_is_not_a_forest_is_not_calibrated(candidates):
    networks, _ = networks_of(["none", ParentSets.from_lists(candidates)])
    assert calibrated(networks, Choice("a", (), 2.5), "auto") == (networks, 1.0)
    with pytest.raises(ValueError, match="requires a forest"):
        calibrated(networks, Choice("a", (), 2.5), True)


# Sums of two recipes.


def witness(y, seed, strength=1.0):
    """Log-joints of a noisy witness of two classes."""
    noise = np.random.default_rng(seed).normal(size=len(y))
    return strength * (2 * y - 1 + noise)[:, None] * np.array([-1.0, 1.0])


def trial_of(name, scores, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return _judge(name, scores, y, weight)


def test_two_witnesses_count_by_what_they_know():
    y = np.random.default_rng(0).integers(0, 2, 5000)
    first, second = trial_of("a", witness(y, 1), y), trial_of("b", witness(y, 2, strength=4.0), y)
    found = combined(first, second, y)
    assert found.name == "a and b"
    assert found.made_of[:2] == ("a", "b")
    assert found.made_of.weights == pytest.approx((1.0, 0.25), rel=0.15)
    assert found.log_loss < 0.9 * min(first.log_loss, second.log_loss)
    assert found.error < min(first.error, second.error)
    assert found.temperature == 1.0


@given(st.integers(0, 1000), st.integers(2, 4))
def test_weights_are_the_best_of_a_grid(seed, n_classes):
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(0, n_classes, 60), rng.uniform(0.1, 2.0, 60)
    scores = tuple(rng.normal(size=(60, n_classes)) + np.eye(n_classes)[y] * rng.uniform(0, 2) for _ in range(2))

    def loss(a, b):
        odds = a * scores[0] + b * scores[1]
        return np.average(np.logaddexp.reduce(odds, axis=1) - odds[np.arange(60), y], weights=weight)

    best = loss(*best_weights(scores, y, weight))
    grid = np.linspace(0, 2, 9)
    assert best <= min(loss(a, b) for a in grid for b in grid) + 1e-6


def test_what_adds_nothing_is_not_combined():
    y = np.random.default_rng(0).integers(0, 2, 2000)
    first = trial_of("a", witness(y, 1), y)
    assert combined(first, trial_of("b", np.random.default_rng(1).normal(size=(2000, 2)), y), y) is None
    assert combined(first, trial_of("b", 3 * first.scores, y), y) is None


def test_what_ended_early_or_has_few_errors_is_not_combined():
    y = np.random.default_rng(0).integers(0, 2, 2000)
    first, second = (trial_of(name, witness(y, seed), y) for seed, name in enumerate("ab"))
    assert combined(first, second, y) is not None
    assert combined(first, second._replace(scores=None), y) is None
    assert combined(first._replace(error=14 / 2000), second, y) is None


def test_a_sum_is_chosen_only_where_that_is_allowed():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    codes = rng.integers(0, 2, (3000, 4))
    codes[:, :2] = np.where(rng.random((3000, 2)) < 0.75, y[:, None], 1 - y[:, None])
    parts = parts_of_known_class(make_rows(codes.astype(np.uint8), y))

    def learn(recipe, context):
        return lambda codes: np.stack([1 - codes[:, recipe], codes[:, recipe]], axis=1).astype(float)

    names = {"a": 0, "b": 1, "c": 2}
    alone, free = (
        choose(names, learn, lambda _: parts, calibrate="auto", may_combine=may_combine)
        for may_combine in (False, True)
    )
    assert alone.made_of is None
    assert [trial.name for trial in alone.trials] == ["a", "b", "c"]
    assert free.name == "a and b"
    assert free.made_of.first == "a"
    assert [trial.name for trial in free.trials] == ["a", "b", "c", "a and b"]
    assert free.temperature == 1.0


@pytest.mark.parametrize(
    ("difference", "shown"),
    [
        ((0.0123, 0.004), "0.0123 ± 0.0040"),
        ((-0.00001, 0.002), "0.0000 ± 0.0020"),
        ((-0.0002, 0.0001), "less than 0.001"),
    ],
)
def test_differences_in_words(difference, shown):
    assert str(Difference(*difference)) == shown
