"""Wrong options are refused before X is read, and the error says what is allowed, or what was meant."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tanager import (
    AllPredecessors,
    AnnealedSearch,
    ChowLiu,
    Counts,
    CoveringPaths,
    DisjointTrees,
    Free,
    GradientDescent,
    GreedySearch,
    Hybrid,
    IndependentSearches,
    KDependence,
    Margin,
    MarginScore,
    NaiveBayesStart,
    Nearest,
    ParentSets,
    Pseudo,
    RandomTree,
    SampledStructures,
    Screened,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.files import NotKept

CLASSIFIERS = [TANClassifier, TANEnsembleClassifier]


def _refuse(*args, **kwargs):
    raise AssertionError("X was read")


class Unreadable:
    """Rows, classes or weights that must not be looked at."""

    __getattribute__ = __array__ = __dataframe__ = __len__ = __iter__ = __getitem__ = __bool__ = __eq__ = _refuse
    __repr__ = __str__ = _refuse
    __hash__ = None


@pytest.fixture
def X():
    return Unreadable()


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "classifier",
    [
        TANClassifier(),
        TANClassifier("subset", GradientDescent(Hybrid())),
        TANClassifier("chow-liu", "ml", calibrate=True, max_bins=3, max_categories=None, n_jobs=-1, verbose=True),
        TANEnsembleClassifier(),
        TANEnsembleClassifier("searches", "gradient", training="joint", combine="probability"),
        TANEnsembleClassifier(IndependentSearches("chow-liu"), "ml", calibrate=True),
    ],
)
def test_right_options_have_X_read(X, classifier):
    """So that the tests below would fail if X were read first."""
    with pytest.raises(AssertionError, match="X was read"):
        classifier.fit(X, X, X)


BINNINGS = "binning must be 'auto', 'mdlp', 'quantile', 'fine' or 'none', got "
PARAMETERS = (
    r"parameters must be 'auto', 'ml', 'gradient', 'penalised' or a value such as GradientDescent\(\.\.\.\), got "
)
SHARED = [
    ({"binning": "halves"}, BINNINGS + "'halves'$"),
    ({"binning": None}, BINNINGS + "None$"),
    ({"binning": "quantiles"}, BINNINGS + r"'quantiles'; did you mean 'quantile'\?"),
    ({"binning": ["mdlp"]}, BINNINGS + r"\['mdlp'\]"),
    ({"missing": "drop"}, "missing must be 'value' or 'ignore', got 'drop'$"),
    ({"missing": None}, "missing must be 'value' or 'ignore', got None$"),
    ({"missing": "ignored"}, r"missing must be 'value' or 'ignore', got 'ignored'; did you mean 'ignore'\?"),
    *(
        ({"max_bins": value}, "max_bins must be a whole number of at least 1, got ")
        for value in (0, -1, 2.5, np.nan, np.inf, "few", True, [3])
    ),
    ({"max_bins": 0, "binning": "quantile"}, "max_bins must be a whole number of at least 1, got 0"),
    ({"max_bins": 0, "binning": "none"}, "max_bins must be a whole number of at least 1, got 0"),
    *(
        ({"max_categories": value}, "max_categories must be a whole number of at least 2, got ")
        for value in (1, 0, -1, 2.5, np.nan, np.inf, "few", True, [3])
    ),
    ({"calibrate": "yes"}, "calibrate must be 'auto', True or False, got 'yes'"),
    ({"calibrate": None}, "calibrate must be 'auto', True or False, got None"),
    ({"calibrate": 1}, "calibrate must be 'auto', True or False, got 1"),
    ({"calibrate": "Auto"}, r"got 'Auto'; did you mean 'auto'\?"),
    ({"verbose": -1}, "verbose must be a whole number of at least 0, got -1"),
    ({"verbose": "loud"}, "verbose must be .*got 'loud'"),
    ({"verbose": None}, "verbose must be .*got None"),
    ({"verbose": 0.5}, "verbose must be .*got 0.5"),
    ({"n_jobs": 0}, "n_jobs must be .*got 0"),
    ({"n_jobs": "two"}, "n_jobs must be .*got 'two'"),
    ({"n_jobs": 2.5}, "n_jobs must be .*got 2.5"),
    ({"random_state": "dice"}, "'dice' cannot be used to seed"),
    ({"random_state": -1}, "Seed must be between 0 and"),
    ({"categorical_features": "all"}, "categorical_features='all' is not understood"),
    ({"categorical_features": 5}, r"categorical_features must have one dimension, but its shape is \(\)"),
    ({"categorical_features": [[0, 1]]}, r"categorical_features must have one dimension, but its shape is \(1, 2\)"),
    (
        {"parameters": "mle"},
        r"parameters must be 'auto', 'ml', 'gradient' or 'penalised', got 'mle'; did you mean 'ml'\?",
    ),
    ({"parameters": "gradeint"}, r"got 'gradeint'; did you mean 'gradient'\?"),
    ({"parameters": None}, PARAMETERS + "None$"),
    ({"parameters": 3}, PARAMETERS + "3$"),
    ({"parameters": Subset()}, PARAMETERS + r"Subset\(\)$"),
    ({"parameters": GradientDescent}, r"parameters must be a value, got the class itself: write GradientDescent\(\)"),
    ({"random_state": NotKept("RandomState")}, "random_state is <RandomState, which the model file does not hold"),
    ({"parameters": NotKept("Mine")}, "parameters is <Mine, which the model file does not hold"),
    (
        {"parameters": GradientDescent(NotKept("my_loss"))},
        "parameters.loss is <my_loss, which the model file does not hold: give it again with set_params>",
    ),
    ({"parameters": GradientDescent(start=NotKept("Mine"))}, "parameters.start is <Mine, which the model file"),
]


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize(("options", "message"), SHARED, ids=lambda value: str(value) if type(value) is dict else "")
def test_wrong_options_of_both_classifiers(X, kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**options).fit(X, X, X)


LIST = "structure as a list must hold one integer for each feature"
STRUCTURES = (
    "structure must be 'auto', 'none', 'random', 'chow-liu', 'subset', 'all', 'free', 'pseudo', 'k-dependence', "
    "'greedy' or 'annealed', got "
)
SEARCH = ParentSets.from_lists([[-1], [-1, 0], [-1], [-1]])
SINGLE = [
    ({"structure": "bush"}, STRUCTURES + "'bush'$"),
    ({"structure": ""}, STRUCTURES + "''$"),
    ({"structure": "subst"}, STRUCTURES + r"'subst'; did you mean 'subset'\?"),
    ({"structure": "Chow-Liu"}, STRUCTURES + r"'Chow-Liu'; did you mean 'chow-liu'\?"),
    ({"structure": "subst", "parameters": "ml"}, r"did you mean 'subset'\?"),
    ({"structure": 5}, "structure must be 'auto', .* got 5$"),
    ({"structure": None}, "structure must be 'auto', .* got None$"),
    ({"structure": []}, LIST),
    ({"structure": [0.5] * 4}, LIST),
    ({"structure": [[-1, 0, 1, 2]]}, LIST),
    ({"structure": ["none"]}, LIST),
    ({"structure": GradientDescent()}, r"structure must be 'auto', .* got GradientDescent\(\)$"),
    ({"structure": Subset}, r"structure must be a value, got the class itself: write Subset\(\)"),
    ({"structure": [-1, 0, 1, 7]}, "feature 3: parent 7 does not exist"),
    ({"structure": [-2, 0, 1, 2]}, "feature 0: parent -2 does not exist"),
    ({"structure": [1, 2, 3, 0]}, "the parents form a cycle: features 0 -> 3 -> 2 -> 1 -> 0$"),
    ({"structure": [-1, 2, 1, 0]}, "the parents form a cycle: features 1 -> 2 -> 1$"),
    ({"structure": [-1, 0, 2, 0]}, "the parents form a cycle: features 2 -> 2$"),
    *(
        (
            {"structure": structure, "parameters": parameters},
            r"^parameters=.* requires a fixed structure, but structure=.* is a search: use 'none', 'random', 'cho",
        )
        for structure in ("subset", "all", "free", "pseudo", "k-dependence", Subset(2), Nearest((2, 2)), SEARCH)
        for parameters in ("ml", Counts(0.5))
    ),
    *(
        (
            {"structure": structure, "calibrate": True, **options},
            f"calibrate=True requires a forest, which structure='?{structure}'? does not promise".replace(
                "()", r"\(\)"
            ),
        )
        for structure in ("pseudo", Pseudo(), "k-dependence", KDependence())
        for options in ({}, {"parameters": GradientDescent(epochs=2)})
    ),
    ({"structure": NotKept("Mine")}, "structure is <Mine, which the model file does not hold"),
    ({"structure": Subset(candidates=NotKept("Mine"))}, "structure.candidates is <Mine, which the model file does"),
]


@pytest.mark.parametrize(("options", "message"), SINGLE, ids=lambda value: str(value) if type(value) is dict else "")
def test_wrong_options_of_one_tree(X, options, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier(**options).fit(X, X, X)
    with pytest.raises(ValueError, match=message):
        TANClassifier(**options).memory_needed(X, X, X)


MEMBERS = "members must be 'auto', 'searches', 'sampled', 'trees'"
SEVERAL = [
    ({"members": "forest"}, MEMBERS + " or 'cover', got 'forest'$"),
    ({"members": "tree"}, MEMBERS + r" or 'cover', got 'tree'; did you mean 'trees'\?"),
    ({"members": None}, MEMBERS + r", 'cover' or a value such as DisjointTrees\(\.\.\.\), got None$"),
    ({"members": 3}, MEMBERS + r", 'cover' or a value such as DisjointTrees\(\.\.\.\), got 3$"),
    ({"members": Subset()}, MEMBERS + r".*got Subset\(\)"),
    ({"members": DisjointTrees}, r"members must be a value, got the class itself: write DisjointTrees\(\)"),
    ({"training": "alone"}, "training must be 'auto', 'joint' or 'separate', got 'alone'"),
    ({"training": None}, "training must be 'auto', 'joint' or 'separate', got None"),
    ({"training": "seperate"}, r"did you mean 'separate'\?"),
    ({"combine": "vote"}, "combine must be 'log' or 'probability', got 'vote'"),
    ({"combine": "probabilities"}, r"did you mean 'probability'\?"),
    ({"combine": "probability", "calibrate": True}, "calibrate=True requires combine='log', got combine='probability'"),
    *(
        ({"members": members, "parameters": "ml", "training": "joint"}, "training='joint' requires GradientDescent")
        for members in ("auto", "trees", "cover", IndependentSearches("chow-liu"))
    ),
    *(
        (
            {"members": members("subset"), "parameters": "ml"},
            "parameters='ml' requires a fixed structure, but structure=",
        )
        for members in (IndependentSearches, SampledStructures)
    ),
    *(
        ({"members": members(structure), "calibrate": True}, "calibrate=True requires .*forest")
        for members in (IndependentSearches, SampledStructures)
        for structure in ("pseudo", KDependence())
    ),
    ({"members": NotKept("Mine")}, "members is <Mine, which the model file does not hold"),
    ({"members": IndependentSearches(Subset(candidates=NotKept("Mine")))}, "members.structure.candidates is <Mine"),
]


@pytest.mark.parametrize(("options", "message"), SEVERAL, ids=lambda value: str(value) if type(value) is dict else "")
def test_wrong_options_of_several_trees(X, options, message):
    with pytest.raises(ValueError, match=message):
        TANEnsembleClassifier(**options).fit(X, X, X)


def test_a_loss_that_was_not_kept_can_be_given_again(iris):
    classifier = TANClassifier("none", GradientDescent(NotKept("my_loss"), epochs=1), random_state=0)
    classifier.set_params(parameters__loss="nll")
    assert classifier.fit(*iris).predict(iris[0]).shape == (150,)


# Values check themselves where they are made, so that no X is near.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Subset(candidates="some"), "candidates must be 'random', 'screened' or 'mixed', got 'some'"),
        (lambda: Subset(candidates="screned"), r"did you mean 'screened'\?"),
        (lambda: Subset(candidates=5), "candidates must be .*got 5"),
        (lambda: Subset(candidates=None), "candidates must be .*got None"),
        (lambda: Subset(candidates=Screened), r"candidates must be a value, got the class itself: write Screened\(\)"),
        (lambda: Free(candidates=ChowLiu()), r"candidates must be .*got ChowLiu\(\)"),
        (lambda: Pseudo(candidates=5), "candidates must be .*got 5"),
        (lambda: KDependence(candidates=5), "candidates must be .*got 5"),
        (lambda: GreedySearch(candidates=5, max_parents=2), "candidates must be .*got 5"),
        (lambda: Free(max_parents=None, candidates="mixed"), "candidates='mixed' has no effect with max_parents=None"),
        (
            lambda: Free(forest="projet"),
            r"forest must be 'project' or 'sample', got 'projet'; did you mean 'project'\?",
        ),
        (lambda: Subset(ordering="D"), "ordering must be 'random' or 'natural', got 'D'"),
        (lambda: Subset(ordering="naturel"), r"did you mean 'natural'\?"),
        (lambda: RandomTree(ordering="C"), "ordering must be 'random' or 'natural', got 'C'"),
        (lambda: AllPredecessors(ordering=[0, 1, 2, 2]), "ordering must be .* a permutation that holds each feature"),
        (lambda: AllPredecessors(ordering=5), "ordering must be .* a permutation .* got 5"),
        (lambda: AllPredecessors(ordering=[0.0, 1.0]), "ordering must be .* a permutation"),
        (lambda: Nearest((2, 2), ordering="D"), "ordering must be 'A', 'B', 'C', 'random' or 'natural', got 'D'"),
        (lambda: Nearest(4), r"image_shape must be \(rows, columns\), two whole numbers, got 4"),
        (lambda: Nearest((2, -2)), r"image_shape must be \(rows, columns\), two whole numbers, got \(2, -2\)"),
        (lambda: ChowLiu("informatio"), r"score must be .* got 'informatio'; did you mean 'information'\?"),
        (lambda: Screened("entropy"), "score must be 'information', 'explaining-away', 'conditional' or 'margin', got"),
        (lambda: Screened(random_share=1.5), "random_share must be at most 1, got 1.5"),
        (
            lambda: GreedySearch("margn"),
            r"score must be 'conditional' or 'margin', got 'margn'; did you mean 'margin'\?",
        ),
        (lambda: GreedySearch(5), "score must be .*got 5"),
        (lambda: AnnealedSearch(5), "score must be .*got 5"),
        (lambda: GradientDescent("hinge"), "loss must be 'hybrid', 'nll', 'margin' or 'conditional', got 'hinge'"),
        (lambda: GradientDescent("hybird"), r"did you mean 'hybrid'\?"),
        (
            lambda: GradientDescent(5),
            r"loss must be 'hybrid', 'nll', 'margin', 'conditional' or a value such as .* or a function, got 5",
        ),
        (lambda: GradientDescent(Hybrid), r"loss must be a value, got the class itself: write Hybrid\(\)"),
        (lambda: GradientDescent(optimiser="sgd"), "optimiser must be 'selected' or 'dense', got 'sgd'"),
        (lambda: GradientDescent(optimiser="selectd"), r"did you mean 'selected'\?"),
        (lambda: GradientDescent(start="naive"), r"start must be .* got 'naive'; did you mean 'naive-bayes'\?"),
        (lambda: GradientDescent(start=5), "start must be .*got 5"),
        (
            lambda: GradientDescent(start=NaiveBayesStart),
            r"start must be a value, got the class itself: write NaiveBayesStart\(\)",
        ),
        (lambda: GradientDescent(regularisers=5), "regularisers must be .*got 5"),
        (lambda: GradientDescent(regularisers=("ridge",)), "regularisers must be .*got .*'ridge'"),
        (lambda: GradientDescent(epochs="all"), "epochs must be a whole number of at least 1, got 'all'"),
        (lambda: IndependentSearches("subst"), r"structure must be .* got 'subst'; did you mean 'subset'\?"),
        (lambda: SampledStructures([1, 0]), "the parents form a cycle"),
        (lambda: IndependentSearches(n_members="auto"), "n_members must be a whole number of at least 1, got 'auto'"),
        (lambda: CoveringPaths(0), "n_members must be a whole number of at least 1, got 0"),
        (lambda: DisjointTrees(2.5), "n_members must be a whole number of at least 1, got 2.5"),
        (lambda: DisjointTrees(score="margins"), r"did you mean 'margin'\?"),
    ],
)
def test_wrong_nested_values(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Subset(max_parent=2), "Subset has no option 'max_parent'; did you mean 'max_parents'?"),
        (lambda: GradientDescent(epoch=2), "GradientDescent has no option 'epoch'; did you mean 'epochs'?"),
        (lambda: GradientDescent(optimizer="dense"), "no option 'optimizer'; did you mean 'optimiser'?"),
        (lambda: Hybrid(lambda_=2.0), "Hybrid has no option 'lambda_'; did you mean 'lam'?"),
        (lambda: Counts(smothing=2.0), "Counts has no option 'smothing'; did you mean 'smoothing'?"),
        (lambda: DisjointTrees(members=2), "DisjointTrees has no option 'members'; did you mean 'n_members'?"),
        (lambda: TANClassifier(structur="none"), "TANClassifier has no option 'structur'; did you mean 'structure'?"),
        (lambda: TANEnsembleClassifier(member="trees"), "no option 'member'; did you mean 'members'?"),
    ],
)
def test_names_of_options_that_do_not_exist(make, message):
    with pytest.raises(TypeError) as caught:
        make()
    assert message in str(caught.value)


NUMBERS = {
    "structure__max_parents": [0, -1, 2.5, None],
    "parameters__loss__lam": [-1.0, None],
    "parameters__loss__gamma": [0.0, -1.0, None],
    "parameters__loss__eta": [0.0, -1.0, None],
    "parameters__start__ridge": [-1.0, None],
    "parameters__epochs": [0, -1, 2.5, None],
    "parameters__batch_size": [0, -1, 2.5, None],
    "parameters__learning_rate": [0.0, -0.1, None],
    "parameters__learning_rate_decay": [0.0, -0.1, None],
    "parameters__structure_learning_rate": [0.0, -0.1, None],
    "parameters__parent_dropout": [1.0, -0.1, None],
    "parameters__shrinkage": [-0.1, None],
    "parameters__smoothness": [-0.1, None],
    "parameters__ridge": [-1.0, None],
    "parameters__size_penalty": [-0.1, None],
}


@pytest.mark.parametrize("path", NUMBERS)
def test_numbers_that_are_none_or_out_of_range(path):
    name = path.rpartition("__")[2]
    for value in [np.nan, np.inf, -np.inf, "3", [1], True, *NUMBERS[path]]:
        classifier = TANClassifier("subset", GradientDescent(Hybrid(), start="naive-bayes"))
        before = classifier.get_params()
        with pytest.raises(ValueError, match=f"^{name} must be") as caught:
            classifier.set_params(**{path: value})
        assert repr(value) in str(caught.value)
        assert classifier.get_params() == before


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, None, "3", [1]], ids=str)
@pytest.mark.parametrize(
    ("kind", "name"),
    [(Counts, "smoothing"), (Margin, "gamma"), (Margin, "eta"), (MarginScore, "gamma"), (GreedySearch, "smoothing")],
)
def test_numbers_of_other_values(kind, name, value):
    with pytest.raises(ValueError, match=f"^{name} must be a finite number above 0, got ") as caught:
        kind(**{name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("classifier", "path", "message"),
    [
        (TANClassifier("none", GradientDescent("nll")), "parameters__loss__lam", "NegativeLogLikelihood has no option"),
        (TANClassifier("none", GradientDescent("margin")), "parameters__loss__lam", "Margin has no option 'lam'"),
        (TANClassifier("none", "ml"), "parameters__epochs", "Counts has no option 'epochs'"),
        (TANClassifier("none", "gradient"), "parameters__smoothing", "GradientDescent has no option 'smoothing'"),
        (TANClassifier("chow-liu"), "structure__max_parents", "ChowLiu has no option 'max_parents'"),
        (TANEnsembleClassifier("cover"), "members__score", "CoveringPaths has no option 'score'"),
    ],
)
def test_options_that_would_have_no_effect_cannot_be_given(classifier, path, message):
    with pytest.raises(ValueError, match=message):
        classifier.set_params(**{path: 2.0})


@pytest.mark.parametrize("tau", [5.0, None, (1.0,), (1.0, 2.0, 3.0), (np.nan, 1.0), (1.0, np.inf), (0.0, 1.0), (1, -1)])
def test_temperatures(tau):
    with pytest.raises(ValueError, match=r"^tau must be a pair of finite numbers above 0, got ") as caught:
        GradientDescent(tau=tau)
    assert repr(tau) in str(caught.value)


@pytest.mark.parametrize("strength", ["smoothness", "shrinkage"])
def test_a_strength_that_does_not_go_with_the_learning_rate(strength):
    with pytest.raises(ValueError, match=r"allows a learning_rate of at most .*, got 0\.9: lower one of the two"):
        GradientDescent(learning_rate=0.9, **{strength: 50.0})


@pytest.mark.parametrize("scale", [np.float32, np.float64, int])
def test_numbers_of_any_type_will_do(iris, scale):
    loss = Hybrid(lam=scale(2), gamma=scale(1), eta=scale(3))
    parameters = GradientDescent(loss, epochs=np.int64(2), batch_size=np.int32(50), tau=(scale(2), scale(1)))
    classifier = TANClassifier(
        Subset(max_parents=np.int8(2)), parameters, max_bins=np.int64(4), max_categories=np.int8(9)
    )
    plain = GradientDescent(Hybrid(2.0, 1.0, 3.0), epochs=2, batch_size=50, tau=(2.0, 1.0))
    expected = TANClassifier(Subset(max_parents=2), plain, max_bins=4, max_categories=9)
    first, second = (
        each.set_params(random_state=0).fit(*iris).predict_proba(iris[0]) for each in (classifier, expected)
    )
    np.testing.assert_array_equal(first, second)
