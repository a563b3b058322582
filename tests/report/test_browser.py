"""The report in a real browser: what is there, what can be done, and that nothing is asked of the network."""

import html
import itertools
import json
import re
import shutil
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from tanager import (
    AllPredecessors,
    GradientDescent,
    IndependentSearches,
    Nearest,
    ParentSets,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.javascript import classifier_modules
from tanager.report import write_report
from tanager.report.evaluation import trace_threshold
from tanager.report.page import _SCRIPTS, _asset
from tests.fine_bins import fine_classifier, people

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="NO BROWSER: chromium or chromedriver is absent, so the report was NOT tested in a browser "
    "(Debian: apt-get install chromium chromium-driver)",
)
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
EVIL = "<script>window.isHacked = true</script>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield Page(driver)
    driver.quit()


class Page:
    """A browser with one report open."""

    def __init__(self, driver):
        self.driver = driver
        self.shown = None

    def open(self, path, *, width=1200):
        """Open a report, unless it is open already: reading plotly.js takes a second or two."""
        if self.shown == (path, width):
            return
        self.shown = (path, width)
        self.emulate("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.set_dark(False)
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        self.wait("return document.documentElement.dataset.ready === 'yes'")

    def emulate(self, command, **options):
        self.driver.execute_cdp_cmd(command, options)

    def set_dark(self, is_dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.emulate("Emulation.setEmulatedMedia", features=[scheme, still])

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, seconds=60):
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"never true: {script}; console: {self.driver.get_log('browser')}"
            time.sleep(0.05)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def choose(self, selector, value):
        from selenium.webdriver.support.select import Select

        Select(self.find(selector)).select_by_value(str(value))

    def press(self, selector, key):
        from selenium.webdriver.common.keys import Keys

        self.find(selector).send_keys(getattr(Keys, key))

    def assert_quiet(self):
        """Nothing on the console, no request but for the page itself, and nothing wider than the window."""
        assert self.driver.get_log("browser") == []
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        # The browser's own first tab has requests too; only those of the report count.
        asked = [params["request"]["url"] for params in sent if params["documentURL"].startswith("file:")]
        assert not [url for url in asked if not url.startswith(("file:", "data:"))]
        assert self.run("return document.documentElement.scrollWidth <= window.innerWidth")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.rename(columns={"sepal width (cm)": EVIL})
    labels = np.array(["setosa", "<i>versi</i>", "virginica"])[y]
    parameters = GradientDescent(epochs=12, structure_learning_rate=0.1)
    iris = TANClassifier(AllPredecessors("natural"), parameters, random_state=0)
    write_report(iris.fit(X, labels), folder / "iris.html", X, labels, title=f"Iris {EVIL}")
    members = IndependentSearches("subset", n_members=3)
    ensemble = TANEnsembleClassifier(members, GradientDescent(epochs=3), random_state=0).fit(X, labels)
    write_report(ensemble, folder / "ensemble.html", X, labels)
    write_report(TANClassifier("chow-liu", parameters="ml").fit(X, labels), folder / "ml.html")
    X, y = load_digits(return_X_y=True)
    digits = TANClassifier(Nearest((8, 8)), GradientDescent(epochs=5), random_state=0).fit(X, y)
    write_report(digits, folder / "digits.html", X[:300], y[:300])
    wide = np.random.default_rng(0).integers(0, 3, size=(200, 60))
    search = TANClassifier("subset", GradientDescent(epochs=3), binning="none", random_state=0)
    search.fit(wide, wide[:, 0] % 2)
    write_report(search, folder / "wide.html")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.array(["malignant", "benign"])[y]
    cells = TANClassifier("chow-liu", "ml").fit(X[:300], y[:300])
    naive = TANClassifier("none", "ml").fit(X[:300], y[:300])
    write_report(cells, folder / "cells.html", X[300:], y[300:], against=naive)
    return folder


def test_all_parts_are_there(browser, reports):
    browser.open(reports / "iris.html")
    headings = browser.run("return [...document.querySelectorAll('h2')].map((h) => h.textContent)")
    assert headings == [
        "How good it is",
        "What if?",
        "The network",
        "What the features say",
        "Single rows",
        "Predictions",
        "The columns of the data",
        "How the structure was found",
        "Learning curves",
        "Model card",
    ]
    assert browser.count("#network-view .node") == 5
    assert browser.count("#table-charts .js-plotly-plot") == 3
    for chart in (
        "history-loss",
        "history-error",
        "history-entropy",
        "confusion",
        "calibration",
        "importance-chart",
        "feature-frequencies",
        "feature-contributions",
        "path-lines",
    ):
        assert browser.count(f"#{chart} .main-svg") > 0, chart
    assert browser.count("[role=img]:not([aria-label])") == 0
    assert browser.run("return [...document.querySelectorAll('select, input')].every((e) => e.labels.length)")
    browser.assert_quiet()


def test_a_click_shows_the_table_of_a_feature(browser, reports):
    browser.open(reports / "iris.html")
    browser.find("#network-view .node[data-feature='3'] text").click()
    assert browser.find("#table-title").text.startswith("petal width (cm) given")
    shown = browser.run("return document.querySelector('#table-charts .js-plotly-plot').data[0].z")
    np.testing.assert_allclose(np.sum(shown, axis=1), 1.0, atol=1e-3)
    browser.find("#table-numbers summary").click()
    browser.wait("return document.querySelectorAll('#table-numbers-view td').length > 0")
    cells = browser.run("return [...document.querySelectorAll('#table-numbers-view td')].map((td) => td.textContent)")
    every = browser.run(
        "return [...document.querySelectorAll('#table-charts .js-plotly-plot')].flatMap((p) => p.data[0].z).flat()"
    )
    np.testing.assert_allclose(np.array(cells, float), every, atol=6e-5)
    browser.find("#network-view .node[data-feature='-1'] text").click()
    assert browser.find("#table-title").text == "Probability of the classes"
    browser.assert_quiet()


def test_tables_are_those_of_the_network(browser, reports, tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = TANClassifier([-1, 0, 0, 2], GradientDescent(epochs=5), random_state=0).fit(X, y)
    write_report(clf, tmp_path / "given.html")
    browser.open(tmp_path / "given.html")
    for feature in (3, 0):
        browser.choose("#table-feature", feature)
        shown = browser.run(
            "return [...document.querySelectorAll('#table-charts .js-plotly-plot')].map((p) => p.data[0].z)"
        )
        cpt = clf.description_.cpt(feature)
        expected = np.moveaxis(cpt, 2, 0) if feature == 3 else np.moveaxis(cpt, 2, 1)
        np.testing.assert_allclose(shown, expected, atol=1e-4)
    browser.assert_quiet()


def test_groups_of_a_parents_values(browser, tmp_path):
    clf, X = fine_classifier()
    write_report(clf, tmp_path / "fine.html", X[:100])
    browser.open(tmp_path / "fine.html")
    plots = "[...document.querySelectorAll('#table-charts .js-plotly-plot')]"
    for feature in (1, 2, 3, 4):
        browser.choose("#table-feature", feature)
        shown = browser.run(f"return {plots}.map((p) => p.data[0].z)")
        np.testing.assert_allclose(shown, np.moveaxis(clf.description_.cpt(feature, grouped=True), 2, 0), atol=1e-4)
        parent = int(clf.parents_[feature])
        lines = browser.run(f"return {plots}[0].layout.yaxis.ticktext")
        expected = clf.encoder_.value_labels(parent, clf.network_.groups_of(parent))
        assert [html.unescape(line)[:12] for line in lines] == [text[:12] for text in expected]
    browser.assert_quiet()


def test_labels_of_many_bins_do_not_overlap(browser, tmp_path):
    clf, X = fine_classifier()
    write_report(clf, tmp_path / "fine.html", X[:100])
    for width in (1200, 500):
        browser.open(tmp_path / "fine.html", width=width)
        for feature in (0, 1, 4):
            browser.choose("#table-feature", feature)
            browser.wait("return document.querySelectorAll('#table-charts .xtick text').length > 0")
            places = browser.run(
                "return [...document.querySelector('#table-charts .js-plotly-plot').querySelectorAll('.xtick text')]"
                ".map((text) => [text.getBoundingClientRect().right, text.getComputedTextLength()])"
            )
            assert 4 <= len(places) <= 40
            # Slanted labels, which end at their columns, need no more than their height, across; upright ones less.
            gaps, longest = np.diff([right for right, _ in places]), max(length for _, length in places)
            assert (gaps >= min(longest, 12.5)).all()
    browser.assert_quiet()


def test_two_parents(browser, tmp_path):
    X, y = load_iris(return_X_y=True)
    sets = ParentSets.from_lists([[-1], [0], [-1, 0, (0, 1)], [(0, 2)]])
    clf = TANClassifier(sets, GradientDescent(epochs=5), random_state=0).fit(X, y)
    write_report(clf, tmp_path / "pairs.html", X, y)
    browser.open(tmp_path / "pairs.html")
    browser.choose("#table-feature", 3)
    assert browser.find("#table-title").text == "x3 given x0 and x2 and the class"
    tables = "return [...document.querySelectorAll('#table-charts .js-plotly-plot')].map((p) => p.data[0].z)"
    np.testing.assert_allclose(browser.run(tables), np.moveaxis(clf.description_.cpt(3), 2, 0), atol=1e-4)
    assert browser.count("#network-view .edge.second") == int((clf.network_.extra_parents[:, 1] >= 0).sum())
    assert browser.count("#path-view .edge") == 1 + 1 + 2 + 2
    browser.choose("#path-feature", 2)
    assert "x0 and x1" in browser.find("#path-lines").text
    browser.assert_quiet()


def test_keys_go_from_feature_to_feature(browser, reports):
    for page, selector in (("iris", "#network-view"), ("iris", "#path-view"), ("ensemble", "#path-view")):
        browser.open(reports / f"{page}.html")
        chosen = f"return document.querySelector('{selector} .is-chosen').dataset.feature"
        before = browser.run(chosen)
        browser.press(f"{selector} .is-chosen", "ARROW_DOWN")
        if browser.run(chosen) == before:
            browser.press(f"{selector} .is-chosen", "ARROW_UP")
        assert browser.run(chosen) != before
        assert browser.run(f"return document.activeElement.closest('{selector}') !== null")
        browser.assert_quiet()


@pytest.mark.parametrize("page", ["iris", "digits"])
def test_slider_goes_back_to_equal_probabilities(browser, reports, page):
    browser.open(reports / f"{page}.html")
    widths = (
        "return [...document.querySelectorAll('#path-view .edge')].map((e) => Number(e.getAttribute('stroke-width')))"
    )
    browser.press("#path-slider", "END")
    last = browser.run(widths)
    assert browser.find("#path-epoch").text == ("epoch 12 of 12" if page == "iris" else "epoch 5 of 5")
    browser.press("#path-slider", "HOME")
    assert browser.find("#path-epoch").text.startswith("epoch 0 of")
    first = browser.run(widths)
    assert first != last
    assert np.ptp(last) > np.ptp(first)
    browser.press("#path-slider", "ARROW_RIGHT")
    assert browser.find("#path-epoch").text.startswith("epoch 1 of")
    browser.assert_quiet()


def test_play_runs_to_the_end(browser, reports):
    browser.open(reports / "wide.html")
    # In one go: on a busy machine it may have come to the end before the next question is asked.
    assert browser.run("const b = document.getElementById('path-play'); b.click(); return b.textContent") == "Pause"
    browser.wait("return document.getElementById('path-play').textContent === 'Play'")
    assert browser.find("#path-epoch").text == "epoch 3 of 3"
    assert browser.count("#path-view .heatmaplayer") > 0
    browser.assert_quiet()


def test_names_are_never_markup(browser, reports):
    browser.open(reports / "iris.html")
    assert browser.run("return window.isHacked === undefined")
    assert browser.find("h1").text == f"Iris {EVIL}"
    assert EVIL in browser.run(
        "return [...document.querySelectorAll('#table-feature option')].map((o) => o.textContent)"
    )
    assert "<i>versi</i>" in browser.find("#confusion").text
    browser.assert_quiet()


def test_a_confusion_matrix_has_numbers_where_they_fit(browser, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (400, 6)), rng.permutation(np.arange(400) % 16)
    clf = TANClassifier("chow-liu", "ml").fit(X, y)
    write_report(clf, tmp_path / "many.html", X, y)
    shown = (
        "return [!document.getElementById('confusion-numbers').hidden, "
        "document.querySelectorAll('#confusion .annotation').length > 0]"
    )
    for width, has_numbers in ((1400, True), (390, False)):
        browser.open(tmp_path / "many.html", width=width)
        assert browser.run(shown) == [has_numbers, has_numbers]
        browser.assert_quiet()


def test_a_deep_tree_fits_on_a_phone(browser, tmp_path):
    X = np.random.default_rng(0).integers(0, 3, (200, 9))
    clf = TANClassifier([-1, *range(8)], "ml", binning="none").fit(X, X[:, 0] % 2)
    write_report(clf, tmp_path / "deep.html")
    browser.open(tmp_path / "deep.html", width=390)
    widths = browser.run("const v = document.getElementById('network-view'); return [v.scrollWidth, v.clientWidth]")
    assert widths[0] <= widths[1]


@pytest.mark.parametrize("page", ["iris", "digits", "ml"])
def test_fits_on_a_phone(browser, reports, page):
    browser.open(reports / f"{page}.html", width=390)
    assert browser.run("return window.innerWidth") == 390
    assert browser.run("return document.documentElement.scrollHeight") > 2000
    browser.assert_quiet()


def test_dark_colours_follow_the_system(browser, reports):
    def brightness(script):
        numbers = browser.run(f"return ({script}).match(/[0-9.]+/g).slice(0, 3).map(Number)")
        return np.mean(numbers)

    page = "getComputedStyle(document.body).backgroundColor"
    text = "getComputedStyle(document.querySelector('#history-loss .xtick text')).fill"
    browser.open(reports / "iris.html")
    assert brightness(page) > 200
    assert brightness(text) < 100
    browser.set_dark(True)
    browser.wait(f"return ({text}).match(/[0-9]+/g).map(Number)[0] > 150")
    assert brightness(page) < 60
    scale = "return document.querySelector('#table-charts .js-plotly-plot').data[0].colorscale[0][1]"
    assert browser.run(scale) == "#1b222d"
    browser.set_dark(False)
    browser.assert_quiet()


def test_what_there_is_nothing_of_is_left_out(browser, reports):
    browser.open(reports / "ml.html", width=390)
    for section in ("path", "history", "evaluation"):
        assert browser.count(f"#{section}") == 0
    assert browser.count("#importance-chart .bars .point") == 4
    browser.open(reports / "ensemble.html")
    assert browser.count("#members .edge") > 0
    assert browser.count("#path-lines .bars .point") > 0
    browser.assert_quiet()


# Sets each control of the what-if panel, and returns the probabilities that the page then shows.
SET_ROW = """
const setControl = (i, value) => {
  const control = document.getElementById(`whatif-${i}`);
  const button = control.parentElement.querySelector("button");
  const isPressed = button && button.getAttribute("aria-pressed") === "true";
  if (button && isPressed !== (value === "missing")) button.click();
  if (value === "missing") return;
  control.value = value;
  control.dispatchEvent(new Event(control.tagName === "SELECT" ? "change" : "input"));
};
return arguments[0].map((row) => {
  row.forEach((value, i) => setControl(i, value));
  return JSON.parse(document.getElementById("whatif-classes").dataset.probabilities);
});
"""


def random_settings(clf, frame, seed=0, n_rows=200):
    """Rows with missing, unseen and left out values, and the values of the controls that stand for them."""
    rng = np.random.default_rng(seed)
    rows = frame.sample(n_rows, random_state=seed).astype({"age": float, "weight": float}).reset_index(drop=True)
    for name in ("age", "height", "pets", "weight"):
        rows[name] = rows[name].astype(float).where(rng.random(n_rows) > 0.35)
    rows.loc[rng.random(n_rows) < 0.35, "town"] = "elsewhere"
    controls = []
    for row in rows.itertuples(index=False):
        values = []
        for column, (name, cell) in zip(clf.encoder_.columns, row._asdict().items(), strict=True):
            if name == "town":
                values.append(str(column.card) if cell == "elsewhere" else str(column.categories.tolist().index(cell)))
            elif np.isnan(cell):
                values.append("missing" if column.has_missing else "")
            else:
                values.append(repr(cell))
        controls.append(values)
    return rows, controls


@pytest.mark.parametrize("kind", ["single", "log", "probability"])
def test_what_if_panel_is_predict_proba(browser, tmp_path, kind):
    """200 rows of random values, missing, unseen and unknown ones among them, set by the controls of the page."""
    clf, frame = fine_classifier()
    if kind != "single":
        members = IndependentSearches("random", n_members=3)
        clf = TANEnsembleClassifier(members, "ml", combine=kind, random_state=0).fit(*people())
    rows, controls = random_settings(clf, frame)
    write_report(clf, tmp_path / "what.html")
    browser.open(tmp_path / "what.html")
    found = np.array(browser.run(SET_ROW, controls))
    np.testing.assert_allclose(found, clf.predict_proba(rows), atol=1e-6, rtol=0)
    assert np.ptp(found, axis=0).min() > 0.5
    browser.assert_quiet()


def test_what_if_contributions_are_those_of_explain(browser, tmp_path):
    clf, frame = fine_classifier()
    rows, controls = random_settings(clf, frame, n_rows=20)
    write_report(clf, tmp_path / "what.html")
    browser.open(tmp_path / "what.html")
    browser.choose("#whatif-first", 0)
    browser.choose("#whatif-second", 2)
    shown = "return [...document.querySelectorAll('#whatif-contributions .bar-line')].map((line) => line.innerText)"
    for number in range(20):
        browser.run(SET_ROW, [controls[number]])
        known = {name: cell for name, cell in rows.iloc[number].items() if cell == cell and cell != "elsewhere"}
        if rows["height"].isna()[number]:
            known["height"] = np.nan
        told = clf.explain(known, (clf.classes_[0], clf.classes_[2]))
        lines = [line.replace("\u2212", "-").split("\n") for line in browser.run(shown)]
        assert float(lines[-1][-1]) == pytest.approx(told["total"].iloc[-1], abs=0.006)
        found = {line[0].split(": ")[0]: float(line[-1]) for line in lines[1:-1]}
        for name in set(known) & set(found):
            expected = told.loc[told["feature"] == name, "contribution"].iloc[0]
            assert found[name] == pytest.approx(expected, abs=0.006)
    browser.assert_quiet()


def test_clear_makes_everything_unknown(browser, reports):
    browser.open(reports / "cells.html")
    assert browser.find("#whatif-known").text == "30 of 30 values are known"  # of one of the rows
    browser.find("#whatif-clear").click()
    assert browser.find("#whatif-known").text == "all values are unknown"
    before = browser.find("#whatif-classes").get_attribute("data-probabilities")
    browser.run(SET_ROW, [["12.5"] + [""] * 29])
    assert browser.find("#whatif-known").text == "1 of 30 values are known"
    assert browser.find("#whatif-classes").get_attribute("data-probabilities") != before
    browser.find("#whatif-clear").click()
    assert browser.find("#whatif-classes").get_attribute("data-probabilities") == before
    assert browser.find("#whatif-0").get_attribute("value") == ""
    browser.find("#whatif-filter").send_keys("fractal")
    assert browser.run("return [...document.querySelectorAll('.setting')].filter((s) => !s.hidden).length") == 3
    browser.find("#whatif-filter").clear()
    browser.press("#whatif-filter", "SPACE")
    browser.assert_quiet()


def test_worst_errors_come_first_and_are_explained(browser, reports):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.array(["malignant", "benign"])[y]
    clf = TANClassifier("chow-liu", "ml").fit(X[:300], y[:300])
    browser.open(reports / "cells.html")
    lines = browser.run("return [...document.querySelectorAll('#example-list tr')].map((line) => line.innerText)")
    own = clf.predict_proba(X[300:])[np.arange(269), (y[300:] == "malignant").astype(int)]
    wrong = np.flatnonzero(clf.predict(X[300:]) != y[300:])
    assert [int(line.split()[0]) for line in lines] == wrong[np.argsort(own[wrong])][:30].tolist()
    browser.find("#example-list tr:nth-child(2) button").click()
    number = int(lines[1].split()[0])
    assert browser.find("#example-title").text.startswith(f"Row {number}: ")
    told = clf.explain(X.iloc[300 + number])
    total = browser.find("#example-contributions .bar-total").text.replace("\u2212", "-").split()[-1]
    assert float(total) == pytest.approx(told["total"].iloc[-1], abs=0.006)
    browser.find("#example-change").click()
    assert float(browser.find("#whatif-0").get_attribute("value")) == X.iloc[300 + number, 0]
    found = json.loads(browser.find("#whatif-classes").get_attribute("data-probabilities"))
    np.testing.assert_allclose(found, clf.predict_proba(X[300:])[number], atol=1e-6)
    browser.choose("#example-kind", "least certain")
    assert browser.count("#example-list tr") == 10
    browser.assert_quiet()


@pytest.mark.parametrize("positive", [0, 1])
def test_threshold_can_be_dragged(browser, reports, positive):
    X, y = load_breast_cancer(return_X_y=True)
    names = np.array(["malignant", "benign"])[y]
    clf = TANClassifier("chow-liu", "ml").fit(X[:300], names[:300])
    score, is_it = clf.predict_proba(X[300:])[:, positive], names[300:] == clf.classes_[positive]
    browser.open(reports / "cells.html")
    browser.choose("#threshold-positive", positive)
    curve = trace_threshold(score, is_it)
    for key in ("HOME", "END", "ARROW_LEFT", "ARROW_LEFT"):
        browser.press("#threshold-slider", key)
        at = int(browser.find("#threshold-slider").get_attribute("value"))
        flagged = score >= curve.threshold[at]
        shown = dict(zip(*[iter(browser.find("#threshold-measures").text.split("\n"))] * 2, strict=True))
        assert int(shown["Flagged"]) == flagged.sum()
        assert int(shown["Of them right"]) == (flagged & is_it).sum()
        assert shown["Recall"] == f"{100 * (flagged & is_it).sum() / is_it.sum():.1f} %"
        marker = browser.run("return document.getElementById('precision-recall').data[2]")
        assert marker["y"][0] == pytest.approx((flagged & is_it).sum() / flagged.sum())
    browser.assert_quiet()


def test_features_show_frequencies_and_contributions(browser, tmp_path):
    clf, _ = fine_classifier()
    write_report(clf, tmp_path / "fine.html")
    browser.open(tmp_path / "fine.html")
    browser.choose("#feature-choice", 2)
    shown = browser.run("return document.getElementById('feature-frequencies').data.map((trace) => trace.y)")
    expected = clf.description_.marginals(classes=[0, 1, 2]).features[2]
    np.testing.assert_allclose(shown, expected, atol=1e-4)
    height = clf.encoder_.cards[1] - 1  # missing
    browser.choose("#feature-given", f"1:{height}")
    shown = browser.run("return document.getElementById('feature-contributions').data[0].z")
    line = np.log(clf.network_.cpt(2)[height])
    np.testing.assert_allclose(np.transpose(shown), line - line.mean(axis=1, keepdims=True), atol=1e-5)
    browser.assert_quiet()


def test_labels_of_bars_do_not_overlap(browser, tmp_path):
    """16 categories with long names, and features with long names: on a desktop and on a phone."""
    import pandas as pd

    rng = np.random.default_rng(0)
    towns = [f"a long name of a town, number {k}" for k in range(16)]
    frame = pd.DataFrame({f"{'a very long name of a column ' * 2}{k}": rng.choice(towns, 300) for k in range(5)})
    y = rng.choice([f"class with a long name, number {k}" for k in range(16)], 300)
    clf = TANClassifier("chow-liu", "ml").fit(frame, y)
    write_report(clf, tmp_path / "long.html", frame, y)
    boxes = (
        "return [...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect())"
        ".map((r) => [r.left, r.right, r.top, r.bottom])"
    )
    for width in (1400, 390):
        browser.open(tmp_path / "long.html", width=width)
        for axis in ("#feature-frequencies .xtick text", "#confusion .xtick text"):
            rights = [right for _, right, _, _ in browser.run(boxes, axis)]
            assert len(rights) >= 4
            assert np.diff(rights).min() >= 12.5
        for lines in ("#feature-frequencies .ytick text", "#whatif-classes .bar-line", "#network-view text"):
            places = browser.run(boxes, lines)
            assert len(places) >= 5
            ordered = sorted(places, key=lambda place: place[2])
            for above, below in itertools.pairwise(ordered):
                assert above[3] <= below[2] + 1.5 or above[1] <= below[0] or below[1] <= above[0]
        browser.assert_quiet()


def test_long_numbers_and_missing_cells_in_the_what_if_panel(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[::3, 0] = np.nan
    clf = TANClassifier("none", "ml").fit(X, X[:, 1] > 0)
    write_report(clf, tmp_path / "long.html", X, X[:, 1] > 0)
    for width in (1400, 390):
        browser.open(tmp_path / "long.html", width=width)
        widths = browser.run(
            "const b = document.querySelector('.setting .small'); return [b.scrollWidth, b.clientWidth]"
        )
        assert widths[0] <= widths[1]
        labels = browser.run("return [...document.querySelectorAll('.bar-label')].map((e) => e.textContent)")
        assert max(map(len, labels)) <= len("Start (class prior)")
        browser.assert_quiet()


def test_printing_opens_everything_in_light_colours(browser, reports):
    browser.open(reports / "cells.html")
    browser.set_dark(True)
    assert browser.count("details[open]") == 0
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(printed["data"]) > 50_000
    assert browser.count("details:not([open], #table-numbers)") == 0
    browser.wait("return document.documentElement.dataset.printing === undefined")
    browser.set_dark(False)
    browser.assert_quiet()
    browser.shown = None


def test_bundle_has_no_name_twice():
    """Modules share one scope in the page; a name that two of them define would stop the page."""
    modules = [*classifier_modules(), *(_asset(f"{name}.js") for name in _SCRIPTS)]
    definition = re.compile(r"^(?:export )?(?:function|const|let|class) (\w+)", re.MULTILINE)
    names = [name for text in modules for name in definition.findall(text)]
    assert len(names) == len(set(names)) > 80
