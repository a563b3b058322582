"""``tanager fit`` on files that do not fit into the memory it may use."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import tanager
from tanager.cli.app import app
from tanager.cli.errors import InputError
from tanager.cli.large_files import is_large, read_memory
from tests.messy_table import make_tables


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    frame = pd.DataFrame({"size": rng.normal(y, 1.0).round(1), "colour": rng.choice(["blue", "red"], 4000)})
    frame["zip"] = rng.choice(["01234", "99999"], 4000)
    frame["step"] = rng.integers(0, 5, 4000) + y
    frame.loc[rng.random(4000) < 0.1, "size"] = np.nan
    return frame.assign(answer=np.where(y, "yes", "no"))


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


OPTIONS = ("--target", "answer", "--structure", "chow-liu", "--parameters", "ml", "--set", "parameters.smoothing=1")


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_model_is_that_of_a_file_in_memory(tmp_path, rows, kind):
    data = tmp_path / f"rows.{kind}"
    if kind == "csv":
        rows.to_csv(data, index=False)
    elif kind == "parquet":
        rows.to_parquet(data)
    else:
        data.mkdir()
        for k, part in enumerate(np.array_split(np.arange(4000), 3)):
            rows.iloc[part].to_parquet(data / f"{k}.parquet")
    found = run("fit", data, *OPTIONS, "--memory", "100K", "--out", tmp_path / "model")
    assert found.exit_code == 0, found.output
    assert "is read in pieces" in found.output
    clf = tanager.load(tmp_path / "model")
    X = rows.drop(columns="answer")
    once = tanager.TANClassifier("chow-liu", tanager.Counts(1.0)).fit(X, rows["answer"])
    np.testing.assert_allclose(clf.predict_proba(X), once.predict_proba(X), rtol=1e-6)
    assert clf.encoder_.value_labels(2) == ["01234", "99999"]


def test_predict_after_a_large_fit(tmp_path, rows):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    run("fit", tmp_path / "rows.csv", *OPTIONS, "--memory", "100K", "--out", tmp_path / "model")
    found = run("predict", tmp_path / "model", tmp_path / "rows.csv", "--out", tmp_path / "out.csv")
    assert found.exit_code == 0, found.output
    assert "on 4000 rows with a class" in found.output


def test_held_out_rows(tmp_path, rows):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ("fit", tmp_path / "rows.csv", *OPTIONS, "--memory", "100K", "--out", tmp_path / "model")
    found = run(*words, "--test-size", "0.25")
    assert found.exit_code == 0, found.output
    n_tested = int(found.output.split(" rows\n")[0].rsplit(" ", 1)[1].replace(",", ""))
    assert 850 < n_tested < 1150
    assert run(*words, "--cv", "3").exit_code == 2


def test_interrupted_command_goes_on(tmp_path, rows):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ("fit", tmp_path / "rows.csv", "--target", "answer", "--structure", "chow-liu", "--epochs", "3")
    large = (*words, "--memory", "100K", "--work", tmp_path / "work", "--out", tmp_path / "model")
    assert run(*large).exit_code == 0
    first = tanager.load(tmp_path / "model").network_.theta
    (tmp_path / "model").unlink()
    for path in (tmp_path / "work").glob("rows-*/*-search"):
        path.unlink()
    assert run(*large).exit_code == 0
    np.testing.assert_array_equal(tanager.load(tmp_path / "model").network_.theta, first)


def test_rows_without_a_class_are_dropped(tmp_path, rows):
    rows.loc[:9, "answer"] = None
    rows.to_csv(tmp_path / "rows.csv", index=False)
    found = run("fit", tmp_path / "rows.csv", *OPTIONS, "--memory", "100K", "--out", tmp_path / "model")
    assert "dropped rows without a value in 'answer': 10" in found.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": 1.5}, "cannot be classes"),
        ({"answer": None}, "no rows"),
    ],
)
def test_targets_that_hold_no_classes(tmp_path, rows, change, message):
    rows.assign(**change).to_parquet(tmp_path / "rows.parquet")
    found = run("fit", tmp_path / "rows.parquet", *OPTIONS, "--memory", "10K", "--out", tmp_path / "model")
    assert found.exit_code != 0
    assert message in found.output
    assert not (tmp_path / "model").exists()


def test_folder_without_files_and_with_different_ones(tmp_path, rows):
    folder = tmp_path / "rows"
    folder.mkdir()
    assert "no .parquet files" in run("fit", folder, *OPTIONS, "--out", tmp_path / "model").output
    rows.to_parquet(folder / "0.parquet")
    pa.parquet.write_table(pa.table({"answer": ["yes"]}), folder / "1.parquet")
    assert "1.parquet has no column 'size'" in run("fit", folder, *OPTIONS, "--out", tmp_path / "model").output


def test_amounts_of_memory(tmp_path):
    assert (read_memory("2G"), read_memory("500 MB"), read_memory("1000")) == (2 << 30, 500 << 20, 1000)
    assert read_memory(None) > 1 << 28
    for text in ("much", "0", "-1G"):
        with pytest.raises(InputError, match="must be a number of bytes"):
            read_memory(text)
    (tmp_path / "a.csv").write_text("x" * 1000)
    assert is_large(tmp_path / "a.csv", 3000)
    assert not is_large(tmp_path / "a.csv", 5000)
    assert is_large(tmp_path, 1 << 40)


LATE = ("--target", "late", "--structure", "chow-liu", "--parameters", "ml")


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    """Rows as people keep them, whose every piece of the file is different, and the classes."""
    _, frame, y = make_tables(6000)
    data = tmp_path_factory.mktemp("messy") / "messy.csv"
    frame.assign(late=y).to_csv(data, index=False)
    return data, frame, y


def test_messy_columns_are_read_as_in_memory(tmp_path, messy):
    data, _, y = messy
    models = [tmp_path / "at-once", tmp_path / "pieces"]
    at_once = run("fit", data, *LATE, "--no-test", "--out", models[0])
    large = run("fit", data, *LATE, "--memory", "300K", "--out", models[1])
    assert large.exit_code == 0, large.output
    notes = [{line for line in found.output.splitlines() if "read as" in line} for found in (at_once, large)]
    assert len(notes[1]) == len(notes[0]) == 6
    first, second = map(tanager.load, models)
    assert second.encoder_.feature_labels == first.encoder_.feature_labels
    errors = []
    for model in models:
        written = tmp_path / "p.csv"
        assert run("predict", model, data, "--out", written).exit_code == 0
        errors.append(np.mean(pd.read_csv(written)["prediction"] != y))
    assert abs(errors[1] - errors[0]) < 0.02


def test_a_column_is_taken_as_it_is_where_that_is_asked_for(tmp_path, messy):
    found = run("fit", messy[0], *LATE, "--memory", "300K", "--as-is", "member", "--out", tmp_path / "model")
    assert found.exit_code == 0, found.output
    assert "note: 1,000 rows, drawn at random, say how columns are written" in found.output
    encoder = tanager.load(tmp_path / "model").encoder_
    assert {"Y", "Yes", "yes"} <= set(encoder.value_labels(encoder.feature_labels.index("member")))


def test_a_cell_that_is_not_written_like_the_others_is_named(tmp_path, messy):
    data = tmp_path / "messy.csv"
    frame = messy[1].assign(late=messy[2])
    frame.loc[5990, "due"] = "30.02.2024"
    frame.loc[10, "weight"] = "unknown"  # a missing cell, wherever it is
    frame.to_csv(data, index=False)
    found = run("fit", data, *LATE, "--memory", "300K", "--out", tmp_path / "model")
    assert found.exit_code == 1
    assert "column 'due' holds dates, but '30.02.2024' is not one" in found.output
    assert "rows 5," in found.output
    assert "--as-is" in found.output
    assert not (tmp_path / "model").exists()
