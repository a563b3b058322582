"""The data sets of the comparison, each with splits that never change.

letter, satimage (its first fold), usps and mnist are the paper's codes in the paper's split; the codes have an order
and are given as numbers. adult and kddcup99 have a split of their own. Data sets of fewer than 2,000 rows are cut into
five folds, each of which is the test part once; of the others a third of the rows, drawn once, are test rows. Both are
stratified by class. Words are pandas categories; a question mark is a missing cell.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import StratifiedKFold, train_test_split

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
    *("australian", "banana", "contraceptive", "german", "heart", "ionosphere", "mammographic", "optdigits", "phoneme"),
    *("pima", "ring", "saheart", "segment", "sonar", "spambase", "texture", "tic-tac-toe", "titanic", "twonorm"),
    *("vehicle", "vowel"),
)
"""Names of the data sets: the fifteen of earlier comparisons, the cheaper ones first, and the tables of KEEL."""

_TEST_SHARE, _SPLIT_SEED = 1 / 3, 0

_FEW_ROWS, _N_FOLDS = 2_000, 5

_OF_SKLEARN = ("iris", "wine", "breast_cancer", "digits")
_OF_PAPER = ("letter", "satimage", "usps", "mnist")
_OWN_SPLIT = {"adult": read_adult, "kddcup99": read_kddcup99}
_OF_KEEL = TABLES[15:]


@cache
def load_splits(name: str) -> tuple[Split, ...]:
    """Training and test rows of a data set: one split, or the folds of a small one.

    Parameters
    ----------
    name : str
        One of `TABLES`.

    Returns
    -------
    tuple of Split
        ``(X_train, y_train, X_test, y_test)`` as pandas frames and series.

    Examples
    --------
    >>> [split.X_test.shape for split in load_splits("iris")[:2]]
    [(30, 4), (30, 4)]
    """
    if name not in TABLES:
        raise ValueError(f"no data set {name!r}; there are {', '.join(TABLES)}")
    if not is_there(name):
        raise FileNotFoundError(f"{needed_file(name)} of data set {name!r} is missing: set TANAGER_DATA to its folder")
    if name in _OF_PAPER:
        return (_paper_split(name),)
    if name in _OWN_SPLIT:
        return (as_categories(_OWN_SPLIT[name](extra_folder() or Path())),)
    X, y = _read(name)
    splits = fold_rows(X, y) if len(y) < _FEW_ROWS else [split_rows(X, y)]
    return tuple(map(as_categories, splits))


def is_there(name: str) -> bool:
    """Whether a data set can be loaded: its file is in the folder that TANAGER_DATA names, or it needs none."""
    folder = os.environ.get("TANAGER_DATA")
    return name in _OF_SKLEARN or (bool(folder) and (Path(folder) / needed_file(name)).exists())


def needed_file(name: str) -> str:
    """The file of a data set, below the folder that TANAGER_DATA names."""
    if name in _OF_PAPER:
        return f"{name}_paper.npz"
    folder = "tables" if name in _OF_KEEL else "extra"
    return f"{folder}/{'kddcup99_10pct_train' if name == 'kddcup99' else name}.csv.gz"


def split_rows(X: pd.DataFrame, y: pd.Series) -> Split:
    """Hold out a third of the rows of each class for the test, always the same ones."""
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=_TEST_SHARE, random_state=_SPLIT_SEED, stratify=y)
    return Split(X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test])


def fold_rows(X: pd.DataFrame, y: pd.Series) -> list[Split]:
    """Hold out each of five parts of the rows for the test, always the same ones."""
    folds = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=_SPLIT_SEED).split(X, y)
    return [Split(X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]) for train, test in folds]


def _read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    if name in _OF_SKLEARN:
        return getattr(sklearn_datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    return read_rows(Path(os.environ["TANAGER_DATA"]) / needed_file(name))


def _paper_split(name: str) -> Split:
    data = load_dataset(name, 1)
    names = [f"x{i}" for i in range(data.n_features)]
    X_train, X_test = (pd.DataFrame(codes, columns=names) for codes in (data.X_train, data.X_test))
    return Split(X_train, pd.Series(data.y_train, name="class"), X_test, pd.Series(data.y_test, name="class"))
