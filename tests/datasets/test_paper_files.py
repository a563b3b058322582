"""The files of the paper's data sets, and their preparation from the raw data."""

import os

import numpy as np
import pytest

from tanager.datasets import CATALOGUE, load_dataset, load_raw, prepare_dataset
from tanager.datasets.files import data_file
from tanager.datasets.split import split_rows

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("TANAGER_DATA" not in os.environ, reason="TANAGER_DATA is not set"),
]

PAPER = [name for name, entry in CATALOGUE.items() if entry.is_published]
FOLDS = [(name, fold) for name in PAPER for fold in range(1, CATALOGUE[name].n_folds + 1)]
ROWS = {"letter": (13342, 6658), "usps": (7340, 3660), "mnist": (46669, 23331)}
MEAN_VALUES = {"letter": 9.1, "satimage": 11.5, "usps": 3.4, "mnist": 13.2}


def published_rows(name, fold):
    with np.load(data_file(f"{name}_paper.npz")) as arrays:
        return arrays[f"idx_train_{fold}"], arrays[f"idx_test_{fold}"]


@pytest.mark.parametrize(("name", "fold"), FOLDS)
def test_shapes_and_cards(name, fold):
    data = load_dataset(name, fold)
    entry = CATALOGUE[name]
    assert data.X_train.shape[1] == data.X_test.shape[1] == data.n_features == entry.n_features
    assert (data.fold, data.n_folds) == (fold, entry.n_folds)
    assert data.n_classes == data.y_train.max() + 1 == data.y_test.max() + 1
    np.testing.assert_array_equal(data.X_train.max(axis=0) + 1, data.cards)
    if name in ROWS:
        assert (len(data.y_train), len(data.y_test)) == ROWS[name]


@pytest.mark.parametrize("name", PAPER)
def test_average_number_of_values_is_that_of_the_paper(name):
    cards = [load_dataset(name, fold).cards for fold in range(1, CATALOGUE[name].n_folds + 1)]
    assert np.mean(cards) == pytest.approx(MEAN_VALUES[name], abs=0.05)


@pytest.mark.parametrize("name", PAPER)
def test_class_names_are_those_of_the_raw_data(name):
    with np.load(data_file(f"{name}_raw.npz")) as arrays:
        assert tuple(arrays["class_names"]) == load_raw(name).class_names


@pytest.mark.parametrize(("name", "fold"), FOLDS)
def test_split_rule_gives_the_published_counts(name, fold):
    raw = load_raw(name)
    _, test = split_rows(raw.y, np.arange(len(raw.y)), CATALOGUE[name].n_parts, fold)
    np.testing.assert_array_equal(np.bincount(raw.y[test]), np.bincount(load_dataset(name, fold).y_test))


@pytest.mark.parametrize(("name", "fold"), [pair for pair in FOLDS if pair[0] in ("satimage", "usps")])
def test_preparation_gives_the_published_codes(name, fold):
    ours, published = prepare_dataset(load_raw(name), fold, rows=published_rows(name, fold)), load_dataset(name, fold)
    for part in ("X_train", "y_train", "X_test", "y_test", "cards"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(published, part))


def test_preparation_gives_the_published_codes_of_letter_but_for_two_features():
    # The row numbers of letter are not all certain: where rows of one class agree in all codes but not in the raw
    # values, which of them was in which part is unknown. This moves cuts of features 2 and 7.
    ours, published = prepare_dataset(load_raw("letter"), rows=published_rows("letter", 1)), load_dataset("letter")
    is_certain = ~np.isin(np.arange(16), [2, 7])
    np.testing.assert_array_equal(ours.X_train[:, is_certain], published.X_train[:, is_certain])
    np.testing.assert_array_equal(ours.X_test[:, is_certain], published.X_test[:, is_certain])
    assert (ours.X_train == published.X_train).mean() > 0.99


def test_preparation_gives_the_codes_of_mnist():
    # Both the order of the rows and the cuts come out; the file has its cuts rounded, which moves five values.
    ours, published = prepare_dataset(load_raw("mnist")), load_dataset("mnist")
    np.testing.assert_array_equal(ours.y_train, published.y_train)
    np.testing.assert_array_equal(ours.y_test, published.y_test)
    np.testing.assert_array_equal(ours.cards, published.cards)
    assert (ours.X_train != published.X_train).sum() <= 5
    assert (ours.X_test != published.X_test).sum() <= 5
