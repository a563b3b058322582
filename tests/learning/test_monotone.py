"""Monotone log-odds: checked over all combinations of cells, on random and on real data."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import tanager
from tanager import ChowLiu, DisjointTrees, PenalisedLikelihood, TANClassifier, TANEnsembleClassifier


def random_rows(seed, n_rows=300):
    """Four columns whose influence goes up, down or both ways, and depends on the others."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_rows, 3)), rng.integers(0, 3, n_rows)])
    X[rng.random(n_rows) < 0.1, 1] = np.nan
    filled = np.nan_to_num(X)
    effects = rng.normal(size=4) * filled + np.sin(2 * filled) * rng.normal(size=4)
    score = (
        effects.sum(axis=1) + rng.normal() * filled[:, 0] * filled[:, 1] + rng.normal() * filled[:, 2] * filled[:, 3]
    )
    return X, rng.random(n_rows) < 1 / (1 + np.exp(-score))


def smallest_step(clf, feature, direction):
    """Least change of the probability along a feature, over all values of the others."""
    encoder = clf.encoder_
    n_ordered = encoder.n_ordered(np.ones(4, bool))[feature]
    codes = np.array(list(product(*(range(card) for card in encoder.cards))), np.int64)
    columns = encoder.decode(codes, bins="median")
    probability = clf.predict_proba(np.column_stack([column.astype(float) for column in columns]))[:, 1]
    table = np.moveaxis(probability.reshape(encoder.cards), feature, 0)[:n_ordered]
    return (direction * np.diff(table, axis=0)).min(initial=np.inf)


CASES = [
    (TANClassifier, {}),
    (TANClassifier, {"structure": "none", "parameters": PenalisedLikelihood(0.03, 0.03)}),
    (TANClassifier, {"structure": "chow-liu", "parameters": PenalisedLikelihood(0.1, 0.1, max_groups=4)}),
    (TANClassifier, {"structure": [-1, 0, 0, 2], "parameters": "penalised", "calibrate": True}),
    (TANEnsembleClassifier, {}),
    (TANEnsembleClassifier, {"members": DisjointTrees(2), "parameters": PenalisedLikelihood(0.1, 0.1)}),
    (
        TANEnsembleClassifier,
        {"members": DisjointTrees(2), "parameters": PenalisedLikelihood(0.1, 0.1), "training": "separate"},
    ),
]


@pytest.mark.parametrize(("kind", "options"), CASES, ids=map(str, range(len(CASES))))
def test_the_probability_never_turns_back(kind, options, tmp_path):
    for seed in range(4):
        X, y = random_rows(seed)
        wanted = {0: 1, 1: -1, 2: (1, -1)[seed % 2]}
        common = {"binning": "fine", "max_bins": 8, "missing": "value", "random_state": 0}
        free = kind(**options, **common).fit(X, y)
        clf = kind(**options, **common, monotonic_cst=wanted).fit(X, y)
        clf.save(tmp_path / "model.tanager")
        for each in (clf, tanager.load(tmp_path / "model.tanager")):
            assert all(smallest_step(each, i, sign) >= 0 for i, sign in wanted.items())
        assert min(smallest_step(free, i, sign) for i, sign in wanted.items()) < -1e-3
        assert not np.allclose(clf.predict_proba(X), 0.5)


def test_constraints_that_hold_anyway_change_nearly_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = rng.random(2000) < 1 / (1 + np.exp(-3 * X[:, 0] + 2 * X[:, 1]))
    parameters = PenalisedLikelihood(3.0, 10.0)
    free = TANClassifier("chow-liu", parameters, random_state=0).fit(X, y)
    clf = TANClassifier("chow-liu", parameters, monotonic_cst=[1, -1, 0], random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), free.predict_proba(X), atol=0.08)
    assert log_loss(y, clf.predict_proba(X)) == pytest.approx(log_loss(y, free.predict_proba(X)), abs=0.005)


def test_real_data_lose_little():
    """Tumours with larger values are malignant more often: fitted on half of the rows, judged by the others."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[["worst radius", "worst texture", "worst smoothness", "worst concavity"]]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    parameters = ChowLiu("residual"), "penalised"
    free = TANClassifier(*parameters, random_state=0).fit(X_train, y_train)
    down = dict.fromkeys(X.columns, -1)
    clf = TANClassifier(*parameters, monotonic_cst=down, random_state=0).fit(X_train, y_train)
    assert log_loss(y_test, clf.predict_proba(X_test)) < log_loss(y_test, free.predict_proba(X_test)) + 0.02
    for name in X.columns:
        grid = pd.concat([X_test.assign(**{name: value}) for value in np.linspace(X[name].min(), X[name].max(), 40)])
        probability = clf.predict_proba(grid)[:, 1].reshape(40, -1)
        assert np.diff(probability, axis=0).max() <= 0


def test_an_ordinal_column_can_be_monotone():
    rng = np.random.default_rng(0)
    words = np.array(["low", "middle", "high", "top"])
    code = rng.integers(0, 4, 400)
    y = np.where(rng.random(400) < np.array([0.2, 0.6, 0.4, 0.8])[code], "yes", "no")
    frame = pd.DataFrame({"level": words[code], "x": rng.normal(size=400)})
    options = {"ordinal_features": {"level": words.tolist()}, "monotonic_cst": {"level": 1}}
    clf = TANClassifier("none", "penalised", **options, random_state=0).fit(frame, y)
    steps = np.diff(clf.predict_proba(pd.DataFrame({"level": words, "x": 0.0}))[:, 1])
    assert (steps >= 0).all()
    assert steps[1] < 1e-3 < steps[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotonic_cst": {"a": 2}}, "monotonic_cst of column 'a' must be 1, 0 or -1, got 2"),
        ({"monotonic_cst": {"a": True}}, "monotonic_cst of column 'a' must be 1, 0 or -1, got True"),
        ({"monotonic_cst": "up"}, "monotonic_cst must be a dict from columns to 1 or -1"),
        ({"monotonic_cst": {0: 1}, "parameters": "ml"}, r"monotonic_cst requires PenalisedLikelihood, .* got .*Counts"),
        ({"monotonic_cst": {0: 1}, "structure": "subset"}, "monotonic_cst requires PenalisedLikelihood, .*Gradient"),
    ],
)
def test_wrong_directions_are_refused_before_X_is_read(options, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier(**options).fit(None, None)


def test_directions_that_do_not_fit_the_data():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0] * 10, "b": ["x", "y", "z"] * 10})
    with pytest.raises(ValueError, match="monotonic_cst requires two classes, but y has 3"):
        TANClassifier(monotonic_cst={"a": 1}).fit(X, X["b"])
    with pytest.raises(ValueError, match="monotonic_cst names column 'b', which holds categories without an order"):
        TANClassifier(monotonic_cst={"b": 1}).fit(X, X["a"] > 1)
    with pytest.raises(ValueError, match="monotonic_cst names the column 'c'"):
        TANClassifier(monotonic_cst={"c": 1}).fit(X, X["a"] > 1)
    with pytest.raises(ValueError, match="requires combine='log'"):
        TANEnsembleClassifier(combine="probability", monotonic_cst={"a": 1}).fit(X, X["a"] > 1)
