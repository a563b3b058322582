"""Members of ensembles as values: their number, structures and seeds."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import check_random_state

from tanager.learning import (
    MEMBERS,
    AllPredecessors,
    CoveringPaths,
    DisjointTrees,
    FixedParents,
    Free,
    GivenSpace,
    GradientDescent,
    IndependentSearches,
    Members,
    Recipe,
    SampledStructures,
    Subset,
    derived_seed,
)
from tanager.learning.members import default_members, draw_structure
from tanager.model import ParentDistribution
from tanager.structure import ParentSets, find_cycle, maximum_spanning_tree
from tests.learning.small_rows import seven_features

QUICK = GradientDescent(epochs=2, batch_size=50)
SEEDS = [3, 1, 4]


@pytest.fixture(scope="module")
def context():
    return seven_features()


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
    assert MEMBERS.resolve(members) is members


def test_a_seed_is_what_an_estimator_makes_of_a_random_state():
    for seed in (0, 1, 2**31 - 2):
        assert derived_seed(seed) == check_random_state(seed).randint(np.iinfo(np.int32).max)
    assert derived_seed(0) != derived_seed(1)


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
    assert MEMBERS.resolve(word) == value
    assert list(MEMBERS) == ["searches", "sampled", "trees", "cover"]


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
