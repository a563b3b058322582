"""Values keep their identity in exports: each gets the probabilities of its own, or the export is refused."""

import json
import os
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import Counts, TANClassifier
from tanager.exports import evidence, to_onnx, to_pyagrum, to_sql
from tests.estimators.test_identity import TYPES, objects
from tests.exports.classifiers import described_probabilities, pyagrum_probabilities
from tests.exports.test_c_code import ENCODE, compile_and_run, needs_gcc
from tests.exports.test_javascript import NODE, in_node
from tests.exports.test_onnx_model import run as run_onnx

few = settings(max_examples=int(os.environ.get("TANAGER_FUZZ_ROUNDS", "60")) // 15)
# SQLite has integers with a sign only, so that larger ones never get into it; an empty text is a missing one in ONNX.
HOLDS = {"SQLite": lambda value: not isinstance(value, int) or value < 2**63, "ONNX": lambda value: value != ""}
IN_DOUBLES = ("ONNX", "C", "JavaScript")


def classifier_of(values, dtype):
    """A classifier whose probabilities are different for each value."""
    cells = [value for number, value in enumerate(values) for _ in range(number + 3)]
    y = [int(k > 1) for number in range(len(values)) for k in range(number + 3)]
    kind = object if dtype == "str" else dtype
    column = pd.Series(objects(cells, dtype)[:, 0], dtype=kind, name="a")
    options = {"categorical_features": ["a"], "max_categories": None, "binning": "none"}
    return TANClassifier("none", Counts(1.0), **options).fit(column.to_frame(), y), pd.Series(
        values, dtype=kind, name="a"
    )


def in_duckdb(clf, column, folder):
    with duckdb.connect() as database:
        database.register("data", pa.table({"a": pa.Array.from_pandas(column)}))
        return np.array([row[2:] for row in database.execute(to_sql(clf)).fetchall()])


def in_sqlite(clf, column, folder):
    database = sqlite3.connect(":memory:")
    kind = {"O": "TEXT", "f": "REAL"}.get(column.dtype.kind, "INTEGER")
    database.execute(f"CREATE TABLE data (a {kind})")
    database.executemany("INSERT INTO data VALUES (?)", [(cell,) for cell in column.tolist()])
    found = np.array([row[2:] for row in database.execute(to_sql(clf))])
    database.close()
    return found


def in_onnx(clf, column, folder):
    cells = column.to_frame().to_numpy(object if column.dtype.kind == "O" else np.float64)
    return run_onnx(to_onnx(clf), cells)[1]


def in_c(clf, column, folder):
    lines = [f"0 t {cell}" if isinstance(cell, str) else f"0 n {float(cell)!r}" for cell in column.tolist()]
    codes = compile_and_run(folder, clf, ENCODE, "\n".join(lines) + "\n").splitlines()[: len(lines)]
    return probabilities_of_codes(clf, np.array(codes, np.int64))


def in_javascript(clf, column, folder):
    rows = [{"a": cell} for cell in column.tolist()]
    assert json.loads(json.dumps(rows)) == rows
    return np.array([each["p"] for each in in_node(clf, rows, folder, "p: classifier.predictProba(row)")])


def in_pyagrum(clf, column, folder):
    return pyagrum_probabilities(to_pyagrum(clf), evidence(clf, column.to_frame()))


def probabilities_of_codes(clf, codes):
    log_joint = clf.network_.log_joint(codes[:, None])
    return np.exp(log_joint) / np.exp(log_joint).sum(axis=1, keepdims=True)


PROGRAMS = {
    "DuckDB": in_duckdb,
    "SQLite": in_sqlite,
    "ONNX": in_onnx,
    "C": in_c,
    "JavaScript": in_javascript,
    "pyAgrum": in_pyagrum,
}
MARKS = {"C": needs_gcc, "JavaScript": pytest.mark.skipif(NODE is None, reason="NO NODE: the JavaScript was NOT run")}


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "bool", "str"])
@pytest.mark.parametrize("program", [pytest.param(name, marks=MARKS.get(name, ())) for name in PROGRAMS])
@few
@given(data=st.data())
def test_every_program_and_type(program, dtype, data, tmp_path_factory):
    cells = TYPES[dtype].filter(HOLDS.get(program, lambda value: True))
    values = data.draw(st.lists(cells, min_size=2, max_size=6, unique=True))
    clf, column = classifier_of(values, dtype)
    probabilities = described_probabilities if program == "pyAgrum" else TANClassifier.predict_proba
    expected = probabilities(clf, column.to_frame())
    assert np.diff(np.sort(expected[:, 0])).min() > 1e-3
    has_zero = any(isinstance(value, str) and "\0" in value for value in values)
    # JavaScript may have made a large number of two, so that it is refused even if a double holds it.
    is_wide = dtype.endswith("int64") and any(
        float(value) != value or (program == "JavaScript" and abs(value) > 2**53) for value in values
    )
    is_refused = (has_zero and program in ("DuckDB", "SQLite", "C")) or (is_wide and program in IN_DOUBLES)
    folder = tmp_path_factory.mktemp("identity")
    if is_refused:
        with pytest.raises(ValueError, match=r"column 'a' has (the|a) category"):
            PROGRAMS[program](clf, column, folder)
    else:
        np.testing.assert_allclose(PROGRAMS[program](clf, column, folder), expected, atol=2e-6, rtol=0)
