"""Training rows as they are encoded for a fit, and for parts of the rows: those held out have no say in bins."""

import numpy as np
import pandas as pd
import pytest

from tanager import TANClassifier
from tanager.estimators.inputs import TrainingData


def make_data(X, y, weight=None, n_threads=1, **options):
    return TrainingData(TANClassifier(**options), X, y, weight, n_threads)


def numbers(n_rows=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("bins", ["auto", "fine", "both"])
def test_rows_are_encoded_once_for_all_who_ask(bins):
    data = make_data(*numbers())
    assert data.encoded(bins) is data.encoded(bins)
    assert data.context(bins) is data.context(bins)
    assert data.context(bins).rows is data.encoded(bins).rows
    first, second = data.parts(0, bins), data.parts(0, bins)
    assert first is second


def test_fine_bins_are_more_than_others():
    data = make_data(*numbers())
    fine, coarse = (data.encoded(bins).rows for bins in ("fine", "auto"))
    assert (fine.cards > coarse.cards).all()
    np.testing.assert_array_equal(fine.n_ordered, fine.cards)
    np.testing.assert_array_equal(fine.y, coarse.y)


@pytest.mark.parametrize("binning", ["mdlp", "quantile", "none", "fine"])
def test_bins_that_are_given_are_the_same_for_all(binning):
    data = make_data(*numbers(), binning=binning)
    assert data.encoded("fine") is data.encoded("auto")


def test_categories_are_no_numbers_and_missing_cells_come_last():
    X, y = numbers()
    frame = pd.DataFrame({"word": np.where(X[:, 0] > 0, "a", "b"), "number": np.where(X[:, 1] > 1, np.nan, X[:, 1])})
    rows = make_data(frame, y).encoded("fine").rows
    assert rows.n_ordered.tolist() == [0, rows.cards[1] - 1]


def test_parts_are_all_rows_with_each_held_out_once():
    X, y = numbers()
    parts = make_data(X, y).parts(0, "fine")
    assert len(parts) == 3
    assert sum(len(held.y) for _, held in parts) == len(y)
    for kept, held in parts:
        assert len(kept.rows.y) + len(held.y) == len(y)
        assert abs(held.y.mean() - y.mean()) < 0.05
        np.testing.assert_array_equal(kept.rows.cards, held.cards)


def test_rows_are_held_out_alike_for_all_bins():
    data = make_data(*numbers())
    for (kept, held), (other_kept, other_held) in zip(data.parts(0, "fine"), data.parts(0, "auto"), strict=True):
        np.testing.assert_array_equal(held.y, other_held.y)
        np.testing.assert_array_equal(kept.rows.y, other_kept.rows.y)


def test_a_category_of_held_out_rows_alone_is_unknown_to_the_others():
    X, y = numbers(60)
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(60)], "x": X[:60, 0]})
    for kept, held in make_data(frame, y).parts(0, "fine"):
        assert kept.rows.cards[0] == len(kept.rows.y)
        assert (held.codes[:, 0] == kept.rows.cards[0]).all()
        assert (kept.rows.codes[:, 0] < kept.rows.cards[0]).all()


def test_whole_weights_are_repeated_rows():
    X, y = numbers()
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = make_data(X, y, times).parts(0, "fine")
    repeated = make_data(np.repeat(X, times, axis=0), np.repeat(y, times)).parts(0, "fine")
    for (kept, held), (other_kept, other_held) in zip(weighted, repeated, strict=True):
        assert kept.rows.full_weight().sum() == len(other_kept.rows.y)
        for rows, other in ((kept.rows, other_kept.rows), (held, other_held)):
            merged, expected = rows.merged(), other.merged()
            np.testing.assert_array_equal(merged.codes, expected.codes)
            np.testing.assert_array_equal(merged.weight, expected.weight)


def test_classes_of_rows_without_weight_are_left_out():
    X, _ = numbers(6)
    data = make_data(X, ["a", "b", "c", "a", "b", "c"], [1, 1, 0, 1, 1, 0])
    assert data.encoded("fine").classes.tolist() == ["a", "b"]
    assert data.encoded("fine").rows.codes.shape == (4, 3)


def test_a_single_row_has_no_parts():
    assert make_data(np.ones((1, 2)), [0]).parts(0, "fine") == []
    assert make_data(np.ones((3, 2)), [0, 1, 1], [1, 0, 0]).parts(0, "fine") == []
    assert len(make_data(np.ones((1, 2)), [0], [5]).parts(0, "fine")) == 3


def test_the_number_of_threads_changes_nothing():
    X, y = numbers()
    one, two = (make_data(X, y, n_threads=n).encoded("fine") for n in (1, 2))
    np.testing.assert_array_equal(one.rows.codes, two.rows.codes)


def test_the_estimator_stays_as_it_is():
    X, y = numbers()
    clf = TANClassifier()
    before = dict(vars(clf))
    TrainingData(clf, pd.DataFrame(X, columns=list("abc")), y, None, 1).parts(0, "fine")
    assert vars(clf) == before
