"""Loading a data set by its name: discretised and split as in the paper, or raw."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tanager.datasets.catalogue import check_fold, find_entry
from tanager.datasets.files import data_file
from tanager.datasets.preparation import prepare_dataset
from tanager.datasets.values import Dataset, RawData, make_dataset


@lru_cache(maxsize=8)
def load_dataset(name: str, fold: int = 1) -> Dataset:
    """Load a data set, discretised and split as in the paper.

    Files are looked up in the folder named by ``TANAGER_DATA``, then in the cache, and otherwise downloaded. "digits"
    requires no file: `prepare_dataset` makes it from scikit-learn's copy.

    Parameters
    ----------
    name : {"letter", "satimage", "usps", "mnist", "digits"}
    fold : int, default=1
        1 to 5 for satimage, otherwise 1.

    Returns
    -------
    Dataset
        The same object for the same arguments; its arrays are read-only.

    Raises
    ------
    ValueError
        If there is no such data set or fold.
    DataError
        If the file cannot be found or downloaded.

    Examples
    --------
    >>> digits = load_dataset("digits")
    >>> digits.X_train.shape, digits.X_test.shape, digits.n_classes
    ((1201, 64), (596, 64), 10)
    """
    entry = find_entry(name)
    check_fold(entry, fold)
    if name == "digits":
        return prepare_dataset(load_raw(name), fold)
    with np.load(data_file(f"{name}_paper.npz"), allow_pickle=False) as arrays:
        return make_dataset(
            entry,
            fold,
            train=(arrays[f"X_train_{fold}"], arrays[f"y_train_{fold}"]),
            test=(arrays[f"X_test_{fold}"], arrays[f"y_test_{fold}"]),
            cards=arrays[f"n_values_{fold}"],
        )


def load_raw(name: str) -> RawData:
    """Load a data set before discretisation; mnist has its 60,000 training rows first, then its 10,000 test rows.

    Parameters
    ----------
    name : {"letter", "satimage", "usps", "mnist", "digits"}

    Returns
    -------
    RawData

    Examples
    --------
    >>> load_raw("digits").X.shape
    (1797, 64)
    """
    entry = find_entry(name)
    if name == "digits":
        # Imported here, because it takes as long as the rest of the package.
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return RawData(name, X.astype(np.uint8), y.astype(np.int64), entry.class_names)
    with np.load(data_file(f"{name}_raw.npz"), allow_pickle=False) as arrays:
        return RawData(name, arrays["X"], arrays["y"].astype(np.int64), entry.class_names)
