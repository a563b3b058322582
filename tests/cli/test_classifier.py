"""From the options of ``tanager fit`` to a classifier: words and dotted settings."""

import pytest
import typer

from tanager import (
    Counts,
    DisjointTrees,
    GradientDescent,
    GreedySearch,
    Hybrid,
    IndependentSearches,
    Margin,
    NaiveBayesStart,
    Nearest,
    Screened,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
    load,
)
from tanager.cli.classifier import PARAMETER_WORDS, STRUCTURE_WORDS, ClassifierOptions, make_classifier
from tanager.cli.evaluation import contenders


def make(*settings, **options):
    return make_classifier(ClassifierOptions(settings=settings, **options))


def is_made(classifier, kind, **options):
    """Whether a classifier has these options and otherwise the defaults."""
    same = kind(random_state=0, n_jobs=1, **options)
    return type(classifier) is kind and classifier.get_params(deep=False) == same.get_params(deep=False)


@pytest.mark.parametrize(
    ("options", "settings", "expected"),
    [
        ({}, [], {}),
        ({"structure": "chow-liu", "parameters": "ml"}, [], {"structure": "chow-liu", "parameters": "ml"}),
        ({}, ["binning=quantile", "max_bins=5"], {"binning": "quantile", "max_bins": 5}),
        ({}, ["calibrate=false", "max_categories=null"], {"calibrate": False, "max_categories": None}),
        ({"structure": "subset"}, ["structure.max_parents=4"], {"structure": Subset(max_parents=4)}),
        ({"parameters": "ml"}, ["parameters.smoothing=0.5"], {"parameters": Counts(0.5)}),
        (
            {"parameters": "gradient"},
            ["parameters.loss.gamma=2", "parameters.epochs=20"],
            {"parameters": GradientDescent(Hybrid(gamma=2), epochs=20)},
        ),
        # An inner option may come before the value that has it.
        (
            {"parameters": "gradient"},
            ["parameters.loss.gamma=2", "parameters.loss=margin"],
            {"parameters": GradientDescent(Margin(gamma=2))},
        ),
        (
            {"parameters": "gradient"},
            ["parameters.loss=conditional", "parameters.start=naive-bayes", "parameters.start.ridge=3"],
            {"parameters": GradientDescent("conditional", start=NaiveBayesStart(3))},
        ),
        (
            {"structure": "subset"},
            ["structure.candidates=mixed", "structure.candidates.score=margin"],
            {"structure": Subset(candidates=Screened("margin", random_share=0.5))},
        ),
        # Candidates alone would be refused here, so all settings are applied together.
        (
            {"structure": "greedy"},
            ["structure.candidates=screened", "structure.max_parents=3"],
            {"structure": GreedySearch(candidates="screened", max_parents=3)},
        ),
        (
            {"structure": "nearest"},
            ["structure.image_shape=[2,2]", "structure.ordering=A"],
            {"structure": Nearest((2, 2), ordering="A")},
        ),
        ({"epochs": 7}, [], {"parameters": GradientDescent(epochs=7)}),
        (
            {"epochs": 7, "parameters": "gradient"},
            ["parameters.tau=[5, 0.5]"],
            {"parameters": GradientDescent(epochs=7, tau=(5, 0.5))},
        ),
    ],
)
def test_single_classifier(options, settings, expected):
    assert is_made(make(*settings, **options), TANClassifier, **expected)


@pytest.mark.parametrize(
    ("options", "settings", "expected"),
    [
        ({}, [], {"members": DisjointTrees(3)}),
        ({"structure": "subset"}, [], {"members": IndependentSearches("subset", 3)}),
        (
            {},
            ["members.score=margin", "training=separate"],
            {"members": DisjointTrees(3, "margin"), "training": "separate"},
        ),
        (
            {"structure": "subset", "parameters": "gradient"},
            ["members.structure.max_parents=4", "parameters.loss.gamma=2", "combine=probability"],
            {
                "members": IndependentSearches(Subset(4), 3),
                "parameters": GradientDescent(Hybrid(gamma=2)),
                "combine": "probability",
            },
        ),
        (
            {"structure": "nearest"},
            ["members.structure.image_shape=[2,2]"],
            {"members": IndependentSearches(Nearest((2, 2)), 3)},
        ),
        (
            {"epochs": 7},
            ["binning=quantile"],
            {"members": DisjointTrees(3), "parameters": GradientDescent(epochs=7), "binning": "quantile"},
        ),
    ],
)
def test_ensemble(options, settings, expected):
    assert is_made(make(*settings, n_members=3, **options), TANEnsembleClassifier, **expected)


def test_seed_and_threads():
    for n_members in (None, 2):
        classifier = make(n_members=n_members, seed=5, n_jobs=2)
        assert (classifier.random_state, classifier.n_jobs) == (5, 2)


@pytest.mark.parametrize("word", STRUCTURE_WORDS)
def test_every_structure_word_fits(call, flowers, tmp_path, word):
    """With quick settings; the classifiers are saved and load again with the same options."""
    out = tmp_path / "m.tanager"
    quick = ["--epochs", 1] if word != "annealed" else ["--epochs", 1, "--set", "structure.n_moves=10"]
    shape = ["--drop", "colour", "--set", "structure.image_shape=[2,2]"] if word == "nearest" else []
    result = call("fit", flowers, "--target", "species", "--out", out, "--no-test", "--structure", word, *quick, *shape)
    assert result.exit_code == 0, result.output
    settings = [text for text in [*quick, *shape] if "=" in str(text)]
    assert repr(load(out).structure) == repr(make(*settings, structure=word, epochs=1).structure)


@pytest.mark.parametrize("word", PARAMETER_WORDS)
def test_every_parameters_word_fits(call, flowers, tmp_path, word):
    out = tmp_path / "m.tanager"
    options = ["--no-test", "--structure", "none", "--parameters", word]
    result = call("fit", flowers, "--target", "species", "--out", out, *options)
    assert result.exit_code == 0, result.output
    assert "0 extra parents" in result.stderr
    assert load(out).parameters == word


@pytest.mark.parametrize("n_members", [None, 2])
def test_contenders_encode_as_the_classifier_does(n_members):
    classifier = make("binning=quantile", "max_bins=4", "missing=ignore", n_members=n_members, seed=3, n_jobs=2)
    classifier.set_params(categorical_features=["a"])
    simple = contenders(classifier)
    assert simple.pop("learned") is classifier
    shared = {"categorical_features": ["a"], "binning": "quantile", "max_bins": 4, "missing": "ignore"}
    for name, structure in (("naive Bayes", "none"), ("Chow-Liu tree", "chow-liu")):
        same = TANClassifier(structure, "ml", random_state=3, n_jobs=2, **shared)
        assert simple.pop(name).get_params(deep=False) == same.get_params(deep=False)
    assert simple == {}


@pytest.mark.parametrize(
    ("options", "settings", "message"),
    [
        ({"structure": "subsets"}, [], "unknown structure 'subsets'; did you mean 'subset'?"),
        ({"structure": "tree"}, [], "--structure tree is now --structure chow-liu --set structure.score=SCORE"),
        ({"structure": "greedy-margin"}, [], "is now --structure greedy --set structure.score=margin"),
        ({"parameters": "gradiant"}, [], "unknown parameters 'gradiant'; did you mean 'gradient'?"),
        ({"structure": "subset", "parameters": "ml"}, [], "--parameters ml requires a structure that is fixed"),
        ({"structure": "subset", "parameters": "ml", "n_members": 2}, [], "--parameters ml requires a structure"),
        ({"parameters": "ml", "epochs": 5}, [], "--epochs requires --parameters gradient, got --parameters ml"),
        ({"epochs": 5}, ["parameters.epochs=6"], "--epochs and --set parameters.epochs are the same option"),
        ({"structure": "nearest"}, [], "requires the image shape: --set structure.image_shape=[ROWS,COLUMNS]"),
        ({"structure": "nearest", "n_members": 2}, [], "--set members.structure.image_shape=[ROWS,COLUMNS]"),
        ({"structure": "nearest"}, ["structure.image_shape=8"], "image_shape must be (rows, columns)"),
        # Values that only an estimator as a whole can check.
        ({}, ["binning=quantiles"], "did you mean 'quantile'?"),
        ({"structure": "pseudo"}, ["calibrate=true"], "calibrate=True requires a forest"),
        ({"n_members": 2, "parameters": "ml"}, ["training=joint"], "training='joint' requires GradientDescent"),
    ],
)
def test_wrong_choices(options, settings, message):
    with pytest.raises(typer.BadParameter) as caught:
        make(*settings, **options)
    assert message in str(caught.value)
