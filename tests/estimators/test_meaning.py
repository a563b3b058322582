"""The network that describes the data means what it shows: its probabilities are those of rows it has not seen.

`python -m benchmarks.meaning` asks the same of every data set of the comparison with all of its rows. Here are up to
1,500 rows of those that take no more than a second; digits, optdigits, segment, texture, satimage, usps, mnist and
kddcup99 are left out.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from benchmarks.meaning import chi_square, p_value, shown_tables, surprises
from benchmarks.rivals.data import is_there, load_splits
from tanager import TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame
from tanager.model import temper
from tests.paper_data import load_folds

FALSE_ALARM = 1e-3  # of the whole test of a data set, by Bonferroni's rule over its tables
MOST_ROWS = 1_500
MADE = ("breast_cancer", "wine", "iris", "mixed")
STORED = (
    *("car", "mushroom", "nursery", "waveform", "krkopt", "adult", "australian", "banana", "contraceptive", "german"),
    *("heart", "ionosphere", "mammographic", "phoneme", "pima", "ring", "saheart", "sonar", "spambase", "tic-tac-toe"),
    *("titanic", "twonorm", "vehicle", "vowel", "letter"),
)


def load(name):
    """Rows of a data set that is made or comes with scikit-learn."""
    loaders = {"breast_cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
    if name in loaders:
        return loaders[name](return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 1500, p=[0.6, 0.3, 0.1])
    size = rng.gamma(2.0 + (y == "b"), 2.0)
    words = np.where(rng.random(1500) < 0.2 + 0.5 * (size > 5), "red", rng.choice(["blue", "green"], 1500))
    X = pd.DataFrame({"size": size, "colour": words, "count": rng.poisson(size / 2)})
    return X.mask(rng.random(X.shape) < 0.05), y


def halves(X, y, seed=0):
    """Every class cut into halves at random."""
    order = np.random.default_rng(seed).permutation(len(y))
    is_first = np.zeros(len(y), bool)
    labels = np.asarray(y)
    for label in np.unique(labels):
        own = order[labels[order] == label]
        is_first[own[: -(-len(own) // 2)]] = True
    rows = X.reset_index(drop=True)
    return (rows[is_first], labels[is_first]), (rows[~is_first], labels[~is_first])


def some(X, y, n, known=None):
    """Some rows, of known classes only if these are given."""
    order = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X.iloc[order], y.iloc[order]
    is_known = np.ones(len(y), bool) if known is None else y.isin(known).to_numpy()
    return X[is_known], y[is_known]


@cache
def fitted(kind, name):
    """A default fit, the rows that it was trained on, and others."""
    if name in MADE:
        trained, tested = halves(*load(name))
    elif is_there(name):
        X, y, X_test, y_test = load_splits(name)[0]
        trained = some(X, y, MOST_ROWS)
        tested = some(X_test, y_test, 2 * MOST_ROWS, set(trained[1]))
    else:
        pytest.skip(f"{name} DID NOT RUN: set TANAGER_DATA to the folder of the data sets")
    return kind(random_state=0).fit(*trained), trained, tested


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE + STORED)
def test_shown_probabilities_are_those_of_rows_not_trained_on(name):
    clf, trained, tested = fitted(TANClassifier, name)
    assert chi_square(clf, trained, tested)[0] > FALSE_ALARM


def test_the_test_finds_probabilities_that_are_not_those_of_the_data():
    (X, y), (X_test, y_test) = halves(*load("breast_cancer"))
    clf = TANClassifier(random_state=0).fit(X, y)
    clf.description_ = temper(clf.description_, 2.0)
    assert chi_square(clf, (X, y), (X_test, y_test))[0] < 1e-3
    assert all(shown.probabilities.sum() == pytest.approx(1.0, abs=1e-4) for shown in shown_tables(clf, *codes_of(clf)))


def codes_of(clf):
    X, y = load("breast_cancer")
    return clf.encoder_.encode(as_frame(X)).astype(np.int64), np.asarray(y)


def test_rare_cells_are_joined_and_luck_is_allowed_for():
    shown, seen = np.array([0.5, 0.49, 0.01]), np.array([500, 490, 10])
    assert p_value(shown, 1000, seen) == pytest.approx(1.0)
    assert p_value(shown, 1000, np.array([600, 390, 10])) < 1e-3
    assert p_value(shown, 10, np.array([600, 390, 10])) > 0.1  # known from few rows only


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [*((TANClassifier, name) for name in MADE + STORED), *((TANEnsembleClassifier, name) for name in MADE[:3])],
)
def test_rows_are_described_as_well_as_by_chow_liu(kind, name):
    clf, trained, tested = fitted(kind, name)
    own, counted = surprises(clf, *trained, tested)
    assert own < 1.005 * counted


def letter():
    """Training and test rows of letter, as categories."""
    fold = load_folds("letter")[0]
    return tuple(fold)[:4], list(range(16))


def adult():
    """Training and test rows of adult, with missing cells."""
    folder = os.environ.get("TANAGER_DATA")
    if not folder:
        pytest.skip("adult DID NOT RUN: set TANAGER_DATA to the folder that holds extra/adult.csv.gz")
    rows = pd.read_csv(Path(folder) / "extra" / "adult.csv.gz", na_values="?", skipinitialspace=True)
    parts = [rows[is_part].drop(columns="split") for is_part in (rows["split"] == "train", rows["split"] != "train")]
    return tuple(each for part in parts for each in (part.drop(columns="income"), part["income"])), "from_dtype"


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("read", "options"),
    [
        (letter, {"structure": "chow-liu", "parameters": "ml"}),
        (adult, {"structure": "chow-liu", "parameters": "ml"}),
        (adult, {"random_state": 0}),
    ],
)
def test_a_classifier_trained_on_sampled_rows_is_nearly_as_good(read, options):
    (X, y, X_test, y_test), categorical = read()
    clf = TANClassifier(categorical_features=categorical, **options).fit(X, y)
    drawn, classes = clf.sample(10_000, random_state=0)
    if isinstance(X, pd.DataFrame):
        for name in X.select_dtypes("number"):
            assert drawn[name].min() >= X[name].min()
            assert drawn[name].max() <= X[name].max()
    real = np.random.default_rng(0).permutation(len(y))[:10_000]
    rows = (X.iloc[real], y.iloc[real]) if isinstance(X, pd.DataFrame) else (X[real], y[real])
    errors = [1 - clf.fit(*each).score(X_test, y_test) for each in ((drawn, classes), rows)]
    assert errors[0] < 1.15 * errors[1]
