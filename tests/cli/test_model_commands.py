"""``tanager inspect``, ``report``, ``export`` and ``bench``."""

import re
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tanager import GradientDescent, ParentSets, TANClassifier, load
from tanager.exports import FORMATS
from tests.fine_bins import fine_classifier


def test_inspect(call, model):
    result = call("inspect", model)
    assert result.exit_code == 0, result.output
    shown = result.stdout
    assert "150 rows of flowers.csv" in shown
    assert re.search(r"target +species", shown)
    assert re.search(r"learned +│ +\d+\.\d\d%", shown)
    clf = load(model)
    prior = np.exp(clf.description_.log_prior)
    assert re.search(rf"setosa +│ +{prior[0] / prior.sum():.2%} │", shown)
    for i, name in enumerate(clf.encoder_.feature_labels):
        parent = clf.parents_[i]
        label = clf.encoder_.feature_labels[parent] if parent >= 0 else ""
        chance = clf.parent_probabilities_[i, parent]
        assert re.search(rf"{name} +│ +{clf.network_.cards[i]} │ {label} *│ +{chance:.3f} │", shown)


def test_inspect_a_feature(call, model):
    result = call("inspect", model, "--feature", "colour")
    assert result.exit_code == 0, result.output
    clf = load(model)
    i = clf.encoder_.feature_labels.index("colour")
    shown = [float(number) for number in re.findall(r"\d\.\d{4}", result.stdout)]
    np.testing.assert_allclose(shown, clf.description_.cpt(i).ravel(), atol=6e-5)
    assert "missing" in result.stdout


def test_inspect_a_feature_with_a_grouped_parent(call, tmp_path):
    clf, _ = fine_classifier()
    clf.save(tmp_path / "m.tanager")

    def shown(name):
        result = call("inspect", tmp_path / "m.tanager", "--feature", name)
        assert result.exit_code == 0, result.output
        return result.stdout, [float(number) for number in re.findall(r"\b\d\.\d{4}\b", result.stdout)]

    text, found = shown("pets")
    np.testing.assert_allclose(found, clf.description_.cpt(3, grouped=True).ravel(), atol=6e-5)
    assert "│ town 1, town 14," in text
    assert "summed up" not in text
    # The feature has too many values of its own: they are put together too.
    text, found = shown("weight")
    groups = clf.network_.layout.groups
    expected = [groups.totals(4, line) for line in clf.description_.cpt(4, grouped=True)]
    np.testing.assert_allclose(found, np.ravel(expected), atol=6e-5)
    assert f"The probabilities of the {clf.network_.cards[4]} values of weight are summed up within groups." in text
    assert "more lines" not in text
    # Without a parent there is room for each.
    text, found = shown("age")
    np.testing.assert_allclose(found, clf.description_.cpt(0).ravel(), atol=6e-5)
    assert re.search(r"│ 17 +│.*\n│ 18 +│", text)
    sizes = re.findall(r"│ +(\d+) │$", call("inspect", tmp_path / "m.tanager").stdout, re.MULTILINE)
    assert list(map(int, sizes)) == [clf.description_.cpt(i, grouped=True).size for i in range(5)]


def test_inspect_ensemble_cycle_and_wrong_names(call, refused, flowers, model, tmp_path):
    assert "no feature 'color'; did you mean 'colour'?" in refused("inspect", model, "--feature", "color")
    assert "--member must be from 0 to 0" in refused("inspect", model, "--member", 1)
    several = tmp_path / "e.tanager"
    quick = ("--structure=subset", "--epochs=1", "--no-test")
    call("fit", flowers, "--target", "species", "--out", several, "--ensemble", 2, *quick, "-q")
    assert "ensemble of 2 TAN classifiers" in call("inspect", several).stdout
    cyclic = tmp_path / "c.tanager"
    X, y = load_iris(return_X_y=True)
    space = ParentSets.from_lists([[1], [0], [-1], [-1]])
    TANClassifier(space, GradientDescent(epochs=1)).fit(X, y).save(cyclic)
    result = call("inspect", cyclic)
    assert result.exit_code == 0, result.output
    assert "not a Bayesian network" in result.stdout


def test_report(call, model, flowers, tmp_path):
    out = tmp_path / "r.html"
    result = call("report", model, flowers, "--out", out, "--title", "Flowers & more")
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert "<title>Flowers &amp; more" in text
    assert "petal length" in text
    assert call("report", model, "--out", out).exit_code == 0


def test_report_reads_the_rows_as_the_model_does(call, model, flowers, tmp_path, monkeypatch):
    import tanager.report

    seen = []
    monkeypatch.setattr(tanager.report, "write_report", lambda clf, path, X, y, title, **_: seen.append((X, y, title)))
    lines = flowers.read_text().splitlines()
    lines[1] = lines[1].replace("setosa", "rose")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    result = call("report", model, path, "--out", tmp_path / "r.html")
    assert "dropped rows without a class, or with one that the model does not know: 1" in result.stderr
    [(X, y, title)] = seen
    assert X.num_rows == len(y) == 149
    assert title == "species: flowers"
    assert load(model).score(X, y) > 0.9


def test_report_of_two_models_with_training_rows(call, refused, model, flowers, tmp_path):
    out = tmp_path / "r.html"
    call("report", model, flowers, "--train", flowers, "--against", model, "--out", out)
    text = out.read_text(encoding="utf-8")
    assert '<section id="comparison"' in text
    assert "These are training rows" in text
    assert "fitted to four fifths of these rows" in text  # and not to the rows that they are judged by
    result = call("report", model, "--against", model, "--out", out)
    assert (result.exit_code, "require DATA" in result.output) == (2, True)
    short = tmp_path / "short.csv"
    short.write_text("\n".join(line.split(",", 1)[1] for line in flowers.read_text().splitlines()) + "\n")
    other = tmp_path / "other.tanager"
    call("fit", short, "--target", "species", "--out", other)
    assert "differ in their columns" in refused("report", model, flowers, "--against", other, "--out", out)


def test_report_without_rows_or_classes(refused, model, flowers, tmp_path):
    lines = flowers.read_text().splitlines()
    path = tmp_path / "t.csv"
    path.write_text(lines[0] + "\n")
    assert "has no rows" in refused("report", model, path, "--out", tmp_path / "r.html")
    path.write_text("\n".join([lines[0], lines[1].replace("setosa", "rose")]) + "\n")
    assert "no row of" in refused("report", model, path, "--out", tmp_path / "r.html")


@pytest.mark.parametrize("name", ["dot", "graphml"])
def test_export(call, model, tmp_path, name):
    out = tmp_path / f"m{FORMATS[name].endings[0]}"
    assert call("export", model, "--out", out).exit_code == 0
    assert "petal length" in out.read_text()
    again = tmp_path / "m.txt"
    assert call("export", model, "--to", name, "--out", again).exit_code == 0
    assert again.read_text() == out.read_text()


def test_export_says_which_columns_were_read_otherwise(call, tmp_path):
    rows = [f"{k % 28 + 1}.{k % 12 + 1}.2026,EUR {k % 7},{k % 3},{'no' if k % 7 < 3 else 'yes'}" for k in range(60)]
    data, out = tmp_path / "t.csv", tmp_path / "t.tanager"
    data.write_text("\n".join(["day,fee,size,late", *rows]))
    assert call("fit", data, "--target", "late", "--out", out, "--no-test", "--quiet").exit_code == 0
    told = call("export", out, "--out", tmp_path / "t.sql").stderr
    assert (
        "sql takes columns as fitting read them, not as they were written in the file: day (date), fee (number)\n"
        in told
    )


def test_export_c_with_bits(call, model, tmp_path):
    out = tmp_path / "m.h"
    for bits in (4, 8):
        result = call("export", model, "--to", "c", "--bits", bits, "--out", out)
        assert result.exit_code == 0, result.output
        assert out.stat().st_size > 500


@pytest.mark.parametrize(
    ("module", "command", "extra"),
    [("plotly", ["report"], "report"), ("onnx", ["export", "--to", "onnx"], "exports")],
)
def test_missing_extras_are_named(refused, model, tmp_path, monkeypatch, module, command, extra):
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "tanager.exports.onnx_model", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    name, *options = command
    assert f"tanager[{extra}]" in refused(name, model, *options, "--out", tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


def test_export_that_is_refused(call, refused, model, flowers, tmp_path):
    out = tmp_path / "m.dot"
    result = call("export", model, "--to", "onxx", "--out", out)
    assert result.exit_code == 2
    assert "unknown format 'onxx'; did you mean 'onnx'?" in result.stderr
    result = call("export", model, "--to", "dot", "--bits", 8, "--out", out)
    assert result.exit_code == 2
    assert "--bits requires --to c, got dot" in result.stderr
    refused("export", model, "--out", tmp_path / "m.xyz")
    assert "is an input and cannot be the output too" in refused("export", model, "--out", model)
    assert "not a tanager model file" in refused("export", flowers, "--out", out)
    assert list(tmp_path.iterdir()) == []


def test_bench_on_a_file(call, flowers):
    result = call("bench", flowers, "--target", "species", "--repeat", 1)
    assert result.exit_code == 0, result.output
    assert "99 training rows, 51 test rows, 5 features" in result.stdout
    for name in (
        "tanager, defaults",
        "learned structure",
        "Chow-Liu",
        "naive Bayes",
        "CategoricalNB",
        "HistGradientBoosting",
    ):
        assert re.search(rf"{name}[^│]*│ +\d+\.\d\d% │", result.stdout)
    assert "make bench" in result.stdout


def test_bench_requires_file_and_target_together(call, flowers):
    assert call("bench", flowers).exit_code == 2
    assert call("bench", "--target", "species").exit_code == 2
