"""The JavaScript module in Node: the same probabilities as in Python, with missing, unseen and left out values."""

import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_breast_cancer, load_iris

from tanager import (
    DisjointTrees,
    GradientDescent,
    IndependentSearches,
    ParentSets,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.exports import export, to_javascript
from tests.exports.classifiers import (
    cyclic_classifier,
    mixed_classifier,
    posteriors,
    random_classifier,
    with_unknown_cells,
    with_unknown_codes,
)
from tests.fine_bins import fine_classifier, people, with_companion
from tests.strategies import models

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None, reason="NO NODE: node is absent, so the JavaScript was NOT run (Debian: apt-get install nodejs)"
)

_SCRIPT = """
import classifier from "./model.mjs";
import { readFileSync } from "node:fs";
const rows = JSON.parse(readFileSync(0, "utf-8"));
const answers = rows.map((row) => {
  try { return { [OUTPUT] }; } catch (error) { return { error: error.message }; }
});
process.stdout.write(JSON.stringify(answers));
"""


def in_node(clf, rows, folder, output):
    """What an expression, such as ``p: classifier.predictProba(row)``, gives for each row."""
    export(clf, folder / "model.mjs")
    (folder / "run.mjs").write_text(_SCRIPT.replace("[OUTPUT]", output))
    command = [NODE, folder / "run.mjs"]
    done = subprocess.run(command, input=json.dumps(rows), capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def assert_equal_probabilities(clf, frame, folder, *, drop_missing=False):
    """Compare all rows; NaN is null in JSON, and cells that are left out are unknown."""
    rows = json.loads(frame.to_json(orient="records", double_precision=15))
    if drop_missing:
        rows = [{name: cell for name, cell in row.items() if cell is not None} for row in rows]
    found = in_node(clf, rows, folder, "p: classifier.predictProba(row), best: classifier.predict(row)")
    np.testing.assert_allclose([each["p"] for each in found], clf.predict_proba(frame), atol=1e-6, rtol=0)
    agree = np.mean([each["best"] == label for each, label in zip(found, clf.predict(frame).tolist(), strict=True)])
    assert agree > 0.99  # ties aside


@pytest.mark.parametrize("missing", ["value", "ignore"])
def test_mixed_columns(tmp_path, missing):
    clf, frame = mixed_classifier(missing=missing)
    assert_equal_probabilities(clf, with_unknown_cells(frame), tmp_path)


def test_groups_of_parents_values(tmp_path):
    clf, frame = fine_classifier()
    frame = frame[:300].astype({"age": float})
    for seed, name in enumerate(["age", "height", "weight"]):
        frame[name] = frame[name].where(np.random.default_rng(seed).random(300) > 0.3)
    frame.loc[::4, "town"] = "elsewhere"
    assert_equal_probabilities(clf, frame, tmp_path)


def test_default_fit(tmp_path):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = TANClassifier(random_state=0).fit(X[:300], y[:300])
    frame = X[300:]
    frame = frame.where(np.random.default_rng(0).random(frame.shape) > 0.4)
    assert_equal_probabilities(clf, frame, tmp_path, drop_missing=True)


@pytest.mark.parametrize("combine", ["log", "probability"])
def test_ensembles(tmp_path, combine):
    X, y = load_iris(return_X_y=True, as_frame=True)
    members = IndependentSearches("subset", n_members=3)
    clf = TANEnsembleClassifier(members, GradientDescent(epochs=5), combine=combine, random_state=0).fit(X, y)
    frame = X.where(np.random.default_rng(0).random(X.shape) > 0.3)
    assert_equal_probabilities(clf, frame, tmp_path)


def test_jointly_trained_trees(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = TANEnsembleClassifier(DisjointTrees(n_members=2), GradientDescent(epochs=5), random_state=0).fit(X, y)
    assert_equal_probabilities(clf, X, tmp_path)


def test_trees_with_a_companion(tmp_path):
    clf, (X, _) = with_companion(), people()
    assert_equal_probabilities(clf, X[:100], tmp_path)
    assert_equal_probabilities(clf, X[:100].where(np.random.default_rng(0).random(X[:100].shape) > 0.3), tmp_path)


def test_two_parents(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    sets = ParentSets.from_lists([[-1], [0], [(0, 1)], [(0, 2)]])
    clf = TANClassifier(sets, GradientDescent(epochs=5), random_state=0).fit(X, y)
    assert clf.network_.has_pairs
    assert_equal_probabilities(clf, X.where(np.random.default_rng(0).random(X.shape) > 0.3), tmp_path)


def test_cycle(tmp_path):
    clf, X = cyclic_classifier()
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).astype(float)
    frame = frame.where(np.random.default_rng(0).random(frame.shape) > 0.3)
    rows = [[None if np.isnan(cell) else cell for cell in row] for row in frame.to_numpy().tolist()]
    found = in_node(clf, rows, tmp_path, "p: classifier.predictProba(row)")
    np.testing.assert_allclose([each["p"] for each in found], clf.predict_proba(frame.to_numpy()), atol=1e-6)


@given(models(is_ordered=True, is_fixed=True, max_features=8))
@settings(max_examples=15, deadline=None)
def test_random_networks(tmp_path_factory, model):
    clf, codes = random_classifier(model), with_unknown_codes(model)
    found = in_node(clf, codes.tolist(), tmp_path_factory.mktemp("js"), "p: classifier.predictProba(row)")
    np.testing.assert_allclose([each["p"] for each in found], posteriors(clf.network_, codes), atol=1e-6)


def test_explanations_are_those_of_python(tmp_path):
    clf, frame = fine_classifier()
    for row in ({"age": 40, "town": "town 3"}, {"height": 1.8}, {}):
        (found,) = in_node(clf, [row], tmp_path, 'e: classifier.explain(row, ["high", "low"])')
        expected = clf.explain(row, ("high", "low"))["contribution"].to_numpy()
        contributions = found["e"]["contributions"]
        assert list(contributions) == list(frame.columns)
        np.testing.assert_allclose([found["e"]["prior"], *contributions.values()], expected, atol=1e-6)


def test_wrong_rows(tmp_path):
    clf, _ = mixed_classifier()
    rows = [{"color": 1}, {"weight": "heavy"}, [1, 2]]
    unknown, text, short = in_node(clf, rows, tmp_path, "p: classifier.predictProba(row)")
    assert unknown["error"].startswith('there is no column "color"; the columns are colour, or so, size (cm)')
    assert text["error"] == 'column weight is numeric, but it holds "heavy"'
    assert short["error"] == "a row must have 7 cells, got 2"
    infinite = in_node(clf, [{}], tmp_path, "p: classifier.predictProba({ weight: Infinity })")
    assert infinite[0]["error"] == "column weight has an infinite value"
    (found,) = in_node(clf, [{}], tmp_path, 'e: classifier.explain(row, [0, "x"])')
    assert found["error"] == '"x" is not a class; the classes are 0, 1, 2'


def test_names_that_objects_have_of_their_own(tmp_path):
    X = pd.DataFrame({"__proto__": [1.0, 2.0, 3.0, 4.0] * 5, "constructor": ["a", "b"] * 10, '"\n//': [0, 1] * 10})
    clf = TANClassifier("none", "ml").fit(X, [0, 1] * 10)
    (found,) = in_node(clf, [[1.0, "a", 0]], tmp_path, "p: classifier.predictProba(row)")
    np.testing.assert_allclose(found["p"], clf.predict_proba(X[:1])[0], atol=1e-6)
    (found,) = in_node(clf, [{}], tmp_path, "p: classifier.predictProba(row)")
    np.testing.assert_allclose(found["p"], [0.5, 0.5], atol=1e-6)


def test_categories_that_javascript_does_not_have():
    frame = pd.DataFrame({"key": pd.Series([2**60 + k % 2 for k in range(8)], dtype=object)})
    clf = TANClassifier("none", "ml", categorical_features=["key"]).fit(frame, [0, 1] * 4)
    with pytest.raises(ValueError, match="column 'key' has the category 1152921504606846976, which JavaScript cannot"):
        to_javascript(clf)
