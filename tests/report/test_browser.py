"""The report in a real browser: what is there, what can be done, and that nothing is asked of the network."""

import html
import json
import shutil
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from tanager import (
    AllPredecessors,
    GradientDescent,
    IndependentSearches,
    Nearest,
    ParentSets,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.report import write_report
from tests.fine_bins import fine_classifier

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
    return folder


def test_all_parts_are_there(browser, reports):
    browser.open(reports / "iris.html")
    headings = browser.run("return [...document.querySelectorAll('h2')].map((h) => h.textContent)")
    assert headings == [
        "Summary",
        "The network",
        "How the structure was found",
        "Learning curves",
        "Predictions",
        "What the features say",
    ]
    assert browser.count("#network-view .node") == 5
    assert browser.count("#table-charts .js-plotly-plot") == 3
    for chart in (
        "history-loss",
        "history-error",
        "history-entropy",
        "confusion",
        "calibration",
        "weights-chart",
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
            assert 4 <= len(places) <= 24
            # Slanted labels, which end at their columns, need no more than their height, across.
            gaps, longest = np.diff([right for right, _ in places]), max(length for _, length in places)
            assert (gaps >= min(longest, 20)).all()
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
    assert browser.count("#weights .bars .point") == 4
    browser.open(reports / "ensemble.html")
    assert browser.count("#members .edge") > 0
    assert browser.count("#path-lines .bars .point") > 0
    browser.assert_quiet()
