"""What both classifiers share: predictions, changes of options, and options of earlier versions."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid

from tanager import (
    ChowLiu,
    CoveringPaths,
    DisjointTrees,
    GradientDescent,
    Hybrid,
    IndependentSearches,
    Margin,
    Nearest,
    Screened,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.estimators.base import RENAMED
from tanager.learning import PRESETS

SHORT = GradientDescent(epochs=4, batch_size=100)
CLASSIFIERS = [TANClassifier, TANEnsembleClassifier]


def make_single(**options):
    return TANClassifier("subset", SHORT, random_state=0).set_params(**options)


def make_joint(**options):
    return TANEnsembleClassifier(CoveringPaths(2), SHORT, random_state=0).set_params(**options)


def make_separate(**options):
    return TANEnsembleClassifier(IndependentSearches("subset", 2), SHORT, random_state=0).set_params(**options)


def make_mean_probability(**options):
    return make_separate(combine="probability").set_params(**options)


KINDS = [make_single, make_joint, make_separate, make_mean_probability]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def numbers():
    """Enough distinct rows that training is by mini-batches."""
    return make_classification(600, 10, n_informative=6, n_classes=3, random_state=0)


@pytest.fixture(params=KINDS, ids=lambda make: make.__name__.removeprefix("make_"))
def make(request):
    """A function from options to a classifier."""
    return request.param


# Predictions.


def test_the_predict_methods_agree(numbers, make):
    X, y = numbers
    classifier = make().fit(X, np.array(["a", "b", "c"])[y])
    probabilities, log_probabilities = classifier.predict_proba(X), classifier.predict_log_proba(X)
    assert probabilities.shape == log_probabilities.shape == (len(X), 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(log_probabilities), probabilities, rtol=1e-6, atol=1e-12)
    predicted = classifier.predict(X)
    np.testing.assert_array_equal(predicted, classifier.classes_[probabilities.argmax(axis=1)])
    assert classifier.score(X, np.array(["a", "b", "c"])[y]) == (predicted == np.array(["a", "b", "c"])[y]).mean()


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_not_fitted(iris, make, method):
    with pytest.raises(NotFittedError):
        getattr(make(), method)(iris[0])


def test_predicting_changes_nothing(numbers, make):
    X, y = numbers
    classifier = make().fit(X, y)
    before, first = dict(vars(classifier)), classifier.predict_proba(X)
    classifier.predict_log_proba(X)
    classifier.predict(X)
    assert all(vars(classifier)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(classifier.predict_proba(X), first)


def test_the_number_of_threads_changes_no_bit(numbers, make):
    X, y = numbers
    one, two, three = (make(n_jobs=n_jobs).fit(X, y).predict_proba(X) for n_jobs in (1, 2, 3))
    assert one.tobytes() == two.tobytes() == three.tobytes()


def test_random_state_decides(numbers, make):
    X, y = numbers

    def probabilities(random_state):
        return make(random_state=random_state).fit(X, y).predict_proba(X)

    np.testing.assert_array_equal(probabilities(3), probabilities(3))
    np.testing.assert_array_equal(probabilities(np.random.RandomState(3)), probabilities(np.random.RandomState(3)))
    assert not np.array_equal(probabilities(3), probabilities(4))
    assert not np.array_equal(probabilities(None), probabilities(None))


def test_fitting_again_forgets_the_first_fit(iris, numbers, make):
    again, fresh = make().fit(*numbers).fit(*iris), make().fit(*iris)
    assert vars(again).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(again.predict_proba(iris[0]), fresh.predict_proba(iris[0]))


def test_fit_does_not_change_the_options(iris, make):
    classifier = make()
    before = classifier.get_params(deep=False)
    classifier.fit(*iris)
    after = classifier.get_params(deep=False)
    assert after.keys() == before.keys()
    assert all(after[name] is value for name, value in before.items())


# Changing options.


def test_nested_options_are_replaced_by_changed_copies():
    structure, parameters = Subset(max_parents=4), GradientDescent(Hybrid(gamma=5.0))
    first, second = TANClassifier(structure, parameters), TANClassifier(structure, parameters)
    assert first.set_params(structure__max_parents=2, parameters__loss__lam=3.0) is first
    assert first.structure == Subset(max_parents=2)
    assert first.parameters == GradientDescent(Hybrid(lam=3.0, gamma=5.0))
    assert (structure, parameters) == (Subset(max_parents=4), GradientDescent(Hybrid(gamma=5.0)))
    assert second.structure is structure
    assert second.parameters is parameters


def test_words_stand_for_values_in_nested_names():
    classifier = TANClassifier("subset", "gradient").set_params(
        structure__candidates="mixed", structure__candidates__score="margin", parameters__loss__gamma=2.0
    )
    assert classifier.structure == Subset(candidates=Screened("margin", random_share=0.5))
    assert classifier.parameters == GradientDescent(Hybrid(gamma=2.0))
    ensemble = TANEnsembleClassifier("searches").set_params(members__structure="subset", members__n_members=2)
    assert ensemble.set_params(members__structure__max_parents=3).members == IndependentSearches(Subset(3), 2)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_new_value_and_its_options_in_one_call(reverse):
    """As grids of options give them, in any order."""
    options = {"structure": "chow-liu", "structure__score": "margin", "parameters__loss": "margin"}
    options |= {"parameters": "gradient", "parameters__loss__gamma": 3.0}
    classifier = TANClassifier().set_params(**dict(sorted(options.items(), reverse=reverse)))
    assert classifier.structure == ChowLiu("margin")
    assert classifier.parameters == GradientDescent(Margin(gamma=3.0))


def test_shared_presets_stay_as_they_are():
    before = repr(PRESETS["margin"])
    classifier = TANClassifier(**PRESETS["margin"].get_params(deep=False))
    classifier.set_params(parameters__loss__gamma=99.0, structure__max_parents=1)
    assert repr(PRESETS["margin"]) == before


def test_get_params_names_nested_options():
    params = TANClassifier("subset", GradientDescent(Hybrid())).get_params()
    assert params["structure"] == "subset"
    assert params["parameters__loss__gamma"] == 1.0
    assert "parameters__loss" not in TANClassifier().get_params(deep=False)
    again = TANClassifier(Subset(), "gradient")
    wanted = {"structure__max_parents": 3, "parameters__loss__gamma": 7.0}
    again.set_params(**wanted)
    assert {name: again.get_params()[name] for name in wanted} == wanted


def test_every_point_of_a_grid_can_be_set():
    grid = {"structure__max_parents": [1, 2], "parameters__loss__gamma": [1.0, 9.0], "max_bins": [None, 3]}
    template = TANClassifier(Subset(), "gradient")
    points = [clone(template).set_params(**point) for point in ParameterGrid(grid)]
    assert len({repr(point) for point in points}) == 8
    assert repr(template) == repr(TANClassifier(Subset(), "gradient"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 3}, "TANClassifier has no option 'depth'; there are 'binning', .*, 'time_limit', 'verbose'"),
        ({"structur": "none"}, "TANClassifier has no option 'structur'; did you mean 'structure'?"),
        ({"structure__max_parent": 3}, "Subset has no option 'max_parent'; did you mean 'max_parents'?"),
        ({"parameters__loss__gama": 3.0}, "Hybrid has no option 'gama'; did you mean 'gamma'?"),
        ({"structure__max_parents__x": 3}, "max_parents=8 has no option 'x'"),
        (
            {"structure": "auto", "structure__max_parents": 3},
            "structure='auto' has no option 'max_parents': .*'subset', 'free'",
        ),
        ({"structure": [-1, 0], "structure__max_parents": 3}, "has no option 'max_parents': set structure to a value"),
        ({"structure__max_parents": 0}, "max_parents must be a whole number of at least 1, got 0"),
        ({"parameters__loss__gamma": -1.0}, "gamma must be a finite number above 0, got -1.0"),
        ({"max_bins__x": 3}, "max_bins=None has no option 'x'"),
    ],
    ids=str,
)
def test_wrong_changes_change_nothing(options, message):
    classifier = TANClassifier("subset", "gradient")
    with pytest.raises(ValueError, match=message):
        classifier.set_params(verbose=1, missing="ignore", **options)
    assert classifier.get_params() == TANClassifier("subset", "gradient").get_params()


# Options of earlier versions.

OLD_OPTIONS = {
    # As they stood in the constructors, with values that were right.
    "choose": False,
    "max_parents": 4,
    "max_table_size": 1000,
    "candidates": "mixed",
    "screening": "margin",
    "free": "project",
    "ordering": "natural",
    "image_shape": (2, 2),
    "lam": 1.0,
    "gamma": 1.0,
    "eta": 1.0,
    "smoothing": 1.0,
    "base_ridge": 1.0,
    "loss": "hybrid",
    "epochs": 5,
    "batch_size": 100,
    "learning_rate": 0.1,
    "learning_rate_decay": 0.1,
    "structure_learning_rate": 0.1,
    "tau": (10.0, 0.1),
    "optimiser": "dense",
    "parent_dropout": 0.1,
    "shrinkage": 0.1,
    "smoothness": 0.1,
    "ridge": 0.1,
    "size_penalty": 0.1,
    "estimator": TANClassifier(),
    "n_members": 3,
}
# The value that has the option now, which is given to the option named second.
NEW_PLACES = {
    "max_parents": ("Subset(max_parents=", "structure"),
    "max_table_size": ("KDependence(max_table_size=", "structure"),
    "candidates": ("Free(candidates=", "structure"),
    "screening": ("ChowLiu(score=", "structure"),
    "free": ("Free(forest=", "structure"),
    "ordering": ("Subset(ordering=", "structure"),
    "image_shape": ("Nearest(image_shape=", "structure"),
    "lam": ("Hybrid(lam=", "loss"),
    "gamma": ("Hybrid(gamma=", "loss"),
    "eta": ("Hybrid(eta=", "loss"),
    "smoothing": ("Counts(smoothing=", "parameters"),
    "base_ridge": ("NaiveBayesStart(ridge=", "parameters"),
    "choose": ("PRESETS['tree']", "preset"),
    "estimator": ("members", "part of the ensemble itself"),
    "n_members": ("DisjointTrees(n_members=", "members"),
}


def test_all_old_options_are_covered():
    assert OLD_OPTIONS.keys() == RENAMED.keys()
    assert NEW_PLACES.keys() <= RENAMED.keys()


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("name", RENAMED)
def test_old_options_are_refused_with_their_new_place(kind, name):
    place, owner = NEW_PLACES.get(name, ("GradientDescent(...)", "parameters"))
    start = f"{kind.__name__} has no option {name!r}; it is now "
    with pytest.raises(TypeError) as given:
        kind(**{name: OLD_OPTIONS[name]})
    with pytest.raises(ValueError, match="has no option") as changed:
        kind().set_params(**{name: OLD_OPTIONS[name]})
    for message in (str(given.value), str(changed.value)):
        assert message.startswith(start)
        assert place in message
        assert owner in message


@pytest.mark.parametrize("name", sorted(RENAMED.keys() - {"choose", "estimator"}))
def test_the_new_place_of_an_old_option_exists(name):
    """All but a preset and the ensemble's own options are nested options now, and take the values they took."""
    paths = {
        **dict.fromkeys(("lam", "gamma", "eta"), f"parameters__loss__{name}"),
        "smoothing": "parameters__smoothing",
        "base_ridge": "parameters__start__ridge",
        "max_parents": "structure__max_parents",
        "max_table_size": "structure__max_table_size",
        "candidates": "structure__candidates",
        "screening": "structure__candidates__score",
        "free": "structure__forest",
        "ordering": "structure__ordering",
        "image_shape": "structure__image_shape",
        "n_members": "members__n_members",
    }
    bases = {
        "smoothing": TANClassifier("none", "ml"),
        "base_ridge": TANClassifier("none", GradientDescent(start="naive-bayes")),
        "max_table_size": TANClassifier("k-dependence"),
        "screening": TANClassifier("free").set_params(structure__candidates="screened"),
        "free": TANClassifier("free"),
        "image_shape": TANClassifier(Nearest(image_shape=(1, 4))),
        "n_members": TANEnsembleClassifier(DisjointTrees()),
    }
    path = paths.get(name, f"parameters__{name}")
    classifier = bases.get(name, TANClassifier("subset", "gradient")).set_params(**{path: OLD_OPTIONS[name]})
    assert classifier.get_params()[path] == OLD_OPTIONS[name]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_options_that_never_were_get_a_suggestion(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} has no option 'paramters'; did you mean 'parameters'?"):
        kind(paramters="ml")
    with pytest.raises(TypeError, match=f"{kind.__name__} has no option 'depth'; there are '"):
        kind(depth=3)
    with pytest.raises(TypeError, match="positional"):
        kind("auto", "ml", "from_dtype")
