"""``--set NAME=VALUE``: values, dotted names, and suggestions for wrong ones."""

import pytest
import typer

from tanager.cli.classifier import ClassifierOptions, make_classifier
from tanager.cli.settings import check_names, parse_settings
from tanager.estimators.base import RENAMED

SUBSET, TRAINED = {"structure": "subset"}, {"parameters": "gradient"}
# Options of earlier versions: the new name, and options and settings that use it.
REPLACED = {
    "max_parents": ("structure.max_parents", SUBSET, ["structure.max_parents=4"]),
    "max_table_size": ("structure.max_table_size", {"structure": "k-dependence"}, ["structure.max_table_size=100"]),
    "candidates": ("structure.candidates", SUBSET, ["structure.candidates=mixed"]),
    "screening": (
        "structure.candidates.score",
        SUBSET,
        ["structure.candidates=screened", "structure.candidates.score=margin"],
    ),
    "free": ("structure.forest", {"structure": "free"}, ["structure.forest=sample"]),
    "ordering": ("structure.ordering", SUBSET, ["structure.ordering=natural"]),
    "image_shape": ("structure.image_shape", {"structure": "nearest"}, ["structure.image_shape=[2,2]"]),
    "lam": ("parameters.loss.lam", TRAINED, ["parameters.loss.lam=3"]),
    "gamma": ("parameters.loss.gamma", TRAINED, ["parameters.loss.gamma=3"]),
    "eta": ("parameters.loss.eta", TRAINED, ["parameters.loss.eta=3"]),
    "smoothing": ("parameters.smoothing", {"parameters": "ml"}, ["parameters.smoothing=0.5"]),
    "base_ridge": (
        "parameters.start.ridge",
        TRAINED,
        ["parameters.start=naive-bayes", "parameters.start.ridge=2"],
    ),
    "loss": ("parameters.loss", TRAINED, ["parameters.loss=margin"]),
    "tau": ("parameters.tau", TRAINED, ["parameters.tau=[5,0.5]"]),
    "optimiser": ("parameters.optimiser", TRAINED, ["parameters.optimiser=dense"]),
    **{
        name: (f"parameters.{name}", TRAINED, [f"parameters.{name}={value}"])
        for names, value in (
            (("epochs", "batch_size"), 5),
            (("learning_rate", "learning_rate_decay", "structure_learning_rate"), 0.05),
            (("parent_dropout", "shrinkage", "smoothness", "ridge", "size_penalty"), 0.1),
        )
        for name in names
    },
}
# Those that are gone, and what the error says of them.
GONE = {
    "choose": "use --structure WORD and --parameters WORD",
    "n_members": "use --ensemble N instead",
    "estimator": "unknown option",
}


def refused(*settings, **options):
    with pytest.raises(typer.BadParameter) as caught:
        make_classifier(ClassifierOptions(settings=settings, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=1e-3", 1e-3),
        ("a=true", True),
        ("a=null", None),
        ("a=word", "word"),
        ("a=two words", "two words"),
        ('a="1"', "1"),
        ("a=[8, 8]", (8, 8)),
        ("a=x=y", "x=y"),
        ("a=", ""),
    ],
)
def test_values_are_json_or_words(text, value):
    assert parse_settings([text]) == {"a": value}


def test_the_last_value_counts():
    assert parse_settings(["a=1", "b=2", "a=3"]) == {"a": 3, "b": 2}


def test_flat_names():
    check_names({"bits": 4}, ["bits", "name"])
    with pytest.raises(typer.BadParameter, match=r"--set bit: unknown option; did you mean 'bits'\?"):
        check_names({"bit": 4}, ["bits", "name"])
    with pytest.raises(typer.BadParameter, match="--set bits: there are no options to set"):
        check_names({"bits": 4}, [])


@pytest.mark.parametrize(
    ("setting", "options", "message"),
    [
        ("parameters", {}, "--set parameters: must have the form NAME=VALUE"),
        # A wrong name gets the close names of its level.
        ("binnin=none", {}, "--set binnin: unknown option; did you mean 'binning'"),
        ("zzz=1", {}, "unknown option; there are 'parameters.*', 'structure.*', 'binning',"),
        (
            "structure.max_parent=1",
            {"structure": "subset"},
            "structure is Subset, which has no option 'max_parent'; did you mean 'max_parents'?",
        ),
        ("parameters.epoch=1", {"parameters": "gradient"}, "has no option 'epoch'; did you mean 'epochs'?"),
        (
            "parameters.loss.gama=1",
            {"parameters": "gradient"},
            "parameters.loss is Hybrid, which has no option 'gama'; did you mean 'gamma'?",
        ),
        ("parameters.loss.zzz=1", {"parameters": "gradient"}, "there are 'lam', 'gamma', 'eta'"),
        # Another choice has the option.
        ("parameters.epochs=1", {}, "parameters is auto, which has no option 'epochs'; add --parameters gradient"),
        ("parameters.smoothing=1", {}, "add --parameters ml"),
        ("parameters.zzz=1", {}, "add --parameters ml, gradient or penalised"),
        (
            "parameters.epochs=1",
            {"parameters": "ml"},
            "parameters is Counts, which has no option 'epochs'; use --parameters gradient",
        ),
        (
            "structure.max_parents=1",
            {},
            "add --structure subset, free, pseudo, k-dependence, greedy, annealed or nearest",
        ),
        ("structure.image_shape=[2,2]", {}, "add --structure nearest"),
        ("structure.score=margin", {"structure": "subset"}, "use --structure chow-liu, greedy or annealed"),
        (
            "structure.candidates.score=margin",
            {"structure": "subset"},
            "use --set structure.candidates=screened or mixed",
        ),
        ("parameters.start.ridge=1", {"parameters": "gradient"}, "use --set parameters.start=naive-bayes"),
        ("structure.max_parents=1", {"structure": "none"}, "structure is NoParents, which has no option 'max_parents'"),
        ("binning.bins=1", {}, "binning is auto, which has no option 'bins'"),
        (
            "parameters.epochs.first=1",
            {"parameters": "gradient"},
            "parameters.epochs is auto, which has no option 'first'",
        ),
        # Options that have a place of their own.
        ("structure=subset", {}, "use --structure WORD instead"),
        ("random_state=1", {}, "use --seed N instead"),
        ("categorical_features=[1]", {}, "use --categorical COLUMN instead"),
        # Ensembles.
        ("members.score=margin", {}, "requires --ensemble N"),
        ("combine=log", {}, "requires --ensemble N"),
        ("companion=null", {}, "requires --ensemble N"),
        ("members.n_members=2", {"n_members": 3}, "use --ensemble N instead"),
        ("structure.max_parents=2", {"n_members": 3}, "use members.structure.max_parents with --ensemble"),
        (
            "members.structure.max_parents=2",
            {"n_members": 3},
            "members is DisjointTrees, which has no option 'structure'; use --structure WORD too",
        ),
        ("members.scor=margin", {"n_members": 3}, "did you mean 'score'?"),
        # Values are checked by the options themselves.
        ("structure.max_parents=0", {"structure": "subset"}, "max_parents must be a whole number of at least 1, got 0"),
        ("structure.candidates=5", {"structure": "subset"}, "candidates must be 'random', 'screened', 'mixed'"),
        ("parameters.loss=hybird", {"parameters": "gradient"}, "did you mean 'hybrid'?"),
    ],
)
def test_wrong_settings(setting, options, message):
    assert message in refused(setting, **options)


def test_an_option_that_the_given_value_lacks():
    told = refused("parameters.loss=nll", "parameters.loss.gamma=2", parameters="gradient")
    assert "parameters.loss is NegativeLogLikelihood" in told
    assert "use --set parameters.loss=hybrid or margin" in told


@pytest.mark.parametrize("name", REPLACED)
def test_names_of_earlier_versions_are_replaced(name):
    """The error gives the new name, and the new name works."""
    home, options, settings = REPLACED[name]
    assert f"--set {name}: the name is now {home}" in refused(f"{name}=1")
    classifier = make_classifier(ClassifierOptions(settings=tuple(settings), **options))
    assert any(setting.startswith(f"{home}=") for setting in settings)
    assert home.replace(".", "__") in classifier.get_params(deep=True)


def test_no_earlier_name_is_forgotten():
    assert {*REPLACED, *GONE} == set(RENAMED)
    for name, message in GONE.items():
        assert message in refused(f"{name}=1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("epochs", "the name is now parameters.epochs, which requires --parameters gradient"),
        ("lam", "the name is now parameters.loss.lam, which requires --parameters gradient"),
        ("smoothing", "the name is now parameters.smoothing, which requires --parameters ml"),
        ("base_ridge", "the name is now parameters.start.ridge"),
        ("max_parents", "the name is now structure.max_parents, which requires --structure subset, free"),
        ("screening", "the name is now structure.candidates.score"),
        ("free", "the name is now structure.forest, which requires --structure free"),
        ("gama", "did you mean 'parameters.loss.gamma'?"),
    ],
)
def test_undotted_names_get_their_dotted_names(name, message):
    assert message in refused(f"{name}=1")


def test_undotted_names_where_the_choice_is_made():
    assert refused("epochs=1", parameters="gradient") == "--set epochs: the name is now parameters.epochs"
    assert refused("max_parents=1", structure="subset") == "--set max_parents: the name is now structure.max_parents"
    assert refused("max_parents=1", structure="subset", n_members=2).endswith("now members.structure.max_parents")
    assert "members.structure.max_parents, which requires --structure" in refused("max_parents=1", n_members=2)


def test_exit_code_and_no_file(call, flowers, tmp_path):
    out = tmp_path / "m.tanager"
    result = call("fit", flowers, "--target", "species", "--out", out, "--set", "parameters.epochs=5")
    assert result.exit_code == 2
    assert "add --parameters gradient" in " ".join(result.stderr.replace("│", " ").split())
    assert not out.exists()
