"""A classifier as an ONNX model: from raw columns, or codes, to the class and the probabilities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.exports.onnx_graph import ML_DOMAIN, GraphWriter
from tanager.exports.onnx_inputs import (
    Inputs,
    input_names,
    is_numeric,
    write_code_input,
    write_column_inputs,
    write_matrix_input,
)
from tanager.exports.onnx_scores import Codes, write_average, write_network
from tanager.exports.tables import check_fitted

# Supported since onnxruntime 1.8 (2021).
_OPSET, _ML_OPSET, _IR_VERSION = 13, 2, 7

_OUTPUTS = ("label", "probabilities")


def to_onnx(
    clf: TANClassifier | TANEnsembleClassifier,
    *,
    inputs: Literal["values", "codes"] = "values",
    dtype: Literal["float64", "float32"] = "float64",
    missing_text: str = "",
) -> Any:
    """Convert a fitted classifier or ensemble to an ONNX model.

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier
        Parents may form a cycle.
    inputs : {"values", "codes"}, default="values"
        The inputs of the model. "values" are raw columns, which the model bins and encodes itself: one input ``X`` of
        shape (N, D) if all columns are numbers or booleans, otherwise one input of shape (N, 1) for each column, with
        the name of the column. "codes" is one input ``codes`` of shape (N, D), int64, from ``clf.encoder_``.
    dtype : {"float64", "float32"}, default="float64"
        Type of numeric inputs. Numbers are always compared with the cuts in double precision.
    missing_text : str, default=""
        Marks a missing cell in text inputs, which have no other way to represent it.

    Returns
    -------
    onnx.ModelProto
        With outputs ``label`` of shape (N,), the class, and ``probabilities`` of shape (N, C), float32, in the order of
        ``clf.classes_``. Unknown values (unseen categories, and missing cells of columns that had none in training)
        are summed out exactly, as the classifier does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = to_onnx(TANClassifier("chow-liu", parameters="ml").fit(X, y))
    >>> [entry.name for entry in model.graph.input], [entry.name for entry in model.graph.output]
    (['X'], ['label', 'probabilities'])
    """
    check_fitted(clf)
    _check_choice("inputs", inputs, ("values", "codes"))
    _check_choice("dtype", dtype, ("float64", "float32"))
    names = input_names(clf.encoder_, _OUTPUTS)
    graph = GraphWriter({*names, *_OUTPUTS, "X", "codes"})
    source = _write_inputs(graph, clf, names, inputs, dtype, missing_text)
    codes = Codes(graph, source.codes, clf.encoder_.cards.tolist())
    scores, probabilities = _write_scores(graph, clf, codes)
    classes = _class_array(clf.classes_)
    best = graph.add("ArgMax", scores, axis=1, keepdims=0)
    graph.rename(graph.add("Gather", graph.constant(classes), best, axis=0), _OUTPUTS[0])
    graph.rename(graph.cast(probabilities, np.float32), _OUTPUTS[1])
    return _make_model(graph, source.infos, classes)


def _write_inputs(graph: GraphWriter, clf: Any, names: list[str], inputs: str, dtype: Any, missing_text: str) -> Inputs:
    if inputs == "codes":
        return write_code_input(graph, clf.encoder_, "codes")
    if all(is_numeric(column) for column in clf.encoder_.columns):
        return write_matrix_input(graph, clf.encoder_, "X", dtype)
    return write_column_inputs(graph, clf.encoder_, names, dtype, missing_text)


def _write_scores(graph: GraphWriter, clf: Any, codes: Codes) -> tuple[str, str]:
    """The scores that determine the class, and the probabilities, both double[N, C]."""
    if not isinstance(clf, TANEnsembleClassifier):
        scores = write_network(graph, codes, clf.network_)
        return scores, graph.add("Softmax", scores, axis=1)
    if clf.combine == "log":
        probabilities = graph.add("Softmax", write_average(graph, codes, clf.average_), axis=1)
    else:
        each = [write_network(graph, codes, member.network_) for member in clf.estimators_]
        probabilities = graph.mean(*(graph.add("Softmax", scores, axis=1) for scores in each))
    return probabilities, probabilities


def _class_array(classes: NDArray[Any]) -> NDArray[Any]:
    """The classes in a type that tensors support."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    return classes if classes.dtype.kind == "b" else classes.astype(object)


def _make_model(graph: GraphWriter, infos: list[Any], classes: NDArray[Any]) -> Any:
    onnx = graph.onnx
    helper = onnx.helper
    kind = onnx.numpy_helper.from_array(classes).data_type
    outputs = [
        helper.make_tensor_value_info(_OUTPUTS[0], kind, ["N"]),
        helper.make_tensor_value_info(_OUTPUTS[1], onnx.TensorProto.FLOAT, ["N", len(classes)]),
    ]
    body = helper.make_graph(graph.nodes, "tanager", infos, outputs, graph.constants)
    opsets = [helper.make_opsetid("", _OPSET)]
    if any(node.domain == ML_DOMAIN for node in graph.nodes):
        opsets.append(helper.make_opsetid(ML_DOMAIN, _ML_OPSET))
    model = helper.make_model(body, producer_name="tanager", opset_imports=opsets, ir_version=_IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model


def _check_choice(option: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{option} must be one of {', '.join(map(repr, choices))}, got {value!r}")
