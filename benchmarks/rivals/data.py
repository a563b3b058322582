"""The data sets of the comparison, each with one split that never changes.

letter, satimage (its first fold), usps and mnist are the paper's codes in the paper's split; the codes have an order
and are given as numbers. adult and kddcup99 have a split of their own. Of the others a third of the rows, drawn once
and stratified by class, are test rows. Words are pandas categories; a question mark is a missing cell.

Defaults are chosen on the training rows of these splits, so neither the seed nor the share may change.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split

from benchmarks.csv_files import Split, as_categories, extra_folder, read_adult, read_kddcup99, read_rows
from tanager.datasets import load_dataset

TABLES: tuple[str, ...] = (
    "iris",
    "wine",
    "breast_cancer",
    "digits",
    "car",
    "mushroom",
    "nursery",
    "waveform",
    "satimage",
    "krkopt",
    "letter",
    "adult",
    "usps",
    "mnist",
    "kddcup99",
)
"""Names of the data sets, the cheaper ones first."""

_TEST_SHARE, _SPLIT_SEED = 1 / 3, 0

_OF_SKLEARN = ("iris", "wine", "breast_cancer", "digits")
_OF_PAPER = ("letter", "satimage", "usps", "mnist")


@cache
def load_table(name: str) -> Split:
    """Training and test rows of a data set.

    Parameters
    ----------
    name : str
        One of `TABLES`.

    Returns
    -------
    Split
        ``(X_train, y_train, X_test, y_test)`` as pandas frames and series.

    Examples
    --------
    >>> split = load_table("iris")
    >>> split.X_train.shape, split.X_test.shape
    ((100, 4), (50, 4))
    """
    if name not in TABLES:
        raise ValueError(f"no data set {name!r}; there are {', '.join(TABLES)}")
    if name in _OF_SKLEARN:
        return split_rows(*getattr(sklearn_datasets, f"load_{name}")(return_X_y=True, as_frame=True))
    if not is_there(name):
        raise FileNotFoundError(f"{needed_file(name)} of data set {name!r} is missing: set TANAGER_DATA to its folder")
    return _paper_split(name) if name in _OF_PAPER else as_categories(_read_split(name))


def is_there(name: str) -> bool:
    """Whether a data set can be loaded: its file is in the folder that TANAGER_DATA names, or it needs none."""
    folder = os.environ.get("TANAGER_DATA")
    return name in _OF_SKLEARN or (bool(folder) and (Path(folder) / needed_file(name)).exists())


def needed_file(name: str) -> str:
    """The file of a data set, below the folder that TANAGER_DATA names."""
    if name in _OF_PAPER:
        return f"{name}_paper.npz"
    return f"extra/{'kddcup99_10pct_train' if name == 'kddcup99' else name}.csv.gz"


def split_rows(X: pd.DataFrame, y: pd.Series) -> Split:
    """Hold out a third of the rows of each class for the test, always the same ones."""
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=_TEST_SHARE, random_state=_SPLIT_SEED, stratify=y)
    return Split(X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test])


def _read_split(name: str) -> Split:
    folder = extra_folder() or Path()
    if name == "adult":
        return read_adult(folder)
    if name == "kddcup99":
        return read_kddcup99(folder)
    return split_rows(*read_rows(folder / f"{name}.csv.gz"))


def _paper_split(name: str) -> Split:
    data = load_dataset(name, 1)
    names = [f"x{i}" for i in range(data.n_features)]
    X_train, X_test = (pd.DataFrame(codes, columns=names) for codes in (data.X_train, data.X_test))
    return Split(X_train, pd.Series(data.y_train, name="class"), X_test, pd.Series(data.y_test, name="class"))
