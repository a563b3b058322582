"""What a fit says of its edges, its features and its choice."""

import re

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import tanager
from tanager import Counts, GradientDescent, PenalisedLikelihood, TANClassifier, TANEnsembleClassifier
from tanager.estimators.findings import Edge, _said_of_edges

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def one_real_edge():
    """Twelve features of which the first two tell the class only together, beside what the first tells alone."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1200)
    X = rng.normal(size=(1200, 12))
    X[:, 0] += 0.5 * y
    X[:, 1] += (2 * y - 1) * X[:, 0]
    return X, y


@pytest.fixture(scope="module", params=[TANClassifier, TANEnsembleClassifier])
def fitted(request, one_real_edge):
    X, y = one_real_edge
    return request.param(random_state=0).fit(X[:600], y[:600])


def test_the_edge_that_matters_is_found_and_adds(fitted, one_real_edge):
    X, y = one_real_edge
    for edges in (fitted.edges_, fitted.edge_gains(X[600:], y[600:])):
        best = max(edges, key=lambda edge: edge.gain)
        assert {best.child, best.parent} == {"x0", "x1"}
        assert best.adds
        assert best.gain > 5 * max((edge.gain for edge in edges if edge != best), default=0.0)
    assert "Without parents that log-loss is higher by" in fitted.choice_["why"]
    assert "x0" in fitted.summary()


def test_gains_on_rows_are_what_removal_costs_in_a_counted_network(one_real_edge):
    X, y = one_real_edge
    clf = TANClassifier([-1, 0, *[-1] * 10], Counts(1.0), binning="quantile").fit(X[:600], y[:600])
    without = TANClassifier("none", Counts(1.0), binning="quantile").fit(X[:600], y[:600])
    (edge,) = clf.edge_gains(X[600:], y[600:])
    row = np.arange(600)
    losses = [-model.predict_log_proba(X[600:])[row, y[600:]] for model in (without, clf)]
    # Frequencies of the child without its parent are summed out of the network, so they differ by the smoothing.
    assert edge.gain == pytest.approx((losses[0] - losses[1]).mean(), abs=5e-3)
    assert edge.standard_error == pytest.approx((losses[0] - losses[1]).std() / np.sqrt(599), rel=0.05)


def test_where_parents_add_nothing_it_says_so():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    clf = TANClassifier(random_state=0).fit(X, y)
    assert len(clf.edges_) == 29  # the tree is there all the same
    assert "Held-out rows show no gain from parents" in clf.summary()
    area = next(edge for edge in clf.edges_ if {edge.child, edge.parent} == {"mean area", "mean radius"})
    assert area.information > 1.0


def test_noise_has_no_information():
    rng = np.random.default_rng(1)
    clf = TANClassifier("chow-liu", Counts(1.0), binning="quantile").fit(
        rng.normal(size=(400, 8)), rng.integers(0, 2, 400)
    )
    assert max(edge.information for edge in clf.edges_) < 0.03


def test_gradient_descent_on_given_options_measures_nothing():
    X, y = load_iris(return_X_y=True)
    clf = TANClassifier([-1, 0, 0, 2], GradientDescent(epochs=2), random_state=0).fit(X, y)
    assert np.isnan([edge.gain for edge in clf.edges_]).all()
    assert "not measured" in clf.summary()
    assert np.isfinite([edge.gain for edge in clf.edge_gains(X, y)]).all()
    assert TANClassifier("none", "ml").fit(X, y).edges_ == []


def test_importances_are_shares(fitted):
    shares = fitted.feature_importances_
    assert shares.shape == (12,)
    assert shares.sum() == pytest.approx(1.0)
    assert set(np.argsort(shares)[-2:]) == {0, 1}


def test_a_feature_that_says_nothing_has_no_importance():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = np.column_stack([y + rng.normal(size=300), np.ones(300)])
    assert TANClassifier("none", "ml").fit(X, y).feature_importances_[1] == 0.0


def test_findings_are_in_the_model_file(fitted, tmp_path):
    fitted.save(tmp_path / "m.tanager")
    loaded = tanager.load(tmp_path / "m.tanager")
    assert loaded.edges_ == fitted.edges_
    np.testing.assert_array_equal(loaded.feature_importances_, fitted.feature_importances_)
    assert loaded.summary() == fitted.summary()


@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_of_all_rows_sum_to_the_log_odds(classes):
    X, y = load_iris(return_X_y=True)
    keep = y < classes
    for clf in (TANClassifier(random_state=0), TANEnsembleClassifier(random_state=0)):
        clf.fit(X[keep], y[keep])
        holes = X[keep].copy()
        holes[::7, 2] = np.nan
        log_proba, parts = clf.predict_log_proba(holes), clf.explain_rows(holes)
        if classes == 2:
            np.testing.assert_allclose(parts.sum(axis=1), log_proba[:, 1] - log_proba[:, 0], atol=1e-4)
        else:
            expected = log_proba - log_proba.mean(axis=1, keepdims=True)
            np.testing.assert_allclose(parts.sum(axis=1), expected, atol=1e-4)
        one = clf.explain(holes[7], classes=(0, 1))["contribution"]
        np.testing.assert_allclose(clf.explain_rows(holes, classes=(0, 1))[7], one, atol=1e-9)


def test_pictures_and_notebooks(fitted):
    assert len(fitted.plot_importance(max_bars=5).patches) == 5
    texts = [text.get_text() for text in fitted.plot_structure().texts]
    assert {"x0", "x1"} <= {text.split()[0] for text in texts if text}
    shown = fitted._repr_mimebundle_()["text/html"]
    assert "sk-container" in shown  # scikit-learn's own
    assert "<svg" in shown
    assert re.search("edges? between 12 features", shown)  # those that tell nothing may be left out
    assert fitted._repr_html_().count("<svg") == 1
    unfitted = type(fitted)()
    assert "<svg" not in unfitted._repr_html_()
    matplotlib.pyplot.close("all")


def test_a_graph_has_the_class():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = TANClassifier("chow-liu", "ml").fit(X, y)
    texts = [text.get_text() for text in clf.plot_structure(style="graph").texts if text.get_text()]
    assert sorted(texts) == sorted([*X.columns, "target"])
    with pytest.raises(ValueError, match="style must be"):
        clf.plot_structure(style="circle")
    matplotlib.pyplot.close("all")


def test_wrong_classes():
    X, y = load_iris(return_X_y=True)
    clf = TANClassifier("chow-liu", "ml").fit(X, y)
    with pytest.raises(ValueError, match="class 7, which was not trained on"):
        clf.edge_gains(X[:2], [0, 7])


def test_gains_of_some_of_many_classes_are_near_those_of_all(monkeypatch):
    """With 130 classes that two features tell apart only together, and 100 of them that gains are found on."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(130), 30)
    X = rng.uniform(size=(len(y), 3))
    X[:, 1] = (X[:, 0] + y / 130 + rng.normal(0.0, 0.02, len(y))) % 1.0

    def best_edge():
        clf = TANClassifier("chow-liu", PenalisedLikelihood(3.0, 3.0), random_state=0).fit(X, y)
        return max(clf.edges_, key=lambda edge: edge.gain)

    of_some = best_edge()
    monkeypatch.setattr("tanager.learning.context.MOST_CLASSES", 130)
    of_all = best_edge()
    assert {of_some.child, of_some.parent} == {"x0", "x1"}
    assert of_some.gain == pytest.approx(of_all.gain, rel=0.2)


def edge(information, gain=0.0):
    return Edge("child", "parent", gain=gain, standard_error=0.1, information=information)


def test_what_is_said_of_edges():
    assert _said_of_edges([], 1) == "There are no edges: the only feature depends on the class alone."
    assert _said_of_edges([], 3) == "There are no edges: each of 3 features depends on the class alone."
    assert _said_of_edges([edge(0.0)], 2).startswith("1 edge between 2 features. No edge alone lowers")
    strong, weak = edge(0.25, np.nan), edge(-0.0004, np.nan)
    assert _said_of_edges([strong, weak], 3).endswith("in nats: parent -> child (0.250).")
    assert _said_of_edges([weak], 2).endswith("in nats: parent -> child (0.000).")
