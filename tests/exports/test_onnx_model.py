"""ONNX models, run by onnxruntime: the probabilities and the classes of the classifier."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from tanager import CoveringPaths, GradientDescent, IndependentSearches, Subset, TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame
from tanager.estimators.base import softmax
from tanager.exports import to_onnx
from tests.exports.classifiers import (
    cyclic_classifier,
    iris_classifier,
    mixed_classifier,
    random_classifier,
    with_unknown_cells,
    with_unknown_codes,
)
from tests.fine_bins import fine_classifier, people, with_companion
from tests.strategies import models

CLOSE = 1e-6


def run(model, *columns):
    """Labels and probabilities; text and numbers of a frame go to one input each, and a matrix to the only one."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    assert [entry.name for entry in session.get_outputs()] == ["label", "probabilities"]
    return session.run(None, dict(zip(names, columns, strict=True)))


def cells(frame, missing_text=""):
    """Columns of a frame as inputs."""
    return [
        column.to_frame().to_numpy(np.float64)
        if column.dtype.kind in "biuf"
        else column.to_frame().fillna(missing_text).to_numpy(object)
        for _, column in frame.items()
    ]


def assert_equal(result, clf, X):
    label, probabilities = result
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), atol=CLOSE, rtol=0)
    np.testing.assert_array_equal(label, clf.predict(X))


def knocked_out(X, share=0.3):
    """Numbers with missing cells."""
    return np.where(np.random.default_rng(0).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def iris():
    clf, X = iris_classifier(structure="all")
    return clf, X


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_numbers(iris, share):
    clf, frame = iris
    X = knocked_out(frame.to_numpy(), share)
    assert_equal(run(to_onnx(clf), X), clf, pd.DataFrame(X, columns=frame.columns))


def test_numbers_at_the_cuts_fall_into_the_same_bin(iris):
    clf, frame = iris
    cuts = [column.cuts for column in clf.encoder_.columns]
    X = np.repeat(frame.to_numpy()[::30], 3 * max(map(len, cuts)), axis=0)
    for index, column_cuts in enumerate(cuts):
        near = np.concatenate([column_cuts, np.nextafter(column_cuts, -np.inf), np.nextafter(column_cuts, np.inf)])
        X[:, index] = np.resize(near, len(X))
    assert_equal(run(to_onnx(clf), X), clf, pd.DataFrame(X, columns=frame.columns))
    single = X.astype(np.float32)
    expected = pd.DataFrame(single, columns=frame.columns)
    assert_equal(run(to_onnx(clf, dtype="float32"), single), clf, expected)


def test_codes(iris):
    clf, frame = iris
    codes = clf.encoder_.encode(as_frame(frame)).astype(np.int64)
    assert_equal(run(to_onnx(clf, inputs="codes"), codes), clf, frame)
    X = frame.to_numpy().copy()
    X[::2, 1] = np.nan
    codes[::2, 1] = np.resize([-1, 99, clf.encoder_.cards[1]], len(codes[::2]))
    assert_equal(run(to_onnx(clf, inputs="codes"), codes), clf, pd.DataFrame(X, columns=frame.columns))


@pytest.mark.parametrize("options", [{"missing": "ignore"}, {"missing": "value"}, {"max_categories": 2}])
@pytest.mark.parametrize("is_unknown", [False, True])
def test_mixed_columns(options, is_unknown):
    clf, frame = mixed_classifier(structure="all", **options)
    if is_unknown:
        frame = with_unknown_cells(frame)
    model = to_onnx(clf)
    assert [entry.name for entry in model.graph.input] == list(frame.columns)
    assert_equal(run(model, *cells(frame)), clf, frame)


def test_missing_text_is_chosen():
    clf, frame = mixed_classifier(structure="none")
    assert_equal(run(to_onnx(clf, missing_text="?"), *cells(frame, "?")), clf, frame)
    with pytest.raises(ValueError, match=r"column 'colour, or so' has the value 'red'.*missing_text"):
        to_onnx(clf, missing_text="red")


def test_columns_with_names_of_outputs():
    frame = pd.DataFrame({"label": ["a", "b", "a", "b"], "probabilities": [0.0, 1.0, 2.0, 3.0], "": list("uvuu")})
    clf = TANClassifier("none", parameters="ml").fit(frame, [0, 1, 0, 1])
    model = to_onnx(clf)
    assert [entry.name for entry in model.graph.input] == ["label (2)", "probabilities (2)", "x2"]
    assert_equal(run(model, *cells(frame)), clf, frame)


@pytest.mark.parametrize(
    "classes",
    [
        np.array([-7, 3]),
        np.array([3, 9], np.uint8),
        np.array([-1.0, 2.0]),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["nein", "größer"], dtype=object),
    ],
    ids=str,
)
def test_classes_of_every_type(classes):
    X = np.random.default_rng(0).normal(size=(60, 2))
    clf = TANClassifier("none", parameters="ml").fit(X, classes[(X[:, 0] > 0).astype(int)])
    assert_equal(run(to_onnx(clf), X), clf, X)


def test_column_without_a_value():
    frame = pd.DataFrame({"a": ["u", "v"] * 10, "b": [None] * 20, "c": [np.nan] * 20})
    clf = TANClassifier("none", parameters="ml").fit(frame, [0, 1] * 10)
    assert_equal(run(to_onnx(clf), *cells(frame)), clf, frame)


@pytest.mark.parametrize("combine", ["log", "probability"])
def test_ensembles(combine):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    members, parameters = IndependentSearches(Subset(max_parents=2), n_members=3), GradientDescent(epochs=3)
    clf = TANEnsembleClassifier(members, parameters, combine=combine, random_state=0).fit(X, y)
    model = to_onnx(clf)
    assert_equal(run(model, X), clf, X)
    assert_equal(run(model, knocked_out(X, 0.1)), clf, knocked_out(X, 0.1))


@pytest.mark.parametrize("kind", ["tree", "ensemble", "companion"])
def test_grouped_values(kind):
    clf, frame = fine_classifier()
    if kind == "ensemble":
        clf = TANEnsembleClassifier(CoveringPaths(2), "penalised", random_state=0).fit(*people())
    if kind == "companion":
        clf = with_companion()
    model = to_onnx(clf)
    frame = frame[:300]
    assert_equal(run(model, *cells(frame)), clf, frame)
    unknown = frame.assign(town=["town 1", "elsewhere"] * 150, weight=np.resize([np.nan, 20.0, 9000.0], 300))
    assert_equal(run(model, *cells(unknown)), clf, unknown)
    n_entries = sum(int(np.prod(tensor.dims)) for _, tensor in constants(model.graph))
    n_expanded = sum(member.network_.expanded.layout.size for member in getattr(clf, "estimators_", [clf]))
    assert n_entries < n_expanded


def constants(graph):
    """The constants of a graph and of those within it."""
    yield from ((tensor.name, tensor) for tensor in graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from constants(attribute.g)


def test_cycles_leave_terms_out():
    clf, X = cyclic_classifier()
    assert_equal(run(to_onnx(clf), X.astype(np.float64)), clf, X)
    unknown = knocked_out(X)
    assert_equal(run(to_onnx(clf), unknown), clf, unknown)


def test_no_rows(iris):
    label, probabilities = run(to_onnx(iris[0]), np.empty((0, 4)))
    assert label.shape == (0,)
    assert probabilities.shape == (0, 3)


@settings(max_examples=40, deadline=None)
@given(
    st.booleans().flatmap(lambda pairs: models(is_fixed=True, max_features=4, max_card=3, max_rows=6, has_pairs=pairs))
)
def test_random_networks(model):
    clf = random_classifier(model)
    exported = to_onnx(clf, inputs="codes")
    for codes in (model.codes, with_unknown_codes(model)):
        _, probabilities = run(exported, codes.astype(np.int64))
        expected = softmax(clf.network_.log_joint(np.ascontiguousarray(codes)))
        np.testing.assert_allclose(probabilities, expected, atol=CLOSE, rtol=0)


def test_refusals(iris):
    with pytest.raises(ValueError, match="inputs must be one of 'values', 'codes', got 'rows'"):
        to_onnx(iris[0], inputs="rows")
    with pytest.raises(ValueError, match="dtype must be one of"):
        to_onnx(iris[0], dtype="int8")
    with pytest.raises(ValueError, match="not fitted yet"):
        to_onnx(TANEnsembleClassifier())
    X = np.array([["a", 1], [2, 2], ["a", 3], [2, 4]], dtype=object)
    clf = TANClassifier("none", parameters="ml").fit(X, [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"column 'x0' holds 2 \(int\).*inputs='codes'"):
        to_onnx(clf)
    to_onnx(clf, inputs="codes")
    large = np.array([[2**53 + 1], [2**53 + 3]])
    clf = TANClassifier("none", parameters="ml", categorical_features=[0]).fit(large, [0, 1])
    with pytest.raises(ValueError, match="double precision cannot hold"):
        to_onnx(clf)
