"""Data sets straight from CSV files: adult, mushroom and kddcup99, in the folder ``extra`` of TANAGER_DATA."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tanager import Counts, GradientDescent, TANClassifier

pytestmark = pytest.mark.data


def extra_file(name):
    """Path of a data file; skips the running test if there is no data, and the test fails if the folder lacks it."""
    folder = os.environ.get("TANAGER_DATA")
    if not folder:
        pytest.skip(f"DID NOT RUN: set TANAGER_DATA to the folder that holds extra/{name}")
    return Path(folder) / "extra" / name


def error(classifier, X, y):
    return float(np.mean(classifier.predict(X) != np.asarray(y)))


# adult: numbers and words with missing cells, which the file marks with "?".


@pytest.fixture(scope="module")
def adult():
    frame = pd.read_csv(extra_file("adult.csv.gz"), na_values="?")
    is_train = frame.pop("split") == "train"
    return frame[is_train], frame[~is_train]


@pytest.mark.parametrize("missing", ["value", "ignore"])
def test_adult(adult, missing):
    train, test = adult
    assert train.isna().to_numpy().sum() == 4262
    classifier = TANClassifier("subset", missing=missing, binning="mdlp", random_state=0).fit(
        train.drop(columns="income"), train["income"]
    )
    assert error(classifier, test.drop(columns="income"), test["income"]) < 0.135
    # fnlwgt, a weight of the census, tells nothing of the class.
    assert classifier.encoder_.cards[2] == 1


def test_adult_with_the_question_mark_as_a_word(adult):
    """Left as it is in the file, a missing cell is a word like others, which is the default anyway."""
    train, test = (part.drop(columns="income") for part in adult)
    words = train.columns[train.isna().any()]
    filled, filled_test = (part.fillna(dict.fromkeys(words, "?")) for part in (train, test))
    options = {"structure": "chow-liu", "parameters": Counts(1.0)}
    with_holes = TANClassifier(**options).fit(train, adult[0]["income"])
    with_words = TANClassifier(**options).fit(filled, adult[0]["income"])
    np.testing.assert_allclose(with_holes.predict_proba(test), with_words.predict_proba(filled_test), rtol=1e-5)


def test_adult_in_polars(adult):
    train, test = adult
    frame = pl.read_csv(extra_file("adult.csv.gz"), null_values="?")
    from_polars = frame.filter(pl.col("split") == "train").drop("split")
    options = {"structure": "subset", "parameters": GradientDescent(epochs=3), "random_state": 0}
    pandas = TANClassifier(**options).fit(train.drop(columns="income"), train["income"])
    polars = TANClassifier(**options).fit(from_polars.drop("income"), from_polars["income"])
    np.testing.assert_array_equal(pandas.classes_, polars.classes_)
    X_test = frame.filter(pl.col("split") == "test").drop("split", "income")
    np.testing.assert_array_equal(pandas.predict_proba(test.drop(columns="income")), polars.predict_proba(X_test))


# mushroom: words only, one column with holes and one that is constant.


def test_mushroom():
    frame = pd.read_csv(extra_file("mushroom.csv.gz"), na_values="?")
    y = frame.pop("class")
    is_test = np.arange(len(frame)) % 3 == 0
    classifier = TANClassifier("subset", random_state=0).fit(frame[~is_test], y[~is_test])
    assert error(classifier, frame[is_test], y[is_test]) < 0.002
    columns = dict(zip(frame.columns, classifier.encoder_.columns, strict=True))
    assert [name for name, column in columns.items() if column.has_missing] == ["stalk-root"]
    assert columns["veil-type"].card == 1
    assert classifier.pooled_categories_ == {}


# kddcup99: half a million rows, a column of 66 words, and a test file with words and classes unseen in training.


@pytest.fixture(scope="module")
def kddcup99():
    train = pd.read_csv(extra_file("kddcup99_10pct_train.csv.gz"))
    test = pd.read_csv(extra_file("kddcup99_corrected_test.csv.gz"))
    return train.drop(columns="label"), train["label"], test.drop(columns="label"), test["label"]


@pytest.fixture(scope="module")
def kddcup99_classifier(kddcup99):
    X, y, _, _ = kddcup99
    with pytest.warns(UserWarning, match="column 'service' has so many values"):
        return TANClassifier("subset", GradientDescent(epochs=1, batch_size=1000), random_state=0).fit(X, y)


@pytest.mark.slow
def test_kddcup99(kddcup99, kddcup99_classifier):
    _, y, X_test, y_test = kddcup99
    is_wrong = kddcup99_classifier.predict(X_test) != y_test.to_numpy()
    is_known = y_test.isin(kddcup99_classifier.classes_).to_numpy()
    assert kddcup99_classifier.classes_.size == y.nunique() == 23
    # Attacks of a kind that training has not shown are 6.02 % of the rows: they cannot be right.
    assert np.mean(~is_known) == pytest.approx(0.0602, abs=1e-4)
    assert is_wrong[~is_known].all()
    assert is_wrong.mean() < 0.09
    assert is_wrong[is_known].mean() < 0.03


@pytest.mark.slow
def test_kddcup99_unseen_words_are_summed_out(kddcup99, kddcup99_classifier):
    X, _, X_test, _ = kddcup99
    is_unseen = ~X_test["service"].isin(X["service"].unique())
    assert is_unseen.any()
    unseen = X_test[is_unseen]
    probabilities = kddcup99_classifier.predict_proba(unseen)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        probabilities, kddcup99_classifier.predict_proba(unseen.assign(service=pd.Series(None, dtype="str")))
    )


@pytest.mark.slow
def test_kddcup99_rare_services_are_pooled(kddcup99, kddcup99_classifier):
    X, _, _, _ = kddcup99
    counts = X["service"].value_counts()
    pooled = kddcup99_classifier.pooled_categories_
    assert list(pooled) == ["service"]
    assert len(pooled["service"]) == counts.size - 63
    assert counts[pooled["service"]].max() <= counts.drop(pooled["service"]).min()
    assert kddcup99_classifier.encoder_.cards.max() == 64
