"""Bins and categories from summaries equal those of all rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.data import FrameEncoder, FrameSummary, NumericColumn, RowSample, as_frame, make_binning, summaries
from tanager.data.row_sample import hash_positions, join_frames
from tests.strategies import SEEDS


def random_frame(seed, n_rows=200):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = pd.DataFrame({"a": rng.normal(y, 1.0).round(1) + 0.0, "b": rng.choice(["x", "y", "zz"], n_rows)})
    X["c"] = rng.integers(0, 5, n_rows)
    X["d"] = rng.choice([True, False], n_rows)
    X.loc[rng.random(n_rows) < 0.1, "a"] = np.nan
    X.loc[rng.random(n_rows) < 0.1, "b"] = None
    return X, y, rng.integers(1, 4, n_rows).astype(float)


def summarise(X, y, weight, cuts, is_merged=False):
    edges = [0, *sorted(cuts), len(y)]
    whole = FrameSummary.of(as_frame(X))
    for lo, hi in zip(edges[:-1], edges[1:], strict=True):  # noqa: RUF007
        if hi > lo:
            frame, part = as_frame(X[lo:hi]), FrameSummary.of(as_frame(X)) if is_merged else whole
            part.add(frame, as_frame(X).is_categorical, y[lo:hi], weight[lo:hi])
            if is_merged:
                whole.merge(pickle.loads(pickle.dumps(part)))
    return whole


def known_values(encoder):
    """Cuts or categories of every column."""
    return [
        column.cuts.tolist() if isinstance(column, NumericColumn) else encoder.value_labels(index)
        for index, column in enumerate(encoder.columns)
    ]


@given(
    SEEDS,
    st.lists(st.integers(0, 200), max_size=4),
    st.booleans(),
    st.sampled_from(["auto", "mdlp", "quantile", "fine", "none"]),
    st.sampled_from([None, 2]),
)
@settings(max_examples=40, deadline=None)
def test_encoder_is_that_of_all_rows(seed, cuts, is_merged, binning, max_categories):
    X, y, weight = random_frame(seed)
    frame = as_frame(X)
    options = {"missing": "value", "max_categories": max_categories}
    found = summarise(X, y, weight, cuts, is_merged).encoder(
        frame, (y, weight), binning, None, n_rows=weight.sum(), **options
    )
    is_categorical = np.ones(4, bool) if binning == "none" else frame.is_categorical
    expected = FrameEncoder.fit(frame, is_categorical, weight, make_binning(binning, y, None), **options)
    assert known_values(found) == known_values(expected)
    np.testing.assert_array_equal(found.encode(frame), expected.encode(frame))


def test_column_with_too_many_values_is_cut_by_the_sample(monkeypatch):
    monkeypatch.setattr(summaries, "MOST_VALUES", 50)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 1)), rng.integers(0, 2, 2000)
    frame, summary = as_frame(X), FrameSummary.of(as_frame(X))
    summary.add(frame, frame.is_categorical, y, np.ones(2000))
    assert summary.columns[0].values.cells is None
    sample = as_frame(X[:500])
    encoder = summary.encoder(sample, (y[:500], None), "quantile", 4, missing="value", max_categories=None, n_rows=2000)
    expected = FrameEncoder.fit(sample, sample.is_categorical, None, make_binning("quantile", y[:500], 4))
    np.testing.assert_array_equal(encoder.columns[0].cuts, expected.columns[0].cuts)
    with pytest.raises(ValueError, match="column 0 has more than 50 distinct values"):
        summary.encoder(sample, (y[:500], None), "none", None, missing="value", max_categories=None, n_rows=2000)


def test_rarest_of_very_many_categories_are_dropped(monkeypatch):
    monkeypatch.setattr(summaries, "_MOST_CATEGORIES", 10)
    X = pd.DataFrame({"a": [*(["often"] * 5), *(f"once {k}" for k in range(30))]})
    frame, summary = as_frame(X), FrameSummary.of(as_frame(X))
    summary.add(frame, frame.is_categorical, np.zeros(35, np.int64), np.ones(35))
    assert len(summary.columns[0].values.totals) == 10
    assert "often" in summary.columns[0].values.totals


def test_column_must_be_of_one_kind():
    first, second = as_frame(pd.DataFrame({"a": [1.0, 2.0]})), as_frame(pd.DataFrame({"a": ["x", "y"]}))
    summary, ones = FrameSummary.of(first), np.ones(2)
    summary.add(first, first.is_categorical, np.zeros(2, np.int64), ones)
    with pytest.raises(ValueError, match="column 'a' holds categories, but numbers in the pieces before"):
        summary.add(second, second.is_categorical, np.zeros(2, np.int64), ones)


@pytest.mark.parametrize("cells", [[np.inf, 1.0], ["x", np.inf]])
def test_infinite_numbers_are_refused(cells):
    frame = as_frame(np.array([cells], dtype=object).T)
    with pytest.raises(ValueError, match="column 0 has infinite values"):
        FrameSummary.of(frame).add(frame, frame.is_categorical, np.zeros(2, np.int64), np.ones(2))


@given(SEEDS, st.lists(st.integers(0, 200), max_size=4))
@settings(max_examples=25, deadline=None)
def test_sample_does_not_depend_on_pieces(seed, cuts):
    X, y, weight = random_frame(seed)
    edges, pieces = [0, *sorted(cuts), 200], RowSample(30)
    for lo, hi in zip(edges[:-1], edges[1:], strict=True):  # noqa: RUF007
        if hi > lo:
            pieces.add(as_frame(X[lo:hi]), y[lo:hi], weight[lo:hi], lo)
    rows = np.sort(np.argsort(hash_positions(0, 200))[:30])
    frame, of_sample, own = pieces.rows()
    np.testing.assert_array_equal(of_sample, y[rows])
    np.testing.assert_array_equal(own, weight[rows])
    expected = as_frame(X.iloc[rows])
    encoder = FrameEncoder.fit(expected, expected.is_categorical, None, make_binning("quantile", of_sample, 4))
    np.testing.assert_array_equal(encoder.encode(frame), encoder.encode(expected))


def test_sample_is_drawn_evenly():
    hashes = hash_positions(7, 100_000)
    kept = np.flatnonzero(hashes <= np.partition(hashes, 9999)[9999])
    assert abs(kept.mean() / 50_000 - 1) < 0.02
    assert abs(np.mean(kept % 2) - 0.5) < 0.02


def test_numbers_and_words_join():
    parts = [as_frame(np.array([[True], [False]])), as_frame(np.array([[None], [True]], dtype=object))]
    joined = join_frames(parts)
    assert [None if code < 0 else joined.levels[0][code] for code in joined.columns[0]] == [True, False, None, True]
