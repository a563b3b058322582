"""Data sets by name: shapes, read-only arrays, names that do not exist."""

import numpy as np
import pytest

from tanager.datasets import CATALOGUE, find_entry, load_dataset, load_raw


def test_digits_need_no_file(monkeypatch):
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    digits = load_dataset("digits")
    raw = load_raw("digits")
    assert len(digits.X_train) + len(digits.X_test) == len(raw.X) == 1797
    assert (digits.n_features, digits.n_classes, digits.n_folds, digits.image_shape) == (64, 10, 1, (8, 8))
    assert (digits.X_train.max(axis=0) < digits.cards).all()
    assert (digits.X_test.max(axis=0) < digits.cards).all()
    assert np.bincount(digits.y_test).min() > 50


def test_a_data_set_is_loaded_once_and_cannot_be_changed():
    digits = load_dataset("digits")
    assert load_dataset("digits") is digits
    with pytest.raises(ValueError, match="read-only"):
        digits.X_train[0, 0] = 1


@pytest.mark.parametrize("load", [load_dataset, load_raw, find_entry])
def test_unknown_names_are_refused(load):
    with pytest.raises(
        ValueError, match="there is no data set 'iris'; there are letter, satimage, usps, mnist, digits"
    ):
        load("iris")


@pytest.mark.parametrize(
    ("name", "fold", "message"),
    [
        ("digits", 2, "digits has one fold, number 1, got fold 2"),
        ("satimage", 0, "satimage has folds 1 to 5, got fold 0"),
        ("satimage", 6, "got fold 6"),
        ("letter", "1", "got fold '1'"),
    ],
)
def test_unknown_folds_are_refused(name, fold, message):
    with pytest.raises(ValueError, match=message):
        load_dataset(name, fold)


def test_catalogue_is_consistent():
    for entry in CATALOGUE.values():
        if entry.image_shape is not None:
            assert np.prod(entry.image_shape) == entry.n_features
        assert entry.n_folds in (1, entry.n_parts)
        assert len(set(entry.class_names)) == len(entry.class_names)
