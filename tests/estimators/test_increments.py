"""Learning in increments equals learning at once."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

import tanager
from tanager import ChowLiu, Counts, GradientDescent, TANClassifier
from tests.strategies import SEEDS


def table(seed, n_rows=300):
    """A frame with numbers, categories that come late, and missing cells; classes that lean on them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    late = np.arange(n_rows) > n_rows // 2
    colour = np.where(late & (rng.random(n_rows) < 0.2), "azure", rng.choice(["blue", "red"], n_rows))
    X = pd.DataFrame({"size": rng.normal(y, 1.0), "colour": colour, "shape": rng.integers(0, 4, n_rows)})
    X["twin"] = X["colour"].where(rng.random(n_rows) < 0.8, "other")
    X.loc[late & (rng.random(n_rows) < 0.1), "size"] = np.nan
    return X, np.array(["no", "perhaps", "yes"])[y]


def stream(clf, X, y, cuts, weight=None, **options):
    edges = [0, *sorted(set(cuts)), len(y)]
    for lo, hi in pairwise(edges):
        if hi > lo:
            own = None if weight is None else weight[lo:hi]
            clf.partial_fit(X[lo:hi], y[lo:hi], classes=["no", "perhaps", "yes"], sample_weight=own, **options)
    return clf


def assert_same(clf, other):
    np.testing.assert_array_equal(clf.parents_, other.parents_)
    np.testing.assert_array_equal(clf.network_.theta, other.network_.theta)
    np.testing.assert_array_equal(clf.network_.log_prior, other.network_.log_prior)


@given(SEEDS, st.lists(st.integers(60, 299), max_size=5), st.sampled_from(["none", "chow-liu", "explaining-away"]))
@settings(max_examples=12, deadline=None)
def test_stream_equals_one_fit_with_the_same_bins(seed, cuts, structure):
    X, y = table(seed)
    structure = ChowLiu("explaining-away") if structure == "explaining-away" else structure
    for parameters in (Counts(), Counts(smoothing=1.0)):
        clf = stream(TANClassifier(structure, parameters, binning="quantile"), X, y, cuts)
        once = TANClassifier(structure, parameters, binning=clf.encoder_).fit(X, y)
        assert_same(clf, once)
        np.testing.assert_array_equal(clf.description_.theta, once.description_.theta)


def test_hundred_pieces_equal_one_fit():
    X, y = table(0, n_rows=1000)
    clf = stream(TANClassifier(random_state=0), X, y, range(60, 1000, 9))
    assert_same(clf, TANClassifier("chow-liu", "ml", binning=clf.encoder_).fit(X, y))
    assert "azure" in clf.encoder_.value_labels(1)


def test_whole_weights_are_repeated_rows():
    X, y = table(1)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    clf = stream(TANClassifier("chow-liu", "ml", binning="quantile"), X, y, [100, 200], weight)
    assert_same(clf, TANClassifier("chow-liu", "ml", binning=clf.encoder_).fit(X, y, weight))


def test_class_weights_are_those_of_all_rows():
    X, y = table(2)
    options = {"class_weight": {"yes": 4.0}, "structure": "chow-liu", "parameters": "ml"}
    clf = stream(TANClassifier(**options), X, y, [150])
    once = TANClassifier(**options, binning=clf.encoder_).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), once.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(clf.description_.theta, once.description_.theta, rtol=1e-5)


def test_random_tree_stays_the_same_between_pieces():
    X, y = table(3)
    clf = stream(TANClassifier("random", "ml"), X, y, [100])
    before = clf.parents_.copy()
    np.testing.assert_array_equal(clf.partial_fit(X, y).parents_, before)


def test_forgetting_lets_old_rows_count_for_less():
    X, y = np.zeros((40, 1)), np.zeros(40, int)
    clf = TANClassifier("none", Counts(1.0), binning="none").partial_fit(X, y, classes=[0, 1])
    clf.partial_fit(X, y + 1, forget=0.75)
    np.testing.assert_allclose(np.exp(clf.network_.log_prior), [11 / 52, 41 / 52], rtol=1e-6)
    with pytest.raises(ValueError, match="forget"):
        clf.partial_fit(X, y, forget=1.0)


def test_gradient_descent_goes_on_and_learns_what_is_new():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    parameters = GradientDescent(epochs=30, parent_dropout=0.1, ridge=0.1, start="naive-bayes")
    clf = TANClassifier("subset", parameters, random_state=0, binning="quantile")
    clf.partial_fit(X[:90], y[:90], classes=[0, 1, 2])
    first = TANClassifier("subset", parameters, random_state=0, binning="quantile", calibrate=False).fit(X[:90], y[:90])
    np.testing.assert_array_equal(clf.network_.theta, first.network_.theta)
    parents, loss = clf.parents_.copy(), -np.log(clf.predict_proba(X[90:])[np.arange(len(y) - 90), y[90:]]).mean()
    for _ in range(5):
        clf.partial_fit(X[90:], y[90:])
    np.testing.assert_array_equal(clf.parents_, parents)
    assert -np.log(clf.predict_proba(X[90:])[np.arange(len(y) - 90), y[90:]]).mean() < loss
    assert len(clf.history_["loss"]) == 35
    assert np.exp(clf.description_.log_prior)[0] == pytest.approx(
        (5 * (y[90:] == 0).sum() + (y[:90] == 0).sum() + 1) / (5 * len(y[90:]) + 93), rel=1e-5
    )


def test_gradient_descent_takes_new_categories():
    X, y = table(4)
    clf = stream(TANClassifier("chow-liu", GradientDescent(epochs=5, shrinkage=0.01), random_state=0), X, y, [140])
    clf.partial_fit(X.assign(colour="green"), y)
    assert "green" in clf.encoder_.value_labels(1)
    assert np.isfinite(clf.predict_proba(X)).all()
    sums = clf.network_.cpt(1).sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-4)


def test_same_bits_for_any_number_of_threads():
    X, y = table(5)
    one, two = (stream(TANClassifier("chow-liu", "ml", n_jobs=n_jobs), X, y, [99]) for n_jobs in (1, 2))
    assert_same(one, two)


def test_pickle_goes_on_and_a_model_file_only_predicts(tmp_path):
    X, y = table(6)
    clf = stream(TANClassifier("chow-liu", "ml"), X[:200], y[:200], [])
    again = pickle.loads(pickle.dumps(clf)).partial_fit(X[200:], y[200:])
    assert_same(again, clf.partial_fit(X[200:], y[200:]))
    clf.save(tmp_path / "model")
    loaded = tanager.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    with pytest.warns(UserWarning, match="begins anew, with the classes and bins of the fit"):
        loaded.partial_fit(X, y)
    assert_same(loaded, TANClassifier("chow-liu", "ml", binning=clf.encoder_).fit(X, y))


def test_fit_starts_anew():
    X, y = load_iris(return_X_y=True)
    clf = TANClassifier("chow-liu", "ml").partial_fit(X, y, classes=[0, 1, 2]).fit(X[:100], y[:100])
    assert clf.classes_.tolist() == [0, 1]
    with pytest.warns(UserWarning, match="begins anew"), pytest.raises(ValueError, match="y has the class 2"):
        clf.partial_fit(X, y)
    clone(clf).partial_fit(X, y, classes=[0, 1, 2])


def test_encoder_of_another_classifier_gives_bins_and_grows():
    X, y = table(7)
    encoder = TANClassifier("none", "ml", binning="quantile", max_bins=3).fit(X[:50], y[:50]).encoder_
    clf = stream(TANClassifier("chow-liu", "ml", binning=encoder), X, y, [])
    assert "azure" not in encoder.value_labels(1)
    assert "azure" in clf.encoder_.value_labels(1)
    np.testing.assert_array_equal(clf.encoder_.columns[0].cuts, encoder.columns[0].cuts)


def test_class_that_has_no_rows_yet():
    X, y = load_iris(return_X_y=True)
    clf = TANClassifier("chow-liu", "ml").partial_fit(X[:100], y[:100], classes=[0, 1, 2, 3])
    assert clf.predict_proba(X).shape == (150, 4)


X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("options", "call", "message"),
    [
        ({}, {}, "classes must be passed on the first call"),
        ({}, {"classes": [0, 1]}, r"y has the class 2, which is not among the classes of the first call: \[0, 1\]"),
        ({"parameters": "penalised"}, {"classes": [0, 1, 2]}, "requires rows, not counts: use 'ml' or 'gradient'"),
        ({"structure": ChowLiu("margin")}, {"classes": [0, 1, 2]}, "'margin' requires all rows at once"),
        ({"structure": "greedy", "parameters": "ml"}, {"classes": [0, 1, 2]}, "requires all rows at once"),
        ({"calibrate": True}, {"classes": [0, 1, 2]}, "calibrate=True requires held-out rows"),
        ({"parameters": "gradient"}, {"classes": [0, 1, 2], "forget": 0.1}, "gradient descent forgets by itself"),
        ({"binning": "quantiles"}, {"classes": [0, 1, 2]}, "did you mean 'quantile'"),
    ],
)
def test_refused_before_anything_is_learned(options, call, message):
    clf = TANClassifier(**options)
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(X, Y, **call)
    assert not hasattr(clf, "classes_")


@pytest.mark.parametrize(
    ("rows", "labels", "call", "message"),
    [
        (X, Y + 1, {}, "y has the class 3"),
        (X, Y, {"classes": [0, 1]}, "not the same as on last call"),
        (X[:, :3], Y, {}, "3 features"),
        (X[:0], Y[:0], {}, "0 sample"),
        (pd.DataFrame(X[:0]), Y[:0], {}, "0 sample"),
        (X + np.inf, Y, {}, "column 0 has infinite values"),
    ],
)
def test_wrong_piece_leaves_what_was_learned(rows, labels, call, message):
    clf = TANClassifier("chow-liu", "ml").partial_fit(X, Y, classes=[0, 1, 2])
    before = clf.predict_proba(X)
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(rows, labels, **call)
    np.testing.assert_array_equal(clf.predict_proba(X), before)
    assert clf._kept.n_pieces == 1


def test_recipe_must_not_change_between_pieces():
    clf = TANClassifier("none", "ml").partial_fit(X, Y, classes=[0, 1, 2]).set_params(structure="chow-liu")
    with pytest.raises(ValueError, match="must not change"):
        clf.partial_fit(X, Y)


def test_rules_about_edges_hold():
    clf = TANClassifier("chow-liu", "ml", forbid=[(2, 3), (3, 2)], require=[(0, 1)])
    clf.partial_fit(X[::2], Y[::2], classes=[0, 1, 2]).partial_fit(X[1::2], Y[1::2])
    assert clf.parents_[1] == 0
    assert clf.parents_[3] != 2
    assert clf.parents_[2] != 3
    assert not hasattr(clf, "fingerprint_")


def test_in_a_stream_of_river():
    """Its wrapper learns rows one by one and many at a time; the counts are those of one fit."""
    compat = pytest.importorskip("river.compat", reason="NO RIVER: the wrapper was NOT tested")
    X, y = load_iris(return_X_y=True, as_frame=True)
    seen = TANClassifier("none", "ml").fit(X[::3], y[::3])
    options = {"binning": seen.encoder_}
    stream = compat.convert_sklearn_to_river(TANClassifier("chow-liu", Counts(1.0), **options), classes=[0, 1, 2])
    stream.learn_many(X[:140], y[:140])
    for row, label in zip(X[140:].to_dict("records"), y[140:].tolist(), strict=True):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            assert sum(stream.predict_proba_one(row).values()) == pytest.approx(1.0)
            stream.learn_one(row, label)
    at_once = TANClassifier("chow-liu", Counts(1.0), **options).fit(X, y)
    np.testing.assert_array_equal(stream.estimator.predict_proba(X), at_once.predict_proba(X))
