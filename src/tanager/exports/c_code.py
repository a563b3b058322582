"""A classifier as one C99 header: integer CPTs, a loop that sums them, and functions from cells to codes.

The code requires only <stdint.h>, <stddef.h> and <string.h>, no floating-point arithmetic to classify codes and no
memory beyond a few variables. `tanager.exports.quantise` is its twin in Python, which gives the same integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from tanager.data import CategoryColumn, NumericColumn
from tanager.exports.integers import IntegerClassifier, quantise
from tanager.exports.tables import check_fitted
from tanager.files import written_whole

_LONGEST_TEXT = 4095  # bytes of a string literal that every C99 compiler accepts
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')  # two question marks may start a trigraph

_FUNCTIONS = """\
/* Code of a number: its bin, or its index among the categories. NaN is a missing cell. */
static inline {name}_code {name}_encode_number(size_t feature, double x)
{{
    size_t k, n = 0;
    if (x != x) {{
        return {name}_missing[feature];
    }}
    if ({name}_is_numeric[feature]) {{
        for (k = {name}_cut_ptr[feature]; k < {name}_cut_ptr[feature + 1]; ++k) {{
            n += x >= {name}_cuts[k];
        }}
        return ({name}_code)n;
    }}
    for (k = {name}_number_ptr[feature]; k < {name}_number_ptr[feature + 1]; ++k) {{
        if ({name}_numbers[k] == x) {{
            return {name}_number_codes[k];
        }}
    }}
    return {name}_cards[feature];
}}

/* Code of a UTF-8 string: its index among the categories. A null pointer is a missing cell. */
static inline {name}_code {name}_encode_text(size_t feature, const char *text)
{{
    size_t k;
    if (text == NULL) {{
        return {name}_missing[feature];
    }}
    for (k = {name}_text_ptr[feature]; k < {name}_text_ptr[feature + 1]; ++k) {{
        if (strcmp({name}_texts[k], text) == 0) {{
            return {name}_text_codes[k];
        }}
    }}
    return {name}_cards[feature];
}}

/* Scores of the classes: log-probabilities up to a constant, in units of {upper}_STEP. */
static inline void {name}_scores(const {name}_code *codes, int32_t *scores)
{{
    size_t s, c;
    for (c = 0; c < {upper}_N_CLASSES; ++c) {{
        scores[c] = -(int32_t){name}_prior[c];
    }}
    for (s = 0; s < {upper}_N_TERMS; ++s) {{
        const size_t child = {name}_child[s], parent = {name}_parent[s];
        const size_t x = codes[child], card = {name}_cards[child];
        const {name}_penalty *line = {name}_tables + {name}_offset[s];
        if (x >= card) {{
            continue; /* unknown */
        }}
        if (parent < {upper}_N_FEATURES) {{
            /* The last entry is for an unknown parent. */
            const size_t last = {name}_cards[parent], y = codes[parent] < last ? codes[parent] : last;
            line += {line} * card * {upper}_N_CLASSES;
        }}
        line += x * {upper}_N_CLASSES;
        for (c = 0; c < {upper}_N_CLASSES; ++c) {{
            scores[c] -= (int32_t)line[c];
        }}
    }}
}}

/* Number of the most probable class, the first in case of ties. Codes from {name}_cards[feature] on are unknown. */
static inline int {name}_predict(const {name}_code *codes)
{{
    int32_t scores[{upper}_N_CLASSES];
    int best = 0, c;
    {name}_scores(codes, scores);
    for (c = 1; c < {upper}_N_CLASSES; ++c) {{
        if (scores[c] > scores[best]) {{
            best = c;
        }}
    }}
    return best;
}}
"""


def to_c(clf: Any, path: Path | str, bits: int = 8, name: str = "tanager_model") -> None:
    """Write a classifier as a self-contained C header.

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier
        An ensemble must average log-probabilities (``combine="log"``).
    path : path
    bits : int, 1 to 16
        Bits per parameter. Up to 8 bits take one byte, more take two. `bit_width_curve` shows the effect on the error.
    name : str
        Prefix of all names in the header, in capitals for constants.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> clf = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True))
    >>> path = Path(tempfile.mkdtemp()) / "iris.h"
    >>> to_c(clf, path, bits=4, name="iris")
    >>> "static inline int iris_predict(const iris_code *codes)" in path.read_text()
    True
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"name must be a C name, of letters, digits and underscores, got {name!r}")
    check_fitted(clf)
    integer = quantise(clf, bits)
    parts = [
        _opening(integer, name),
        _input_tables(clf.encoder_.columns, clf.encoder_.feature_labels, name),
        _model_tables(integer, list(map(str, clf.classes_.tolist())), name),
        _FUNCTIONS.format(name=name, upper=name.upper(), line=_line_of_value(integer, name)),
        f"#endif /* {name.upper()}_H */\n",
    ]
    with written_whole(path) as temporary:
        temporary.write_text("\n".join(parts), encoding="ascii")


def _opening(integer: IntegerClassifier, name: str) -> str:
    """Include guard, sizes and types."""
    upper = name.upper()
    return f"""\
/* A Bayesian network classifier in {integer.bits}-bit integers, written by tanager.
 *
 * Codes of a row come from {name}_encode_number and {name}_encode_text, one for each feature; then
 *
 *     {name}_code codes[{upper}_N_FEATURES];
 *     ...
 *     puts({name}_class_name({name}_predict(codes)));
 */
#ifndef {upper}_H
#define {upper}_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define {upper}_N_FEATURES {len(integer.cards)}
#define {upper}_N_CLASSES {integer.n_classes}
#define {upper}_N_TERMS {len(integer.child)}
#define {upper}_BITS {integer.bits}
#define {upper}_STEP {integer.step!r} /* nats */
#define {upper}_LARGEST_SUM {integer.largest_sum()}L

typedef {_c_type(int(integer.cards.max()))} {name}_code;
typedef {_c_type(2**integer.bits - 1)} {name}_penalty;

/* Compilation fails here if a sum of penalties could overflow. */
typedef char {name}_no_overflow[{upper}_LARGEST_SUM <= INT32_MAX ? 1 : -1];
"""


def _input_tables(columns: Iterable[NumericColumn | CategoryColumn], labels: list[str], name: str) -> str:
    """Names, cuts and categories of the columns."""
    columns = list(columns)
    cuts = [column.cuts.tolist() if isinstance(column, NumericColumn) else [] for column in columns]
    numbers, texts = [], []
    for column, label in zip(columns, labels, strict=True):
        pairs = [] if isinstance(column, NumericColumn) else _coded_values(column)
        numbers.append([(_double(value, label), code) for value, code in pairs if _is_number(value)])
        texts.append([(_c_text(value, label), code) for value, code in pairs if not _is_number(value)])
    code = f"{name}_code"
    return "\n".join(
        [
            _names(f"{name}_feature_name", labels),
            _array(code, f"{name}_cards", [column.card for column in columns]),
            "/* Code of a missing cell: its own code, or unknown. */",
            _array(code, f"{name}_missing", [column.card - column.has_missing for column in columns]),
            _array("uint8_t", f"{name}_is_numeric", [int(isinstance(column, NumericColumn)) for column in columns]),
            "/* The code of a number is the number of cuts at or below it. */",
            _array("double", f"{name}_cuts", _flat(cuts)),
            _index_array(f"{name}_cut_ptr", _pointers(cuts)),
            "/* Categories that are numbers, and their codes. */",
            _array("double", f"{name}_numbers", [value for value, _ in _flat(numbers)]),
            _array(code, f"{name}_number_codes", [value for _, value in _flat(numbers)]),
            _index_array(f"{name}_number_ptr", _pointers(numbers)),
            "/* Categories that are strings, and their codes. */",
            _array("char *const", f"{name}_texts", [value for value, _ in _flat(texts)] or ['""']),
            _array(code, f"{name}_text_codes", [value for _, value in _flat(texts)]),
            _index_array(f"{name}_text_ptr", _pointers(texts)),
        ]
    )


def _model_tables(integer: IntegerClassifier, class_names: list[str], name: str) -> str:
    """Names of the classes, structure and penalties."""
    index = _c_type(len(integer.cards))
    return "\n".join(
        [
            _names(f"{name}_class_name", class_names),
            "/* Each term of the sum has a child and a parent; the parent N_FEATURES means none. */",
            _array(index, f"{name}_child", integer.child.tolist()),
            _array(index, f"{name}_parent", integer.parent.tolist()),
            *_group_tables(integer, name),
            _index_array(f"{name}_offset", integer.offset[:-1].tolist()),
            "/* Penalties: distance from the best class, in steps; [parent][child][class] for each term. */",
            _array(f"{name}_penalty", f"{name}_prior", integer.prior.tolist()),
            _array(f"{name}_penalty", f"{name}_tables", integer.penalties.tolist()),
        ]
    )


def _group_tables(integer: IntegerClassifier, name: str) -> list[str]:
    """The groups of the values of each parent, if values are grouped."""
    if integer.groups is None:
        return []
    is_parent = np.isin(np.arange(len(integer.cards)), integer.parent).tolist()
    lines = [integer.lines_of(j).tolist() if is_parent[j] else [] for j in range(len(integer.cards))]
    return [
        "/* Groups of each parent's values, which share the lines of a table; the last entry is for unknown values. */",
        _index_array(f"{name}_groups", _flat(lines)),
        _index_array(f"{name}_group_ptr", _pointers(lines)[:-1]),
    ]


def _line_of_value(integer: IntegerClassifier, name: str) -> str:
    """The first index of a term's table, given the value y of the parent."""
    return "y" if integer.groups is None else f"{name}_groups[{name}_group_ptr[parent] + y]"


def _coded_values(column: CategoryColumn) -> list[tuple[Any, int]]:
    """The values of a categorical column with their codes; pooled values share one."""
    kept = column.categories.tolist()
    return [*zip(kept, range(len(kept)), strict=True), *((value, len(kept)) for value in column.pooled.tolist())]


def _is_number(value: Any) -> bool:
    return isinstance(value, (Real, Decimal, np.bool_))


def _double(value: Any, column: str) -> float:
    """A category as C has it; refuses what would be another number there."""
    if float(value) != value:
        raise ValueError(
            f"column {column!r} has the category {value!r}, which double precision cannot hold: make the column text "
            "before fitting"
        )
    return float(value)


def _flat(lists: list[list[Any]]) -> list[Any]:
    return [item for items in lists for item in items]


def _pointers(lists: list[list[Any]]) -> list[int]:
    """Start of each list in the flat one, and the end of the last."""
    return np.cumsum([0, *map(len, lists)]).tolist()


def _c_type(largest: int) -> str:
    """The smallest unsigned type that holds a number."""
    return f"{np.min_scalar_type(largest).name}_t"


def _index_array(name: str, values: list[int]) -> str:
    """Definition of an array of whole numbers from 0 on, in the smallest type that holds them."""
    return _array(_c_type(max(values, default=0)), name, values)


def _array(kind: str, name: str, values: list[Any]) -> str:
    """Definition of a constant array; an empty one has a single zero, since C has no empty arrays."""
    lines, line = [], "   "
    for value in values or [0]:
        text = f" {value!r}," if not isinstance(value, str) else f" {value},"
        if len(line) + len(text) > 116:
            lines.append(line)
            line = "   "
        line += text
    body = "\n".join([*lines, line])
    return f"static const {kind} {name}[{len(values) or 1}] = {{\n{body}\n}};"


def _names(function: str, labels: list[str]) -> str:
    """A function from a number to a string: unlike an array, it causes no warning if unused."""
    array = _array("char *const", "names", [_c_text(label, None) for label in labels])
    inner = "\n".join(f"    {line}" for line in array.split("\n"))
    return f"static inline const char *{function}(int number)\n{{\n{inner}\n    return names[number];\n}}"


def _c_text(value: str | bytes, column: str | None) -> str:
    """A C literal in UTF-8; texts of a column are compared, so they must fit and contain no zero."""
    content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    if column is not None and (b"\0" in content or len(content) > _LONGEST_TEXT):
        raise ValueError(
            f"column {column!r} has a category with a zero character or of more than {_LONGEST_TEXT} bytes"
        )
    escaped = "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in content[:_LONGEST_TEXT])
    return f'"{escaped}"'
