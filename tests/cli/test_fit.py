"""``tanager fit``: what it prints, measures and saves, and input that it refuses."""

import re

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet
from sklearn.datasets import load_iris

from tanager import (
    GradientDescent,
    Hybrid,
    TANClassifier,
    TANEnsembleClassifier,
    load,
)
from tanager.cli.evaluation import folds, hold_out
from tanager.files import read_header
from tests.messy_table import make_tables

QUICK = ("--structure=subset", "--epochs=5")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "model.tanager"


@pytest.fixture
def csv_file(tmp_path):
    """Write a CSV file of columns."""

    def write(**columns):
        path = tmp_path / "data.csv"
        rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        path.write_text("\n".join(rows) + "\n")
        return path

    return write


def test_prints_columns_and_errors_and_saves_a_model(call, flowers, out):
    result = call("fit", flowers, "--target", "species", "--out", out)
    assert result.exit_code == 0, result.output
    shown = result.stderr
    assert "150 rows, 4 numeric columns, 1 categorical column, 3 classes in 'species'" in shown
    assert re.search(r"colour +│ category +│ +3 │ +\d+ │ \w+, \w+, \w+", shown)
    assert re.search(r"sepal length +│ number +│ +35 │ +│ 4.3 to 7.9", shown)
    assert "Error on 30 rows (held-out fraction 0.2)" in shown
    for name in ("most frequent class", "naive Bayes", "Chow-Liu tree", "learned"):
        assert re.search(rf"{name} +│ +\d+\.\d\d% │ +\d+\.\d\d% │", shown)
    assert f"saved as {out}" in shown
    told = read_header(out)["metadata"]
    assert (told["target"], told["source"], told["n_rows"]) == ("species", "flowers.csv", 150)
    assert [score["name"] for score in told["errors"]][-1] == "learned"
    # No structure was given, so it was chosen.
    choice = load(out).choice_
    assert choice["tried"]
    assert f"preset {choice['preset']!r};" in shown
    assert [column["kind"] for column in told["columns"]] == ["number"] * 4 + ["category", "target"]


def test_model_is_the_one_that_python_gives(call, out, tmp_path):
    X, y = load_iris(return_X_y=True)
    names = ["a", "b", "c", "d"]
    frame = pyarrow.table({**dict(zip(names, X.T, strict=True)), "y": y})
    parquet.write_table(frame, tmp_path / "iris.parquet")
    options = [
        "--no-test",
        "--epochs",
        7,
        "--seed",
        3,
        "--set",
        "parameters.loss.gamma=2.0",
        "--set",
        "binning=quantile",
    ]
    assert call("fit", tmp_path / "iris.parquet", "--target", "y", "--out", out, *options).exit_code == 0
    parameters = GradientDescent(loss=Hybrid(gamma=2.0), epochs=7)
    expected = TANClassifier(parameters=parameters, random_state=3, binning="quantile").fit(frame.select(names), y)
    np.testing.assert_array_equal(
        load(out).predict_proba(frame.select(names)), expected.predict_proba(frame.select(names))
    )


def test_measured_error_is_that_of_the_held_out_rows(call, flowers, out, tmp_path):
    """The same split, made by hand, gives the same error."""
    assert call("fit", flowers, "--target", "species", "--out", out, "--test-size", 0.4, *QUICK).exit_code == 0
    lines = flowers.read_text().splitlines()
    y = np.array([line.rsplit(",", 1)[1] for line in lines[1:]])
    [(train, test)] = hold_out(y, 0.4, seed=0)
    for name, rows in (("train", train), ("test", test)):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *(lines[row + 1] for row in rows)]) + "\n")
    part = tmp_path / "part.tanager"
    call("fit", tmp_path / "train.csv", "--target", "species", "--out", part, "--no-test", *QUICK)
    result = call("predict", part, tmp_path / "test.csv", "--out", tmp_path / "p.csv")
    error = read_header(out)["metadata"]["errors"][-1]["error"]
    assert f"error {error:.2%}" in result.stderr


def test_cross_validation_and_ensemble(call, flowers, out):
    result = call("fit", flowers, "--target", "species", "--out", out, "--cv", 3, "--ensemble", 2, *QUICK)
    assert result.exit_code == 0, result.output
    assert "Error on 150 rows (3-fold cross-validation)" in result.stderr
    loaded = load(out)
    assert isinstance(loaded, TANEnsembleClassifier)
    assert len(loaded.estimators_) == 2


def test_result_does_not_depend_on_threads(call, flowers, tmp_path):
    for jobs in (1, 2):
        path = tmp_path / f"{jobs}.tanager"
        call("fit", flowers, "--target", "species", "--out", path, "--no-test", *QUICK, "--jobs", jobs)
    one, two = load(tmp_path / "1.tanager"), load(tmp_path / "2.tanager")
    np.testing.assert_array_equal(one.network_.theta, two.network_.theta)


def test_categories_and_dropped_columns(call, csv_file, out):
    path = csv_file(code=[1, 2, 3, 4] * 10, zip=["01", "02"] * 20, size=range(40), y=["a", "b"] * 20)
    result = call("fit", path, "--target", "y", "--out", out, "--categorical", "code", "--drop", "size", *QUICK)
    assert result.exit_code == 0, result.output
    encoder = load(out).encoder_
    assert encoder.names == ("code", "zip")
    assert encoder.columns[0].categories.tolist() == ["1", "2", "3", "4"]
    assert encoder.columns[1].categories.tolist() == ["01", "02"]


def test_hints(call, csv_file, out):
    path = csv_file(
        age=[*range(58), "NA", "NA"],
        size=[*range(57), "tall", "small", "tall"],
        id=[f"u{n}" for n in range(60)],
        mark=["x", "?", "z"] * 20,
        none=[""] * 60,
        y=["a", "b", ""] * 20,
    )
    result = call("fit", path, "--target", "y", "--out", out, *QUICK, "--no-test")
    assert result.exit_code == 0, result.output
    assert "dropped rows without a value in 'y': 20" in result.stderr
    assert "column 'age' read as numbers: '10' is 10; 'na' is missing" in result.stderr
    assert (
        "column 'size' is text because 2 of 40 cells are not numbers; if they mean missing, add --missing 'small' "
        in (result.stderr)
    )
    assert "column 'id' left out: all 40 values are different, as those of an identifier" in result.stderr
    assert "'?' is a value of 'mark'; if it means missing, add --missing '?'" in result.stderr
    assert "column 'none' left out: it is empty" in result.stderr
    again = call("fit", path, "--target", "y", "--out", out, *QUICK, "--no-test", "--missing", "NA", "--as-is", "id")
    assert "1 numeric column, 3 categorical columns" in again.stderr


def test_a_table_as_people_keep_it(call, tmp_path, out):
    clean, messy, y = make_tables(900)
    paths = []
    for name, frame in (("clean", clean), ("messy", messy)):
        paths.append(tmp_path / f"{name}.csv")
        frame.assign(y=y).to_csv(paths[-1], index=False)
    errors = []
    for path in paths:
        model = path.with_suffix(".tanager")
        result = call("fit", path, "--target", "y", "--out", model, "--cv", 3)
        assert result.exit_code == 0, result.output
        errors.append(read_header(model)["metadata"]["errors"][-1]["error"])
    assert errors[1] <= 1.1 * errors[0]
    notes = [line for line in result.stderr.splitlines() if line.startswith("note: ")]
    assert len(notes) == messy.shape[1]
    assert "column 'fee' read as numbers: 'EUR " in result.stderr
    predicted = tmp_path / "predicted.csv"
    assert call("predict", model, paths[1], "--out", predicted).exit_code == 0
    assert np.mean(pd.read_csv(predicted).iloc[:, 0] == y) > 0.7
    messy.loc[3, "due"] = "31.02.2024"
    messy.to_csv(paths[1], index=False)
    refused = call("predict", model, paths[1], "--out", predicted)
    assert "column 'due' holds dates, but '31.02.2024' is not one" in refused.stderr


def test_whole_numbers_are_classes_and_others_become_text(call, csv_file, out):
    whole = csv_file(x=range(20), y=[0, 1] * 10)
    assert call("fit", whole, "--target", "y", "--out", out, *QUICK).exit_code == 0
    assert load(out).classes_.tolist() == [0, 1]
    others = csv_file(x=range(20), y=[0.5, 1] * 10)
    assert call("fit", others, "--target", "y", "--out", out, *QUICK).exit_code == 0
    assert load(out).classes_.tolist() == ["0.5", "1"]


def test_no_header(call, tmp_path, out):
    path = tmp_path / "t.csv"
    path.write_text("1,2,a\n3,4,b\n" * 20)
    refused = call("fit", path, "--target", "y", "--out", out)
    assert "has no column 'y'" in refused.stderr
    assert call("fit", path, "--target", "x2", "--out", out, "--no-header", *QUICK).exit_code == 0
    assert load(out).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": range(30), "y": ["a"] * 30}, "the target 'y' has one value, 'a', in all 30 rows"),
        ({"x": range(30), "y": [""] * 30}, "has no row with a value in the target 'y'"),
        ({"x": range(300), "y": range(300)}, "the target 'y' is a number with 300 distinct values"),
        ({"x": range(30), "y": [f"w{n}" for n in range(30)]}, "has 30 distinct values in 30 rows"),
        ({"x": [], "y": []}, "has a header but no rows"),
        ({"y": ["a", "b"]}, "has no column besides the target 'y'"),
        ({"Y": ["a", "b"], "x": [1, 2]}, "has no column 'y'; did you mean 'Y'?"),
        ({"a": [1, 2], "x": [1, 2]}, "has no column 'y'; there are 'a', 'x'"),
        ({"x": ["inf", 2] * 10, "y": ["a", "b"] * 10}, "column 'x' has infinite values"),
    ],
)
def test_data_that_is_refused(refused, csv_file, out, columns, message):
    assert message in refused("fit", csv_file(**columns), "--target", "y", "--out", out, "--quiet")
    assert not out.exists()
    assert list(out.parent.iterdir()) == [out.parent / "data.csv"]


def test_files_that_are_refused(refused, flowers, tmp_path, out):
    assert "No such file" in refused("fit", tmp_path / "none.csv", "--target", "y", "--out", out)
    semicolons = tmp_path / "s.csv"
    semicolons.write_text("a;y\n1;2\n")
    assert "try --delimiter ';'" in refused("fit", semicolons, "--target", "y", "--out", out)
    assert "has no column 'speces'; did you mean 'species'?" in refused(
        "fit", flowers, "--target", "speces", "--out", out
    )
    assert "no column 'colr'" in refused("fit", flowers, "--target", "species", "--drop", "colr", "--out", out)
    assert "cannot drop 'species': it is the target" in refused(
        "fit", flowers, "--target", "species", "--drop", "species", "--out", out
    )


def test_no_more_folds_than_rows(refused, flowers, out):
    assert "--cv 151 makes more folds than there are rows, 150" in refused(
        "fit", flowers, "--target", "species", "--cv", 151, "--out", out
    )


@pytest.mark.filterwarnings("always")
def test_rare_values_are_noted_once_and_only_for_the_model_that_is_saved(call, csv_file, out):
    rng = np.random.default_rng(0)
    street = [f"street {k}" for k in rng.zipf(1.3, 1500) % 400]
    data = csv_file(street=street, floor=rng.integers(0, 5, 1500), y=rng.choice(["high", "low"], 1500))
    counted = call("fit", data, "--target", "y", "--out", out, "--structure=none", "--parameters=ml")
    assert counted.exit_code == 0, counted.output
    assert re.findall(".*rarest.*", counted.stderr) == [
        line for line in counted.stderr.splitlines() if line.startswith("note: column 'street' has so many values")
    ]
    assert counted.stderr.count("rarest") == 1
    assert "rarest" not in call("fit", data, "--target", "y", "--out", out).stderr  # keeps all values


def test_outputs_that_are_refused(refused, flowers, tmp_path):
    before = flowers.read_bytes()
    assert "is an input and cannot be the output too" in refused(
        "fit", flowers, "--target", "species", "--out", flowers
    )
    assert flowers.read_bytes() == before
    assert "is a folder" in refused("fit", flowers, "--target", "species", "--out", tmp_path)
    nowhere = tmp_path / "no" / "m.tanager"
    assert "does not exist" in refused("fit", flowers, "--target", "species", "--out", nowhere)
    assert "cannot write" in refused("fit", flowers, "--target", "species", "--out", "/proc/m.tanager")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--test-size", 1.5], "--test-size must be between 0 and 1, got 1.5"),
        (["--test-size", 0.2, "--cv", 3], "give only one of --test-size, --cv and --no-test"),
        (["--cv", 1], "--cv"),
        (["--jobs", 0], "must be at least 1, or -1 for all threads"),
    ],
)
def test_wrong_options(call, flowers, out, options, message):
    result = call("fit", flowers, "--target", "species", "--out", out, *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not out.exists()


@pytest.mark.parametrize("counts", [[5, 5], [1, 30, 7], [40, 1]])
def test_splits(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    [(train, test)] = hold_out(y, 0.3, seed=1)
    assert sorted([*train, *test]) == list(range(len(y)))
    assert set(y[train]) == set(y)
    parts = folds(y, 4, seed=1)
    assert sorted(row for _, tested in parts for row in tested) == list(range(len(y)))
    for trained, tested in parts:
        assert not set(trained) & set(tested)
        for number, count in enumerate(counts):
            assert abs((y[tested] == number).sum() - count / 4) <= 1


def test_help_names_the_words_and_the_defaults(call):
    shown = " ".join(call("fit", "--help").stdout.replace("│", " ").split())
    assert "Which features may depend on which: auto, learned, none, random, chow-liu," in shown
    assert "How to learn the probabilities: auto, ml, gradient, penalised." in shown
    assert shown.count("[default: auto]") == 2
