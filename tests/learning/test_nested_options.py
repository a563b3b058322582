"""Option values among scikit-learn's tools: copies, nested names, searches, pipelines, and what is shared."""

import copy
import pickle
from dataclasses import MISSING, FrozenInstanceError, fields

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import tanager
from tanager import (
    ChowLiu,
    Counts,
    DisjointTrees,
    Free,
    GradientDescent,
    GreedySearch,
    Hybrid,
    IndependentSearches,
    Margin,
    MarginScore,
    NaiveBayesStart,
    SampledStructures,
    Screened,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.learning import (
    ENSEMBLE_PRESETS,
    PRESETS,
    TREE_PARAMETERS,
    VALUES,
    Recipe,
    ensemble_recipes_for,
    recipes_for,
)
from tanager.training.regularisers import Shrinkage
from tests.learning.every_value import EVERY_VALUE

QUICK = GradientDescent(epochs=2, batch_size=100)

every_value = pytest.mark.parametrize("value", EVERY_VALUE, ids=lambda value: type(value).__name__)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def read(text):
    """The value that a repr says, with the names that tanager and NumPy have."""
    names = {name: getattr(tanager, name) for name in tanager.__all__}
    return eval(text, {**names, **VALUES, "array": np.array})


# Values.


def test_there_is_an_example_of_every_value_with_no_option_at_its_default():
    assert sorted(type(value).__name__ for value in EVERY_VALUE) == sorted(VALUES)
    for value in EVERY_VALUE:
        # What there is of regularisers has options of its own, and may not be given twice.
        assert all(f"{each.name}=" in repr(value) for each in fields(value) if each.name != "regularisers")


def test_regularisers_take_part_in_equality():
    assert GradientDescent(regularisers=(Shrinkage(0.01),)) != GradientDescent()
    assert GradientDescent(regularisers=(Shrinkage(0.01),)) != GradientDescent(regularisers=(Shrinkage(0.02),))


@every_value
def test_copies_are_equal(value):
    assert clone(value) is value
    assert clone(value, safe=False) is value
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert type(other) is type(value)
        assert other == value
        assert hash(other) == hash(value)
        assert repr(other) == repr(value)
    assert joblib.hash(pickle.loads(pickle.dumps(value))) == joblib.hash(value)


@pytest.mark.parametrize(
    "value",
    [value for value in EVERY_VALUE if type(value).__name__ != "GivenSpace"],  # the repr of ParentSets is a summary
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_what_its_repr_says(value):
    assert read(repr(value)) == value


@every_value
def test_options_that_are_set_to_what_they_are_change_nothing(value):
    for deep in (False, True):
        other = value.set_params(**value.get_params(deep=deep))
        assert other == value
    assert value.set_params() == value


@every_value
def test_every_option_takes_part_in_equality(value):
    for each in fields(value):
        if each.default is MISSING or each.name == "regularisers":
            continue
        alone = each.name == "max_parents" and each.default is None  # which allows no choice of candidates
        base = value.set_params(candidates="random") if alone else value
        other = base.set_params(**{each.name: each.default})
        assert other != base
        assert getattr(other, each.name) == each.default
        assert len(repr(other)) < len(repr(base))


@every_value
def test_values_never_change(value):
    before = repr(value)
    for each in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, each.name, getattr(value, each.name))
    with pytest.raises(FrozenInstanceError):
        value.invented = 1
    assert repr(value) == before


def test_values_are_equal_only_to_values_of_their_class():
    assert Subset() != "subset"
    assert Subset() != Free()
    assert Margin(2.0, 3.0) != MarginScore(2.0)
    assert len({Subset(), Subset(8), Subset(3), Free()}) == 3
    assert Subset(ordering=[1, 0]) == Subset(ordering=[1, 0]) != Subset(ordering=[0, 1])
    assert Subset(ordering=np.array([1, 0])) == Subset(ordering=np.array([1, 0])) != Subset(ordering=np.array([0, 1]))
    assert hash(Subset(ordering=[1, 0])) == hash(Subset(ordering=[1, 0]))


def test_a_repr_shows_what_was_given():
    assert repr(Subset()) == "Subset()"
    assert repr(Subset(8, "mixed")) == "Subset(candidates='mixed')"
    text = "GradientDescent(loss=Hybrid(gamma=5.0), start=NaiveBayesStart(), smoothness=0.03)"
    assert repr(GradientDescent(Hybrid(gamma=5.0), start=NaiveBayesStart(), smoothness=0.03)) == text


def test_set_params_returns_a_copy():
    first = GradientDescent(loss=Hybrid(lam=30.0), epochs=5)
    second = first.set_params(loss__gamma=5.0, ridge=1.0)
    assert second == GradientDescent(loss=Hybrid(lam=30.0, gamma=5.0), epochs=5, ridge=1.0)
    assert first == GradientDescent(loss=Hybrid(lam=30.0), epochs=5)


@pytest.mark.parametrize(
    ("value", "changes", "expected"),
    [
        (Subset(), {"candidates__score": "margin"}, None),
        (Subset(candidates="mixed"), {"candidates__score": "margin"}, Subset(candidates=Screened("margin", 0.5))),
        (GradientDescent(), {"loss__gamma": 2.0}, GradientDescent(Hybrid(gamma=2.0))),
        (GradientDescent("margin"), {"loss__gamma": 2.0}, GradientDescent(Margin(2.0))),
        (GradientDescent(), {"loss": "margin", "loss__eta": 2.0}, GradientDescent(Margin(eta=2.0))),
        (GradientDescent(), {"loss__eta": 2.0, "loss": Margin(3.0)}, GradientDescent(Margin(3.0, 2.0))),
        (GradientDescent(start="naive-bayes"), {"start__ridge": 2.0}, GradientDescent(start=NaiveBayesStart(2.0))),
        (GreedySearch("margin"), {"score__gamma": 2.0}, GreedySearch(MarginScore(2.0))),
        (
            SampledStructures("free"),
            {"structure__candidates": "screened", "structure__max_parents": 3},
            SampledStructures(Free(3, "screened")),
        ),
        (
            Recipe("free", "gradient"),
            {
                "structure__candidates": Screened(),
                "structure__candidates__score": "margin",
                "parameters__loss__lam": 0.5,
            },
            Recipe(Free(candidates=Screened("margin")), GradientDescent(Hybrid(0.5))),
        ),
    ],
    ids=str,
)
def test_nested_options_of_words_and_values(value, changes, expected):
    if expected is None:
        with pytest.raises(ValueError, match="RandomCandidates has no option 'score'"):
            value.set_params(**changes)
    else:
        assert value.set_params(**changes) == expected


# Estimators.

NESTED = TANClassifier(Subset(4, Screened("margin")), GradientDescent(Hybrid(gamma=5.0), epochs=2))


def test_names_of_nested_options():
    own = {name for name in TANClassifier().get_params() if "__" not in name}
    assert set(TANClassifier().get_params()) == set(TANClassifier().get_params(deep=False)) == own
    assert set(TANClassifier("subset", "gradient").get_params()) == own  # words have no options to show
    params = NESTED.get_params(deep=True)
    training = {f"parameters__{each.name}" for each in fields(GradientDescent)}
    assert set(params) - own == training | {
        *("structure__max_parents", "structure__candidates", "structure__ordering"),
        *("structure__candidates__score", "structure__candidates__random_share"),
        *("parameters__loss__lam", "parameters__loss__gamma", "parameters__loss__eta"),
    }
    assert params["structure__candidates__score"] == "margin"
    assert params["parameters__loss__gamma"] == 5.0
    assert params["parameters__epochs"] == 2
    ensemble = TANEnsembleClassifier(SampledStructures(Free(3), 2), GradientDescent(Margin()))
    params = ensemble.get_params()
    assert params["members__structure__max_parents"] == 3
    assert params["members__n_members"] == 2
    assert params["parameters__loss__gamma"] == 1.0


@pytest.mark.parametrize(
    "estimator",
    [
        NESTED,
        TANClassifier(),
        TANClassifier("subset", "ml"),
        TANClassifier([-1, 0, 1, 2], Counts(0.5)),
        TANClassifier(Subset(ordering=np.array([2, 0, 1])), n_jobs=2, calibrate=False),
        TANEnsembleClassifier(IndependentSearches(Subset(2), 3), QUICK, training="joint", combine="probability"),
    ],
    ids=repr,
)
def test_copies_of_estimators(estimator):
    for other in (clone(estimator), copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
        assert repr(other) == repr(estimator)
        assert other.get_params().keys() == estimator.get_params().keys()
    told = read(repr(estimator))
    assert repr(told) == repr(estimator)
    for name, value in estimator.get_params(deep=False).items():
        np.testing.assert_equal(getattr(told, name), value)
    assert type(estimator).__name__ in estimator._repr_html_()


def test_clones_share_values_and_change_alone():
    first = clone(NESTED)
    assert first.structure is NESTED.structure
    first.set_params(structure__max_parents=2, parameters__loss__gamma=1.5)
    assert first.structure == Subset(2, Screened("margin"))
    assert first.parameters.loss == Hybrid(gamma=1.5)
    assert NESTED.structure == Subset(4, Screened("margin"))
    assert NESTED.parameters.loss == Hybrid(gamma=5.0)


def test_set_params_of_words():
    clf = TANClassifier("subset", "gradient").set_params(structure__max_parents=3, parameters__loss__gamma=2.0)
    assert clf.structure == Subset(3)
    assert clf.parameters == GradientDescent(Hybrid(gamma=2.0))
    assert clf is clf.set_params(structure="free")
    assert clf.structure == "free"
    assert clf.set_params(structure__forest="sample", structure="free").structure == Free(forest="sample")
    assert clf.set_params(parameters="ml", parameters__smoothing=0.5).parameters == Counts(0.5)


def test_set_params_through_an_ensemble(iris):
    X, y = iris
    ensemble = TANEnsembleClassifier(IndependentSearches("subset", 2), QUICK, random_state=0)
    shared = ensemble.members
    ensemble.set_params(members__structure__max_parents=1, parameters__loss__gamma=2.0, members__n_members=3)
    assert ensemble.members == IndependentSearches(Subset(1), 3)
    assert ensemble.parameters == QUICK.set_params(loss=Hybrid(gamma=2.0))
    assert shared == IndependentSearches("subset", 2)
    ensemble.fit(X, y)
    assert len(ensemble.estimators_) == 3
    for member in ensemble.estimators_:
        assert member.structure == Subset(1)
        assert (np.count_nonzero(member.parent_probabilities_, axis=1) <= 2).all()
        assert member.parameters.loss == Hybrid(gamma=2.0)
    spelt_out = TANEnsembleClassifier(
        IndependentSearches(Subset(1), 3), QUICK.set_params(loss__gamma=2.0), random_state=0
    )
    np.testing.assert_array_equal(spelt_out.fit(X, y).predict_proba(X), ensemble.predict_proba(X))
    by_words = TANEnsembleClassifier("trees").set_params(members__score="margin", members__n_members=2)
    assert by_words.members == DisjointTrees(2, "margin")


@pytest.mark.parametrize(
    "make",
    [
        lambda clf: make_pipeline(StandardScaler(), clf),
        lambda clf: Pipeline([("scaled", "passthrough"), (type(clf).__name__.lower(), clf)]),
    ],
    ids=["scaled", "passthrough"],
)
def test_set_params_through_a_pipeline(iris, make):
    X, y = iris
    pipeline = make(TANClassifier(Subset(), QUICK, random_state=0))
    pipeline.set_params(tanclassifier__structure__max_parents=1, tanclassifier__parameters__loss__gamma=2.0)
    assert pipeline[-1].structure == Subset(1)
    assert pipeline[-1].parameters == QUICK.set_params(loss=Hybrid(gamma=2.0))
    assert pipeline.get_params()["tanclassifier__parameters__loss__gamma"] == 2.0
    assert clone(pipeline).fit(X, y).score(X, y) > 0.8
    several = make(TANEnsembleClassifier(IndependentSearches("subset", 2), QUICK))
    several.set_params(tanensembleclassifier__members__structure__max_parents=2)
    assert several[-1].members == IndependentSearches(Subset(2), 2)


BAD = [
    ({"structure__max_parents": 0}, "max_parents must be"),
    ({"structure__max_parent": 3}, "Subset has no option 'max_parent'; did you mean 'max_parents'"),
    ({"parameters__loss__gamma": -1.0}, "gamma must be"),
    ({"parameters__loss__depth": 1}, "Hybrid has no option 'depth'"),
    ({"parameters__epochs": 0}, "epochs must be"),
    ({"parameters__loss": "hybird"}, "did you mean 'hybrid'"),
    ({"structre": "none"}, "TANClassifier has no option 'structre'; did you mean 'structure'"),
    ({"structre__max_parents": 3}, "TANClassifier has no option 'structre'; did you mean 'structure'"),
    ({"structure": "auto", "structure__max_parents": 3}, "structure='auto' has no option 'max_parents'"),
    ({"structure": [-1, 0], "structure__max_parents": 3}, "has no option 'max_parents': set structure to a value"),
    ({"structure": "none", "structure__max_parents": 3}, "NoParents has no option 'max_parents'"),
    ({"n_jobs__depth": 3}, "n_jobs=2 has no option 'depth'"),
    ({"epochs": 5}, r"TANClassifier has no option 'epochs'; it is now an option of GradientDescent"),
]


@pytest.mark.parametrize(("bad", "message"), BAD, ids=[" ".join(bad) for bad, _ in BAD])
@pytest.mark.parametrize("is_last", [True, False])
def test_one_bad_entry_changes_nothing(bad, message, is_last):
    clf = TANClassifier(Subset(4), GradientDescent(Hybrid(gamma=5.0), epochs=2), n_jobs=2)
    good = {"binning": "quantile", "parameters__tau": (5.0, 0.5)}
    before = clf.get_params()
    structure, parameters = clf.structure, clf.parameters
    with pytest.raises(ValueError, match=message):
        clf.set_params(**{**good, **bad} if is_last else {**bad, **good})
    assert clf.get_params() == before
    assert clf.structure is structure
    assert clf.parameters is parameters


def test_one_bad_entry_changes_nothing_in_an_ensemble():
    ensemble = TANEnsembleClassifier(IndependentSearches(Subset(4), 3), QUICK)
    before = ensemble.get_params()
    with pytest.raises(ValueError, match="max_parents must be"):
        ensemble.set_params(combine="probability", members__n_members=2, members__structure__max_parents=0)
    assert ensemble.get_params() == before
    with pytest.raises(ValueError, match="structure='auto' has no option 'max_parents'"):
        TANEnsembleClassifier("searches").set_params(members__structure__max_parents=3)


# Searches over options.

FOLDS = StratifiedKFold(2)


@pytest.mark.parametrize(
    "clf",
    [TANClassifier(Subset(), QUICK, random_state=0), TANClassifier("subset", QUICK, random_state=0)],
    ids=["value", "word"],
)
def test_grid_search_over_nested_options(iris, clf):
    X, y = iris
    before = repr(clf)
    grid = {
        "structure__max_parents": [1, 3],
        "parameters__loss__gamma": [0.5, 20.0],
        "parameters__smoothness": [0.0, 1.0],
    }
    search = GridSearchCV(clf, grid, cv=FOLDS, scoring="neg_log_loss", error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        gamma, smoothness = params["parameters__loss__gamma"], params["parameters__smoothness"]
        spelt_out = TANClassifier(
            Subset(params["structure__max_parents"]),
            GradientDescent(Hybrid(gamma=gamma), 2, 100, smoothness=smoothness),
            random_state=0,
        )
        assert cross_val_score(spelt_out, X, y, cv=FOLDS, scoring="neg_log_loss").mean() == score
    assert len(set(search.cv_results_["mean_test_score"])) == 8
    best = search.best_estimator_
    assert best.structure == Subset(search.best_params_["structure__max_parents"])
    assert best.options_["parameters"].loss == Hybrid(gamma=search.best_params_["parameters__loss__gamma"])
    assert repr(clf) == before


def test_grid_search_over_words_and_their_options(iris):
    X, y = iris
    grid = [
        {"structure": ["none", ChowLiu("margin")], "parameters": ["ml", Counts(0.1)]},
        {"structure": ["subset"], "structure__max_parents": [2], "parameters": ["gradient"], "parameters__epochs": [2]},
    ]
    search = GridSearchCV(TANClassifier(random_state=0), grid, cv=FOLDS, refit=False, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 5
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_grid_search_over_an_ensemble(iris):
    X, y = iris
    ensemble = TANEnsembleClassifier(IndependentSearches("subset", 2), QUICK, random_state=0)
    grid = {"members__structure__max_parents": [1, 3], "parameters__loss__gamma": [1.0, 9.0]}
    search = GridSearchCV(ensemble, grid, cv=FOLDS, error_score="raise").fit(X, y)
    found = search.best_estimator_.get_params()
    assert {name: found[name] for name in grid} == search.best_params_


# What is shared stays what it is.


def test_presets_never_change(iris):
    X, y = iris
    before = [repr(PRESETS), repr(TREE_PARAMETERS), repr(ENSEMBLE_PRESETS)]
    for recipe in PRESETS.values():
        clf = TANClassifier(**recipe.get_params(deep=False))
        assert clf.structure is recipe.structure
        if isinstance(recipe.parameters, GradientDescent):
            clf.set_params(structure="subset", structure__max_parents=2)
            clf.set_params(parameters__epochs=1, parameters__batch_size=50, parameters__ridge=9.0)
        else:
            clf.set_params(structure="chow-liu", structure__score="margin", parameters__pairs=9.0)
        clf.fit(X, y)
        assert recipe.set_params(structure=[-1]) != recipe
    for parameters in TREE_PARAMETERS.values():
        ensemble = TANEnsembleClassifier("trees", parameters)
        if isinstance(parameters, GradientDescent):
            ensemble.set_params(parameters__epochs=1, parameters__smoothness=0.5).fit(X, y)
        else:
            ensemble.set_params(parameters__main=9.0).fit(X, y)
    TANEnsembleClassifier().fit(X, y)
    assert [repr(PRESETS), repr(TREE_PARAMETERS), repr(ENSEMBLE_PRESETS)] == before


def test_a_choice_of_recipes_can_be_changed_without_changing_the_presets():
    before = [list(each) for each in (PRESETS, TREE_PARAMETERS, ENSEMBLE_PRESETS)]
    recipes_for("auto", "auto").clear()
    ensemble_recipes_for("auto", "auto", "auto").clear()
    ensemble_recipes_for("trees", "auto", "auto").clear()
    assert (
        [list(each) for each in (PRESETS, TREE_PARAMETERS, ENSEMBLE_PRESETS)]
        == before
        == [
            ["tree", "margin"],
            ["penalised", "margin", "wide margin"],
            ["trees", "margin", "wide margin", "smooth margin"],
        ]
    )


def test_estimators_that_share_values_fit_alone(iris):
    X, y = iris
    structure, parameters = Subset(3), QUICK.set_params(loss=Hybrid(gamma=3.0))
    first, second = (TANClassifier(structure, parameters, random_state=0) for _ in range(2))
    second.set_params(structure__max_parents=1, parameters__loss__gamma=9.0).fit(X, y)
    assert first.structure is structure
    assert first.parameters is parameters
    assert (structure, parameters.loss) == (Subset(3), Hybrid(gamma=3.0))
    assert first.fit(X, y).options_ == {"structure": Subset(3), "parameters": parameters}
    assert second.options_ == {"structure": Subset(1), "parameters": parameters.set_params(loss__gamma=9.0)}
