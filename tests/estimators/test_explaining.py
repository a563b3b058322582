"""Explanations of single predictions: exact sums, labels, forms of a row, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError

from tanager import GradientDescent, IndependentSearches, ParentSets, TANClassifier, TANEnsembleClassifier
from tests.fine_bins import fine_classifier

QUICK = {"parameters": GradientDescent(epochs=8, batch_size=100), "random_state": 0}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X, y.map({0: "red", 1: "white", 2: "rosé"})


@pytest.fixture(scope="module")
def fitted(wine):
    return TANClassifier("subset", **QUICK).fit(*wine)


def log_odds(classifier, X, pair):
    log_proba = classifier.predict_log_proba(X)
    first, second = (classifier.classes_.tolist().index(label) for label in pair)
    return log_proba[0, first] - log_proba[0, second]


def test_contributions_sum_to_the_log_odds(fitted, wine):
    X, _ = wine
    for n in range(0, len(X), 20):
        frame = fitted.explain(X.iloc[n])
        assert frame.columns.tolist() == ["feature", "value", "parent", "parent_value", "contribution", "total"]
        expected = log_odds(fitted, X.iloc[[n]], frame.attrs["classes"])
        # Prediction adds up to eight CPT entries in single precision.
        assert frame["contribution"].sum() == pytest.approx(expected, rel=1e-6, abs=1e-5)
        assert frame["total"].iloc[-1] == pytest.approx(frame["contribution"].sum(), rel=1e-12)


@pytest.mark.parametrize("hidden", [[], ["height"], ["age", "town"]])
def test_grouped_values_sum_to_the_log_odds(hidden):
    clf, X = fine_classifier(missing="ignore")
    X = X[:5].assign(**{name: None if name == "town" else np.nan for name in hidden})
    for n in range(len(X)):
        frame = clf.explain(X[n : n + 1])
        expected = log_odds(clf, X[n : n + 1], frame.attrs["classes"])
        assert frame["contribution"].sum() == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert frame["parent"].tolist() == ["", "", "age", "height", "town", "town"]
    if not hidden:
        assert frame["value"][1] == str(X["age"].iloc[-1])  # a bin with one whole number is that number


@given(st.lists(st.booleans(), min_size=13, max_size=13), st.integers(0, 177))
@settings(max_examples=40)
def test_rows_with_gaps_sum_to_the_log_odds(fitted, wine, is_hidden, n):
    X = wine[0].iloc[[n]].astype(float)
    X.loc[:, is_hidden] = np.nan
    frame = fitted.explain(X)
    expected = log_odds(fitted, X, frame.attrs["classes"])
    # With gaps prediction, too, adds in double precision.
    exact = 1e-9 if any(is_hidden) else 1e-5
    assert frame["contribution"].sum() == pytest.approx(expected, rel=exact, abs=exact)
    assert (frame["value"][1:] == "(unknown)").tolist() == is_hidden
    np.testing.assert_allclose(frame["contribution"][1:][is_hidden], 0.0, atol=1e-6)


def test_contributions_are_ratios_of_cpt_entries(fitted, wine):
    X, _ = wine
    frame = fitted.explain(X.iloc[5], classes=("white", "red"))
    names = fitted.encoder_.feature_labels
    white, red = (fitted.classes_.tolist().index(label) for label in ("white", "red"))
    assert frame["feature"].tolist() == ["(class prior)", *names]
    for i, parent in enumerate(fitted.parents_):
        line = frame.iloc[i + 1]
        value = fitted.encoder_.value_labels(i).index(line["value"])
        above = 0
        if parent >= 0:
            assert line["parent"] == names[parent]
            above = fitted.encoder_.value_labels(parent).index(line["parent_value"])
        else:
            assert line["parent"] == line["parent_value"] == ""
        cpt = fitted.network_.cpt(i)
        expected = np.log(cpt[above, value, white] / cpt[above, value, red])
        assert line["contribution"] == pytest.approx(expected, abs=1e-9)


def test_default_is_the_most_probable_class_against_the_next(fitted, wine):
    X, _ = wine
    for n in (0, 70, 150):
        first, second = fitted.explain(X.iloc[n]).attrs["classes"]
        ranked = fitted.classes_[np.argsort(-fitted.predict_proba(X.iloc[[n]])[0])]
        assert [first, second] == ranked[:2].tolist()
        assert fitted.predict(X.iloc[[n]])[0] == first


def test_classes_the_other_way_round_change_the_sign(fitted, wine):
    row = wine[0].iloc[3]
    there, back = fitted.explain(row, ("red", "white")), fitted.explain(row, ["white", "red"])
    np.testing.assert_array_equal(there["contribution"], -back["contribution"])


def test_every_form_of_a_row_gives_the_same(fitted, wine):
    X, _ = wine
    expected = fitted.explain(X.iloc[[7]])
    row = X.iloc[7]
    for x in (
        row,
        row.to_numpy(),
        row.tolist(),
        [row.tolist()],
        row.to_dict(),
        dict(enumerate(row)),
        pl.from_pandas(X)[7],
    ):
        pd.testing.assert_frame_equal(fitted.explain(x), expected)


def test_columns_that_a_mapping_leaves_out_are_unknown(fitted):
    frame = fitted.explain({"alcohol": 13.0})
    assert (frame["value"] != "(unknown)").sum() == 2  # alcohol, and the prior, which has no value
    nothing = fitted.explain({}, classes=("red", "white"))
    prior = fitted.network_.log_prior
    assert nothing["contribution"].sum() == pytest.approx(prior[0] - prior[2], abs=1e-5)


def test_text_columns_and_unseen_values():
    X = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": np.arange(40) % 7})
    y = np.arange(40) % 2
    classifier = TANClassifier([-1, 0], parameters="ml").fit(X, y)
    assert classifier.explain(["red", 3])["value"].tolist()[1] == "red"
    unseen = classifier.explain(pd.Series({"colour": "green", "size": 3}))
    assert unseen["value"].tolist()[1] == "(unknown)"
    expected = log_odds(classifier, pd.DataFrame({"colour": ["green"], "size": [3]}), unseen.attrs["classes"])
    assert unseen["total"].iloc[-1] == pytest.approx(expected, rel=1e-9)


def test_cyclic_network():
    X, y = load_iris(return_X_y=True)
    circles = ParentSets.from_lists([[1], [0], [3], [2]])
    classifier = TANClassifier(circles, GradientDescent(epochs=3), random_state=0).fit(X, y)
    assert not classifier.network_.is_bayesian_network
    for row in (X[60], np.where(np.arange(4) == 0, np.nan, X[60])):
        frame = classifier.explain(row)
        expected = log_odds(classifier, row[None, :], frame.attrs["classes"])
        assert frame["total"].iloc[-1] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.fixture(scope="module")
def ensemble(wine):
    searches = IndependentSearches("subset", n_members=3)
    return TANEnsembleClassifier(searches, GradientDescent(epochs=3), random_state=0).fit(*wine)


def test_ensemble(ensemble, wine):
    X = wine[0].iloc[[9]].astype(float)
    for has_gap in (False, True):
        if has_gap:
            X.iloc[0, 4] = np.nan
        frame = ensemble.explain(X)
        expected = log_odds(ensemble, X, frame.attrs["classes"])
        assert frame["total"].iloc[-1] == pytest.approx(expected, rel=1e-5, abs=1e-5)
    parents = {int(member.parents_[2]) for member in ensemble.estimators_} - {-1}
    assert frame["parent"][3] == ", ".join(X.columns[j] for j in sorted(parents))


def test_ensemble_of_probabilities_is_refused(wine):
    searches = IndependentSearches("subset", n_members=2)
    other = TANEnsembleClassifier(searches, GradientDescent(epochs=1), combine="probability").fit(*wine)
    with pytest.raises(ValueError, match="combine='probability' averages probabilities"):
        other.explain(wine[0].iloc[0])


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (("red", "green"), r"'green' is not a class; the classes are 'red', 'rosé', 'white'"),
        (("red",), "two different classes"),
        (("red", "red"), "two different classes"),
        ("red", "two different classes"),
        (5, "two different classes"),
    ],
)
def test_wrong_classes(fitted, wine, classes, message):
    with pytest.raises(ValueError, match=message):
        fitted.explain(wine[0].iloc[0], classes)


@pytest.mark.parametrize(
    ("choose", "message"),
    [
        (lambda X: X.iloc[:2], "one row can be explained at a time, got 2"),
        (lambda X: X.to_numpy()[:0], "one row can be explained at a time, got 0"),
        (lambda X: X.iloc[0].tolist()[:4], "X has 4 features, but FrameEncoder is expecting 13"),
        (lambda X: {"sweetness": 1.0}, "there is no column 'sweetness'"),
        (lambda X: {"alcohol": "much"}, "column 'alcohol' is numeric, but it holds 'much'"),
    ],
)
def test_wrong_rows(fitted, wine, choose, message):
    with pytest.raises(ValueError, match=message):
        fitted.explain(choose(wine[0]))


def test_one_class_has_no_log_odds():
    classifier = TANClassifier("none", parameters="ml").fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(ValueError, match="no log-odds with a single class, 'a'"):
        classifier.explain([1.0])


def test_not_fitted():
    with pytest.raises(NotFittedError):
        TANClassifier().explain([1.0])


def test_without_pandas_it_is_a_dict_of_arrays(fitted, wine, monkeypatch):
    monkeypatch.setattr("tanager.data.frames.has_pandas", lambda: False)
    columns = fitted.explain(wine[0].iloc[0])
    assert isinstance(columns, dict)
    assert columns["total"][-1] == pytest.approx(columns["contribution"].sum())


def test_plot(fitted, wine):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    row = wine[0].iloc[0]
    frame = fitted.explain(row)
    ax = fitted.plot_explanation(row, max_bars=6)
    widths = [bar.get_width() for bar in ax.patches]
    assert len(widths) == 6
    assert sum(widths) == pytest.approx(frame["contribution"].sum())
    assert np.all(np.diff(np.abs(widths[:-1])) <= 0)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    largest = frame.iloc[frame["contribution"].abs().argmax()]
    assert labels[0].startswith(f"{largest['feature']}: {largest['value']}")
    assert labels[-1] == "9 others together"
    first, second = frame.attrs["classes"]
    assert ax.get_title() == f"{first} against {second}: log-odds {frame['total'].iloc[-1]:.2f}"
    _, other = pyplot.subplots()
    assert fitted.plot_explanation(row, ("red", "white"), ax=other) is other
    assert len(other.patches) == 14
    pyplot.close("all")


@pytest.mark.parametrize("max_bars", [0, 2.5, True])
def test_wrong_number_of_bars(fitted, wine, max_bars):
    with pytest.raises(ValueError, match="max_bars must be a whole number of at least 1, got"):
        fitted.plot_explanation(wine[0].iloc[0], max_bars=max_bars)
