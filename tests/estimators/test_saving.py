"""Classifiers saved and loaded: the same to the last bit."""

import os
import subprocess
import sys
import textwrap
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import tanager
from tanager import (
    Companion,
    Counts,
    DisjointTrees,
    Free,
    GradientDescent,
    GreedySearch,
    Hybrid,
    IndependentSearches,
    KDependence,
    MarginScore,
    NaiveBayesStart,
    ParentSets,
    Pseudo,
    SampledStructures,
    Screened,
    SetLine,
    SetParent,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.files import ModelFileError, NotKept, read_header
from tanager.learning import (
    ConditionalScore,
    Members,
    Parameters,
    RandomCandidates,
    RandomStart,
    Structure,
)
from tanager.training.regularisers import Regulariser, Ridge, Smoothness
from tests.files.model_files import mixed_table, put_together, take_apart
from tests.learning.every_value import EVERY_VALUE

VERSION = 2
QUICK = GradientDescent(epochs=3, batch_size=100)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def round_trip(clf, folder, **options):
    path = folder / "model.tanager"
    clf.save(path, **options)
    return tanager.load(path)


def assert_same_arrays(left, right):
    assert list(left) == list(right)
    for name in left:
        assert left[name].dtype == right[name].dtype
        assert left[name].tobytes() == right[name].tobytes()
        assert left[name].shape == right[name].shape


def assert_same(clf, back, X):
    """Everything that a fitted classifier has."""
    assert type(back) is type(clf)
    assert back.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    assert back.predict(X).tolist() == clf.predict(X).tolist()
    assert back.classes_.dtype == clf.classes_.dtype
    assert list(map(type, back.classes_.tolist())) == list(map(type, clf.classes_.tolist()))
    assert back.parents_.tolist() == clf.parents_.tolist()
    assert back.parent_probabilities_.tobytes() == clf.parent_probabilities_.tobytes()
    assert_same_arrays(clf.history_, back.history_)
    assert_same_arrays(clf.parent_path_, back.parent_path_)
    assert back.pooled_categories_ == clf.pooled_categories_
    assert back.network_.theta.tobytes() == clf.network_.theta.tobytes()
    assert_same_inputs(clf, back)
    # Nothing that fit sets is forgotten.
    assert set(vars(back)) == set(vars(clf))


def assert_same_inputs(clf, back):
    assert back.n_features_in_ == clf.n_features_in_
    assert (
        getattr(back, "feature_names_in_", np.empty(0)).tolist()
        == getattr(clf, "feature_names_in_", np.empty(0)).tolist()
    )
    assert back.encoder_.names == clf.encoder_.names
    for mine, other in zip(clf.encoder_.columns, back.encoder_.columns, strict=True):
        assert type(mine) is type(other)
        for name in ("cuts", "categories", "pooled"):
            if hasattr(mine, name):
                value = getattr(mine, name)
                assert getattr(other, name).dtype == value.dtype
                assert getattr(other, name).tolist() == value.tolist()
                assert list(map(type, getattr(other, name).tolist())) == list(map(type, value.tolist()))
                assert not getattr(other, name).flags.writeable
        assert mine.has_missing == other.has_missing


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"structure": "chow-liu", "parameters": "ml"},
        {"structure": "free"},
        {"structure": Pseudo(max_parents=2)},
        {"structure": [-1, 0, 1, 2], "parameters": QUICK.set_params(tau=(5.0, 0.5))},
        {"structure": (-1, 0, 1, 2)},
        {"structure": np.array([-1, 0, 1, 2]), "categorical_features": np.array([True, False, False, False])},
        {"structure": ParentSets.from_lists([[-1], [-1, 0], [0], [1, 2]], order=[0, 1, 2, 3])},
        {"structure": Subset(ordering=[3, 2, 1, 0]), "parameters": QUICK.set_params(parent_dropout=0.3)},
        {"structure": "auto"},
        {"structure": "subset", "binning": "quantile", "max_bins": 3, "n_jobs": 2},
        {"structure": "subset", "binning": "none", "max_categories": 5},
    ],
    ids=str,
)
def test_options_of_all_kinds(iris, tmp_path, options):
    X, y = iris
    clf = TANClassifier(**{"structure": "subset", "parameters": QUICK, "random_state": 0, **options}).fit(X, y)
    back = round_trip(clf, tmp_path)
    assert_same(clf, back, X + 0.1 * (options.get("binning") == "none"))
    assert repr(back) == repr(clf)
    # Fitted again, from the options in the file, it is the same once more.
    assert_same(clf, clone(back).fit(X, y), X)


# Every option value.


def estimator_with(value):
    """An estimator that learns with an option value, wherever it belongs."""
    if isinstance(value, Companion):
        return TANEnsembleClassifier("trees", QUICK, companion=value, random_state=0)
    if isinstance(value, Members):
        return TANEnsembleClassifier(value, QUICK, random_state=0)
    if isinstance(value, Structure):
        return TANClassifier(value, QUICK, random_state=0)
    if isinstance(value, Parameters):
        structure = "chow-liu" if value.needs_fixed else "subset"
        return TANClassifier(structure, value, random_state=0)
    if isinstance(value, (RandomCandidates, Screened)):
        return TANClassifier(KDependence(2, value), QUICK, random_state=0)
    if isinstance(value, (ConditionalScore, MarginScore)):
        return TANClassifier(GreedySearch(value), QUICK, random_state=0)
    if isinstance(value, (RandomStart, NaiveBayesStart)):
        return TANClassifier("subset", QUICK.set_params(start=value), random_state=0)
    if isinstance(value, Regulariser):
        return TANClassifier("subset", QUICK.set_params(regularisers=(value,)), random_state=0)
    return TANClassifier("subset", QUICK.set_params(loss=value), random_state=0)


def assert_same_params(params, others):
    assert params.keys() == others.keys()
    for name, value in params.items():
        assert type(value) is type(others[name])
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, others[name], strict=True)
        else:
            assert value == others[name]


OPTIONS = [value for value in EVERY_VALUE if not isinstance(value, (SetLine, SetParent))]


@pytest.mark.parametrize("value", OPTIONS, ids=lambda value: type(value).__name__)
def test_every_option_value_comes_back(iris, tmp_path, value):
    X, y = iris
    clf = estimator_with(value).fit(X, y)
    given = [*clf.get_params().values(), *getattr(clf.parameters, "regularisers", ())]
    assert any(each is value for each in given)
    back = round_trip(clf, tmp_path)
    assert repr(back) == repr(clf)
    assert_same_params(clf.get_params(), back.get_params())
    assert_same_params(clf.options_, back.options_)
    assert back.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    again = clone(back).fit(X, y)
    assert again.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    back.save(tmp_path / "again.tanager")
    assert (tmp_path / "again.tanager").read_bytes() == (tmp_path / "model.tanager").read_bytes()


def test_values_in_values_come_back(iris, tmp_path):
    members = SampledStructures(Free(3, Screened("margin", 0.5)), 2)
    parameters = GradientDescent(Hybrid(gamma=3.0), 2, 100, start=NaiveBayesStart(2.0), regularisers=(Ridge(1.0),))
    clf = TANEnsembleClassifier(members, parameters, random_state=0).fit(*iris)
    back = round_trip(clf, tmp_path)
    assert (back.members, back.parameters) == (members, parameters)
    assert back.get_params()["members__structure__candidates__score"] == "margin"
    for mine, other in zip(clf.estimators_, back.estimators_, strict=True):
        assert other.get_params() == mine.get_params()


def test_a_mixed_frame(tmp_path):
    frame, y = mixed_table(200)
    for missing in ("value", "ignore"):
        clf = TANClassifier("subset", QUICK, missing=missing, max_categories=3, random_state=0).fit(frame, y)
        other = frame.copy()
        other.loc[:4, "colour"] = "never seen"
        other.loc[3:8, ["length", "colour"]] = None
        assert_same(clf, round_trip(clf, tmp_path), other)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "ü" * 50],
        [1, "1", 2.5, True, "zwei"],
        [Decimal("1.10"), "a", 3],
        [b"x", "x", 1],
        [10**30, -(10**30), "a"],
        ["\ud800", "", "\0"],
    ],
    ids=str,
)
def test_categories_keep_their_types(tmp_path, values):
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(values), 60)
    X = np.empty((60, 2), dtype=object)
    X[:, 0] = [values[k] for k in picks]
    X[:, 1] = rng.integers(0, 3, 60)
    clf = TANClassifier("chow-liu", "ml", binning="none").fit(X, picks % 2)
    assert_same(clf, round_trip(clf, tmp_path), X)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float32", "float64"])
def test_categories_keep_their_dtype(tmp_path, dtype):
    rng = np.random.default_rng(0)
    X = (rng.integers(0, 5, (60, 3)) * (0.1 if dtype.startswith("float") else 1)).astype(dtype)
    clf = TANClassifier("none", "ml", binning="none").fit(X, rng.integers(0, 2, 60))
    assert clf.encoder_.columns[0].categories.dtype == dtype
    assert_same(clf, round_trip(clf, tmp_path), X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["x", "yy", "z"]),
        np.array(["x", "yy", "z"], dtype="U40"),
        np.array(["x", "é", ""], dtype=object),
        np.array([3, -1, 2**40]),
        np.array([3, 1, 2], dtype=np.uint8),
        np.array([0.0, 1.0, 2.0]),
        np.array([False, True, True]),
        pd.Series(["x", "yy", "z"]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_keep_their_type(iris, tmp_path, labels):
    X, y = iris
    clf = TANClassifier("none", "ml").fit(X, np.asarray(labels)[y])
    assert_same(clf, round_trip(clf, tmp_path), X)


def test_classes_of_another_type_are_refused(iris, tmp_path):
    X, y = iris
    clf = TANClassifier("none", "ml").fit(X, y)
    clf.classes_ = np.array([1, "a", 2.5], dtype=object)
    with pytest.raises(ModelFileError, match="classes are of type object"):
        clf.save(tmp_path / "a")
    clf.classes_ = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[D]")
    with pytest.raises(ModelFileError, match="classes are of type datetime64"):
        clf.save(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_categories_of_another_type_are_refused(tmp_path):
    class Size(str):
        pass

    frame = pd.DataFrame({"size": pd.Series([Size("a"), Size("b"), "c"] * 5, dtype=object)})
    clf = TANClassifier("none", "ml").fit(frame, [0, 1, 1] * 5)
    with pytest.raises(ModelFileError, match="column 'size' hold 'a' of type Size"):
        clf.save(tmp_path / "a")


@pytest.mark.parametrize("combine", ["log", "probability"])
@pytest.mark.parametrize(
    "options",
    [{}, {"members": IndependentSearches("subset", 3), "parameters": QUICK.set_params(tau=(3.0, 1.0))}],
    ids=str,
)
def test_ensembles(iris, tmp_path, combine, options):
    X, y = iris
    clf = TANEnsembleClassifier(**options, combine=combine, random_state=0)
    clf = clf.set_params(parameters__epochs=2) if options else clf
    back = round_trip(clf.fit(X, y), tmp_path)
    holes = X.copy()
    holes[::7, 1] = np.nan
    assert back.predict_proba(holes).tobytes() == clf.predict_proba(holes).tobytes()
    assert repr(back) == repr(clf)
    assert set(vars(back)) == set(vars(clf))
    assert_same_inputs(clf, back)
    for mine, other in zip(clf.estimators_, back.estimators_, strict=True):
        assert_same(mine, other, X)
        assert other.encoder_ is back.encoder_


# Options of the user's own, which files do not hold.


def likelihood(log_joint, y, sample_weight):
    grad = np.zeros_like(log_joint)
    grad[np.arange(len(y)), y] = -1 / len(y)
    return -log_joint[np.arange(len(y)), y].mean(), grad


class MyLoss:
    def __call__(self, log_joint, y, sample_weight):
        return likelihood(log_joint, y, sample_weight)


class MyStructure(Subset):
    pass


class MyCandidates(RandomCandidates):
    pass


class MyScore(MarginScore):
    pass


class MyCounts(Counts):
    pass


class MyStart(NaiveBayesStart):
    pass


class MyRidge(Ridge):
    pass


class MyMembers(DisjointTrees):
    pass


OWN = [
    (TANClassifier("subset", QUICK.set_params(loss=likelihood)), "parameters__loss", "likelihood"),
    (TANClassifier("subset", QUICK.set_params(loss=MyLoss())), "parameters__loss", "MyLoss"),
    (TANClassifier(MyStructure(2), QUICK), "structure", "MyStructure"),
    (TANClassifier(Subset(2, MyCandidates()), QUICK), "structure__candidates", "MyCandidates"),
    (TANClassifier(GreedySearch(MyScore()), QUICK), "structure__score", "MyScore"),
    (TANClassifier("chow-liu", MyCounts(0.5)), "parameters", "MyCounts"),
    (TANClassifier("subset", QUICK.set_params(start=MyStart())), "parameters__start", "MyStart"),
    (TANEnsembleClassifier(MyMembers(2), QUICK), "members", "MyMembers"),
    (TANEnsembleClassifier("trees", QUICK.set_params(loss=likelihood)), "parameters__loss", "likelihood"),
    (TANClassifier(pd.Series([-1, 0, 1, 2]), QUICK), "structure", "Series"),
    (TANEnsembleClassifier(IndependentSearches(MyStructure(2), 2), QUICK), "members__structure", "MyStructure"),
    # A value that cannot be without the option that is not kept is not kept itself.
    (TANClassifier(Subset(ordering=range(4)), QUICK), "structure", "Subset"),
]


@pytest.mark.parametrize(("clf", "option", "name"), OWN, ids=[f"{option}-{name}" for _, option, name in OWN])
def test_what_is_the_users_own_is_not_kept(iris, tmp_path, clf, option, name):
    X, y = iris
    clf = clone(clf).set_params(random_state=0).fit(X, y)
    own = clf.get_params()[option]
    back = round_trip(clf, tmp_path)
    assert back.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    assert back.get_params()[option] == NotKept(name)
    message = (
        f"^{option.replace('__', '.')} is <{name}, which the model file does not hold: give it again with set_params>"
    )
    with pytest.raises(ValueError, match=message):
        back.fit(None, None)  # refused before anything is read
    assert back.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    again = round_trip(back, tmp_path)
    assert again.get_params()[option] == NotKept(name)
    refitted = clone(again).set_params(**{option: own}).fit(X, y)
    assert repr(refitted) == repr(clf)
    assert refitted.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()


def test_a_regulariser_of_the_users_own_is_not_kept(iris, tmp_path):
    given = (Smoothness(0.1), MyRidge(2.0))
    clf = TANClassifier("subset", QUICK.set_params(regularisers=given), random_state=0).fit(*iris)
    back = round_trip(clf, tmp_path)
    assert back.parameters.regularisers == (Smoothness(0.1), NotKept("MyRidge"))
    with pytest.raises(ValueError, match=r"^parameters\.regularisers is <MyRidge, which the model file does not hold"):
        back.fit(None, None)
    refitted = back.set_params(parameters__regularisers=given).fit(*iris)
    assert refitted.predict_proba(iris[0]).tobytes() == clf.predict_proba(iris[0]).tobytes()


def test_a_value_of_the_users_own_is_not_taken_for_one_of_the_same_name(iris, tmp_path):
    own = type("Subset", (Subset,), {})
    back = round_trip(TANClassifier(own(2), QUICK).fit(*iris), tmp_path)
    assert back.structure == NotKept("Subset")


def test_a_random_generator_is_not_kept(iris, tmp_path):
    back = round_trip(TANClassifier("none", "ml", random_state=np.random.RandomState(0)).fit(*iris), tmp_path)
    with pytest.raises(ValueError, match=r"^random_state is <RandomState, which the model file does not hold"):
        back.fit(None, None)


def test_metadata_and_summary(iris, tmp_path):
    X, y = iris
    clf = TANClassifier("chow-liu", "ml").fit(X, y)
    metadata = {"target": "species", "errors": [0.1, None], "nested": {"ü": True}}
    back = round_trip(clf, tmp_path, metadata=metadata)
    header = read_header(tmp_path / "model.tanager")
    assert header == {
        "kind": "TANClassifier",
        "writer": f"tanager {tanager.__version__}",
        "metadata": metadata,
        "n_features": 4,
        "n_classes": 3,
        "n_members": 1,
        "n_parameters": back.network_.n_parameters,
    }


@pytest.mark.parametrize("metadata", [{"a": {1, 2}}, {"a": np.nan}, {1: "a"}, {"a": (1, 2)}, [1]], ids=str)
def test_metadata_that_json_cannot_hold_are_refused(iris, tmp_path, metadata):
    clf = TANClassifier("none", "ml").fit(*iris)
    with pytest.raises(ModelFileError, match="metadata must be a mapping that JSON can hold"):
        clf.save(tmp_path / "a", metadata=metadata)
    assert list(tmp_path.iterdir()) == []


def test_deep_metadata_are_refused(iris, tmp_path):
    metadata = {}
    for _ in range(40):
        metadata = {"a": metadata}
    with pytest.raises(ModelFileError, match="nested"):
        TANClassifier("none", "ml").fit(*iris).save(tmp_path / "a", metadata=metadata)


def test_the_same_classifier_gives_the_same_bytes(iris, tmp_path):
    for name in ("a", "b"):
        TANClassifier("subset", QUICK, random_state=0).fit(*iris).save(tmp_path / name, metadata={"b": 1, "a": 2})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    tanager.load(tmp_path / "a").save(tmp_path / "c", metadata={"a": 2, "b": 1})
    assert (tmp_path / "c").read_bytes() == (tmp_path / "a").read_bytes()


def test_not_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        TANClassifier().save(tmp_path / "a")


def test_classes_of_ones_own_are_refused(iris, tmp_path):
    class MyClassifier(TANClassifier):
        pass

    with pytest.raises(ModelFileError, match="MyClassifier is a class of your own"):
        MyClassifier("none", "ml").fit(*iris).save(tmp_path / "a")


def test_files_that_are_no_model_files(iris, tmp_path):
    with pytest.raises(FileNotFoundError):
        tanager.load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        tanager.load(tmp_path)
    path = tmp_path / "text.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ModelFileError, match=r"text\.csv: this is not a tanager model file"):
        tanager.load(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        tanager.load(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("version", "complaint"),
    [
        (3, "the file was written in format 3, and this tanager reads format 2: upgrade tanager"),
        (1, "the file was written in format 1, whose options .*, and this tanager reads format 2: fit the model again"),
        (0, "the preamble is damaged"),
    ],
)
def test_other_formats_are_refused_by_name(iris, tmp_path, version, complaint):
    path = tmp_path / "model.tanager"
    TANClassifier("none", "ml").fit(*iris).save(path)
    path.write_bytes(put_together(*take_apart(path.read_bytes()), version=version))
    for read in (tanager.load, read_header):
        with pytest.raises(ModelFileError, match=f"^{path}: {complaint}$"):
            read(path)


def test_a_file_of_an_earlier_version_is_refused_in_the_same_words(iris, tmp_path):
    """Nothing but the number in the preamble says so: the checksum, too, is then another."""
    path = tmp_path / "model.tanager"
    TANClassifier("none", "ml").fit(*iris).save(path)
    content = bytearray(path.read_bytes())
    assert content[8:12] == (VERSION).to_bytes(4, "little")
    content[8:12] = (1).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"written in format 1, .* reads format 2: fit the model again$"):
        tanager.load(path)


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("invented", 1, "option 'invented', which this tanager does not know"),
        ("n_jobs", 10**9, "n_jobs"),
        ("n_jobs", 0, "n_jobs"),
        ("n_jobs", "all", "n_jobs"),
        ("structure", {"value": ["Invented", {}]}, "'structure' .* is a 'Invented', which this tanager does not know"),
        ("structure", {"value": ["Options", {}]}, "is a 'Options', which this tanager does not know"),
        (
            "structure",
            {"value": ["Subset", {"max_parents": 0}]},
            "max_parents must be a whole number of at least 1, got 0",
        ),
        ("structure", {"value": ["Subset", {"depth": 3}]}, "Subset has no option 'depth'"),
        ("structure", {"value": ["Nearest", {}]}, "image_shape"),
        ("structure", {"value": ["Subset"]}, "must hold the name and the options of a value"),
        ("structure", {"value": [["Subset"], {}]}, "must hold the name and the options of a value"),
        ("structure", {"value": "Subset"}, "'value' of .* must be a list"),
        ("parameters", {"value": ["GradientDescent", {"loss": {"value": ["Hybrid", {"lam": -1.0}]}}]}, "lam must be"),
        ("parameters", {"value": ["GradientDescent", {"learning_rate": "fast"}]}, "learning_rate must be"),
    ],
    ids=str,
)
def test_options_that_cannot_be(iris, tmp_path, option, value, complaint):
    path = tmp_path / "model.tanager"
    TANClassifier("none", "ml").fit(*iris).save(path)
    header, data = take_apart(path.read_bytes())
    header["members"][0]["options"][option] = value
    path.write_bytes(put_together(header, data, version=VERSION))
    with pytest.raises(ModelFileError, match=complaint):
        tanager.load(path)


KILLED = """
import sys, time
from tanager import TANClassifier
from tanager.files import container
from sklearn.datasets import load_iris
clf = TANClassifier("none", "ml").fit(*load_iris(return_X_y=True))

class Slow:
    size = container.PREAMBLE.size
    def pack(self, *values):
        print("writing", flush=True)
        time.sleep(60)

container.PREAMBLE = Slow()
clf.save(sys.argv[1])
"""


def test_killed_in_the_middle_the_old_file_stays(iris, tmp_path):
    path = tmp_path / "model.tanager"
    TANClassifier("none", "ml").fit(*iris).save(path)
    before = path.read_bytes()
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        process.kill()
        assert process.wait(30) != 0
    assert path.read_bytes() == before
