"""Costs and prediction sets on the command line: those of Python."""

import numpy as np
import pytest
from pyarrow import csv

from tanager import load
from tanager.cli.decisions import read_costs
from tests.cli.conftest import QUICK, invoke

CLASSES = ["setosa", "versicolor", "virginica"]
COSTS = [
    f"--cost={true}:{predicted}={9 if true == 'virginica' else 1}"
    for true in CLASSES
    for predicted in CLASSES
    if predicted != true
]


@pytest.fixture(scope="module")
def with_sets(flowers):
    path = flowers.with_name("sets.tanager")
    result = invoke("fit", flowers, "--target", "species", "--out", path, *QUICK, "--calibration-size", 0.3)
    assert result.exit_code == 0, result.output
    assert "45 rows were not fitted to: tanager predict --coverage gives sets of classes by them" in result.stderr
    return path


@pytest.fixture
def frame(flowers):
    return csv.read_csv(flowers, convert_options=csv.ConvertOptions(strings_can_be_null=True))


def test_classes_of_least_expected_cost(call, model, flowers, frame, tmp_path):
    out, matrix = tmp_path / "p.csv", np.array([[0, 1, 1], [1, 0, 1], [9, 9, 0]])
    result = call("predict", model, flowers, "--out", out, *COSTS)
    assert result.exit_code == 0, result.output
    expected = load(model).decide(frame.drop_columns(["species"]), matrix)
    assert csv.read_csv(out).column("prediction").to_pylist() == expected.tolist()
    true = np.searchsorted(CLASSES, frame.column("species").to_pylist())
    cost = matrix[true, np.searchsorted(CLASSES, expected)].mean()
    assert f"on 150 rows with a class; cost {cost:.4g} a row\n" in result.stderr


def test_prediction_sets(call, with_sets, flowers, frame, tmp_path):
    out = tmp_path / "p.csv"
    result = call("predict", with_sets, flowers, "--out", out, "--coverage", 0.9, "--proba", "--chunk-rows", 40)
    assert result.exit_code == 0, result.output
    written, X = csv.read_csv(out), frame.drop_columns(["species"])
    clf = load(with_sets)
    sets = np.stack([written.column(f"set_{label}").to_numpy(zero_copy_only=False) for label in CLASSES], axis=1)
    np.testing.assert_array_equal(sets, clf.predict_set(X, 0.9))
    found = clf.evaluate_sets(X, frame.column("species").to_pylist(), 0.9)
    assert f"; {found['mean_size']:.2f} classes in a set; error" in result.stderr
    assert f"; {found['coverage']:.2%} of the sets have it" in result.stderr
    assert written.column_names == [
        "prediction",
        *(f"probability_{c}" for c in CLASSES),
        *(f"set_{c}" for c in CLASSES),
    ]


def test_rows_for_sets_are_not_fitted_to(with_sets, frame):
    clf = load(with_sets)
    assert len(clf.conformal_.scores[0]) == 45


def test_sets_require_rows_that_were_kept_apart(refused, model, flowers, tmp_path):
    message = refused("predict", model, flowers, "--coverage", 0.9)
    assert message.startswith("--coverage requires rows that the model was not trained on")
    assert "--calibration-size 0.2" in message


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("setosa:rose=1", "--cost: the model has no class 'rose'"),
        ("setosa:versicolor=1", "--cost: costs do not say what it costs to predict 'virginica' where 'setosa' is true"),
        ("setosa:versicolor=nan", "--cost: costs"),
    ],
)
def test_costs_that_cannot_be(refused, model, flowers, cost, message):
    assert refused("predict", model, flowers, "--cost", cost).startswith(message)


@pytest.mark.parametrize(
    ("option", "value"), [("--cost", "setosa=1"), ("--cost", "setosa:versicolor=much"), ("--coverage", 1)]
)
def test_options_of_another_form(call, model, flowers, option, value):
    result = call("predict", model, flowers, option, value)
    assert result.exit_code == 2
    assert option in result.stderr


@pytest.mark.parametrize("size", [0, 1, -0.5])
def test_sizes_that_cannot_be(call, flowers, tmp_path, size):
    options = ("--target", "species", "--out", tmp_path / "m", "--calibration-size", size)
    assert call("fit", flowers, *options).exit_code == 2


def test_classes_with_a_colon():
    costs = read_costs(["a:b:c=2", "c:a:b=3"], np.array(["a:b", "c"]))
    assert costs.tolist() == [[0, 2], [3, 0]]
