"""How columns are encoded by the options of the classifiers: categories, bins, and values that are pooled."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from tanager import CoveringPaths, GradientDescent, TANClassifier, TANEnsembleClassifier
from tanager.data import CategoryColumn, NumericColumn

QUICK = {"parameters": GradientDescent(epochs=4, batch_size=100), "random_state": 0}
POOLED = pytest.mark.filterwarnings("ignore:column .* has so many values")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def mixed():
    """Numbers, some of them missing, counts, text and booleans, in columns of their own."""
    rng = np.random.default_rng(0)
    n_rows = 240
    y = rng.integers(0, 3, n_rows)
    length = rng.normal(size=n_rows) + y
    length[::10] = np.nan
    frame = pd.DataFrame(
        {
            "length": length,
            "weight": rng.normal(size=n_rows) - y,
            "count": y + rng.integers(0, 3, n_rows),
            "colour": np.array(["red", "green", "blue", "black"])[(y + rng.integers(0, 2, n_rows)) % 4],
            "is_new": (y == 1) ^ (rng.random(n_rows) < 0.2),
        }
    )
    return frame, y


# Which columns are categories.


def are_categories(classifier):
    return [isinstance(column, CategoryColumn) for column in classifier.encoder_.columns]


def test_text_and_booleans_are_categories(mixed):
    assert are_categories(TANClassifier("subset", **QUICK).fit(*mixed)) == [False, False, False, True, True]


@pytest.mark.parametrize("choice", [[2], ["count"], [False, False, True, False, False], np.array([2]), range(2, 3)])
def test_numbers_may_be_categories(mixed, choice):
    classifier = TANClassifier("subset", categorical_features=choice, **QUICK).fit(*mixed)
    # Text is a category whatever the option says. Booleans are numbers unless they are chosen.
    assert are_categories(classifier) == [False, False, True, True, False]
    assert classifier.encoder_.columns[2].categories.tolist() == [0, 1, 2, 3, 4]


def test_none_takes_all_but_text_for_numbers(mixed):
    classifier = TANClassifier("subset", categorical_features=None, **QUICK).fit(*mixed)
    assert are_categories(classifier) == [False, False, False, True, False]


def test_an_ensemble_encodes_in_the_same_way(mixed):
    options = {"categorical_features": [2], "binning": "quantile", "max_bins": 4, "max_categories": 3}
    single = TANClassifier("none", "ml", **options).fit(*mixed)
    ensemble = TANEnsembleClassifier(CoveringPaths(2), "ml", **options).fit(*mixed)
    assert single.encoder_.cards.tolist() == [5, 4, 3, 3, 2]
    for classifier in (ensemble, *ensemble.estimators_):
        np.testing.assert_array_equal(classifier.encoder_.cards, single.encoder_.cards)
        assert are_categories(classifier) == are_categories(single)


@pytest.mark.parametrize("kind", [TANClassifier, TANEnsembleClassifier])
@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (["hue"], "categorical_features lists 'hue', which X does not have"),
        ([5], "categorical_features lists column 5, but X has 5 columns"),
        ([True], "one entry for each of the 5 columns, but it has 1"),
        ("colour", r"such as \['colour'\]"),
    ],
)
def test_columns_that_do_not_exist(mixed, kind, choice, message):
    with pytest.raises(ValueError, match=message):
        kind(categorical_features=choice, **QUICK).fit(*mixed)


def test_names_of_columns_that_have_none(mixed):
    X, y = mixed
    with pytest.raises(ValueError, match="categorical_features lists the column name 'a', but X has no column names"):
        TANClassifier(categorical_features=["a"], **QUICK).fit(X.to_numpy(), y)


def test_categories_of_a_dtype_that_no_row_has_are_left_out():
    grades = pd.Categorical(["a", "b"] * 10, categories=["never", "b", "a"])
    classifier = TANClassifier("subset", **QUICK).fit(pd.DataFrame({"grade": grades}), [0, 1] * 10)
    assert classifier.encoder_.columns[0].categories.tolist() == ["a", "b"]


def test_numeric_categories_of_a_dtype_are_categories():
    codes = pd.Categorical([3, 7, 3, 7] * 5)
    classifier = TANClassifier("subset", **QUICK).fit(pd.DataFrame({"code": codes}), [0, 1, 0, 1] * 5)
    assert classifier.encoder_.columns[0].categories.tolist() == [3, 7]
    as_numbers = classifier.predict_proba(pd.DataFrame({"code": [7.0, 3.0]}))
    np.testing.assert_array_equal(as_numbers, classifier.predict_proba(pd.DataFrame({"code": codes[[1, 0]]})))


# Binning.


@pytest.mark.parametrize("binning", ["auto", "mdlp"])
def test_cuts_by_the_classes(iris, binning):
    assert TANClassifier("subset", binning=binning, **QUICK).fit(*iris).encoder_.cards.tolist() == [3, 3, 3, 3]


def test_without_being_told_no_number_is_left_whole(streets):
    """Floors have nothing to do with the classes."""
    X, y = streets
    default, by_classes = (TANClassifier("none", **binning, **QUICK) for binning in ({}, {"binning": "mdlp"}))
    assert default.fit(X[["floor"]], y).encoder_.cards.tolist() == [5]
    assert by_classes.fit(X[["floor"]], y).encoder_.cards.tolist() == [1]


def test_max_bins_limits_mdlp(mixed):
    columns = TANClassifier("subset", max_bins=2, **QUICK).fit(*mixed).encoder_.columns
    numeric = [column for column in columns if isinstance(column, NumericColumn)]
    assert [column.cuts.size for column in numeric] == [1, 1, 1]


@pytest.mark.parametrize(("max_bins", "n_bins"), [(None, 10), (4, 4), (1, 1)])
def test_quantiles(max_bins, n_bins):
    X = np.arange(1000.0)[:, None]
    classifier = TANClassifier("subset", binning="quantile", max_bins=max_bins, **QUICK).fit(X, [0, 1] * 500)
    codes = np.searchsorted(classifier.encoder_.columns[0].cuts, X[:, 0], side="right")
    assert np.bincount(codes).tolist() == [1000 // n_bins] * n_bins


def test_quantiles_leave_missing_cells_out():
    X = np.r_[np.full(100, np.nan), np.arange(100.0)][:, None]
    classifier = TANClassifier("subset", binning="quantile", max_bins=2, **QUICK).fit(X, [0, 1] * 100)
    assert classifier.encoder_.columns[0].cuts.tolist() == [49.5]
    assert classifier.encoder_.cards.tolist() == [3]


def test_without_binning_each_number_is_a_category():
    X = np.array([[0.5], [1.5], [np.nan], [1.5]] * 10)
    classifier = TANClassifier("subset", binning="none", **QUICK).fit(X, [0, 1, 0, 1] * 10)
    assert classifier.encoder_.columns[0].categories.tolist() == [0.5, 1.5]
    assert classifier.encoder_.cards.tolist() == [3]
    # 1.0 lies between the two, but it is neither.
    unknown = classifier.predict_proba([[1.0]])
    prior = np.exp(classifier.network_.log_prior)
    np.testing.assert_allclose(unknown, [prior / prior.sum()], rtol=1e-5)


def test_codes_without_binning_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = ((rng.integers(0, 3, (300, 4)) + y[:, None]) % 5).astype(np.uint8)
    settings = {"structure": "chow-liu", "parameters": "ml"}
    plain = TANClassifier(binning="none", **settings).fit(X, y)
    named = TANClassifier(categorical_features=range(4), **settings).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), named.predict_proba(X))


def test_weights_move_the_bins():
    X = np.arange(100.0)[:, None]
    y = np.repeat([0, 1, 0], [30, 40, 30])
    weight = np.where(np.arange(100) < 70, 1.0, 0.0)
    classifier = TANClassifier("subset", **QUICK).fit(X, y, sample_weight=weight)
    assert classifier.encoder_.columns[0].cuts.tolist() == [29.5]


# Columns of many values.


@pytest.fixture(scope="module")
def streets():
    """A column of 3000 street names, a few of them frequent, and one of numbers."""
    rng = np.random.default_rng(0)
    n_rows = 9000
    y = rng.integers(0, 2, n_rows)
    number = np.where(rng.random(n_rows) < 0.5, rng.integers(0, 20, n_rows) * 2 + y, np.arange(n_rows) % 3000 + 100)
    street = np.array([f"street {k}" for k in number])
    return pd.DataFrame({"street": street, "floor": rng.integers(0, 5, n_rows)}), y


def test_rare_values_are_pooled_and_listed(streets):
    X, y = streets
    with pytest.warns(
        UserWarning, match=r"column 'street' has so many values that its \d+ rarest share one code"
    ) as told:
        classifier = TANClassifier("subset", **QUICK).fit(X, y)
    assert told[0].filename == __file__
    column = classifier.encoder_.columns[0]
    assert classifier.encoder_.cards.tolist() == [64, 5]
    assert column.categories.size == 63
    assert list(classifier.pooled_categories_) == ["street"]
    pooled = classifier.pooled_categories_["street"]
    assert {*pooled, *column.categories} == set(X["street"])
    assert len(pooled) == X["street"].nunique() - 63
    counts = X["street"].value_counts()
    assert counts[pooled].max() <= counts[column.categories].min()
    # Which street it is tells the class of the frequent ones.
    assert classifier.score(X, y) > 0.7


@POOLED
def test_pooled_values_are_one_value(streets):
    X, y = streets
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    pooled = classifier.pooled_categories_["street"]
    probabilities = classifier.predict_proba(pd.DataFrame({"street": pooled, "floor": 0}))
    np.testing.assert_array_equal(probabilities, np.tile(probabilities[:1], (len(pooled), 1)))
    # A street that training did not show is none of them: it is summed out.
    unseen = classifier.predict_proba(pd.DataFrame({"street": ["nowhere"], "floor": 0}))
    missing = classifier.predict_proba(pd.DataFrame({"street": pd.Series([None], dtype="str"), "floor": 0}))
    np.testing.assert_array_equal(unseen, missing)
    assert not np.allclose(unseen, probabilities[:1])


def test_pooled_columns_of_an_array_are_listed_by_number(streets):
    X, y = streets
    classifier = TANClassifier("subset", max_categories=3, **QUICK).fit(X.to_numpy(), y)
    assert list(classifier.pooled_categories_) == [0]
    named = TANClassifier("subset", max_categories=3, **QUICK).fit(X, y)
    assert named.pooled_categories_["street"] == classifier.pooled_categories_[0]
    assert TANClassifier("subset", max_categories=4000, **QUICK).fit(X, y).pooled_categories_ == {}


def test_numbers_taken_as_categories_are_pooled():
    X = np.r_[np.repeat([5, 6, 7], 50), np.arange(100, 150)][:, None]
    classifier = TANClassifier("subset", binning="none", max_categories=4, **QUICK).fit(X, np.arange(200) % 2)
    assert classifier.encoder_.cards.tolist() == [4]
    assert classifier.pooled_categories_ == {0: list(range(100, 150))}


@POOLED
def test_missing_cells_have_a_value_beside_the_pool(streets):
    X, y = streets
    X = X.assign(street=X["street"].where(np.arange(len(X)) % 10 > 0))
    assert TANClassifier("subset", **QUICK).fit(X, y).encoder_.cards.tolist() == [65, 5]
    assert TANClassifier("subset", missing="ignore", **QUICK).fit(X, y).encoder_.cards.tolist() == [64, 5]


def test_heavy_values_are_kept_by_weight():
    X = pd.DataFrame({"a": ["x"] * 10 + ["y"] * 5 + ["z"] * 5})
    weight = np.r_[np.full(10, 0.1), np.ones(5), np.full(5, 2.0)]
    classifier = TANClassifier("subset", max_categories=2, **QUICK).fit(X, [0, 1] * 10, sample_weight=weight)
    assert classifier.pooled_categories_ == {"a": ["x", "y"]}


@POOLED
def test_cpts_of_columns_with_many_values_stay_small():
    """Eight columns of 3000 values each: CPTs of 64 values take megabytes, of 3000 they would take gigabytes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.integers(0, 3000, 6000).astype(str) for j in range(8)})
    y = rng.integers(0, 5, 6000)
    classifier = TANClassifier("subset", GradientDescent(epochs=1), random_state=0).fit(X, y)
    assert classifier.encoder_.cards.tolist() == [64] * 8
    assert sum(map(len, classifier.pooled_categories_.values())) > 8 * 2500
    assert classifier.network_.layout.size <= 8 * 64 * 64 * 5
