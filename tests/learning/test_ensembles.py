"""Recipes of ensembles: how members are learned, and what given options leave open."""

import numpy as np
import pytest

from tanager.learning import (
    ENSEMBLE_PRESETS,
    MEMBERS,
    PRESETS,
    TREE_PARAMETERS,
    Counts,
    CoveringPaths,
    DisjointTrees,
    EnsembleRecipe,
    Free,
    GradientDescent,
    IndependentSearches,
    NoParents,
    PenalisedLikelihood,
    Pseudo,
    SampledStructures,
    Subset,
    derived_seed,
    ensemble_recipes_for,
)
from tanager.losses import Hybrid
from tests.learning.small_rows import seven_features
from tests.strategies import RowsOf

QUICK = GradientDescent(epochs=2, batch_size=50)
PENALISED = PenalisedLikelihood(3.0, 3.0)


@pytest.fixture(scope="module")
def context():
    return seven_features()


@pytest.mark.parametrize("is_joint", [False, True])
@pytest.mark.parametrize(
    "members", [DisjointTrees(3), CoveringPaths(3), IndependentSearches("subset", 3), SampledStructures("free", 3)]
)
def test_members_are_learned_by_the_seed_for_any_number_of_threads(context, members, is_joint):
    recipe = EnsembleRecipe(members, QUICK, is_joint)
    first, again, threaded, other = (
        recipe.learn(context.with_options(n_threads=n_threads), seed)
        for n_threads, seed in [(1, 0), (1, 0), (2, 0), (1, 1)]
    )
    assert len(first) == 3
    thetas = [[each.fitted.network.theta.tobytes() for each in some] for some in (first, again, threaded, other)]
    assert thetas[0] == thetas[1] == thetas[2] != thetas[3]
    assert len(set(thetas[0])) == 3
    assert [each.seed for each in first] == [each.seed for each in threaded] != [each.seed for each in other]
    assert all(each.recipe.parameters == QUICK for each in first)


@pytest.mark.parametrize("is_joint", [False, True])
@pytest.mark.parametrize("members", [DisjointTrees(3), CoveringPaths(3)])
def test_penalised_members_are_the_same_for_any_number_of_threads(context, members, is_joint):
    recipe = EnsembleRecipe(members, PenalisedLikelihood(), is_joint)
    first, threaded = (recipe.learn(seven_features().with_options(n_threads=n_threads), 0) for n_threads in (1, 2))
    assert len(first) == 3
    for ours, theirs in zip(first, threaded, strict=True):
        assert ours[:2] == theirs[:2]
        np.testing.assert_array_equal(ours.fitted.network.theta, theirs.fitted.network.theta)


@pytest.mark.parametrize(
    ("members", "parameters"),
    [
        *((DisjointTrees(3), QUICK), (IndependentSearches("subset", 3), QUICK)),
        *((DisjointTrees(3), PENALISED), (DisjointTrees(3), PenalisedLikelihood())),
    ],
    ids=repr,
)
def test_a_member_that_is_learned_alone_is_the_same(context, members, parameters):
    for learned in EnsembleRecipe(members, parameters, is_joint=False).learn(context, 0):
        alone = learned.recipe.learn(context, derived_seed(learned.seed))
        np.testing.assert_array_equal(alone.network.theta, learned.fitted.network.theta)


def test_members_that_are_learned_together_have_strengths_in_common(context):
    recipe = EnsembleRecipe(DisjointTrees(3), PenalisedLikelihood(), is_joint=True)
    tuned = recipe.tuned(context, 0)
    assert tuned.members == recipe.members
    assert "auto" not in tuned.parameters.get_params().values()
    assert tuned.tuned(context, 1) == tuned
    for ours, theirs in zip(recipe.learn(context, 0), tuned.learn(context, 0), strict=True):
        assert ours.recipe.parameters == theirs.recipe.parameters == tuned.parameters
        np.testing.assert_array_equal(ours.fitted.network.theta, theirs.fitted.network.theta)
    separate = EnsembleRecipe(DisjointTrees(3), PenalisedLikelihood(), is_joint=False)
    assert separate.tuned(context, 0) == separate


def test_there_are_no_more_members_than_different_paths(context):
    assert len(EnsembleRecipe(CoveringPaths(9), Counts(), is_joint=False).learn(context, 0)) == 4


def test_a_used_recipe_leaves_nothing_open():
    recipe = EnsembleRecipe(DisjointTrees(), "gradient", is_joint=True)
    assert recipe.used(RowsOf(150)) == EnsembleRecipe(DisjointTrees(), GradientDescent().sized(150), is_joint=True)
    assert EnsembleRecipe(DisjointTrees(), "ml", is_joint=False).used(RowsOf(150)).parameters == Counts()
    assert EnsembleRecipe(DisjointTrees(), PENALISED, is_joint=True).used(RowsOf(150)).parameters == PENALISED


# What is left to choose.


@pytest.mark.parametrize(("training", "is_joint"), [("auto", True), ("joint", True), ("separate", False)])
def test_presets_where_nothing_is_given(training, is_joint):
    found = ensemble_recipes_for("auto", "auto", training)
    assert list(found) == list(ENSEMBLE_PRESETS)
    for name, preset in ENSEMBLE_PRESETS.items():
        assert found[name] == EnsembleRecipe(preset.members, preset.parameters, is_joint)


def test_what_the_presets_are():
    assert list(TREE_PARAMETERS) == ["penalised", "margin", "wide margin"]
    assert TREE_PARAMETERS["penalised"] == PenalisedLikelihood()
    assert TREE_PARAMETERS["margin"].loss == Hybrid(100.0, 10.0, 1.0)
    assert TREE_PARAMETERS["wide margin"].loss == Hybrid(100.0, 30.0, 1.0)
    assert list(ENSEMBLE_PRESETS) == ["trees", "margin", "wide margin", "smooth margin"]
    assert ENSEMBLE_PRESETS["trees"].members == DisjointTrees(3, "residual")
    assert ENSEMBLE_PRESETS["trees"].parameters == PenalisedLikelihood(least_gain="auto")
    for name in ("margin", "wide margin"):
        assert ENSEMBLE_PRESETS[name] == EnsembleRecipe(DisjointTrees(), TREE_PARAMETERS[name], is_joint=True)
    smooth = TREE_PARAMETERS["margin"].set_params(smoothness=0.03)
    assert ENSEMBLE_PRESETS["smooth margin"] == EnsembleRecipe(DisjointTrees(5), smooth, is_joint=True)


@pytest.mark.parametrize("members", ["trees", "cover", DisjointTrees(3), CoveringPaths(3)])
@pytest.mark.parametrize(("training", "is_joint"), [("auto", True), ("joint", True), ("separate", False)])
def test_members_that_are_given_leave_parameters_to_choose(members, training, is_joint):
    found = ensemble_recipes_for(members, "auto", training)
    assert list(found) == ["penalised", "margin", "wide margin"]
    for name, recipe in found.items():
        assert recipe == EnsembleRecipe(MEMBERS.resolve(members), TREE_PARAMETERS[name], is_joint)


@pytest.mark.parametrize(
    ("parameters", "training", "is_joint"),
    [
        *((QUICK, "auto", True), (QUICK, "joint", True), (QUICK, "separate", False)),
        *((PENALISED, "auto", True), ("penalised", "joint", True), (PENALISED, "separate", False)),
        *(("ml", "auto", False), (Counts(0.5), "separate", False)),
    ],
    ids=str,
)
@pytest.mark.parametrize("members", ["auto", "trees", "cover"])
def test_parameters_that_are_given_leave_one_recipe(members, parameters, training, is_joint):
    source = DisjointTrees() if members == "auto" else MEMBERS.resolve(members)
    found = ensemble_recipes_for(members, parameters, training)
    assert found == {"given": EnsembleRecipe(source, parameters, is_joint)}


@pytest.mark.parametrize("make", [IndependentSearches, SampledStructures])
@pytest.mark.parametrize("training", ["auto", "joint", "separate"])
def test_members_that_search(make, training):
    is_joint = training == "joint"
    found = ensemble_recipes_for(make("subset", 3), QUICK, training)
    assert found == {"given": EnsembleRecipe(make("subset", 3), QUICK, is_joint)}
    found = ensemble_recipes_for(make("subset", 3), "auto", training)
    assert found == {"given": EnsembleRecipe(make("subset", 3), GradientDescent(), is_joint)}
    found = ensemble_recipes_for(make(n_members=3), QUICK, training)
    assert found == {
        "free": EnsembleRecipe(make(Free(candidates="mixed"), 3), QUICK, is_joint),
        "none": EnsembleRecipe(make(NoParents(), 3), QUICK, is_joint),
    }


@pytest.mark.parametrize("training", ["auto", "joint", "separate"])
def test_members_that_search_with_penalties(training):
    found = ensemble_recipes_for(IndependentSearches(n_members=3), PENALISED, training)
    assert list(found) == ["tree"]
    for name, recipe in found.items():
        members = IndependentSearches(PRESETS[name].structure, 3)
        assert recipe == EnsembleRecipe(members, PENALISED, training == "joint")


def test_searches_without_options_try_the_presets_of_one_tree():
    found = ensemble_recipes_for("searches", "auto", "auto")
    assert list(found) == list(PRESETS)
    for name, preset in PRESETS.items():
        assert found[name] == EnsembleRecipe(IndependentSearches(preset.structure), preset.parameters, is_joint=False)


@pytest.mark.parametrize(
    ("members", "parameters", "training", "message"),
    [
        ("all", "auto", "auto", "^members must be 'auto', 'searches', 'sampled', 'trees' or 'cover', got 'all'"),
        ("tree", "auto", "auto", "^members must be .* did you mean 'trees'"),
        (DisjointTrees, "auto", "auto", r"members must be a value, got the class itself: write DisjointTrees\(\)"),
        (3, "auto", "auto", r"members must be .* got 3"),
        (Subset(), "auto", "auto", r"members must be .* got Subset\(\)"),
        ("trees", "gradiant", "auto", "parameters must be .* did you mean 'gradient'"),
        (
            *("trees", "ml", "joint"),
            "training='joint' requires GradientDescent or PenalisedLikelihood, got parameters='ml'",
        ),
        (IndependentSearches("chow-liu"), "ml", "joint", "training='joint' requires GradientDescent"),
        (IndependentSearches("subset"), "penalised", "auto", "parameters='penalised' requires a fixed structure"),
        (IndependentSearches("subset"), "ml", "auto", "requires a fixed structure, but structure='subset' is a search"),
        (SampledStructures(Pseudo()), Counts(), "auto", "requires a fixed structure"),
    ],
)
def test_mistakes_are_named(members, parameters, training, message):
    with pytest.raises(ValueError, match=message):
        ensemble_recipes_for(members, parameters, training)
