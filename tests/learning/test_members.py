"""Members of ensembles as values: their number, structures and seeds, and what given options leave open."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import check_random_state

from tanager.learning import (
    ENSEMBLE_PRESETS,
    MEMBERS,
    PRESETS,
    TREE_PARAMETERS,
    AllPredecessors,
    Context,
    Counts,
    CoveringPaths,
    DisjointTrees,
    EnsembleRecipe,
    FixedParents,
    Free,
    GivenSpace,
    GradientDescent,
    IndependentSearches,
    Members,
    NoParents,
    PenalisedLikelihood,
    Pseudo,
    Recipe,
    Rows,
    SampledStructures,
    Subset,
    derived_seed,
    ensemble_recipes_for,
)
from tanager.learning.members import as_members, default_members, draw_structure
from tanager.losses import Hybrid
from tanager.model import ParentDistribution
from tanager.structure import ParentSets, find_cycle, maximum_spanning_tree
from tests.strategies import RowsOf

QUICK = GradientDescent(epochs=2, batch_size=50)
PENALISED = PenalisedLikelihood(3.0, 3.0)
SEEDS = [3, 1, 4]


def make_context(n_features=7):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    codes = (rng.integers(0, 3, (200, n_features)) + y[:, None] * rng.integers(0, 2, (200, n_features))) % 3
    return Context(Rows(codes.astype(np.uint8), y, None, np.full(n_features, 3), 3))


@pytest.fixture(scope="module")
def context():
    return make_context()


def pairs_of(structures):
    """Pairs of features of all trees, the smaller number first."""
    return [
        (min(i, j), max(i, j)) for each in structures for i, j in enumerate(np.asarray(each.parents).tolist()) if j >= 0
    ]


def best_pairs(context, score):
    return set(pairs_of([FixedParents(maximum_spanning_tree(context.scores(score)))]))


# How many.


@given(st.integers(1, 3000))
def test_trees_and_paths_hold_each_pair_at_most_once(n_features):
    n_members = default_members(n_features)
    assert 1 <= n_members <= min(30, (n_features + 1) // 2)
    n_cpts = n_members * n_features
    assert n_members <= 4 or n_cpts <= 700 or (n_members <= 12 and n_cpts <= 3_000)
    assert DisjointTrees().count(n_features) == CoveringPaths().count(n_features) == n_members
    assert IndependentSearches().count(n_features) == SampledStructures().count(n_features) == 10


@pytest.mark.parametrize("make", [DisjointTrees, CoveringPaths, IndependentSearches, SampledStructures])
def test_a_number_that_is_given_holds(make):
    assert make(n_members=3).count(500) == 3
    for wrong in (0, 2.5, -1, True, None, "some"):
        with pytest.raises(ValueError, match=r"^n_members must be a whole number of at least 1"):
            make(n_members=wrong)


# Which structures.


def test_disjoint_trees_begin_with_the_best_and_share_no_pair(context):
    structures = DisjointTrees().structures(QUICK, context, SEEDS)
    assert set(pairs_of(structures[:1])) == best_pairs(context, "information")
    assert all(find_cycle(each.parents) is None for each in structures)
    assert len(set(pairs_of(structures))) == len(pairs_of(structures)) == 3 * 6


@pytest.mark.parametrize("score", ["explaining-away", "conditional", "margin", "residual"])
def test_disjoint_trees_by_another_score(context, score):
    structures = DisjointTrees(score=score).structures(QUICK, context, SEEDS)
    assert set(pairs_of(structures[:1])) == best_pairs(context, score) != best_pairs(context, "information")
    with pytest.raises(ValueError, match=r"score must be 'information', .* got 'luck'"):
        DisjointTrees(score="luck")


def test_covering_paths_hold_every_pair_once(context):
    structures = CoveringPaths().structures(QUICK, context, [5] * 9)
    assert len(structures) == 4
    assert sorted(pairs_of(structures)) == list(itertools.combinations(range(7), 2))
    other = CoveringPaths().structures(QUICK, context, [6] * 9)
    assert [each.parents for each in other] != [each.parents for each in structures]


def test_independent_searches_have_the_structure_they_were_given(context):
    assert IndependentSearches(Subset(3)).structures(QUICK, context, SEEDS) == [Subset(3)] * 3
    assert IndependentSearches("subset").structures(QUICK, context, SEEDS) == [Subset()] * 3


@pytest.mark.parametrize("structure", [Subset(3), Free(3), Free(3, forest="sample"), AllPredecessors()], ids=repr)
def test_sampled_structures_come_from_one_search(context, structure):
    sampled = SampledStructures(structure).structures(QUICK, context, SEEDS)
    again = SampledStructures(structure).structures(QUICK, context, SEEDS)
    assert sampled == again
    assert all(isinstance(each, GivenSpace) and each.is_fixed for each in sampled)
    parents = [each.parent_sets.parents for each in sampled]
    assert all(find_cycle(each) is None for each in parents)
    assert len({tuple(each) for each in parents}) > 1
    learned = Recipe(structure, QUICK).learn(context, derived_seed(SEEDS[0])).distribution
    candidates = learned.parent_sets.to_lists()
    assert all(parent in candidates[i] for each in parents for i, parent in enumerate(each))


def test_a_drawn_structure_is_kept_to_forests_where_it_must_be():
    circle = ParentSets.from_lists([[1, -1], [0, -1]])
    distribution = ParentDistribution(circle, np.array([9.0, 0.0, 9.0, 0.0]))
    rng = np.random.default_rng(0)
    free = [draw_structure(distribution, False, rng).parents.tolist() for _ in range(20)]
    kept = [draw_structure(distribution, True, rng).parents.tolist() for _ in range(20)]
    assert [1, 0] in free
    assert {tuple(each) for each in kept} == {(1, -1), (-1, 0)}


@pytest.mark.parametrize("members", [DisjointTrees(), CoveringPaths(), IndependentSearches(), SampledStructures()])
def test_every_value_is_of_the_form_that_is_asked_for(members):
    assert isinstance(members, Members)
    assert as_members(members) is members


# Learning.


def test_a_seed_is_what_an_estimator_makes_of_a_random_state():
    for seed in (0, 1, 2**31 - 2):
        assert derived_seed(seed) == check_random_state(seed).randint(np.iinfo(np.int32).max)
    assert derived_seed(0) != derived_seed(1)


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
    first, threaded = (recipe.learn(make_context().with_options(n_threads=n_threads), 0) for n_threads in (1, 2))
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
        assert recipe == EnsembleRecipe(as_members(members), TREE_PARAMETERS[name], is_joint)


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
    source = DisjointTrees() if members == "auto" else as_members(members)
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


# Words and mistakes.


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("searches", IndependentSearches()),
        ("sampled", SampledStructures()),
        ("trees", DisjointTrees()),
        ("cover", CoveringPaths()),
    ],
)
def test_words_stand_for_values_with_their_defaults(word, value):
    assert as_members(word) == value
    assert list(MEMBERS) == ["searches", "sampled", "trees", "cover"]


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


@pytest.mark.parametrize("make", [IndependentSearches, SampledStructures])
def test_a_wrong_structure_is_named_when_members_are_made(make):
    with pytest.raises(ValueError, match=r"structure must be .* did you mean 'subset'"):
        make("subst")
    with pytest.raises(ValueError, match=r"write Subset\(\)"):
        make(Subset)
    assert make([-1, 0]).structure == [-1, 0]


@pytest.mark.parametrize(
    ("make", "option"), [(CoveringPaths, "structure"), (DisjointTrees, "structure"), (IndependentSearches, "score")]
)
def test_options_that_members_do_not_have_are_refused(make, option):
    with pytest.raises(TypeError, match=f"{make.__name__} has no option '{option}'"):
        make(**{option: "subset"})
