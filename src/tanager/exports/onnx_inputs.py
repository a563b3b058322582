"""The part of an ONNX graph from raw columns to codes.

Numbers are compared with the cuts in double precision, as in the encoder, so that a number on a cut, or next to it,
falls into the same bin. A missing number is NaN. Text is looked up; the user chooses a text that marks a missing cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.data import CategoryColumn, FrameEncoder, NumericColumn, unique_labels
from tanager.exports.onnx_graph import ML_DOMAIN, GraphWriter

_Column = NumericColumn | CategoryColumn


class Inputs(NamedTuple):
    """Inputs of a graph.

    Attributes
    ----------
    infos : list of onnx.ValueInfoProto
    codes : str
        Name of the result int64[N, D] with code == card if unknown.
    """

    infos: list[Any]
    codes: str


def input_names(encoder: FrameEncoder, outputs: Sequence[str]) -> list[str]:
    """Name of the input of each column, different from the names of the outputs."""
    labels = [label or f"x{index}" for index, label in enumerate(encoder.feature_labels)]
    return unique_labels([*outputs, *labels])[len(outputs) :]


def write_code_input(graph: GraphWriter, encoder: FrameEncoder, name: str) -> Inputs:
    """One input of codes, int64[N, D]; codes out of range are unknown."""
    info = graph.onnx.helper.make_tensor_value_info(
        name, graph.onnx.TensorProto.INT64, ["N", len(encoder.columns)], "codes of the values; others are unknown"
    )
    cards = graph.constant(encoder.cards.astype(np.int64))
    is_negative = graph.add("Less", name, graph.constant(np.array(0, np.int64)))
    outside = graph.add("Or", is_negative, graph.add("Greater", name, cards))
    return Inputs([info], graph.add("Where", outside, cards, name))


def write_matrix_input(
    graph: GraphWriter, encoder: FrameEncoder, name: str, dtype: Literal["float64", "float32"]
) -> Inputs:
    """One input of numbers, [N, D]."""
    kind = graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    info = graph.onnx.helper.make_tensor_value_info(
        name, kind, ["N", len(encoder.columns)], "numbers; NaN where missing"
    )
    numbers = graph.cast(name, np.float64) if dtype == "float32" else name
    labels = encoder.feature_labels
    return Inputs([info], _write_number_codes(graph, encoder.columns, labels, numbers))


def write_column_inputs(
    graph: GraphWriter,
    encoder: FrameEncoder,
    names: Sequence[str],
    dtype: Literal["float64", "float32"],
    missing_text: str,
) -> Inputs:
    """One input for each column, [N, 1], of numbers or of text."""
    helper = graph.onnx.helper
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    labels = encoder.feature_labels
    infos = [helper.make_tensor_value_info(name, kind, ["N", 1], "numbers; NaN where missing") for name in names]
    text, parts = [], []
    for index, column in enumerate(encoder.columns):
        if isinstance(column, CategoryColumn) and not is_numeric(column):
            about = f"text; {missing_text!r} where missing"
            infos[index] = helper.make_tensor_value_info(names[index], graph.onnx.TensorProto.STRING, ["N", 1], about)
            text.append(index)
            parts.append(_write_text_codes(graph, column, labels[index], names[index], missing_text))
    numeric = [index for index in range(len(names)) if index not in text]
    if numeric:
        numbers = graph.add("Concat", *(names[index] for index in numeric), axis=1)
        double = graph.cast(numbers, np.float64) if dtype == "float32" else numbers
        columns = [encoder.columns[index] for index in numeric]
        parts.append(_write_number_codes(graph, columns, [labels[index] for index in numeric], double))
    return Inputs(infos, _write_joined(graph, parts, [*text, *numeric]))


def is_numeric(column: _Column) -> bool:
    """Whether the cells of a column are numbers or booleans."""
    return isinstance(column, NumericColumn) or column.categories.dtype.kind in "biuf"


def _write_text_codes(graph: GraphWriter, column: CategoryColumn, label: str, name: str, missing_text: str) -> str:
    """Codes int64[N, 1] of a column of text."""
    codes = {value: code for code, value in enumerate(column.categories.tolist())}
    codes |= dict.fromkeys(column.pooled.tolist(), column.categories.size)
    other = [value for value in codes if not isinstance(value, str)]
    if other:
        raise ValueError(
            f"column {label!r} holds {other[0]!r} ({type(other[0]).__name__}) as a category, and an ONNX input is "
            "either text or numbers: make the column all text before fitting, or export with inputs='codes'"
        )
    if missing_text in codes:
        raise ValueError(
            f"column {label!r} has the value {missing_text!r}, which marks a missing cell: choose another missing_text"
        )
    codes[missing_text] = column.card - column.has_missing
    return graph.add(
        "LabelEncoder",
        name,
        domain=ML_DOMAIN,
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=column.card,
    )


def _write_number_codes(graph: GraphWriter, columns: Sequence[_Column], labels: Sequence[str], numbers: str) -> str:
    """Codes int64[N, D] of columns of numbers, double[N, D]."""
    bins = [(index, column) for index, column in enumerate(columns) if isinstance(column, NumericColumn)]
    categories = [(index, column) for index, column in enumerate(columns) if isinstance(column, CategoryColumn)]
    parts = []
    if bins:
        cuts = _stacked([column.cuts for _, column in bins])
        cells = _write_cells(graph, numbers, [index for index, _ in bins])
        is_reached = graph.cast(graph.add("GreaterOrEqual", cells, graph.constant(cuts)), np.int32)
        parts.append(_write_sum(graph, is_reached))
    if categories:
        values, shifts = zip(*(_number_categories(column, labels[index]) for index, column in categories), strict=True)
        cells = _write_cells(graph, numbers, [index for index, _ in categories])
        is_equal = graph.add("Equal", cells, graph.constant(_stacked(values)))
        # A cell equals at most one category: the shift leads from "unknown" to its code.
        table = graph.constant(np.nan_to_num(_stacked(shifts)).astype(np.int32))
        shift = graph.add("Where", is_equal, table, graph.constant(np.array(0, np.int32)))
        cards = np.array([column.card for _, column in categories], np.int64)
        parts.append(graph.add("Add", _write_sum(graph, shift), graph.constant(cards)))
    codes = _write_joined(graph, parts, [index for index, _ in [*bins, *categories]])
    missing = np.array([column.card - column.has_missing for column in columns], np.int64)
    return graph.add("Where", graph.add("IsNaN", numbers), graph.constant(missing), codes)


def _number_categories(column: CategoryColumn, label: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The numbers among the categories of a column, and the shift from the code "unknown" to the code of each."""
    exact = [*column.categories.tolist(), *column.pooled.tolist()]
    numbers = np.array(exact, np.float64)
    for value, number in zip(exact, numbers.tolist(), strict=True):
        if value != number:
            raise ValueError(
                f"column {label!r} has the category {value!r}, which double precision cannot hold: make the column "
                "text before fitting, or export with inputs='codes'"
            )
    codes = np.minimum(np.arange(len(exact)), column.categories.size)
    return numbers, (codes - column.card).astype(np.float64)


def _write_cells(graph: GraphWriter, numbers: str, columns: list[int]) -> str:
    """The given columns, double[N, number of columns, 1]."""
    chosen = graph.add("Gather", numbers, graph.constant(np.array(columns, np.int64)), axis=1)
    return graph.add("Unsqueeze", chosen, graph.constant(np.array([2], np.int64)))


def _write_sum(graph: GraphWriter, terms: str) -> str:
    """Sum over the last axis, as int64."""
    return graph.cast(graph.add("ReduceSum", terms, graph.constant(np.array([2], np.int64)), keepdims=0), np.int64)


def _write_joined(graph: GraphWriter, parts: list[str], columns: list[int]) -> str:
    """Join codes of groups of columns, in the original order of the columns."""
    joined = graph.add("Concat", *parts, axis=1)
    if columns == sorted(columns):
        return joined
    return graph.add("Gather", joined, graph.constant(np.argsort(columns).astype(np.int64)), axis=1)


def _stacked(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Rows of different length as one matrix, padded with NaN, which no number reaches or equals."""
    matrix = np.full((len(rows), max(1, *map(len, rows))), np.nan)
    for line, row in zip(matrix, rows, strict=True):
        line[: len(row)] = row
    return matrix
