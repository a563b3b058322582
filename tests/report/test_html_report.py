"""The report as text, and the numbers in it; what it looks like is tested in a browser."""

import base64
import html
import json
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import confusion_matrix, log_loss, precision_recall_fscore_support, roc_auc_score

from tanager import (
    ChowLiu,
    GradientDescent,
    IndependentSearches,
    Nearest,
    NoParents,
    ParentSets,
    SampledStructures,
    TANClassifier,
    TANEnsembleClassifier,
    load,
)
from tanager.learning import VALUES
from tanager.report import write_report
from tanager.report.evaluation import calibrate, evaluate, number_classes, trace_threshold
from tanager.report.payload import shorten
from tanager.report.summary import _STRUCTURES
from tests.fine_bins import fine_classifier


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    parameters = GradientDescent(epochs=5, structure_learning_rate=0.1)
    return TANClassifier("all", parameters, random_state=0).fit(*iris)


@pytest.fixture(scope="module")
def fine():
    return fine_classifier()


def data_of(path):
    """What the scripts of a report are given."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script id="report-data" type="application/json">(.*?)</script>', text, re.DOTALL)[1])


def unpack(packed, n_bytes=2):
    return np.frombuffer(base64.b64decode(packed), f"<u{n_bytes}") / (256**n_bytes - 1)


class TestPage:
    def test_is_whole_and_asks_nothing_of_the_network(self, fitted, iris, tmp_path):
        path = write_report(fitted, tmp_path / "r.html", *iris, title="Iris")
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<!DOCTYPE html>")
        assert "<title>Iris</title>" in text
        assert text.count("plotly.js v") == 1
        assert "{{" not in text[: text.index("report-data")]
        own = text[: text.index("report-data")] + text[text.rindex("use strict") :]
        assert not re.search(r"""(src|href)=["']?(https?:)?//""", own)
        assert [file.name for file in tmp_path.iterdir()] == ["r.html"]

    def test_is_the_same_each_time(self, fitted, iris, tmp_path):
        first, second = (write_report(fitted, tmp_path / name, *iris) for name in ("a.html", "b.html"))
        assert first.read_bytes() == second.read_bytes()

    def test_holds_the_cpts(self, fitted, tmp_path):
        network = data_of(write_report(fitted, tmp_path / "r.html"))["network"]
        flat = unpack(network["tables"])
        for feature, start in enumerate(network["table_start"]):
            cpt = fitted.description_.cpt(feature)
            np.testing.assert_allclose(flat[start : start + cpt.size], cpt.ravel(), atol=1e-5)
        assert network["parents"] == fitted.parents_.tolist()

    def test_holds_a_line_for_each_group_of_a_parents_values(self, fine, tmp_path):
        clf, _ = fine
        path = write_report(clf, tmp_path / "r.html")
        data, flat = data_of(path), unpack(data_of(path)["network"]["tables"])
        for feature, start in enumerate(data["network"]["table_start"]):
            cpt = clf.description_.cpt(feature, grouped=True)
            np.testing.assert_allclose(flat[start : start + cpt.size], cpt.ravel(), atol=1e-5)
        assert len(flat) == clf.network_.layout.size < clf.network_.expanded.layout.size / 3
        groups = data["network"]["groups"]
        # Of those that are no parents, and of one whose values are few, there is nothing to tell.
        assert [labels is None for labels in groups] == [False, False, False, True, True]
        assert groups[0] == clf.encoder_.value_labels(0, clf.network_.groups_of(0))
        assert len(data["values"][0]) == clf.network_.cards[0]
        text = html.unescape(path.read_text(encoding="utf-8"))
        assert "classifier: a given structure; penalised likelihood." in text
        assert "its values are put into groups" in text

    def test_holds_no_groups_without_any(self, fitted, tmp_path):
        path = write_report(fitted, tmp_path / "r.html")
        assert data_of(path)["network"]["groups"] == [None] * 4
        assert "its values are put into groups" not in path.read_text(encoding="utf-8")

    def test_holds_the_path(self, fitted, tmp_path):
        path = data_of(write_report(fitted, tmp_path / "r.html"))["path"]
        assert path["epochs"] == [0, 1, 2, 3, 4, 5]
        expected = fitted.parent_path_["probability"].ravel()
        np.testing.assert_allclose(unpack(path["probability"]), expected, atol=1e-5)

    def test_large_cpts_are_left_out(self, iris, tmp_path, monkeypatch):
        monkeypatch.setattr("tanager.report.payload._MOST_CELLS", 40)
        clf = TANClassifier([-1, 0, 0, 2], parameters="ml").fit(*iris)
        network = data_of(write_report(clf, tmp_path / "r.html"))["network"]
        sizes = np.array([clf.description_.cpt(i).size for i in range(4)])
        is_kept = np.array(network["table_start"]) >= 0
        assert 0 < is_kept.sum() < 4
        assert sizes[is_kept].max() <= sizes[~is_kept].min()
        flat = unpack(network["tables"])
        for feature in np.flatnonzero(is_kept):
            start = network["table_start"][feature]
            np.testing.assert_allclose(
                flat[start : start + sizes[feature]], clf.description_.cpt(feature).ravel(), atol=1e-5
            )

    def test_text_of_the_user_is_escaped(self, tmp_path):
        import pandas as pd

        evil = "</script><script>alert('x')</script>"
        X = pd.DataFrame({evil: ["<b>", "&amp;", "<b>", "{{data}}"], "\u2028": [1.0, 2.0, 3.0, 4.0]})
        y = np.array(["<img src=x>", "b", "<img src=x>", "b"])
        path = write_report(TANClassifier("none", parameters="ml").fit(X, y), tmp_path / "r.html", X, y, title=evil)
        text = path.read_text(encoding="utf-8")
        assert evil not in text
        assert "<img" not in text[: text.index("report-data")]
        assert f"<h1>{html.escape(evil)}</h1>" in text
        data = data_of(path)
        assert data["features"][0] == evil
        assert data["classes"] == ["<img src=x>", "b"]
        assert sorted(data["values"][0]) == ["&amp;", "<b>", "{{data}}"]

    def test_sections_are_those_there_is_something_for(self, fitted, iris, tmp_path):
        ml = TANClassifier("none", parameters="ml").fit(*iris)
        fixed = TANClassifier("chow-liu", GradientDescent(epochs=3)).fit(*iris)
        cases = [
            (fitted, iris, ["network", "features", "examples", "evaluation", "quality", "path", "history"]),
            (fitted, (), ["network", "features", "path", "history"]),
            (ml, (), ["network", "features"]),
            (fixed, iris[:1], ["network", "features", "examples", "quality", "history"]),
        ]
        for clf, rows, expected in cases:
            text = write_report(clf, tmp_path / "r.html", *rows).read_text(encoding="utf-8")
            found = re.findall(r'<section id="(\w+)"', text)
            assert found == ["summary", "whatif", *expected, "card"]
            assert re.findall(r'<a href="#(\w+)">', text.split("<nav")[1].split("</nav>")[0]) == found

    def test_network_with_a_cycle(self, iris, tmp_path):
        clf = TANClassifier(ParentSets.from_lists([[1], [0], [-1], [2]]), GradientDescent(epochs=2)).fit(*iris)
        assert not clf.network_.is_bayesian_network
        text = write_report(clf, tmp_path / "r.html").read_text(encoding="utf-8")
        assert "form a cycle" in text
        assert data_of(tmp_path / "r.html")["frequencies"] is None

    def test_ensemble(self, iris, tmp_path):
        members = IndependentSearches("subset", n_members=4)
        clf = TANEnsembleClassifier(members, GradientDescent(epochs=3), random_state=0).fit(*iris)
        data = data_of(write_report(clf, tmp_path / "r.html", *iris))
        share = unpack(data["path"]["probability"])
        totals = np.bincount(data["path"]["child"], share)
        np.testing.assert_allclose(totals, 1.0, atol=1e-4)
        for child, parent, found in zip(data["path"]["child"], data["path"]["parent"], share, strict=True):
            expected = np.mean([other.parents_[child] == parent for other in clf.estimators_])
            assert found == pytest.approx(expected, abs=1e-4)
        np.testing.assert_allclose(data["importance"], clf.feature_importances_, atol=1e-5)
        clf.set_params(combine="probability")
        assert data_of(write_report(clf, tmp_path / "p.html", *iris))["classifier"]["combine"] == "probability"

    def test_two_parents(self, iris, tmp_path):
        sets = ParentSets.from_lists([[-1], [0], [-1, (0, 1)], [(0, 2), 1]])
        parameters = GradientDescent(epochs=10, structure_learning_rate=0.3)
        clf = TANClassifier(sets, parameters, random_state=0).fit(*iris)
        data = data_of(write_report(clf, tmp_path / "r.html", *iris))
        network, path = data["network"], data["path"]
        assert [network["parents"], network["second"]] == clf.network_.extra_parents.T.tolist()
        found = list(zip(path["parent"], path["second"], strict=True))
        assert found == [(-1, -1), (0, -1), (-1, -1), (0, 1), (0, 2), (1, -1)]
        assert len(data["importance"]) == 4

    def test_one_class(self, iris, tmp_path):
        X = iris[0]
        clf = TANClassifier("none", parameters="ml").fit(X, np.zeros(len(X)))
        assert data_of(write_report(clf, tmp_path / "r.html", X, np.zeros(len(X))))["classes"] == ["0.0"]

    def test_many_features_take_little_room(self, tmp_path):
        X = np.random.default_rng(0).integers(0, 8, size=(300, 256))
        parameters = GradientDescent(epochs=40, batch_size=300)
        clf = TANClassifier(Nearest((16, 16)), parameters, binning="none", random_state=0)
        path = write_report(clf.fit(X, np.arange(300) % 10), tmp_path / "r.html", X)
        assert len(data_of(path)["features"]) == 256
        assert data_of(path)["image"] == [16, 16]
        assert path.stat().st_size < 5_000_000 + 2_000_000

    def test_image_is_drawn_over_the_mean_of_the_rows(self, tmp_path):
        X, y = load_digits(return_X_y=True)
        clf = TANClassifier("none", parameters="ml", binning="none").fit(X, y)
        data = data_of(write_report(clf, tmp_path / "r.html", X, image_shape=(8, 8)))
        assert data["image"] == [8, 8]
        assert data["mean_image"][0] == 0
        assert 0.2 < max(data["mean_image"]) <= 1
        plain = data_of(write_report(clf, tmp_path / "r.html", X))
        assert plain["image"] is None
        assert "mean_image" not in plain

    @pytest.mark.parametrize("members", [IndependentSearches, SampledStructures])
    def test_image_shape_is_that_of_the_structure(self, members, tmp_path):
        X, y = np.random.default_rng(0).integers(0, 2, (40, 6)), np.arange(40) % 2
        parameters, shape = GradientDescent(epochs=2), (2, 3)
        single = TANClassifier(Nearest(shape, ordering="A"), parameters).fit(X, y)
        ensemble = TANEnsembleClassifier(members(Nearest(shape, ordering="A"), n_members=2), parameters).fit(X, y)
        for clf in (single, ensemble):
            assert data_of(write_report(clf, tmp_path / "r.html"))["image"] == [2, 3]
            assert data_of(write_report(clf, tmp_path / "r.html", image_shape=(3, 2)))["image"] == [3, 2]
            clf.save(tmp_path / "saved.tanager")
            assert data_of(write_report(load(tmp_path / "saved.tanager"), tmp_path / "r.html"))["image"] == [2, 3]


def text_of(clf, folder):
    return html.unescape(write_report(clf, folder / "r.html").read_text(encoding="utf-8"))


class TestOptions:
    def test_options_are_listed_as_given_and_as_used(self, iris, tmp_path):
        text = text_of(TANClassifier("subset", GradientDescent(epochs=3), random_state=0).fit(*iris), tmp_path)
        rows = dict(re.findall("<tr><th scope='row'>(.*?)</th><td>(.*?)</td></tr>", text))
        assert rows["structure"] == "'subset'"
        assert rows["structure as used"] == "Subset()"
        assert rows["parameters"] == "GradientDescent(epochs=3)"
        assert rows["parameters__epochs"] == "3"
        assert rows["parameters as used"] == "GradientDescent(epochs=3, batch_size=16)"
        given = text_of(TANClassifier(NoParents(), "ml").fit(*iris), tmp_path)
        assert "structure as used" not in given

    def test_options_of_an_ensemble(self, iris, tmp_path):
        clf = TANEnsembleClassifier(IndependentSearches("none", n_members=2), "ml").fit(*iris)
        text = text_of(clf, tmp_path)
        rows = dict(re.findall("<tr><th scope='row'>(.*?)</th><td>(.*?)</td></tr>", text))
        assert rows["members__n_members"] == "2"
        assert rows["parameters as used"] == "Counts()"
        assert "Average of the log-probabilities of 2 TAN classifiers." in text

    @pytest.mark.parametrize(
        ("structure", "words"),
        [
            ("none", "naive Bayes"),
            (ChowLiu(), "the Chow-Liu tree"),
            (ChowLiu("margin"), "the tree of largest margin score"),
            ([-1, 0, 0, 1], "a given structure"),
            (ParentSets.from_lists([[-1]] * 4), "a given search space"),
        ],
    )
    def test_structures_in_words(self, iris, tmp_path, structure, words):
        clf = TANClassifier(structure, "ml").fit(*iris)
        expected = f"Bayesian network classifier: {words}; maximum likelihood. "
        assert expected in text_of(clf, tmp_path)
        clf.save(tmp_path / "saved.tanager")
        assert expected in text_of(load(tmp_path / "saved.tanager"), tmp_path)

    def test_members_of_a_loaded_ensemble_have_reports_too(self, iris, tmp_path):
        TANEnsembleClassifier(IndependentSearches("none", n_members=2), "ml").fit(*iris).save(tmp_path / "e.tanager")
        assert "classifier: naive Bayes; maximum" in text_of(load(tmp_path / "e.tanager").estimators_[0], tmp_path)

    def test_structure_of_the_users_own(self, iris, tmp_path):
        class Mine(NoParents):
            pass

        assert "classifier: a custom structure;" in text_of(TANClassifier(Mine(), "ml").fit(*iris), tmp_path)

    def test_choice_is_told(self, iris, tmp_path):
        for clf in (TANClassifier("auto", "ml", random_state=0), TANClassifier("none", "ml", calibrate=True)):
            assert clf.fit(*iris).choice_["why"] in text_of(clf, tmp_path)


class TestRefusals:
    def test_unfitted(self, tmp_path):
        with pytest.raises(ValueError, match="not fitted"):
            write_report(TANClassifier(), tmp_path / "r.html")

    def test_something_else(self, tmp_path):
        with pytest.raises(TypeError, match="TANClassifier or a TANEnsembleClassifier, got dict"):
            write_report({}, tmp_path / "r.html")

    @pytest.mark.parametrize("shape", [(2, 3), (4,), "4", (-2, -2)])
    def test_shape_of_another_image(self, fitted, tmp_path, shape):
        with pytest.raises(ValueError, match="image_shape"):
            write_report(fitted, tmp_path / "r.html", image_shape=shape)

    def test_classes_without_rows(self, fitted, iris, tmp_path):
        with pytest.raises(ValueError, match="y was given without X"):
            write_report(fitted, tmp_path / "r.html", y=iris[1])

    def test_other_classes(self, fitted, iris, tmp_path):
        with pytest.raises(ValueError, match="none of the classes of the model"):
            write_report(fitted, tmp_path / "r.html", iris[0], ["a"] * 150)

    def test_too_few_classes(self, fitted, iris, tmp_path):
        with pytest.raises(ValueError, match="y has 3 entries, but X has 150 rows"):
            write_report(fitted, tmp_path / "r.html", iris[0], [0, 1, 2])

    def test_no_folder(self, fitted, tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            write_report(fitted, tmp_path / "none" / "r.html")

    def test_without_plotly(self, fitted, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "plotly.offline", None)
        with pytest.raises(ImportError, match=r"tanager\[report\]"):
            write_report(fitted, tmp_path / "r.html")
        assert not any(tmp_path.iterdir())


class TestEvaluation:
    @given(st.integers(0, 1000), st.integers(2, 6))
    def test_is_that_of_scikit_learn(self, seed, n_classes):
        rng = np.random.default_rng(seed)
        probabilities = rng.dirichlet(np.ones(n_classes), size=40)
        y = rng.integers(0, n_classes, size=40)
        found = evaluate(probabilities, y)
        predicted = probabilities.argmax(axis=1)
        labels = np.arange(n_classes)
        np.testing.assert_array_equal(found.confusion, confusion_matrix(y, predicted, labels=labels))
        assert found.error == pytest.approx(np.mean(predicted != y))
        assert found.log_loss == pytest.approx(log_loss(y, probabilities, labels=labels))
        for c in set(y.tolist()):
            is_it = y == c
            expected = np.nan if is_it.all() else roc_auc_score(is_it, probabilities[:, c])
            assert found.areas[c] == pytest.approx(expected, nan_ok=True)
        precision, recall, f1, rows = precision_recall_fscore_support(y, predicted, labels=labels, zero_division=np.nan)
        of_classes = found.of_classes()
        np.testing.assert_array_equal(of_classes["rows"], rows)
        np.testing.assert_allclose(of_classes["precision"], precision)
        np.testing.assert_allclose(of_classes["recall"], recall)
        np.testing.assert_allclose(of_classes["f1"], f1)

    def test_unknown_classes_are_errors(self):
        truth = number_classes(["a", "other"], np.array(["a", "b"]))
        found = evaluate(np.array([[0.9, 0.1], [0.2, 0.8]]), truth)
        assert (found.error, found.n_unknown, found.confusion.sum()) == (0.5, 1, 1)

    @given(npst.arrays(float, 30, elements=st.floats(0, 1)), npst.arrays(bool, 30))
    def test_calibration_error_is_a_loop_over_bins(self, confidence, is_right):
        expected = 0.0
        for low in range(15):
            rows = [k for k in range(30) if min(int(confidence[k] * 15), 14) == low]
            if rows:
                expected += abs(sum(is_right[rows]) - sum(confidence[rows])) / 30
        assert calibrate(confidence, is_right).expected_error == pytest.approx(expected)

    @given(npst.arrays(float, 40, elements=st.floats(0, 1).map(lambda p: round(p, 1))), npst.arrays(bool, 40))
    def test_threshold_counts_are_a_loop(self, score, is_positive):
        curve = trace_threshold(score, is_positive)
        assert curve.threshold.tolist() == sorted(set(score.tolist()), reverse=True)
        for t, positive, negative in zip(curve.threshold, curve.positive, curve.negative, strict=True):
            flagged = [k for k in range(40) if score[k] >= t]
            assert (positive, negative) == (sum(is_positive[flagged]), sum(~is_positive[flagged]))

    def test_long_curves_are_thinned_out(self):
        score = np.random.default_rng(0).random(5000)
        curve = trace_threshold(score, score > 0.5)
        assert len(curve.threshold) <= 400
        assert (curve.positive[-1], curve.negative[-1]) == ((score > 0.5).sum(), (score <= 0.5).sum())
        k = 123
        assert curve.positive[k] + curve.negative[k] == (score >= curve.threshold[k]).sum()


def test_every_structure_has_words():
    assert set(_STRUCTURES) == {kind for kind in VALUES.values() if hasattr(kind, "space")}


def test_long_labels_are_shortened():
    assert shorten("a\nb  c") == "a b c"
    assert shorten("x" * 80) == "x" * 59 + "…"
    assert shorten("") == ""
