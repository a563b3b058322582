"""plot_structure, plot_history and plot_cpt of a fitted classifier."""

import sys

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError

from tanager import GradientDescent, Nearest, TANClassifier
from tests.fine_bins import fine_classifier

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def clf():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "$versicolor$", "virginica"])[y]
    return TANClassifier([-1, 0, 0, 2], GradientDescent(epochs=4), random_state=0).fit(X, names)


def cells(ax):
    return np.asarray(ax.images[0].get_array())


class TestStructure:
    def test_names_and_probabilities(self, clf):
        texts = [text.get_text() for text in clf.plot_structure().texts]
        assert texts[0] == "sepal length (cm)"
        assert texts[3] == "petal width (cm)"  # the parent was given, so that there is no probability to show
        X, y = load_iris(return_X_y=True, as_frame=True)
        searched = TANClassifier("subset", GradientDescent(epochs=2), random_state=0).fit(X, y)
        assert any(text.get_text().endswith("%)") for text in searched.plot_structure().texts)

    def test_drawn_on_given_axes(self, clf):
        _, ax = plt.subplots()
        assert clf.plot_structure(ax) is ax

    def test_images(self):
        X, y = load_digits(return_X_y=True)
        digits = TANClassifier("none", parameters="ml").fit(X, y)
        assert cells(digits.plot_structure(image_shape=(8, 8))).shape == (8, 8)
        drawn = digits.plot_structure(image_shape=(4, 16), background=X.mean(axis=0))
        assert cells(drawn).shape == (4, 16)
        np.testing.assert_allclose(cells(drawn).ravel(), X.mean(axis=0))
        with pytest.raises(ValueError, match="one number for each of 64 pixels, got 3"):
            digits.plot_structure(image_shape=(8, 8), background=[1, 2, 3])

    def test_the_image_shape_defaults_to_that_of_the_structure(self):
        X, y = load_digits(return_X_y=True)
        nearest = Nearest(image_shape=(8, 8), max_parents=2)
        digits = TANClassifier(nearest, GradientDescent(epochs=1), random_state=0).fit(X[:200], y[:200])
        assert cells(digits.plot_structure()).shape == (8, 8)
        np.testing.assert_allclose(cells(digits.plot_structure(background=X.mean(axis=0))).ravel(), X.mean(axis=0))
        assert cells(digits.plot_structure(image_shape=(16, 4))).shape == (16, 4)

    def test_without_an_image_shape_it_is_a_tree(self, clf):
        assert not clf.plot_structure().images

    @pytest.mark.parametrize(
        ("image_shape", "message"),
        [
            ((2, 3), r"image_shape=\(2, 3\) does not fit 4 features"),
            (4, r"image_shape must be \(rows, columns\), two whole numbers, got 4"),
            ((2.0, 2), r"image_shape must be \(rows, columns\), two whole numbers, got \(2\.0, 2\)"),
            ((-2, -2), r"image_shape must be \(rows, columns\)"),
        ],
    )
    def test_wrong_image_shapes(self, clf, image_shape, message):
        with pytest.raises(ValueError, match=message):
            clf.plot_structure(image_shape=image_shape)

    def test_background_without_an_image(self, clf):
        with pytest.raises(ValueError, match=r"background requires image_shape=\(rows, columns\)"):
            clf.plot_structure(background=np.zeros(4))


class TestHistory:
    def test_panels(self, clf):
        axes = clf.plot_history()
        assert [ax.get_title() for ax in axes] == ["loss", "error on training rows"]
        np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), clf.history_["loss"])
        assert axes[0].lines[0].get_xdata().tolist() == [1, 2, 3, 4]

    def test_a_search_has_an_entropy(self):
        searched = TANClassifier("all", GradientDescent(epochs=1), random_state=0).fit(*load_iris(return_X_y=True))
        assert len(searched.plot_history()) == 3

    def test_one_column(self, clf):
        _, ax = plt.subplots()
        assert clf.plot_history(ax) is ax
        assert ax.get_title() == "loss"
        assert clf.plot_history(column="tau").get_yscale() == "log"

    def test_refusals(self, clf):
        with pytest.raises(ValueError, match=r"column must be one of 'loss', 'error', .* got 'time'"):
            clf.plot_history(column="time")
        closed = TANClassifier("none", parameters="ml").fit(*load_iris(return_X_y=True))
        with pytest.raises(ValueError, match="there is no history"):
            closed.plot_history()


class TestCpts:
    def test_one_heat_map_for_each_class(self, clf):
        axes = clf.plot_cpt("petal width (cm)")
        assert [ax.get_title() for ax in axes] == ["class " + r"\$versicolor\$", "class setosa", "class virginica"]
        for c, ax in enumerate(axes):
            np.testing.assert_allclose(cells(ax), clf.description_.cpt(3)[:, :, c])
        assert axes[0].get_ylabel() == "petal length (cm)"
        assert axes[0].get_xlabel() == "petal width (cm)"

    def test_a_grouped_parent_has_a_line_for_each_group(self):
        clf, _ = fine_classifier()
        axes = clf.plot_cpt("town")
        for c, ax in enumerate(axes):
            np.testing.assert_allclose(cells(ax), clf.description_.cpt(2, grouped=True)[:, :, c])
        lines = [label.get_text() for label in axes[0].get_yticklabels()]
        assert lines == clf.encoder_.value_labels(1, clf.network_.groups_of(1))
        log_cpt = np.log(clf.description_.cpt(2, grouped=True))
        pair = clf.plot_cpt("town", label="low", against="high")
        np.testing.assert_allclose(cells(pair), log_cpt[:, :, 1] - log_cpt[:, :, 0])

    def test_without_a_parent_the_classes_are_the_lines(self, clf):
        ax = clf.plot_cpt(0)
        np.testing.assert_allclose(cells(ax), clf.description_.cpt(0)[0].T)
        assert [label.get_text() for label in ax.get_yticklabels()] == [r"\$versicolor\$", "setosa", "virginica"]

    def test_one_class_against_another(self, clf):
        log_cpt = np.log(clf.description_.cpt(3))
        pair = clf.plot_cpt(3, label="setosa", against="virginica")
        np.testing.assert_allclose(cells(pair), log_cpt[:, :, 1] - log_cpt[:, :, 2])
        others = clf.plot_cpt(3, label="setosa")
        np.testing.assert_allclose(cells(others), log_cpt[:, :, 1] - log_cpt[:, :, [0, 2]].mean(axis=2))

    def test_drawn_on_given_axes(self, clf):
        _, axes = plt.subplots(1, 3)
        assert clf.plot_cpt(3, ax=axes)[2] is axes[2]
        _, ax = plt.subplots()
        assert clf.plot_cpt(0, ax=ax) is ax
        with pytest.raises(ValueError, match="there are 3 heat maps to draw, but ax holds 1 axes"):
            clf.plot_cpt(3, ax=ax)

    @pytest.mark.parametrize(("n_classes", "n_values"), [(2, 2), (5, 20), (26, 20)])
    def test_any_size_fits(self, n_classes, n_values):
        """The layout engine warns, which is an error here, if labels leave no room for the heat maps."""
        rng = np.random.default_rng(0)
        X = np.array([f"a long value {k}" for k in range(n_values)], dtype=object)[rng.integers(0, n_values, (400, 2))]
        y = np.resize(np.arange(n_classes), 400)
        wide = TANClassifier([-1, 0], parameters="ml").fit(X, y)
        axes = wide.plot_cpt(1)
        axes[0].figure.canvas.draw()
        titles = [ax.title.get_window_extent() for ax in axes]
        for k, ax in enumerate(axes):
            assert min(ax.get_window_extent().width, ax.get_window_extent().height) > 80
            assert not any(titles[k].overlaps(other) for other in titles[:k])

    @pytest.mark.parametrize("bad", [4, -1, "sepal", None, True])
    def test_unknown_features(self, clf, bad):
        with pytest.raises(ValueError, match="feature"):
            clf.plot_cpt(bad)

    def test_unknown_classes(self, clf):
        with pytest.raises(ValueError, match="label='rose' is none of the classes"):
            clf.plot_cpt(0, label="rose")
        with pytest.raises(ValueError, match="against='rose' is none of the classes"):
            clf.plot_cpt(0, label="setosa", against="rose")
        with pytest.raises(ValueError, match="against was given without label"):
            clf.plot_cpt(0, against="setosa")


@pytest.mark.parametrize("method", ["plot_structure", "plot_history"])
def test_only_when_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(TANClassifier(), method)()


def test_without_matplotlib(clf, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (clf.plot_structure, clf.plot_history, lambda: clf.plot_cpt(0)):
        with pytest.raises(ImportError, match=r"tanager\[plots\]"):
            draw()
