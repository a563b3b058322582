"""The SQL statement, run by DuckDB and SQLite: the classes and probabilities of the classifier."""

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits

from tanager import CoveringPaths, GradientDescent, IndependentSearches, Subset, TANClassifier, TANEnsembleClassifier
from tanager.exports import export, to_sql
from tests.exports.classifiers import cyclic_classifier, iris_classifier, mixed_classifier, with_unknown_cells
from tests.fine_bins import fine_classifier, people, with_companion

CLOSE = 1e-6
ENGINES = ["duckdb", "sqlite"]


def run(engine, statement, frame, table="data"):
    """The result of a statement on a frame as a table of the database, in the frame's order."""
    if engine == "duckdb":
        with duckdb.connect() as database:
            database.register("frame", pa.Table.from_pandas(frame, preserve_index=False))
            database.execute(f'CREATE TABLE "{table}" AS SELECT * FROM frame')
            return database.execute(statement).df()
    database = sqlite3.connect(":memory:")
    frame.to_sql(table, database, index=False)
    result = pd.read_sql(statement, database)
    database.close()
    return result


def assert_equal(engine, clf, frame, **options):
    result = run(engine, to_sql(clf, **options), frame)
    probabilities = result.iloc[:, 2:].to_numpy(np.float64)
    expected = clf.predict_proba(frame)
    np.testing.assert_allclose(probabilities, expected, atol=CLOSE, rtol=0)
    first, second = np.sort(expected, axis=1)[:, -1:-3:-1].T
    is_clear = first - second > 2 * CLOSE
    assert result.iloc[is_clear, 1].tolist() == clf.predict(frame)[is_clear].tolist()
    return result


def random_table(seed):
    """A classifier of some kind, and rows with text, numbers, booleans, and cells that are missing or unseen."""
    rng = np.random.default_rng(seed)
    n_rows = 120
    frame = pd.DataFrame(
        {
            "it's": rng.choice(["a", "b'", 'c"', "Ä", ""], n_rows).astype(object),
            "number": rng.normal(size=n_rows).round(int(rng.integers(0, 4))),
            "count": rng.integers(-3, 4, n_rows),
            "flag": rng.random(n_rows) < 0.4,
            "id": rng.choice([2**53 + 1, 2**53 + 2, 7], n_rows),
        }
    )
    y = rng.choice(["no", "it's so", "maybe"][: rng.integers(2, 4)], n_rows)
    y[frame["number"] > 0.5] = "no"
    frame["number"] = frame["number"].where(rng.random(n_rows) > rng.choice([0.0, 0.2]))
    frame["it's"] = frame["it's"].where(rng.random(n_rows) > rng.choice([0.0, 0.2]), None)
    parameters = ["ml", GradientDescent(epochs=3), "penalised"][seed % 3]
    structure = [["chow-liu", "random", "none"], ["free", "subset", "chow-liu"], ["chow-liu", "random", "none"]]
    clf = TANClassifier(
        structure[seed % 3][seed % 7 % 3],
        parameters,
        categorical_features=["it's", "flag", "id", "count"],
        max_categories=4,
        missing=["value", "ignore"][seed % 2],
        random_state=seed,
    ).fit(frame, y)
    rows = frame.copy()
    rows["it's"] = rows["it's"].where(rng.random(n_rows) > 0.3, "unseen")
    rows["number"] = rows["number"].where(rng.random(n_rows) > 0.3)
    rows["count"] = rows["count"].where(rng.random(n_rows) > 0.3, 99)
    return clf, frame, rows


@pytest.mark.parametrize("seed", range(50))
def test_random_tables(seed):
    clf, frame, rows = random_table(seed)
    for engine in ENGINES:
        assert_equal(engine, clf, frame)
        assert_equal(engine, clf, rows)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_at_the_cuts_fall_into_the_same_bin(engine):
    clf, frame = iris_classifier(structure="all")
    cuts = [column.cuts for column in clf.encoder_.columns]
    X = np.repeat(frame.to_numpy()[::30], 3 * max(map(len, cuts)), axis=0)
    for index, own in enumerate(cuts):
        near = np.concatenate([own, np.nextafter(own, -np.inf), np.nextafter(own, np.inf)])
        X[:, index] = np.resize(near, len(X))
    assert_equal(engine, clf, pd.DataFrame(X, columns=frame.columns))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("is_unknown", [False, True])
def test_mixed_columns(engine, is_unknown):
    clf, frame = mixed_classifier(structure="all")
    result = assert_equal(engine, clf, with_unknown_cells(frame) if is_unknown else frame)
    assert list(result.columns) == ["row", "class", "p_0", "p_1", "p_2"]


def test_nan_in_duckdb_is_missing():
    clf, frame = iris_classifier(structure="all")
    knocked_out = frame.where(np.random.default_rng(0).random(frame.shape) > 0.3)
    with duckdb.connect() as database:
        columns = ", ".join(f'"{name}" DOUBLE' for name in frame.columns)
        database.execute(f"CREATE TABLE data ({columns})")
        cells = ["'nan'::DOUBLE" if np.isnan(cell) else repr(cell) for cell in knocked_out.to_numpy().ravel().tolist()]
        lines = [", ".join(cells[k : k + 4]) for k in range(0, len(cells), 4)]
        database.execute(f"INSERT INTO data VALUES ({'), ('.join(lines)})")
        result = database.execute(to_sql(clf)).df()
    np.testing.assert_allclose(result.iloc[:, 2:], clf.predict_proba(knocked_out), atol=CLOSE, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("combine", ["log", "probability"])
def test_ensembles(engine, combine):
    X, y = load_digits(return_X_y=True)
    frame, y = pd.DataFrame(X[:300, 8:40:2]).rename(columns=str), y[:300] % 3
    members, parameters = IndependentSearches(Subset(max_parents=2), n_members=3), GradientDescent(epochs=3)
    clf = TANEnsembleClassifier(members, parameters, combine=combine, random_state=0).fit(frame, y)
    assert_equal(engine, clf, frame[:60])
    assert_equal(engine, clf, frame[:60].where(np.random.default_rng(0).random((60, 16)) > 0.1))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["tree", "ensemble", "companion"])
def test_grouped_values(engine, kind):
    clf, frame = fine_classifier()
    if kind == "ensemble":
        clf = TANEnsembleClassifier(CoveringPaths(2), "penalised", random_state=0).fit(*people())
    if kind == "companion":
        clf = with_companion()
    frame = frame[:100]
    assert_equal(engine, clf, frame)
    unknown = frame.assign(town=["town 1", "elsewhere"] * 50, weight=np.resize([np.nan, 20.0, 9000.0], 100))
    assert_equal(engine, clf, unknown)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_a_schema_and_names_of_the_result(engine):
    clf, frame = iris_classifier(structure="none")
    named = frame.assign(key=[f"row {k}" for k in range(len(frame))])[::-1]
    result = run(engine, to_sql(clf, table="main.flowers", key="key", target="key"), named, "flowers")
    assert list(result.columns) == ["key", "key (2)", "p_setosa", "p_versicolor", "p_virginica"]
    probabilities = result.set_index("key").loc[[f"row {k}" for k in range(len(frame))]].iloc[:, 1:]
    np.testing.assert_allclose(probabilities.to_numpy(np.float64), clf.predict_proba(frame), atol=CLOSE, rtol=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_table_may_have_the_name_of_a_part(engine):
    clf, frame = iris_classifier(structure="chow-liu", parameters="ml")
    result = run(engine, to_sql(clf, table="cells"), frame, "cells")
    assert len(result) == len(frame)


def test_many_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (30, 900)), columns=[f"c{j}" for j in range(900)])
    clf = TANClassifier("none", "ml").fit(frame, rng.integers(0, 2, 30))
    assert_equal("sqlite", clf, frame[:5])


def test_a_file(tmp_path):
    clf, frame = iris_classifier()
    path = export(clf, tmp_path / "iris.sql", table="flowers")
    result = run("sqlite", path.read_text(), frame, "flowers")
    np.testing.assert_allclose(result.iloc[:, 2:].to_numpy(np.float64), clf.predict_proba(frame), atol=CLOSE, rtol=0)


def test_refusals():
    with pytest.raises(ValueError, match="not fitted yet"):
        to_sql(TANClassifier())
    with pytest.raises(ValueError, match=r"form a cycle.*ONNX"):
        to_sql(cyclic_classifier()[0])
    X, y = np.random.default_rng(0).integers(0, 2, (60, 4)), np.arange(60) % 2
    pairs = TANClassifier("k-dependence", GradientDescent(epochs=2), random_state=0).fit(X, y)
    if pairs.network_.has_pairs:
        with pytest.raises(ValueError, match="two extra parents"):
            to_sql(pairs)
    mixed = np.array([["a", 1], [2, 2], ["a", 3], [2, 4]], dtype=object)
    with pytest.raises(ValueError, match="column 'x0' mixes text and numbers"):
        to_sql(TANClassifier("none", "ml").fit(mixed, [0, 1, 0, 1]))
    zero = pd.DataFrame({"a": ["u\0", "v"] * 4})
    with pytest.raises(ValueError, match="column 'a' has a category with a zero character"):
        to_sql(TANClassifier("none", "ml").fit(zero, [0, 1] * 4))
