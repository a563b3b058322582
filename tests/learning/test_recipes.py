"""Recipes: what is learned without options, the presets, training length, and what given options leave open."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from tanager import TANClassifier
from tanager.learning import (
    NO_CHOICE,
    PRESETS,
    AllPredecessors,
    ChowLiu,
    Context,
    Counts,
    FixedParents,
    Free,
    GivenSpace,
    GradientDescent,
    GreedySearch,
    NaiveBayesStart,
    NoParents,
    PenalisedLikelihood,
    Pseudo,
    Recipe,
    Rows,
    Subset,
    as_parameters,
    recipes,
    recipes_for,
    worth_trying,
)
from tanager.losses import Hybrid, NegativeLogLikelihood
from tanager.structure import ParentSets
from tanager.training.regularisers import ParentDropout
from tests.strategies import RowsOf

presets = pytest.mark.parametrize("name", PRESETS)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def context():
    """A new one for each test, so that nothing is known yet."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    codes = rng.integers(0, 3, (150, 4))
    codes[:, 1] = (codes[:, 0] + y) % 3
    return Context(Rows(codes.astype(np.uint8), y, None, np.full(4, 3), 3))


# Training length.


def length(n_rows):
    sized = GradientDescent().sized(n_rows)
    return {"epochs": sized.epochs, "batch_size": sized.batch_size}


@given(st.floats(1, 1e8), st.floats(1, 1e8))
def test_batches_grow_with_the_rows(first, second):
    fewer, more = (length(n)["batch_size"] for n in sorted([first, second]))
    assert 16 <= fewer <= more <= 1000


@given(st.floats(1, 1e8))
def test_steps_are_neither_few_nor_many(n_rows):
    epochs, batch_size = length(n_rows).values()
    n_batches = max(1, n_rows // batch_size)
    wanted = min(max(50 * math.sqrt(n_rows), 300), 2000)
    assert 10 <= epochs <= 500
    assert epochs * n_batches >= wanted
    if epochs > 10:  # else there are many steps even in the fewest epochs
        assert (epochs - 1) * n_batches < wanted


@given(st.floats(1, 1e8), st.integers(1, 1000), st.integers(1, 1000))
def test_lengths_that_are_given_stay(n_rows, epochs, batch_size):
    automatic = length(n_rows)
    assert GradientDescent(epochs=epochs).sized(n_rows) == GradientDescent(**automatic | {"epochs": epochs})
    assert GradientDescent(batch_size=batch_size).sized(n_rows).epochs == automatic["epochs"]
    fixed = GradientDescent(epochs=epochs, batch_size=batch_size)
    assert fixed.sized(n_rows) == fixed
    assert Counts(0.5).sized(n_rows) == Counts(0.5)


def test_training_goes_by_the_number_of_rows_with_their_weights():
    X, y = np.tile([[0.0], [1.0]], (40, 1)), np.tile([0, 1], 40)
    weighted = TANClassifier("none", random_state=0).fit(X, y, sample_weight=np.full(80, 100.0))
    assert weighted.options_["parameters"] == GradientDescent(**length(8000))
    assert len(weighted.history_["loss"]) == length(8000)["epochs"]
    halves = TANClassifier("none", random_state=0).fit(X, y, sample_weight=np.full(80, 0.5))
    assert halves.options_["parameters"] == GradientDescent(**length(80))


# Presets.


@presets
def test_a_used_preset_leaves_nothing_open(context, name):
    used = PRESETS[name].tuned(context, 0).used(RowsOf(500))
    assert used.structure == PRESETS[name].structure
    assert used.used(RowsOf(9e9)) == used.tuned(context, 1) == used
    if name == "tree":
        assert isinstance(used.parameters, PenalisedLikelihood)
        assert "auto" not in used.parameters.get_params().values()
    else:
        assert used.parameters == PRESETS[name].parameters.set_params(**length(500))


def test_used_recipes_hold_values_in_place_of_words():
    assert Recipe("subset", "gradient").used(RowsOf(500)) == Recipe(Subset(), GradientDescent(**length(500)))
    assert Recipe("chow-liu", "ml").used(RowsOf(500)) == Recipe(ChowLiu(), Counts())
    sets = ParentSets.from_lists([[-1], [0]])
    assert Recipe([-1, 0], "ml").used(RowsOf(9)) == Recipe(FixedParents([-1, 0]), Counts())
    assert Recipe(sets, "ml").used(RowsOf(9)) == Recipe(GivenSpace(sets), Counts())
    assert Recipe("none", "penalised").used(RowsOf(9)) == Recipe(NoParents(), PenalisedLikelihood())


def test_what_the_presets_are():
    assert list(PRESETS) == ["tree", "margin"]
    assert PRESETS["tree"] == Recipe(ChowLiu("residual"), PenalisedLikelihood(least_gain="auto"))
    assert PRESETS["margin"].structure == Free(candidates="mixed")
    assert PRESETS["margin"].parameters.loss == Hybrid(30.0, 20.0)


@presets
@pytest.mark.usefixtures("margins_for_three_classes")
def test_every_preset_fits(iris, monkeypatch, name):
    preset = PRESETS[name]
    if isinstance(preset.parameters, GradientDescent):
        preset = preset.set_params(parameters__epochs=10)
    monkeypatch.setattr(recipes, "PRESETS", {name: preset})
    X, y = (np.tile(each, (20, *[1] * (each.ndim - 1))) for each in iris)  # margins are for many rows
    clf = TANClassifier(random_state=0, calibrate=False).fit(X, y)
    assert clf.choice_["preset"] == name
    assert clf.choice_["tried"] == [name]
    assert clf.choice_["errors"][0] < 0.1
    used = Recipe(**clf.options_)
    assert "auto" not in used.get_params().values()
    if isinstance(preset.parameters, GradientDescent):
        assert used == preset.used(RowsOf(len(y)))
    else:
        assert used == preset.set_params(parameters=used.parameters)
        assert isinstance(used.parameters, PenalisedLikelihood)
    assert clf.score(X, y) > 0.9
    # The options say all: who gives them, or the preset itself, gets the same.
    for again in (clf.options_, preset.get_params(deep=False)):
        other = TANClassifier(random_state=0, **again).fit(X, y)
        np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize(
    ("n_rows", "weight", "n_classes", "has_margins"),
    [
        *((2_500, None, 10, True), (2_499, None, 10, False), (9_000, None, 9, False)),
        *((1_250, 2.0, 10, True), (2_500, 0.5, 10, True), (1_250, 2.5, 10, False)),
    ],
)
def test_margins_are_tried_with_many_classes_and_many_rows(n_rows, weight, n_classes, has_margins):
    weights = None if weight is None else np.full(n_rows, weight)
    rows = Rows(np.zeros((n_rows, 1), np.uint8), np.arange(n_rows) % n_classes, weights, np.array([1]), n_classes)
    expected = list(PRESETS) if has_margins else ["tree"]
    assert list(worth_trying(PRESETS, rows)) == expected
    given = {"given": PRESETS["margin"]}
    assert worth_trying(given, rows) == given


# What is left to choose.


def test_all_presets_where_nothing_is_given():
    assert recipes_for("auto", "auto") == dict(PRESETS)
    assert list(recipes_for("auto", "auto")) == list(PRESETS)


@pytest.mark.parametrize(
    "option",
    [
        *({"loss": "nll"}, {"loss": Hybrid(lam=3.0)}, {"loss": Hybrid(gamma=3.0)}, {"epochs": 7}, {"batch_size": 9}),
        *({"learning_rate": 0.2}, {"structure_learning_rate": 0.02}, {"parent_dropout": 0.3}, {"smoothness": 0.5}),
        *({"ridge": 2.0}, {"start": NaiveBayesStart(0.0)}, {}),
    ],
    ids=str,
)
def test_parameters_that_are_given_hold_in_all_recipes(option):
    found = recipes_for("auto", GradientDescent(**option))
    assert list(found) == ["free", "none"]
    assert [each.structure for each in found.values()] == [Free(candidates="mixed"), NoParents()]
    assert all(each.parameters == GradientDescent(**option) for each in found.values())


@pytest.mark.parametrize("parameters", ["ml", Counts(0.5)], ids=str)
def test_counts_that_are_given_hold_in_all_recipes(parameters):
    found = recipes_for("auto", parameters)
    assert list(found) == ["none", "chow-liu"]
    assert [each.structure for each in found.values()] == [NoParents(), ChowLiu()]
    assert all(each.parameters == parameters for each in found.values())


@pytest.mark.parametrize("parameters", ["penalised", PenalisedLikelihood(3.0)], ids=str)
def test_penalties_that_are_given_hold_in_all_recipes(parameters):
    found = recipes_for("auto", parameters)
    assert list(found) == ["tree"]
    assert [each.structure for each in found.values()] == [ChowLiu("residual")]
    assert all(each.parameters == parameters for each in found.values())


@pytest.mark.parametrize("structure", ["subset", Free(2), [-1, 0], GreedySearch()], ids=str)
def test_a_structure_that_is_given_leaves_one_recipe(structure):
    assert recipes_for(structure, "auto") == {"given": Recipe(structure, GradientDescent())}
    parameters = GradientDescent("nll", epochs=3)
    assert recipes_for(structure, parameters) == {"given": Recipe(structure, parameters)}


def test_an_array_of_parents_is_not_taken_for_a_word():
    (recipe,) = recipes_for(np.array([-1, 0]), "ml").values()
    assert recipe.used(RowsOf(9)).structure == FixedParents(np.array([-1, 0]))


def test_a_loss_leaves_no_recipe_without_one():
    for recipe in recipes_for("auto", GradientDescent("nll")).values():
        assert recipe.parameters.resolved("loss") == NegativeLogLikelihood()
    assert any(as_parameters(recipe.parameters).needs_fixed for recipe in recipes_for("auto", "auto").values())


@pytest.mark.parametrize("learning_rate", [1e-6, 0.1, 5.0, 100.0])
def test_a_learning_rate_alone_does_not_make_other_options_wrong(learning_rate):
    assert len(recipes_for("auto", GradientDescent(learning_rate=learning_rate))) == 2
    with pytest.raises(ValueError, match=r"^learning_rate must be"):
        GradientDescent(learning_rate=-learning_rate)


@pytest.mark.parametrize(
    ("structure", "parameters", "message"),
    [
        ("subset", "ml", "parameters='ml' requires a fixed structure, but structure='subset' is a search"),
        (Pseudo(), Counts(0.5), r"parameters=Counts\(smoothing=0.5\) requires a fixed structure"),
        (Pseudo(), "penalised", "parameters='penalised' requires a fixed structure"),
        ("subst", "auto", "structure must be .* did you mean 'subset'"),
        (
            "subset",
            "gradiant",
            "parameters must be 'auto', 'ml', 'gradient' or 'penalised', got 'gradiant'; did you mean 'gradient'",
        ),
        ("auto", "gradiant", "parameters must be"),
        ("subset", GradientDescent, r"parameters must be a value, got the class itself: write GradientDescent\(\)"),
        ("subset", 3, r"parameters must be .* got 3"),
        ("subset", None, r"parameters must be .* got None"),
        (Subset, "auto", r"write Subset\(\)"),
    ],
)
def test_mistakes_are_named(structure, parameters, message):
    with pytest.raises(ValueError, match=message):
        recipes_for(structure, parameters)


@pytest.mark.parametrize("words", [("auto", "ml"), ("none", "auto")])
def test_a_recipe_itself_leaves_nothing_open(words):
    with pytest.raises(ValueError, match="leaves the choice open, which is not possible here"):
        Recipe(*words)


# Learning a recipe.


def test_a_fit_leaves_the_options_as_they_are(iris):
    X, y = iris
    clf = TANClassifier(**PRESETS["margin"].set_params(parameters__epochs=2).get_params(deep=False))
    before = clf.get_params()
    clf.fit(X, y)
    assert clf.get_params() == before
    assert clf.parameters.batch_size == "auto"
    assert clf.options_["structure"] == PRESETS["margin"].structure
    assert clf.options_["parameters"] == clf.parameters.set_params(batch_size=length(150)["batch_size"])


def test_a_structure_alone_is_trained_with_the_defaults(iris):
    X, y = iris
    clf = TANClassifier("chow-liu", random_state=0).fit(X, y)
    assert clf.choice_ == NO_CHOICE.to_dict()
    assert clf.options_ == {"structure": ChowLiu(), "parameters": GradientDescent(**length(150))}
    assert len(clf.history_["loss"]) == length(150)["epochs"]
    spelt_out = GradientDescent(Hybrid(10.0, 1.0, 10.0), epochs=69, batch_size=16, learning_rate=0.1)
    again = TANClassifier("chow-liu", spelt_out, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_a_recipe_learns_by_its_seed(context):
    recipe = Recipe("subset", GradientDescent(epochs=2))
    first, again, other = (recipe.learn(context, seed).network for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.theta, again.theta)
    assert not np.array_equal(first.theta, other.theta)
    threaded = recipe.learn(context.with_options(n_threads=2), 0).network
    np.testing.assert_array_equal(first.theta, threaded.theta)


def test_a_recipe_lays_out_what_its_structure_leaves(context):
    assert Recipe(AllPredecessors("natural"), "gradient").lay_out(context, 0).parent_sets.to_lists() == [
        *([-1], [-1, 0], [-1, 0, 1], [-1, 0, 1, 2])
    ]
    found = Recipe(GreedySearch(max_moves=1), "ml").lay_out(context, 0).parent_sets
    assert found.is_fixed
    assert sorted(found.parents.tolist())[:3] == [-1, -1, -1]


# Memory.


def test_memory_is_that_of_the_whole_space(context):
    none, tree = (Recipe(each, "ml").memory_needed(context) for each in ("none", "chow-liu"))
    few, many, everything = (
        Recipe(each, "gradient").memory_needed(context) for each in (Free(1), Free(2), Free(max_parents=None))
    )
    assert none < tree < few < many < everything
    greedy = Recipe(GreedySearch(), "gradient").memory_needed(context)
    assert greedy == Recipe(Pseudo(None), "gradient").memory_needed(context)


def test_memory_counts_what_regularisers_add(context):
    plain, dropping = (Recipe("chow-liu", GradientDescent(parent_dropout=p)) for p in (0.0, 0.2))
    assert dropping.memory_needed(context) > plain.memory_needed(context)
    layout = dropping.lay_out(context, 0)
    assert dropping.memory_needed(context) == ParentDropout(0.2).extend(layout, None)[0].training_bytes


def test_memory_is_found_without_a_search_or_training(context, monkeypatch):
    monkeypatch.setattr(GreedySearch, "run", None)
    monkeypatch.setattr(GradientDescent, "learn", None)
    assert Recipe("greedy", "gradient").memory_needed(context) > 0


def test_a_classifier_needs_what_its_largest_recipe_needs(iris):
    X, y = iris
    alone = [TANClassifier(**recipe.get_params(deep=False)).memory_needed(X, y) for recipe in PRESETS.values()]
    assert TANClassifier().memory_needed(X, y) == max(alone)
    assert len(set(alone)) > 1
