"""``tanager predict``: the same as from Python for any format, order of columns and size of pieces."""

import gzip

import numpy as np
import pyarrow
import pytest
from pyarrow import csv, parquet

from tanager import TANClassifier, load
from tanager.cli import data_files


@pytest.fixture
def out(tmp_path):
    return tmp_path / "p.csv"


@pytest.fixture
def frame(flowers):
    """The flowers, as Arrow reads them."""
    options = csv.ConvertOptions(strings_can_be_null=True)
    return csv.read_csv(flowers, convert_options=options)


def features(frame):
    return frame.drop_columns(["species"])


def test_predictions_are_those_of_python(call, model, flowers, frame, out):
    result = call("predict", model, flowers, "--out", out, "--proba", "--keep", "colour")
    assert result.exit_code == 0, result.output
    written = csv.read_csv(out, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    classes = ["setosa", "versicolor", "virginica"]
    assert written.column_names == ["colour", "prediction", *(f"probability_{label}" for label in classes)]
    clf = load(model)
    expected = clf.predict(features(frame))
    assert written.column("prediction").to_pylist() == expected.tolist()
    chances = np.stack([written.column(f"probability_{label}").to_numpy() for label in classes], axis=1)
    np.testing.assert_array_equal(chances, clf.predict_proba(features(frame)))
    assert written.column("colour").equals(frame.column("colour"))
    error = np.mean(expected != frame.column("species").to_numpy())
    assert f"error {error:.2%}" in result.stderr
    assert "on 150 rows with a class" in result.stderr
    assert "rows per second" in result.stderr


def test_training_rows_are_noted(call, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{number:.6f},{'ab'[int(number > 0)]}" for number in rng.normal(size=400)]
    seen, new, model = (tmp_path / name for name in ("seen.csv", "new.csv", "m.tanager"))
    seen.write_text("\n".join(["x,y", *rows[:200]]))
    new.write_text("\n".join(["x,y", *rows[200:]]))
    assert call("fit", seen, "--target", "y", "--no-test", "--quiet", "--out", model).exit_code == 0
    noted = "note: about 100% of these rows are training rows; expect more errors on new ones\n"
    assert call("predict", model, seen).stderr.endswith(noted)
    assert "training rows" not in call("predict", model, new).stderr
    assert "training rows" not in call("predict", model, seen, "--quiet").stderr


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "tsv.gz", "parquet"])
def test_formats(call, model, flowers, frame, tmp_path, ending):
    out = tmp_path / f"p.{ending}"
    assert call("predict", model, flowers, "--out", out).exit_code == 0
    if ending == "parquet":
        written = parquet.read_table(out)
    else:
        delimiter = "\t" if "tsv" in ending else ","
        written = csv.read_csv(out, parse_options=csv.ParseOptions(delimiter=delimiter))
    assert written.column("prediction").to_pylist() == load(model).predict(features(frame)).tolist()
    assert out.stat().st_mode & 0o044 == 0o044


def test_stdout(call, model, flowers):
    result = call("predict", model, flowers)
    assert result.stdout.splitlines()[:2] == ["prediction", "setosa"]
    assert len(result.stdout.splitlines()) == 151


def test_order_of_columns_extra_ones_and_pieces_do_not_matter(call, model, frame, flowers, tmp_path, monkeypatch):
    call("predict", model, flowers, "--out", tmp_path / "a.csv", "--proba")
    monkeypatch.setattr(data_files, "_BLOCK_BYTES", 1000)
    moved = frame.select(list(reversed(frame.column_names))).append_column("more", pyarrow.array(range(150)))
    csv.write_csv(moved, tmp_path / "moved.csv")
    result = call("predict", model, tmp_path / "moved.csv", "--out", tmp_path / "b.csv", "--proba", "--chunk-rows", 7)
    assert "ignoring columns that the model does not use: 'more'" in result.stderr
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    parquet.write_table(moved, tmp_path / "moved.parquet")
    call("predict", model, tmp_path / "moved.parquet", "--out", tmp_path / "c.csv", "--proba", "--chunk-rows", 9)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "c.csv").read_bytes()


def test_target_may_be_absent_unknown_or_missing(call, model, flowers, out, tmp_path):
    lines = flowers.read_text().splitlines()
    lines[1] = lines[1].replace("setosa", "rose")
    lines[2] = lines[2].replace("setosa", "")
    changed = tmp_path / "changed.csv"
    changed.write_text("\n".join(lines) + "\n")
    assert "on 149 rows with a class" in call("predict", model, changed, "--out", out).stderr
    changed.write_text("\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
    result = call("predict", model, changed, "--out", out)
    assert result.exit_code == 0
    assert "error" not in result.stderr


def test_kept_cells_are_written_as_they_were(call, model, flowers, out, tmp_path):
    lines = flowers.read_text().splitlines()
    notes = ['"a, ""b"""', "0012", '"two\nlines"', ""]
    rows = [f"{line},{notes[number % 4]}" for number, line in enumerate(lines[1:])]
    path = tmp_path / "notes.csv"
    path.write_text("\n".join([f"{lines[0]},note", *rows]) + "\n")
    assert call("predict", model, path, "--out", out, "--keep", "note").exit_code == 0
    written = csv.read_csv(
        out,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types={"note": pyarrow.string()}),
    )
    assert written.column("note").to_pylist()[:4] == ['a, "b"', "0012", "two\nlines", ""]


def test_words_for_missing_come_from_the_model(call, flowers, out, tmp_path):
    path, model = tmp_path / "q.csv", tmp_path / "m.tanager"
    text = "\n".join(line.replace(",,", ",?,") for line in flowers.read_text().splitlines())
    path.write_text(text + "\n")
    call("fit", path, "--target", "species", "--missing", "?", "--no-test", "--structure=subset", "--out", model)
    call("predict", model, path, "--proba", "--out", out)
    call("predict", model, flowers, "--proba", "--out", tmp_path / "empty.csv")
    assert out.read_bytes() == (tmp_path / "empty.csv").read_bytes()


def test_categories_that_were_numbers_in_python(call, out, tmp_path):
    codes = np.tile([1, 2, 3, 30], 25)
    X = pyarrow.table({"code": codes, "flag": codes > 2})
    y = np.where(codes > 2, "high", "low")
    clf = TANClassifier("none", "ml", categorical_features=["code", "flag"]).fit(X, y)
    clf.save(tmp_path / "m.tanager", metadata={"target": "y"})
    path = tmp_path / "t.csv"
    path.write_text("flag,code,y\nTrue,30,high\nfalse,1,low\nwhat,word,low\n")
    result = call("predict", tmp_path / "m.tanager", path, "--proba", "--out", out)
    assert result.exit_code == 0, result.output
    written = csv.read_csv(out)
    assert written.column("prediction").to_pylist()[:2] == ["high", "low"]
    # Nothing is known of the last row, which leaves the prior.
    assert written.column("probability_high").to_pylist()[2] == pytest.approx(0.5)


def test_model_without_names_takes_columns_by_position(call, out, tmp_path):
    X = np.array([[0, 1], [1, 0]] * 20)
    TANClassifier("none", "ml").fit(X, [0, 1] * 20).save(tmp_path / "m.tanager")
    path = tmp_path / "t.csv"
    path.write_text("left,right\n0,1\n1,0\n")
    assert call("predict", tmp_path / "m.tanager", path, "--out", out).exit_code == 0
    assert out.read_text().split() == ["prediction", "0", "1"]


def test_file_without_rows(call, model, flowers, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(flowers.read_text().splitlines()[0] + "\n")
    for ending in ("csv", "parquet"):
        out = tmp_path / f"p.{ending}"
        assert call("predict", model, path, "--out", out, "--proba", "--keep", "colour").exit_code == 0
        names = parquet.read_table(out).column_names if ending == "parquet" else out.read_text().strip().split(",")
        assert names[:2] == ["colour", "prediction"]
        assert len(names) == 5


def test_device(call, model, flowers):
    assert call("predict", model, flowers, "--out", "/dev/null").exit_code == 0


def test_what_is_refused(refused, model, flowers, out, tmp_path):
    lines = flowers.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join(line.replace("petal length", "petal lenght") for line in lines) + "\n")
    message = refused("predict", model, other, "--out", out)
    assert "lacks the column 'petal length', which" in message
    assert "did you mean 'petal lenght'" in message
    words = tmp_path / "words.csv"
    words.write_text("\n".join([*lines[:3], lines[3].replace("4.7", "long")]) + "\n")
    assert "column 'sepal length' is numeric in the model, but row 3 has 'long'" in refused(
        "predict", model, words, "--out", out
    )
    assert "must end in .csv" in refused("predict", model, flowers, "--out", tmp_path / "p.doc")
    assert "is an input and cannot be the output too" in refused("predict", model, flowers, "--out", flowers)
    assert "does not exist" in refused("predict", model, flowers, "--out", tmp_path / "no" / "p.csv")
    assert "no column 'name'" in refused("predict", model, flowers, "--keep", "name", "--out", out)
    assert "not a tanager model file" in refused("predict", flowers, flowers, "--out", out)
    damaged = tmp_path / "damaged.tanager"
    damaged.write_bytes(model.read_bytes()[:-100])
    assert "damaged.tanager" in refused("predict", damaged, flowers, "--out", out)
    assert "No such file" in refused("predict", tmp_path / "none.tanager", flowers, "--out", out)
    assert not out.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"other.csv", "words.csv", "damaged.tanager"}


def test_file_that_ends_in_the_middle_leaves_nothing_behind(refused, model, flowers, out, tmp_path):
    rows = flowers.read_bytes().split(b"\n", 1)
    cut = tmp_path / "cut.csv.gz"
    whole = gzip.compress(rows[0] + b"\n" + rows[1] * 3000, compresslevel=1)
    cut.write_bytes(whole[: len(whole) // 2])
    assert f"cannot read {cut}" in refused("predict", model, cut, "--out", out)
    assert list(tmp_path.iterdir()) == [cut]


def test_name_that_would_occur_twice(refused, model, flowers, tmp_path):
    lines = flowers.read_text().splitlines()
    path = tmp_path / "t.csv"
    path.write_text("\n".join([lines[0] + ",prediction", *(line + ",x" for line in lines[1:])]) + "\n")
    assert "two columns named 'prediction'" in refused("predict", model, path, "--keep", "prediction")
