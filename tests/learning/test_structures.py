"""Structures as values: the search space that each gives, the words that stand for them, and what they refuse."""

import re

import numpy as np
import pytest

from tanager import TANClassifier
from tanager.learning import (
    STRUCTURES,
    AllPredecessors,
    AnnealedSearch,
    ChowLiu,
    Context,
    FixedParents,
    Free,
    GivenSpace,
    GreedySearch,
    KDependence,
    MarginScore,
    Nearest,
    NoParents,
    Pseudo,
    RandomTree,
    Rows,
    Screened,
    Structure,
    Subset,
    as_structure,
)
from tanager.learning.structures import StructureOptions
from tanager.structure import (
    ParentSets,
    along_diagonal,
    centre_outwards,
    find_cycle,
    maximum_spanning_tree,
    row_wise,
)
from tests.learning.spaces import (
    N_CLASSES,
    N_FEATURES,
    N_VALUES,
    ORDER,
    SCORES,
    candidates_of,
    rows_of,
    scores_of,
    space_of,
)

SPACE = ParentSets.from_lists([[-1], [0], [-1, 0], [2, 1], [-1, 3], [4], [-1, 5, 0], [6], [7, 0]], order=list(range(9)))
TREE = [-1, 0, 0, 5, 3, 1, -1, 8, 6]

# Value, whether one structure is left to train, how it is kept to forests, whether there may be cycles.
EVERY_STRUCTURE = [
    (NoParents(), True, None, False),
    (RandomTree(), True, None, False),
    (ChowLiu(), True, None, False),
    (Subset(), False, None, False),
    (AllPredecessors(), False, None, False),
    (Nearest((3, 3)), False, None, False),
    (Free(), False, "project", False),
    (Free(forest="sample"), False, "sample", False),
    (Pseudo(), False, None, True),
    (KDependence(), False, None, True),
    (GreedySearch(), True, None, False),
    (AnnealedSearch(n_moves=50), True, None, False),
    (FixedParents(TREE), True, None, False),
    (GivenSpace(SPACE), False, None, False),
]


@pytest.fixture(scope="module")
def context():
    return Context(rows_of())


def image_context(shape):
    n_pixels = shape[0] * shape[1]
    rng = np.random.default_rng(0)
    return Context(Rows(rng.integers(0, 2, (20, n_pixels)), rng.integers(0, 2, 20), None, np.full(n_pixels, 2), 2))


def parents_of(structure, context, seed=0):
    """The extra parents of a structure that is fixed once it has been searched."""
    rng = np.random.default_rng(seed)
    found = structure.search(structure.space(context, rng), context, rng)
    assert found.is_fixed
    return found.parents.tolist()


# What all of them are.


@pytest.mark.parametrize(("structure", "is_fixed", "forest", "may_have_cycles"), EVERY_STRUCTURE, ids=repr)
def test_every_structure_says_what_learning_asks(context, structure, is_fixed, forest, may_have_cycles):
    assert isinstance(structure, Structure)
    assert (structure.is_fixed, structure.forest, structure.may_have_cycles) == (is_fixed, forest, may_have_cycles)
    rng = np.random.default_rng(0)
    space = structure.space(context, rng)
    assert len(space.to_lists()) == N_FEATURES
    left = structure.search(space, context, rng)
    assert left.is_fixed == is_fixed
    if is_fixed:
        assert find_cycle(left.parents) is None
    else:
        assert left is space


@pytest.mark.parametrize("structure", [each[0] for each in EVERY_STRUCTURE[:-2]], ids=repr)
def test_one_feature_has_no_parents(structure):
    if isinstance(structure, Nearest):
        structure = structure.set_params(image_shape=(1, 1))
    context = Context(rows_of(n_features=1))
    assert space_of(structure, context).to_lists() == [[-1]]
    assert structure.search(space_of(structure, context), context, np.random.default_rng(0)).to_lists() == [[-1]]


@pytest.mark.parametrize("structure", [Subset(3), AllPredecessors(), Nearest((3, 3), 3), Pseudo(3), Free(3)], ids=repr)
def test_there_are_at_most_max_parents_candidates_and_none(context, structure):
    candidates = candidates_of(structure, context)
    assert all(-1 in each and i not in each for i, each in enumerate(candidates))
    sizes = sorted(len(each) - 1 for each in candidates)
    expected = {AllPredecessors: list(range(9)), Pseudo: [3] * 9, Free: [3] * 9}
    assert sizes == expected.get(type(structure), [0, 1, 2, 3, 3, 3, 3, 3, 3])


@pytest.mark.parametrize("make", [Subset, Pseudo, Free, lambda k: Nearest((3, 3), k)], ids=["S", "P", "F", "N"])
def test_candidates_nest_across_max_parents(context, make):
    few, some, many = (candidates_of(make(k), context) for k in (1, 3, 6))
    assert all(a <= b <= c for a, b, c in zip(few, some, many, strict=True))
    assert few != some != many


@pytest.mark.parametrize(
    "structure", [Subset(20), Pseudo(20), Free(20), Nearest((3, 3), 20), KDependence(20)], ids=repr
)
def test_more_candidates_than_features_are_all_of_them(context, structure):
    singles = [{each for each in some if not isinstance(each, tuple)} for some in candidates_of(structure, context)]
    assert max(map(len, singles)) == N_FEATURES


@pytest.mark.parametrize(
    "structure", [Subset(3), Pseudo(3), Free(3), RandomTree(), AllPredecessors(), KDependence(3)], ids=repr
)
def test_the_seed_draws_the_candidates(context, structure):
    drawn = [candidates_of(structure, context, seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    "structure", [RandomTree(), Subset(3), AllPredecessors(), Nearest((3, 3), 3), KDependence(3)], ids=repr
)
def test_structures_drawn_along_an_ordering_have_no_cycles(context, structure):
    rng = np.random.default_rng(0)
    for seed in range(5):
        lists = space_of(structure, context, seed).to_lists()
        drawn = [candidates[rng.integers(len(candidates))] for candidates in lists]
        parents = np.array([max(each) if isinstance(each, tuple) else each for each in drawn])
        assert find_cycle(parents) is None


# Fixed trees.


def test_no_parents(context):
    assert space_of(NoParents(), context).to_lists() == [[-1]] * N_FEATURES


def test_a_random_tree_gives_all_but_the_first_a_parent_before_them(context):
    order = [4, 2, 0, 1, 3, 8, 6, 7, 5]
    for seed in range(5):
        parents = parents_of(RandomTree(order), context, seed)
        position = np.argsort(order)
        assert parents[4] == -1
        assert all(position[parents[feature]] < position[feature] for feature in order[1:])


def information_by_counting(codes, y):
    """Conditional mutual information of all pairs given the class, one cell at a time."""
    n_rows, n_features = codes.shape
    information = np.zeros((n_features, n_features))
    for i in range(n_features):
        for j in range(i):
            for c in np.unique(y):
                of_class = codes[y == c]
                for a in np.unique(of_class[:, i]):
                    for b in np.unique(of_class[:, j]):
                        both = ((of_class[:, i] == a) & (of_class[:, j] == b)).sum()
                        if both:
                            apart = (of_class[:, i] == a).sum() * (of_class[:, j] == b).sum()
                            information[i, j] += both / n_rows * np.log(both * len(of_class) / apart)
            information[j, i] = information[i, j]
    return information


def test_chow_liu_is_the_tree_of_most_information(context):
    information = information_by_counting(context.rows.codes, context.rows.y)
    parents = parents_of(ChowLiu(), context)
    assert parents == maximum_spanning_tree(information).tolist()
    assert parents[0] == -1


@pytest.mark.parametrize("score", SCORES)
def test_chow_liu_by_another_score(context, score):
    assert parents_of(ChowLiu(score), context) == maximum_spanning_tree(scores_of(context, score)).tolist()


def test_chow_liu_uses_the_weights(context):
    rows = context.rows
    weighted = Context(rows._replace(weight=np.where(np.arange(len(rows.y)) % 4, 0.0, 1.0)))
    quarter = Context(rows.take(np.arange(0, len(rows.y), 4)))
    assert parents_of(ChowLiu(), weighted) == parents_of(ChowLiu(), quarter)
    assert parents_of(ChowLiu(), weighted) != parents_of(ChowLiu(), context)


@pytest.mark.parametrize("as_type", [list, tuple, np.array])
def test_given_parents_are_kept(context, as_type):
    structure = as_structure(as_type(TREE))
    assert structure == FixedParents(as_type(TREE))
    assert parents_of(structure, context) == TREE


def test_a_given_search_space_is_used_as_it_is(context):
    assert space_of(as_structure(SPACE), context) is SPACE
    assert not as_structure(SPACE).is_fixed
    assert as_structure(ParentSets.from_lists([[-1], [0], [0]])).is_fixed


# Orderings.


@pytest.mark.parametrize("structure", [RandomTree(ORDER), Subset(8, ordering=ORDER), AllPredecessors(np.array(ORDER))])
def test_an_ordering_as_a_permutation(context, structure):
    candidates = candidates_of(structure, context)
    for position, feature in enumerate(ORDER):
        before = set(ORDER[:position])
        if isinstance(structure, RandomTree):
            assert candidates[feature] <= (before or {-1})
        else:
            assert candidates[feature] == before | {-1}


def test_orderings_natural_and_random(context):
    natural = candidates_of(AllPredecessors("natural"), context)
    assert natural == [set(range(-1, i)) for i in range(N_FEATURES)]
    assert candidates_of(AllPredecessors("random"), context) == candidates_of(AllPredecessors(), context) != natural
    assert candidates_of(Nearest((3, 3), 8, "natural"), context) == natural


@pytest.mark.parametrize(
    ("ordering", "make_order"),
    [("A", row_wise), ("B", along_diagonal), ("C", centre_outwards), (None, centre_outwards)],
)
def test_nearest_pixels(ordering, make_order):
    """Candidates are the K preceding pixels of least distance, earlier in the order where distances tie."""
    structure = Nearest((8, 8), 4) if ordering is None else Nearest((8, 8), 4, ordering)
    candidates = candidates_of(structure, image_context((8, 8)))
    order = make_order((8, 8)).tolist()
    for position, feature in enumerate(order):
        row, column = divmod(feature, 8)

        def distance(other, row=row, column=column):
            return (other // 8 - row) ** 2 + (other % 8 - column) ** 2

        assert candidates[feature] == {-1, *sorted(order[:position], key=distance)[:4]}


def test_orderings_of_images_serve_other_structures():
    candidates = candidates_of(AllPredecessors(centre_outwards((8, 8))), image_context((8, 8)))
    first, second = centre_outwards((8, 8))[:2]
    assert candidates[first] == {-1}
    assert candidates[second] == {-1, first}


def test_an_image_with_more_columns_than_rows():
    candidates = candidates_of(Nearest((2, 4), 1, "A"), image_context((2, 4)))
    # The pixel above comes first in the order, so it wins the tie with the one to the left.
    assert candidates[5] == {-1, 1}
    assert candidates[3] == {-1, 2}


# Pairs of parents.


def pairs_of(candidates):
    return [each for each in candidates if isinstance(each, tuple)]


@pytest.mark.parametrize("candidates", ["random", "mixed", "screened"])
def test_without_pairs_it_is_the_same_as_subset(context, candidates):
    without = space_of(KDependence(2, candidates, max_table_size=0), context, 3)
    assert without.pairs.size == 0
    assert without == space_of(Subset(2, candidates), context, 3)


def test_pairs_are_of_candidates_and_not_larger_than_allowed(context):
    cells = N_VALUES**3 * N_CLASSES
    assert all(not pairs_of(each) for each in space_of(KDependence(3, max_table_size=cells - 1), context).to_lists())
    for candidates in space_of(KDependence(3, max_table_size=cells), context).to_lists():
        singles = {each for each in candidates if not isinstance(each, tuple)}
        pairs = pairs_of(candidates)
        assert all(set(pair) <= singles for pair in pairs)
        assert len(pairs) == (3 if len(singles) == 4 else len(singles) - 2 if len(singles) > 2 else 0)


def test_two_features_have_no_pairs():
    assert space_of(KDependence(), Context(rows_of(n_features=2))).pairs.size == 0


# Searches by a score.

SEARCHES = [
    GreedySearch(),
    GreedySearch("margin"),
    GreedySearch(MarginScore(2.0)),
    GreedySearch(MarginScore(2.0), leave_one_out=True),
    AnnealedSearch(n_moves=2000),
    AnnealedSearch(MarginScore(2.0), n_moves=2000),
]


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_searches_find_a_forest(context, search):
    parents = parents_of(search, context)
    assert find_cycle(np.array(parents)) is None
    assert max(parents) >= 0


def test_searches_by_other_scores_find_other_forests(context):
    found = {tuple(parents_of(search, context)) for search in SEARCHES}
    assert len(found) > len(SEARCHES) // 2
    assert parents_of(GreedySearch("margin"), context) == parents_of(GreedySearch(MarginScore()), context)


@pytest.mark.parametrize("make", [GreedySearch, AnnealedSearch])
def test_a_search_among_screened_candidates(context, make):
    allowed = candidates_of(Free(1, "screened"), context)
    for i, parent in enumerate(parents_of(make("margin", max_parents=1, candidates="screened"), context)):
        assert parent in allowed[i]


def test_the_seed_decides_on_annealing(context):
    search = AnnealedSearch(n_moves=40, temperature=(20.0, 10.0))
    runs = [parents_of(search, context, seed) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("search", [GreedySearch("margin", max_moves=3), GreedySearch()], ids=repr)
def test_threads_change_no_search(context, search):
    assert parents_of(search, context) == parents_of(search, context.with_options(n_threads=2))


def test_a_search_makes_no_more_moves_than_allowed(context):
    assert sum(parent >= 0 for parent in parents_of(GreedySearch(max_moves=2), context)) == 2


@pytest.mark.parametrize("search", [GreedySearch("margin"), GreedySearch()], ids=repr)
def test_rows_of_weight_zero_are_absent_from_a_search(context, search):
    rows = context.rows
    weighted = Context(rows._replace(weight=np.where(np.arange(len(rows.y)) % 2, 0.0, 1.0)))
    half = Context(rows.take(np.arange(0, len(rows.y), 2)))
    assert parents_of(search, weighted) == parents_of(search, half)


def test_a_search_tells_its_progress(context, capsys):
    parents_of(GreedySearch("margin", max_moves=2), context)
    assert capsys.readouterr().err == ""
    parents_of(GreedySearch("margin", max_moves=2), context.with_options(verbose=1))
    assert "move 2  score" in capsys.readouterr().err


# Words and mistakes.


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("none", NoParents()), ("random", RandomTree()), ("chow-liu", ChowLiu()), ("subset", Subset())),
        *(("all", AllPredecessors()), ("free", Free()), ("pseudo", Pseudo()), ("k-dependence", KDependence())),
        *(("greedy", GreedySearch()), ("annealed", AnnealedSearch())),
    ],
)
def test_words_stand_for_values_with_their_defaults(context, word, value):
    assert as_structure(word) == value
    assert space_of(as_structure(word), context) == space_of(value, context)
    assert word in STRUCTURES


def test_every_word_is_tested_above():
    words = test_words_stand_for_values_with_their_defaults.pytestmark[0].args[1]
    assert [word for word, _ in words] == list(STRUCTURES)


MISTAKES = [
    (lambda: as_structure("subst"), "structure must be 'auto', 'none', .* got 'subst'; did you mean 'subset'?"),
    (lambda: as_structure("greedy-margin"), r"structure='greedy-margin' is now GreedySearch\('margin'\)"),
    (lambda: as_structure("auto"), "structure='auto' leaves the choice open, which is not possible here"),
    (lambda: as_structure(Subset), r"structure must be a value, got the class itself: write Subset\(\)"),
    (lambda: as_structure([0.5, 1.0]), "one integer for each feature.* shape \\(2,\\) and type float64"),
    (lambda: as_structure([[-1, 0]]), r"one integer for each feature.* shape \(1, 2\)"),
    (lambda: as_structure(None), "structure must be 'auto', .* a list of parents or a ParentSets, got None"),
    (lambda: as_structure([1, 2, 0]), "the parents form a cycle: features 0 -> 2 -> 1 -> 0"),
    (lambda: as_structure([-1, 5]), "feature 1: parent 5 does not exist"),
    (lambda: Subset(0), "max_parents must be a whole number of at least 1, got 0"),
    (lambda: Subset(2.5), "max_parents must be a whole number of at least 1, got 2.5"),
    (lambda: Subset(None), "max_parents must be a whole number"),
    (lambda: Subset(True), "max_parents must be a whole number"),
    (lambda: Pseudo(-1), "max_parents must be a whole number"),
    (lambda: Free("all"), "max_parents must be a whole number of at least 1, got 'all'"),
    (lambda: Free(candidates="best"), "candidates must be 'random', 'screened' or 'mixed', got 'best'"),
    (lambda: Free(candidates="screned"), "did you mean 'screened'?"),
    (lambda: Free(None, "screened"), "candidates='screened' has no effect with max_parents=None"),
    (lambda: GreedySearch(candidates="mixed"), "candidates='mixed' has no effect with max_parents=None"),
    (lambda: Free(forest="yes"), "forest must be 'project' or 'sample', got 'yes'"),
    (lambda: Screened("luck"), "score must be 'information', .* got 'luck'"),
    (lambda: Screened(random_share=1.5), "random_share must be at most 1, got 1.5"),
    (lambda: Screened(random_share=-0.1), "random_share must be a finite number of at least 0"),
    (lambda: ChowLiu("luck"), "score must be 'information', .* got 'luck'"),
    (lambda: RandomTree("A"), "ordering must be 'random' or 'natural', got 'A'"),
    (lambda: Subset(ordering="naturl"), "ordering must be .* did you mean 'natural'?"),
    (lambda: AllPredecessors([0, 2]), "ordering must be 'random', 'natural' or a permutation .* got \\[0, 2\\]"),
    (lambda: AllPredecessors([0, 0]), "ordering must be .* a permutation"),
    (lambda: AllPredecessors([0.0, 1.0]), "ordering must be .* a permutation"),
    (lambda: KDependence(max_table_size=-1), "max_table_size must be a whole number of at least 0, got -1"),
    (lambda: KDependence(max_table_size=2.5), "max_table_size must be"),
    (lambda: KDependence(max_table_size="many"), "max_table_size must be"),
    (lambda: KDependence(max_table_size=None), "max_table_size must be"),
    (lambda: Nearest((9,)), r"image_shape must be \(rows, columns\), two whole numbers, got \(9,\)"),
    (lambda: Nearest((3, 3, 1)), r"image_shape must be \(rows, columns\)"),
    (lambda: Nearest((-3, -3)), r"image_shape must be \(rows, columns\)"),
    (lambda: Nearest(9), r"image_shape must be \(rows, columns\)"),
    (lambda: Nearest(None), r"image_shape must be \(rows, columns\)"),
    (lambda: Nearest((3.5, 3)), r"image_shape must be \(rows, columns\)"),
    (lambda: Nearest((3, 3), ordering="D"), "ordering must be 'A', 'B', 'C', 'random' or 'natural', got 'D'"),
    (lambda: GreedySearch("likelihood"), "score must be 'conditional' or 'margin', got 'likelihood'"),
    (lambda: GreedySearch(smoothing=0), "smoothing must be a finite number above 0, got 0"),
    (lambda: GreedySearch(lazy="yes"), "lazy must be True or False, got 'yes'"),
    (lambda: GreedySearch(leave_one_out=1), "leave_one_out must be True or False, got 1"),
    (lambda: GreedySearch(tolerance=1.0), "tolerance must be a finite number of at least 0 and below 1, got 1.0"),
    (lambda: GreedySearch(max_moves=0), "max_moves must be a whole number of at least 1, got 0"),
    (lambda: GreedySearch(max_rows=0), "max_rows must be a whole number"),
    (lambda: AnnealedSearch(n_moves=0), "n_moves must be a whole number"),
    (lambda: AnnealedSearch(temperature=1.0), "temperature must be a pair of finite numbers above 0, got 1.0"),
    (lambda: AnnealedSearch(temperature=(1.0, 0.0)), "temperature must be a pair of finite numbers above 0"),
    (lambda: MarginScore(0.0), "gamma must be a finite number above 0, got 0.0"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes_are_named_when_a_value_is_made(make, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?") if message.endswith("?") else message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Nearest(), "image_shape"),
        (lambda: Subset(max_parent=3), "Subset has no option 'max_parent'; did you mean 'max_parents'?"),
        (lambda: Free(ordering="natural"), "Free has no option 'ordering'; there are 'max_parents', 'candidates'"),
        (lambda: NoParents(max_parents=3), "NoParents has no option 'max_parents'"),
        (lambda: GreedySearch(is_lazy=True), "GreedySearch has no option 'is_lazy'; it is now lazy"),
    ],
)
def test_options_that_a_structure_does_not_have_are_refused(make, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (Nearest((3, 4)), r"image_shape=\(3, 4\) does not fit 9 features; give \(rows, columns\)"),
        (Nearest((1, 9), ordering="B"), "square"),
        (Nearest((9, 1), ordering="C"), "square"),
        (Nearest((3, 3), ordering=[0, 1]), "ordering lists 2 features, but X has 9"),
        (Subset(ordering=[0, 1]), "ordering lists 2 features, but X has 9"),
        (FixedParents([-1, 0]), "structure lists the parents of 2 features, but X has 9"),
    ],
    ids=repr,
)
def test_mistakes_that_only_the_rows_show(context, structure, message):
    with pytest.raises(ValueError, match=message):
        space_of(structure, context)


class Own(StructureOptions):
    """A structure of the user's, whose space is what it is given."""

    found: object = None
    is_fixed_here: bool = False

    @property
    def is_fixed(self):
        return self.is_fixed_here

    def space(self, context, rng):
        return self.found


@pytest.mark.parametrize(
    ("structure", "parameters", "error", "message"),
    [
        (Own([[-1]] * 3), "gradient", TypeError, "must return a ParentSets, got list; ParentSets.from_lists makes one"),
        (
            Own(ParentSets.from_lists([[-1, 1], [-1], [-1]]), is_fixed_here=True),
            "ml",
            ValueError,
            "says is_fixed=True, but leaves features several candidates",
        ),
        (
            type("Half", (), {"space": None, "forest": None})(),
            "gradient",
            ValueError,
            "lacks is_fixed, may_have_cycles, s",
        ),
    ],
)
def test_structures_of_ones_own_that_do_not_keep_their_word(structure, parameters, error, message):
    X = np.random.default_rng(0).integers(0, 3, (60, 3))
    with pytest.raises(error, match=message):
        TANClassifier(structure, parameters, binning="none", random_state=0).fit(X, X[:, 0] % 2)
