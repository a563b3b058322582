"""What the sections of a report say: measures and baselines, warnings, columns, the model card, two models."""

import html
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from tanager import GradientDescent, IndependentSearches, TANClassifier, TANEnsembleClassifier
from tanager.report import write_report
from tanager.report.baselines import evaluate_baselines
from tanager.report.quality import inspect_columns
from tanager.report.rows import ReportRows


@pytest.fixture(scope="module")
def parts():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :8], np.array(["malignant", "benign"])[y]
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def clf(parts):
    return TANClassifier("chow-liu", "ml").fit(*parts[:2])


def text_of(path):
    return html.unescape(path.read_text(encoding="utf-8").split('<script id="report-data"')[0])


def section(text, name):
    return re.search(f'<section id="{name}".*?</section>', text, re.DOTALL)[0]


def measured(text):
    """The numbers of each line of the first table."""
    lines = re.findall(r"<tr[^>]*><th scope=\"row\">(.*?)</th>(.*?)</tr>", section(text, "summary"))
    return {name: re.findall(r"<td>(.*?)</td>", cells) for name, cells in lines}


def test_baselines_stand_beside_the_model(clf, parts, tmp_path):
    text = text_of(write_report(clf, tmp_path / "r.html", *parts[2:]))
    lines = measured(text)
    assert list(lines) == ["This model", "Most frequent class", "Naive Bayes", "Chow-Liu tree"]
    error = np.mean(clf.predict(parts[2]) != parts[3])
    assert lines["This model"][0].startswith(f"{100 * error:.2f} %")
    assert float(lines["Most frequent class"][0].split()[0]) == pytest.approx(
        100 * np.mean(parts[3] == "malignant"), abs=0.01
    )
    assert "fitted to four fifths of these rows" in text
    assert "Careful" not in text


def test_baselines_of_the_training_rows(clf, parts, tmp_path):
    rows, training = ReportRows.read(clf, *parts[2:]), ReportRows.read(clf, *parts[:2])
    found = evaluate_baselines(clf, rows, training)
    for name, structure in (("naive Bayes", "none"), ("Chow-Liu tree", "chow-liu")):
        expected = TANClassifier(structure, "ml").fit(*parts[:2])
        assert found.evaluations[name].error == pytest.approx(np.mean(expected.predict(parts[2]) != parts[3]))
    text = text_of(write_report(clf, tmp_path / "r.html", *parts[2:], training=parts[:2]))
    assert "fitted to the 300 training rows" in text


def test_categories_have_the_same_numbers_in_all_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(list("abcdef"), 400), "size": rng.normal(size=400)})
    frame.loc[::7, "size"] = np.nan
    y = np.where(frame["town"].isin(["a", "d"]), "yes", "no")
    clf = TANClassifier("none", "ml").fit(frame[:200], y[:200])
    later = frame[200:].iloc[::-1]
    rows, training = ReportRows.read(clf, later, y[200:][::-1]), ReportRows.read(clf, frame[:200], y[:200])
    found = evaluate_baselines(clf, rows, training)
    assert found.evaluations["naive Bayes"].error == 0


def test_baselines_do_not_warn_of_rare_values(parts):
    X = pd.DataFrame({"street": [f"street {k}" for k in range(100)] * 3})
    y = parts[1][:300]
    clf = TANClassifier("none", "ml", max_categories=None).fit(X, y)
    assert evaluate_baselines(clf, ReportRows.read(clf, X, y), None) is not None


def test_too_few_rows_for_baselines(clf, parts):
    assert evaluate_baselines(clf, ReportRows.read(clf, parts[2][:10], parts[3][:10]), None) is None
    assert evaluate_baselines(clf, ReportRows.read(clf, parts[2]), None) is None


@pytest.mark.parametrize("kind", ["single", "ensemble"])
def test_training_rows_are_warned_of(parts, tmp_path, kind):
    single = TANClassifier("chow-liu", "ml")
    clf = single if kind == "single" else TANEnsembleClassifier(IndependentSearches("none", 2), "ml")
    clf.fit(*parts[:2])
    text = text_of(write_report(clf, tmp_path / "r.html", *parts[:2]))
    assert "Careful. These are training rows." in text.replace("</strong>", "")
    mixed = [np.concatenate([parts[0][:150], parts[2][:150]]), np.concatenate([parts[1][:150], parts[3][:150]])]
    mixed[0] = pd.DataFrame(mixed[0], columns=parts[0].columns)
    text = text_of(write_report(clf, tmp_path / "r.html", *mixed))
    assert re.search(r"About (4|5)\d % of these (rows )?are training rows", text)


def test_held_out_rows_of_the_fit(parts, tmp_path):
    clf = TANClassifier("chow-liu", "ml", calibrate=True, random_state=0).fit(*parts[:2])
    lines = measured(text_of(write_report(clf, tmp_path / "r.html")))
    error, log_loss = clf.choice_["errors"][0], clf.choice_["log_losses"][0]
    assert lines == {"This model, on rows held out in the fit": [f"{100 * error:.2f} %", f"{log_loss:.3f}", "–", "–"]}


def test_columns_worth_a_look(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {
            "plain": rng.normal(size=300) + y,
            "constant": np.ones(300),
            "number": rng.permutation(300),
            "paid": np.where(y == 1, "yes", "no"),
            "holes": np.where(rng.random(300) < 0.4, np.nan, rng.normal(size=300)),
            "town": rng.choice(["a", "b"], 300),
        }
    )
    clf = TANClassifier("none", "ml").fit(frame[:200], y[:200])
    later = frame[200:].copy()
    later.loc[later.index[:5], "town"] = "c"
    found = dict(zip(frame, inspect_columns(clf, ReportRows.read(clf, later, y[200:])), strict=True))
    assert found["plain"].findings == []
    assert found["constant"].findings == ["constant in training: it says nothing"]
    assert found["number"].findings == ["a different value in every row, as an identifier has"]
    assert found["paid"].findings == ["tells the class almost alone: is it known before the class is?"]
    assert found["paid"].told > 0.9 > 0.5 > found["plain"].told > 0.05
    assert found["holes"].findings == ["many missing cells"]
    assert found["holes"].missing == pytest.approx(later["holes"].isna().mean())
    assert (found["town"].findings, found["town"].unknown) == (["values that training did not show"], 0.05)
    text = section(text_of(write_report(clf, tmp_path / "r.html", later, y[200:])), "quality")
    assert "Of 6 columns, 5 are worth a look." in text


def test_model_card(clf, parts, tmp_path):
    metadata = {"target": "diagnosis <b>", "source": "cells.csv", "date": "2026-01-02", "version": "0.1"}
    path = write_report(clf, tmp_path / "r.html", *parts[2:], metadata=metadata)
    card = section(text_of(path), "card")
    assert "diagnosis <b>" in card
    assert "<b>" not in section(path.read_text(encoding="utf-8"), "card")
    for words in ("TANClassifier. Bayesian network classifier", "cells.csv, 300 rows", "2026-01-02, with tanager 0.1"):
        assert words in card
    assert re.search(r"benign \(5\d\.\d %\), malignant \(4\d\.\d %\)", card)
    assert re.search(r"written on 20\d\d-\d\d-\d\d by tanager", card)


def test_two_models_side_by_side(clf, parts, tmp_path):
    other = TANClassifier("none", "ml").fit(*parts[:2])
    path = write_report(clf, tmp_path / "r.html", *parts[2:], against=other, against_name="naive <i>")
    assert "naive <i>" not in path.read_text(encoding="utf-8").split('<script id="report-data"')[0]
    text = section(text_of(path), "comparison")
    wrong, other_wrong = (each.predict(parts[2]) != parts[3] for each in (clf, other))
    for words, rows in (("only the first right", ~wrong & other_wrong), ("both wrong", wrong & other_wrong)):
        assert f"{words}</th><td>{rows.sum()}</td>" in text
    n_edges = int((clf.parents_ >= 0).sum())
    assert f"in the first only</th><td>{n_edges}</td>" in text
    assert f"{100 * abs(other_wrong.mean() - wrong.mean()):.2f} percentage points" in text
    lines = measured(text_of(path))
    assert lines["naive <i>"][0].startswith(f"{100 * other_wrong.mean():.2f} %")


def test_a_second_model_requires_rows(clf, tmp_path):
    with pytest.raises(ValueError, match="without rows to compare on"):
        write_report(clf, tmp_path / "r.html", against=clf)
    with pytest.raises(TypeError, match="got str"):
        write_report(clf, tmp_path / "r.html", np.zeros((2, 8)), against="clf")


def test_large_models_have_no_what_if_panel(clf, parts, tmp_path, monkeypatch):
    monkeypatch.setattr("tanager.report.payload._MOST_PARAMETERS", 10)
    text = text_of(write_report(clf, tmp_path / "r.html", *parts[2:]))
    assert 'id="whatif"' not in text
    assert 'id="examples"' not in text
    assert "too large for the what-if panel" in text


def test_edges_say_what_they_add(parts, tmp_path):
    clf = TANClassifier("chow-liu", "penalised", random_state=0).fit(*parts[:2])
    text = section(text_of(write_report(clf, tmp_path / "r.html")), "network")
    assert np.isfinite(clf.edges_[0].gain)
    for edge in clf.edges_:
        gain = f"{round(edge.gain, 4) + 0.0:.4f} <small>± {edge.standard_error:.4f}</small>"
        assert f"{edge.parent} → {edge.child}</th><td>{gain}" in text
    assert "lower the log-loss of held-out rows is with it" in text


def test_edges_are_measured_on_the_rows_given_if_the_fit_held_out_none(parts, tmp_path):
    clf = TANClassifier("chow-liu", GradientDescent(epochs=3), random_state=0).fit(*parts[:2])
    assert np.isnan(clf.edges_[0].gain)
    text = section(text_of(write_report(clf, tmp_path / "r.html")), "network")
    assert "What the edges add to predictions was not measured." in text
    text = section(text_of(write_report(clf, tmp_path / "r.html", *parts[2:])), "network")
    edge = clf.edge_gains(*parts[2:])[0]
    assert f"{edge.parent} → {edge.child}</th><td>{round(edge.gain, 4) + 0.0:.4f} <small>" in text


def test_edges_of_an_ensemble(parts, tmp_path):
    clf = TANEnsembleClassifier(IndependentSearches("random", 3), "ml", random_state=0).fit(*parts[:2])
    text = section(text_of(write_report(clf, tmp_path / "r.html")), "members")
    for edge in clf.edges_:
        share = np.mean([edge.parent in [e.parent for e in m.edges_ if e.child == edge.child] for m in clf.estimators_])
        assert f"{edge.parent} → {edge.child}</th><td>{100 * share:.0f} %</td>" in text


def test_confusions_and_measures_of_many_classes(tmp_path):
    rng = np.random.default_rng(0)
    y = np.array([f"class {k}" for k in range(12)])[rng.integers(0, 12, 600)]
    X = pd.DataFrame({"x": [int(label[6:]) for label in y]}) + rng.integers(0, 2, (600, 1))
    clf = TANClassifier("none", "ml").fit(X[:300], y[:300])
    text = section(text_of(write_report(clf, tmp_path / "r.html", X[300:], y[300:])), "evaluation")
    predicted = clf.predict(X[300:])
    for (true, taken), count in Counter(zip(y[300:].tolist(), predicted.tolist(), strict=True)).items():
        assert (f"{true} taken for {taken}</th><td>{count}</td>" in text) == (true != taken)
    recall = np.mean(predicted[y[300:] == "class 3"] == "class 3")
    assert re.search(rf"class 3</th><td>\d+</td><td>[^<]+</td><td>{100 * recall:.1f} %</td>", text)
