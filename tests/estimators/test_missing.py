"""Missing and unseen values through TANClassifier: at fit as a value or left out, at prediction summed out."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split

from tanager import Counts, GradientDescent, ParentSets, TANClassifier
from tanager.core import marginal_log_joint
from tests.oracles import counting_oracle
from tests.strategies import SEEDS

QUICK = {"parameters": GradientDescent(epochs=4, batch_size=100), "random_state": 0}
CLOSED_FORM = {"parameters": Counts(1.0), "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def knock_out(X, share, seed):
    """Make a share of the cells missing, chosen at random."""
    X = np.array(X, dtype=float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def text_rows(seed, n_rows=200, share=0.2):
    """A frame of four text columns with holes, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    codes = (y[:, None] + rng.integers(0, 3, (n_rows, 4))) % 4
    codes[:, 1] = (codes[:, 0] + codes[:, 1] // 2) % 4
    cells = np.array(["a", "b", "c", "d"], dtype=object)[codes]
    cells[rng.random(cells.shape) < share] = None
    return pd.DataFrame(cells, columns=list("wxyz")), y


# At fit, as a value.


@pytest.mark.parametrize("options", [{"structure": "chow-liu", **CLOSED_FORM}, {"structure": "all", **QUICK}], ids=str)
def test_missing_cells_are_a_value_like_others(options):
    """Filled with a word that sorts behind all others, the codes are the same."""
    X, y = text_rows(0)
    with_holes = TANClassifier(**options).fit(X, y)
    filled = TANClassifier(**options).fit(X.fillna("zzz"), y)
    assert with_holes.encoder_.cards.tolist() == [5, 5, 5, 5]
    np.testing.assert_array_equal(with_holes.parents_, filled.parents_)
    np.testing.assert_array_equal(with_holes.predict_proba(X), filled.predict_proba(X.fillna("zzz")))


def test_missing_numbers_are_a_value_beside_the_bins(iris):
    X, y = iris
    holes = knock_out(X, 0.2, seed=0)
    holes[:, 3] = X[:, 3]
    classifier = TANClassifier("none", **CLOSED_FORM).fit(holes, y)
    for j, column in enumerate(classifier.encoder_.columns):
        known = ~np.isnan(holes[:, j])
        alone = TANClassifier("none", **CLOSED_FORM).fit(holes[known, j : j + 1], y[known])
        np.testing.assert_array_equal(column.cuts, alone.encoder_.columns[0].cuts)
        assert column.has_missing == (j < 3)
    n_missing = np.bincount(y, np.isnan(holes[:, 0]))
    expected = (n_missing + 1) / (50 + classifier.encoder_.cards[0])
    np.testing.assert_allclose(classifier.network_.cpt(0)[0, -1], expected, rtol=1e-6)


def test_that_a_value_is_missing_may_tell_the_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.where((y == 1) & (rng.random(400) < 0.8), np.nan, rng.normal(size=400))[:, None]
    options = {"structure": "none", "parameters": GradientDescent(epochs=20), "binning": "mdlp", "random_state": 0}
    assert TANClassifier(**options).fit(X, y).score(X, y) > 0.85
    assert TANClassifier(missing="ignore", **options).fit(X, y).score(X, y) < 0.65


def test_at_prediction_missing_is_that_value_only_where_training_had_some(iris):
    X, y = iris
    holes = X.copy()
    holes[::5, 0] = np.nan
    classifier = TANClassifier("none", **CLOSED_FORM).fit(holes, y)
    assert [column.has_missing for column in classifier.encoder_.columns] == [True, False, False, False]
    network = classifier.network_
    log_prior = network.log_prior
    all_missing = classifier.predict_joint_log_proba(np.full((1, 4), np.nan))
    np.testing.assert_allclose(all_missing[0], log_prior + np.log(network.cpt(0)[0, -1]), rtol=1e-5)


def test_missing_cells_of_rows_without_weight_do_not_count(iris):
    X, y = iris
    holes = X.copy()
    holes[::5] = np.nan
    weight = np.ones(150)
    weight[::5] = 0.0
    weighted = TANClassifier("subset", **QUICK).fit(holes, y, sample_weight=weight)
    absent = TANClassifier("subset", **QUICK).fit(X[weight > 0], y[weight > 0])
    assert not any(column.has_missing for column in weighted.encoder_.columns)
    np.testing.assert_array_equal(weighted.predict_proba(X), absent.predict_proba(X))


# At fit, left out.


@given(SEEDS, st.booleans())
@settings(max_examples=30)
def test_ignored_cells_leave_counts_of_rows_with_both_known(seed, is_weighted):
    rng = np.random.default_rng(seed)
    n_rows, cards, n_classes = 40, [3, 2, 4, 2], 3
    X = rng.integers(0, cards, (n_rows, 4)).astype(float)
    # All values and classes once, so that the codes are the values.
    X[:4], y = np.minimum(np.arange(4)[:, None], np.array(cards) - 1), rng.integers(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    X[4:][rng.random((n_rows - 4, 4)) < 0.4] = np.nan
    weight = rng.uniform(0.1, 3.0, n_rows) if is_weighted else None
    parents = [-1, 0, 1, -1]
    classifier = TANClassifier(parents, missing="ignore", categorical_features=range(4), **CLOSED_FORM)
    classifier.fit(X, y, sample_weight=weight)
    assert classifier.encoder_.cards.tolist() == cards
    for i, j in enumerate(parents):
        is_known = ~np.isnan(X[:, [i] if j < 0 else [i, j]]).any(axis=1)
        codes = np.nan_to_num(X[is_known]).astype(int)
        counts = counting_oracle.pair_counts(
            None if j < 0 else codes[:, j],
            codes[:, i],
            y[is_known],
            None if j < 0 else cards[j],
            cards[i],
            n_classes,
            None if weight is None else weight[is_known],
        )
        expected = counting_oracle.maximum_likelihood_table(counts, smoothing=1.0)
        np.testing.assert_allclose(classifier.network_.cpt(i), expected, rtol=1e-5)
    # The class is known in every row.
    prior = counting_oracle.maximum_likelihood_prior(counting_oracle.class_counts(y, n_classes, weight), 1.0)
    np.testing.assert_allclose(np.exp(classifier.network_.log_prior), prior, rtol=1e-6)


def test_gradient_training_on_known_cells_finds_their_frequencies():
    """Without extra parents the likelihood falls apart into single CPTs, whose best values are frequencies."""
    X, y = text_rows(1, n_rows=600, share=0.3)
    options = {"structure": "none", "missing": "ignore", "random_state": 0}
    trained = TANClassifier(parameters=GradientDescent("nll", epochs=150), **options).fit(X, y)
    counted = TANClassifier(parameters=Counts(smoothing=1e-6), **options).fit(X, y)
    for i in range(4):
        np.testing.assert_allclose(trained.network_.cpt(i), counted.network_.cpt(i), atol=0.02)


@pytest.mark.parametrize("structure", ["none", "chow-liu", "subset", "all", "pseudo"])
@pytest.mark.parametrize("missing", ["value", "ignore"])
def test_training_on_rows_with_holes(iris, structure, missing):
    X, y = iris
    holes = knock_out(X, 0.15, seed=1)
    classifier = TANClassifier(structure, GradientDescent(epochs=30), missing=missing, random_state=0).fit(holes, y)
    assert np.isfinite(classifier.history_["loss"]).all()
    assert classifier.history_["loss"][-1] < classifier.history_["loss"][0]
    np.testing.assert_allclose(classifier.predict_proba(holes).sum(axis=1), 1.0)
    assert classifier.score(X, y) > 0.88
    assert classifier.score(holes, y) > 0.8


@pytest.mark.parametrize("loss", ["hybrid", "nll", "margin", "conditional"])
def test_every_loss_trains_on_known_cells(iris, loss):
    X, y = iris
    holes = knock_out(X, 0.2, seed=2)
    classifier = TANClassifier("subset", GradientDescent(loss, epochs=30), missing="ignore", random_state=0)
    assert classifier.fit(holes, y).score(X, y) > 0.85


def test_rows_without_any_value_say_only_how_frequent_a_class_is(iris):
    X, y = iris
    nothing = np.full((100, 4), np.nan)
    options = {"structure": [-1, 0, 1, 2], "missing": "ignore", **CLOSED_FORM}
    plain = TANClassifier(**options).fit(X, y)
    more = TANClassifier(**options).fit(np.vstack([X, nothing]), np.r_[y, np.zeros(100, int)])
    np.testing.assert_array_equal(plain.network_.theta, more.network_.theta)
    np.testing.assert_allclose(np.exp(more.network_.log_prior), np.array([151, 51, 51]) / 253, rtol=1e-6)


def test_without_holes_the_two_options_are_the_same(iris):
    X, y = iris
    value, ignore = (TANClassifier("subset", missing=missing, **QUICK).fit(X, y) for missing in ("value", "ignore"))
    assert value.network_.theta.tobytes() == ignore.network_.theta.tobytes()


@pytest.mark.parametrize("missing", ["value", "ignore"])
def test_the_number_of_threads_changes_no_bit(missing):
    X, y = text_rows(2, n_rows=500)
    one, two = (TANClassifier("subset", missing=missing, n_jobs=n_jobs, **QUICK).fit(X, y) for n_jobs in (1, 2))
    assert one.network_.theta.tobytes() == two.network_.theta.tobytes()
    assert one.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()


# At prediction.


def brute_force(classifier, X, values):
    """Sum the joint probability over all ways to fill the missing cells of each row; `values[j]` are those of j."""
    total = np.empty((len(X), len(classifier.classes_)))
    for n, row in enumerate(X):
        missing = [j for j, cell in enumerate(row) if cell is None]
        filled = np.array([row] * int(np.prod([len(values[j]) for j in missing])), dtype=object)
        filled[:, missing] = list(itertools.product(*(values[j] for j in missing)))
        total[n] = np.logaddexp.reduce(classifier.predict_joint_log_proba(filled), axis=0)
    return total


@st.composite
def forests(draw, n_features):
    """Parents of a random forest over the features, in random order."""
    order = draw(st.permutations(range(n_features)))
    parents = [-1] * n_features
    for position, i in enumerate(order):
        parents[i] = draw(st.sampled_from([-1, *order[:position]]))
    return parents


@given(st.data(), SEEDS)
@settings(max_examples=40)
def test_missing_values_are_summed_out(data, seed):
    """On random networks over text and numbers, fitted in closed form or by gradient."""
    rng = np.random.default_rng(seed)
    n_features = data.draw(st.integers(1, 5))
    parents = data.draw(forests(n_features))
    parameters = data.draw(st.sampled_from(["ml", GradientDescent(epochs=2, batch_size=20)]))
    n_rows = 60
    y = rng.integers(0, data.draw(st.integers(1, 4)), n_rows)
    X = np.empty((n_rows, n_features), dtype=object)
    values = []
    for j in range(n_features):
        if rng.random() < 0.5:
            values.append(["a", "b", "c"][: rng.integers(1, 4)])
            X[:, j] = rng.choice(values[j], n_rows)
        else:
            # Quantiles: one number of each bin stands for the others.
            values.append(np.arange(rng.integers(1, 4)).astype(float).tolist())
            X[:, j] = rng.choice(values[j], n_rows) + rng.uniform(0.0, 0.1, n_rows).round(1)
    classifier = TANClassifier(parents, parameters, binning="quantile", max_bins=3, random_state=0).fit(X, y)
    for j, column in enumerate(classifier.encoder_.columns):
        if hasattr(column, "cuts"):
            values[j] = [*(column.cuts - 1e-9), 99.0]
        else:
            values[j] = column.categories.tolist()
    rows = X[:6].copy()
    rows[rng.random(rows.shape) < 0.6] = None
    np.testing.assert_allclose(
        classifier.predict_joint_log_proba(rows), brute_force(classifier, rows, values), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(classifier.predict_proba(rows).sum(axis=1), 1.0)


def test_sums_go_over_the_value_of_missing_cells_too():
    """Where missing is a value, a word that training did not show may stand for any of the others or for none."""
    X, y = text_rows(3)
    classifier = TANClassifier([-1, 0, 1, 2], **QUICK).fit(X, y)
    rows = X.iloc[:10].copy()
    rows["x"] = "never seen"
    fillings = [rows.assign(x=value) for value in ("a", "b", "c", "d", None)]
    total = np.logaddexp.reduce([classifier.predict_joint_log_proba(filled) for filled in fillings])
    np.testing.assert_allclose(classifier.predict_joint_log_proba(rows), total, rtol=1e-5)


@pytest.mark.parametrize("structure", ["none", "chow-liu", "subset", "all"])
def test_with_nothing_missing_summing_out_is_predict_proba(iris, structure):
    X, y = iris
    classifier = TANClassifier(structure, **QUICK).fit(X, y)
    network = classifier.network_
    codes = np.column_stack(
        [np.searchsorted(column.cuts, X[:, j], side="right") for j, column in enumerate(classifier.encoder_.columns)]
    ).astype(np.uint8)
    joint = np.empty((len(X), 3))
    marginal_log_joint(np.arange(len(X)), network.forest(), codes, joint)
    joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(joint), classifier.predict_proba(X), rtol=1e-6, atol=1e-12)


def test_rows_without_holes_do_not_see_those_that_have_some(iris):
    X, y = iris
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    both = np.vstack([knock_out(X, 0.3, seed=0), X])
    np.testing.assert_array_equal(classifier.predict_proba(both)[150:], classifier.predict_proba(X))
    np.testing.assert_array_equal(classifier.predict(both)[150:], classifier.predict(X))


def test_predict_is_the_most_probable_class_also_with_holes(iris):
    X, y = iris
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    holes = knock_out(X, 0.4, seed=0)
    best = classifier.predict_proba(holes).argmax(axis=1)
    np.testing.assert_array_equal(classifier.predict(holes), classifier.classes_[best])


def test_with_everything_missing_the_class_prior_is_left(iris):
    X, y = iris
    classifier = TANClassifier("chow-liu", **CLOSED_FORM).fit(X[20:], y[20:])
    prior = (np.bincount(y[20:]) + 1) / 133
    np.testing.assert_allclose(classifier.predict_proba(np.full((2, 4), np.nan)), [prior, prior], rtol=1e-5)


@pytest.mark.parametrize("missing", ["value", "ignore"])
def test_an_unseen_word_is_a_missing_one(missing):
    X, y = text_rows(4, share=0.0)
    classifier = TANClassifier("subset", missing=missing, **QUICK).fit(X, y)
    for columns in (["w"], ["x", "z"], ["w", "x", "y", "z"]):
        unseen, holes = X.copy(), X.copy()
        unseen[columns], holes[columns] = "never seen", None
        np.testing.assert_array_equal(classifier.predict_proba(unseen), classifier.predict_proba(holes))


def test_an_unseen_number_taken_as_a_category_is_a_missing_one():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = rng.integers(0, 3, (100, 3)) + y[:, None].astype(float)
    classifier = TANClassifier("subset", binning="none", **QUICK).fit(X, y)
    unseen, holes = X.copy(), X.copy()
    unseen[:, 1], holes[:, 1] = 77.0, np.nan
    np.testing.assert_array_equal(classifier.predict_proba(unseen), classifier.predict_proba(holes))


def test_a_column_of_another_type_than_in_training_is_unseen():
    X, y = text_rows(5, share=0.0)
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    np.testing.assert_array_equal(
        classifier.predict_proba(X.assign(x=3)), classifier.predict_proba(X.assign(x=pd.Series([None] * len(X))))
    )


def test_cycles_leave_out_what_they_do_not_know():
    X, y = text_rows(6, share=0.0)
    circle = ParentSets.from_lists([[1], [2], [3], [0]])
    classifier = TANClassifier(circle, **QUICK).fit(X, y)
    holes = X.assign(x=None)
    network = classifier.network_
    codes = X.map("abcd".index).to_numpy()
    # Column 1 is the child of 2 and the parent of 0: the two terms are left out.
    expected = network.log_prior + sum(np.log(network.cpt(i)[codes[:, j], codes[:, i]]) for i, j in [(2, 3), (3, 0)])
    np.testing.assert_allclose(classifier.predict_joint_log_proba(holes), expected, rtol=1e-5)


# Values that training did not show.


@pytest.fixture(scope="module")
def codes():
    """Codes from 0 to 3 in four columns, and classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = (y[:, None] + rng.integers(0, 3, (300, 4))) % 4
    X[:, 1] = (X[:, 0] + X[:, 1] // 2) % 4
    return X, y


UNSEEN = 99


@pytest.mark.parametrize("structure", ["none", "chow-liu", "all", [-1, 0, 1, 2], [1, 2, 3, -1], [-1, 0, 0, 0]], ids=str)
@pytest.mark.parametrize("unseen", [[0], [1], [3], [0, 1], [0, 2], [1, 2, 3], [0, 1, 2, 3]], ids=str)
def test_an_unseen_value_is_summed_out(codes, structure, unseen):
    X, y = codes
    classifier = TANClassifier(structure, categorical_features=range(4), **QUICK).fit(X, y)
    rows = X[:20].copy()
    rows[:, unseen] = UNSEEN
    total = np.full((20, 3), -np.inf)
    for values in itertools.product(range(4), repeat=len(unseen)):
        filled = rows.copy()
        filled[:, unseen] = values
        total = np.logaddexp(total, classifier.predict_joint_log_proba(filled))
    np.testing.assert_allclose(classifier.predict_joint_log_proba(rows), total, rtol=1e-5)
    np.testing.assert_allclose(classifier.predict_proba(rows).sum(axis=1), 1.0)
    # Rows without such a value are not touched by those that have one.
    both = np.vstack([rows, X[:20]])
    np.testing.assert_array_equal(classifier.predict_proba(both)[20:], classifier.predict_proba(X[:20]))


def test_with_nothing_seen_the_class_prior_is_left(codes):
    X, y = codes
    classifier = TANClassifier("chow-liu", parameters=Counts(1.0), categorical_features=range(4)).fit(X, y)
    prior = (np.bincount(y) + 1) / (len(y) + 3)
    np.testing.assert_allclose(classifier.predict_proba(np.full((1, 4), UNSEEN)), [prior], rtol=1e-5)


def test_an_unseen_value_of_a_cyclic_structure(codes):
    X, y = codes
    circle = ParentSets.from_lists([[1], [2], [3], [0]])
    classifier = TANClassifier(circle, categorical_features=range(4), **QUICK).fit(X, y)
    rows = X[:20].copy()
    rows[:, 1] = UNSEEN
    np.testing.assert_allclose(classifier.predict_proba(rows).sum(axis=1), 1.0)
    assert not np.allclose(classifier.predict_proba(rows), classifier.predict_proba(X[:20]))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_unseen_text_in_a_frame(frame):
    columns = {"colour": ["red", "blue", "red", "blue"] * 10, "size": ["s", "m", "l", "l"] * 10}
    y = [0, 1, 0, 1] * 10
    classifier = TANClassifier("chow-liu", parameters="ml").fit(frame(columns), y)
    new = {"colour": ["green", "red"], "size": ["l", "xl"]}
    np.testing.assert_allclose(classifier.predict_proba(frame(new)).sum(axis=1), 1.0)
    assert classifier.predict(frame(new))[1] == 0


def test_numbers_beyond_those_seen_go_to_the_outer_bins(iris):
    X, y = iris
    fitted = TANClassifier("subset", **QUICK).fit(X, y)
    low, high = X.min(axis=0, keepdims=True), X.max(axis=0, keepdims=True)
    np.testing.assert_array_equal(fitted.predict_proba(low), fitted.predict_proba(low - 1e9))
    np.testing.assert_array_equal(fitted.predict_proba(high), fitted.predict_proba(high + 1e9))


# Against filling the holes.


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer], ids=["digits", "breast cancer"])
@pytest.mark.parametrize(
    "options",
    [{"structure": "chow-liu", "parameters": "ml"}, {"structure": "subset", "parameters": GradientDescent(epochs=20)}],
    ids=["Chow-Liu", "learned"],
)
def test_summing_out_beats_the_most_frequent_value(load, options):
    """A tenth of the cells of the test rows are knocked out; errors are means over ten splits."""
    X, y = load(return_X_y=True)
    errors = []
    for seed in range(10):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        classifier = TANClassifier(random_state=seed, **options).fit(X_train, y_train)
        holes = knock_out(X_test, 0.1, seed)
        filled = SimpleImputer(strategy="most_frequent").fit(X_train).transform(holes)
        errors.append([1 - classifier.score(rows, y_test) for rows in (X_test, holes, filled)])
    complete, summed_out, imputed = np.mean(errors, axis=0)
    assert summed_out < complete + 0.025
    assert summed_out < imputed - 0.005
    n_wins = sum(row[1] < row[2] for row in errors)
    assert n_wins >= 7
