"""The choice among recipes by held-out rows, and the temperature that these rows call for."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.learning import NO_CHOICE, Choice, Context, Recipe, Rows, calibrated, choose
from tanager.learning.choosing import best_temperature, split_rows, try_recipes
from tanager.structure import ParentSets

RECIPES = {name: name for name in ("a", "b", "c")}


@st.composite
def encoded_rows(draw, max_rows=60):
    """Few values, so that some rows are equal; whole weights, other weights or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(2, max_rows)), draw(st.integers(1, 3))
    codes = rng.integers(0, 3, (n_rows, n_features)).astype(np.uint8)
    weights = {"none": None, "whole": rng.integers(1, 5, n_rows) * 1.0, "other": rng.uniform(0.1, 3.0, n_rows)}
    weight = weights[draw(st.sampled_from(sorted(weights)))]
    return make_rows(codes, rng.integers(0, 3, n_rows), weight, n_classes=3)


def make_rows(codes, y, weight=None, n_classes=2):
    return Rows(codes, y, weight, codes.max(axis=0).astype(np.int64) + 1, n_classes)


def counted(rows):
    """Weight of each distinct row with its class."""
    total = Counter()
    for values, label, weight in zip(rows.codes.tolist(), rows.y.tolist(), rows.full_weight().tolist(), strict=True):
        total[(*values, label)] += weight
    return total


def repeat(rows):
    times = rows.weight.astype(int)
    return rows._replace(codes=np.repeat(rows.codes, times, axis=0), y=np.repeat(rows.y, times), weight=None)


# Rows to train on and rows to hold out.


@given(encoded_rows(), st.integers(0, 99))
def test_parts_are_disjoint_and_cover_the_rows(rows, seed):
    everything, parts = counted(rows), split_rows(rows, seed)
    assert len(parts) == 3
    for kept, held in parts:
        assert counted(kept) + counted(held) == pytest.approx(everything)
    assert sum((counted(held) for _, held in parts), Counter()) == pytest.approx(everything)


@given(encoded_rows(), st.integers(0, 99))
def test_classes_and_equal_rows_are_in_all_parts_alike(rows, seed):
    if rows.weight is not None and not (rows.weight % 1 == 0).all():
        rows = rows._replace(weight=None)
    held = [counted(part) for _, part in split_rows(rows, seed)]
    for row in counted(rows):
        numbers = [part[row] for part in held]
        assert max(numbers) - min(numbers) <= 1
    for label in set(rows.y.tolist()):
        numbers = [sum(n for row, n in part.items() if row[-1] == label) for part in held]
        assert max(numbers) - min(numbers) <= 1


@given(encoded_rows(), st.integers(0, 99))
def test_a_row_of_weight_two_is_two_rows(rows, seed):
    rows = rows._replace(weight=np.arange(len(rows.y)) % 4 + 1.0)
    for weighted, repeated in zip(split_rows(rows, seed), split_rows(repeat(rows), seed), strict=True):
        assert list(map(counted, weighted)) == list(map(counted, repeated))


@given(encoded_rows(), st.integers(0, 99))
def test_other_weights_stay_with_their_rows(rows, seed):
    weight = np.arange(len(rows.y)) + 0.5
    found = [part.weight for _, part in split_rows(rows._replace(weight=weight), seed)]
    assert sorted(np.concatenate(found)) == weight.tolist()


@given(encoded_rows(), st.integers(0, 99))
def test_parts_keep_what_is_known_of_the_features(rows, seed):
    rows = rows._replace(n_ordered=np.arange(len(rows.cards)))
    for part in (part for pair in split_rows(rows, seed) for part in pair):
        assert part.cards is rows.cards
        assert part.n_ordered is rows.n_ordered
        assert part.n_classes == rows.n_classes


def test_seeds_hold_out_other_rows():
    rng = np.random.default_rng(0)
    rows = make_rows(rng.integers(0, 9, (200, 4)).astype(np.uint8), rng.integers(0, 2, 200))
    first, again, other = (counted(split_rows(rows, seed)[0][1]) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(("n_rows", "fewest", "most"), [(2_500, 2_500, 2_500), (90_000, 15_000, 20_000)])
def test_of_many_rows_some_take_part_and_a_quarter_is_held_out(n_rows, fewest, most):
    rng = np.random.default_rng(0)
    rows = make_rows(rng.integers(0, 200, (n_rows, 5)).astype(np.uint8), rng.integers(0, 3, n_rows), n_classes=3)
    [(kept, held)] = split_rows(rows, seed=0)
    n_kept, n_held = len(kept.y), len(held.y)
    assert fewest <= n_kept + n_held <= most
    assert n_held / (n_kept + n_held) == pytest.approx(0.25, abs=0.01)
    assert not counted(kept).keys() & counted(held).keys()
    np.testing.assert_allclose(np.bincount(held.y) / n_held, np.bincount(rows.y) / n_rows, atol=0.002)


# The best temperature.


def log_loss_in_loops(scores, y, weight):
    total = 0.0
    for row, label, w in zip(scores.tolist(), y.tolist(), weight.tolist(), strict=True):
        highest = max(row)
        total += w * min(20.0, highest + math.log(sum(math.exp(s - highest) for s in row)) - row[label])
    return total / weight.sum()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 1.0, 30.0]), st.integers(2, 4))
@settings(max_examples=30)
def test_the_temperature_is_the_best_of_a_grid(seed, spread, n_classes):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(80, n_classes))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    scores, weight = scores * spread, rng.uniform(0.1, 2.0, 80)
    found = best_temperature(scores, y, weight)
    assert 0.5 <= found <= 50.0
    loss = log_loss_in_loops(scores / found, y, weight)
    low = 0.5 if np.count_nonzero(scores.argmax(axis=1) != y) >= 10 else 1.0
    best = min(log_loss_in_loops(scores / t, y, weight) for t in np.geomspace(low, 50.0, 40))
    assert loss <= best + 1e-4


def test_a_row_that_was_impossible_does_not_outweigh_the_others():
    scores = np.r_[np.tile([[0.0, -3.0], [-3.0, 0.0]], (50, 1)), [[0.0, -1e6]]]
    y = np.r_[np.tile([0, 1], 50), 1]
    assert best_temperature(scores, y, np.ones(101)) < 2.0


@pytest.mark.parametrize("weight", [np.ones(40), np.full(40, 0.01)], ids=["whole", "small"])
@pytest.mark.parametrize(("n_errors", "is_surer"), [(0, False), (9, False), (10, True)])
def test_few_errors_do_not_make_a_classifier_surer(n_errors, is_surer, weight):
    scores, y = np.tile([[0.0, -0.1]], (40, 1)), (np.arange(40) < n_errors).astype(int)
    found = best_temperature(scores, y, weight)
    assert (found < 0.6) if is_surer else found == pytest.approx(1.0, abs=1e-3)
    # As many rows, as weights.
    merged = best_temperature(scores[:2], np.array([0, 1]), np.array([40.0 - n_errors, n_errors]))
    assert found == pytest.approx(merged, rel=1e-4)


def test_one_class_has_no_temperature():
    assert best_temperature(np.full((9, 1), -3.0), np.zeros(9, int), np.ones(9)) == 1.0


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


def context_of_known_class(n_rows=600, weight=None, **options):
    y = np.arange(n_rows) % 2
    rows = make_rows(np.stack([y, np.arange(n_rows) // 2 % 100], axis=1).astype(np.uint8), y, weight)
    return Context(rows, **options)


def choose_by(errors, context=None, *, calls=None, recipes=RECIPES, calibrate="auto"):
    context = context_of_known_class() if context is None else context
    return choose(recipes, learn_nothing(errors, calls), context, calibrate=calibrate, seed=0)


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
    assert choice.to_dict(2.0) == {
        "preset": "abc"[best],
        "temperature": 2.0,
        "tried": ["a", "b", "c"],
        "errors": [trial.error for trial in choice.trials],
        "log_losses": [trial.log_loss for trial in choice.trials],
    }


def test_recipes_that_do_the_same_are_a_tie_for_the_first():
    assert choose_by(dict.fromkeys("abc", 0.2)).name == "a"
    backwards = {name: name for name in "cba"}
    assert choose_by(dict.fromkeys("abc", 0.2), recipes=backwards).name == "c"


def test_small_weights_do_not_make_a_tie():
    context = context_of_known_class(weight=np.full(600, 1e-4))
    assert choose_by({"a": 0.4, "b": 0.1, "c": 0.2}, context).name == "b"


def test_every_recipe_learns_from_the_same_context_of_a_part():
    calls = []
    context = context_of_known_class(n_threads=2)
    choose_by(dict.fromkeys("abc", 0.2), context, calls=calls)
    assert [(name, len(part.rows.y), part.n_threads) for name, part in calls] == [(n, 400, 2) for n in "aaabbbccc"]
    parts = [part for _, part in calls]
    for k in range(3):
        assert parts[k] is parts[3 + k] is parts[6 + k]
    assert len(set(map(id, parts))) == 3


@pytest.mark.parametrize(
    ("n_recipes", "calibrate", "n_tried", "has_temperature"),
    [
        *((3, "auto", 3, True), (3, True, 3, True), (3, False, 3, False)),
        *((1, "auto", 0, False), (1, True, 1, True), (1, False, 0, False)),
    ],
)
def test_rows_are_held_out_only_where_there_is_a_use_for_it(n_recipes, calibrate, n_tried, has_temperature):
    calls, recipes = [], dict(list(RECIPES.items())[:n_recipes])
    choice = choose_by({"a": 0.4, "b": 0.1, "c": 0.2}, calls=calls, recipes=recipes, calibrate=calibrate)
    assert choice.name == ("b" if n_recipes > 1 else "a")
    assert len(choice.trials) == n_tried
    assert len(calls) == 3 * n_tried
    assert (choice.temperature is not None) == has_temperature


@pytest.mark.parametrize("calibrate", ["auto", True, False])
def test_one_row_leaves_nothing_to_hold_out(calibrate):
    calls = []
    choice = choose_by(dict.fromkeys("abc", 0.2), context_of_known_class(1), calls=calls, calibrate=calibrate)
    assert choice == Choice("a")
    assert calls == []


def test_verbose_tells_of_every_recipe(capsys):
    choose_by({"a": 0.4, "b": 0.1, "c": 0.2})
    assert capsys.readouterr() == ("", "")
    choice = choose_by({"a": 0.4, "b": 0.1, "c": 0.2}, context_of_known_class(verbose=1))
    lines = [f"{t.name}: {t.error:.2%} wrong on held-out rows, log-loss {t.log_loss:.3f}" for t in choice.trials]
    assert capsys.readouterr() == ("", "\n".join([*lines, ""]))


def test_trials_come_one_by_one():
    calls = []
    trials = try_recipes(RECIPES, learn_nothing(dict.fromkeys("abc", 0.2), calls), context_of_known_class(), 0)
    assert next(trials).name == "a"
    assert len(calls) == 3


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
