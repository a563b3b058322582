"""The network that describes the data means what it shows: its probabilities are those of rows it has not seen."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from tanager import Counts, TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame
from tests.paper_data import load_folds

FALSE_ALARM = 1e-3  # of the whole test of a data set, by Bonferroni's rule over its tables
FEWEST_EXPECTED = 8.0  # rows in a cell; rarer ones are put together
MADE = ("breast_cancer", "wine", "iris", "digits", "mixed")
STORED = ("australian", "contraceptive", "german", "mammographic", "phoneme", "pima", "titanic", "vehicle")


def load(name):
    """Rows of a data set by its name."""
    loaders = {"breast_cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris, "digits": load_digits}
    if name in loaders:
        X, y = loaders[name](return_X_y=True, as_frame=True)
        return (X.loc[:, X.nunique() > 1].iloc[:, :20], y)
    if name == "mixed":
        rng = np.random.default_rng(0)
        y = rng.choice(["a", "b", "c"], 1500, p=[0.6, 0.3, 0.1])
        size = rng.gamma(2.0 + (y == "b"), 2.0)
        words = np.where(rng.random(1500) < 0.2 + 0.5 * (size > 5), "red", rng.choice(["blue", "green"], 1500))
        X = pd.DataFrame({"size": size, "colour": words, "count": rng.poisson(size / 2)})
        return X.mask(rng.random(X.shape) < 0.05), y
    folder = os.environ.get("TANAGER_DATA")
    if not folder:
        pytest.skip(f"{name} DID NOT RUN: set TANAGER_DATA to the folder that holds tables/{name}.csv.gz")
    rows = pd.read_csv(Path(folder) / "tables" / f"{name}.csv.gz")
    return rows.iloc[:, :-1], rows.iloc[:, -1]


def halves(X, y, seed=0):
    """Every class cut into halves at random."""
    order = np.random.default_rng(seed).permutation(len(y))
    is_first = np.zeros(len(y), bool)
    labels = np.asarray(y)
    for label in np.unique(labels):
        own = order[labels[order] == label]
        is_first[own[: -(-len(own) // 2)]] = True
    rows = X if isinstance(X, np.ndarray) else X.reset_index(drop=True)
    return rows[is_first], labels[is_first], rows[~is_first], labels[~is_first]


def p_value(shown, n_counted, seen):
    """That rows have the probabilities that a table shows, which are known from so many rows; rare cells are joined.

    Cells are joined by what is shown alone: joined by what was seen, those that had bad luck would come together.
    """
    n_seen = seen.sum()
    if not n_seen or not n_counted:
        return 1.0
    groups, total, group = np.empty(len(shown), int), 0.0, 0
    for cell in np.argsort(shown):
        groups[cell] = group
        total += shown[cell] * min(n_seen, n_counted)
        if total >= FEWEST_EXPECTED:
            total, group = 0.0, group + 1
    if total > 0 and group > 0:
        groups[groups == group] = group - 1
    probability, counts = np.bincount(groups, shown), np.bincount(groups, seen)
    if len(probability) < 2:
        return 1.0
    # Both what is shown and what is seen are uncertain.
    variance = probability * n_seen * (1 + n_seen / n_counted)
    return float(chi2.sf(((counts - probability * n_seen) ** 2 / variance).sum(), len(counts) - 1))


def shown_tables(clf, codes, y):
    """Pairs of shown probabilities and counts of rows: class prior, each feature given the class, each line of CPTs."""
    network, n_classes = clf.description_, len(clf.classes_)
    yield np.exp(network.log_prior), np.bincount(y, minlength=n_classes)
    given_class = network.marginals(classes=np.arange(n_classes))
    for i in range(network.n_features):
        known = codes[:, i] < network.cards[i]
        for c in range(n_classes):
            rows = known & (y == c)
            yield given_class.features[i][c], np.bincount(codes[rows, i], minlength=network.cards[i])
        parent = int(network.parents[i])
        if parent < 0:
            continue
        cpt, groups = network.cpt(i, grouped=True), network.groups_of(parent)
        known = known & (codes[:, parent] < network.cards[parent])
        line = codes[:, parent].astype(np.int64) if groups is None else np.append(groups, -1)[codes[:, parent]]
        for c in range(n_classes):
            for g in range(len(cpt)):
                rows = known & (y == c) & (line == g)
                yield cpt[g, :, c], np.bincount(codes[rows, i], minlength=network.cards[i])


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE + STORED)
def test_shown_probabilities_are_those_of_rows_not_trained_on(name):
    X, y, X_test, y_test = halves(*load(name))
    clf = TANClassifier(random_state=0).fit(X, y)
    train, test = (clf.encoder_.encode(as_frame(part)) for part in (X, X_test))
    of_train, of_test = (np.searchsorted(clf.classes_, part) for part in (y, y_test))
    found = []
    for (shown, counts), (_, seen) in zip(
        shown_tables(clf, train, of_train), shown_tables(clf, test, of_test), strict=True
    ):
        np.testing.assert_allclose(shown.sum(), 1.0, atol=1e-4)
        found.append(p_value(shown, counts.sum(), seen))
    assert min(found) * len(found) > FALSE_ALARM


def test_the_test_finds_probabilities_that_are_not_those_of_the_data():
    X, y, X_test, y_test = halves(*load("breast_cancer"))
    clf = TANClassifier(random_state=0).fit(X, y)
    clf.description_ = clf.network_  # which classifies
    codes = clf.encoder_.encode(as_frame(X_test))
    tables = list(shown_tables(clf, codes, y_test))
    assert min(p_value(shown, counts.sum(), counts) for shown, counts in tables) * len(tables) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [*((TANClassifier, name) for name in MADE + STORED), *((TANEnsembleClassifier, name) for name in MADE[:3])],
)
def test_rows_are_described_nearly_as_well_as_by_chow_liu(kind, name):
    X, y, X_test, y_test = halves(*load(name))
    clf = kind(random_state=0).fit(X, y)
    options = {"binning": "fine"} if clf.options_["parameters"].is_fine else {}
    tree = TANClassifier("chow-liu", Counts(1.0), max_categories=1000, **options).fit(X, y)
    codes, classes = clf.encoder_.encode(as_frame(X_test)), np.searchsorted(clf.classes_, y_test)
    np.testing.assert_array_equal(codes, tree.encoder_.encode(as_frame(X_test)))
    own, counted = (-each.description_.log_likelihood(codes, classes).mean() for each in (clf, tree))
    assert own < 1.02 * counted


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
@pytest.mark.parametrize("read", [letter, adult])
def test_a_classifier_trained_on_sampled_rows_is_nearly_as_good(read):
    (X, y, X_test, y_test), categorical = read()
    clf = TANClassifier("chow-liu", "ml", categorical_features=categorical).fit(X, y)
    drawn, classes = clf.sample(10_000, random_state=0)
    if isinstance(X, pd.DataFrame):
        for name in X.select_dtypes("number"):
            assert drawn[name].min() >= X[name].min()
            assert drawn[name].max() <= X[name].max()
    real = np.random.default_rng(0).permutation(len(y))[:10_000]
    rows = (X.iloc[real], y.iloc[real]) if isinstance(X, pd.DataFrame) else (X[real], y[real])
    errors = [1 - clf.fit(*each).score(X_test, y_test) for each in ((drawn, classes), rows)]
    assert errors[0] < 1.15 * errors[1]
