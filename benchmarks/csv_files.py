"""The CSV files in the folder ``extra`` of TANAGER_DATA, as users would read them; question marks are missing cells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pandas as pd


class Split(NamedTuple):
    """Rows to learn from and rows to test on."""

    X_train: pd.DataFrame
    y_train: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series

    def head(self, n_rows: int) -> Split:
        """The first rows of each part."""
        return Split(*(part.iloc[:n_rows] for part in self))


def extra_folder() -> Path | None:
    """Folder of the CSV files, or None if there is none."""
    folder = Path(os.environ.get("TANAGER_DATA", "")) / "extra"
    return folder if os.environ.get("TANAGER_DATA") and folder.is_dir() else None


def read_rows(path: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Features and classes of a file whose last column is the class."""
    frame = pd.read_csv(path, na_values="?")
    y = frame.pop(frame.columns[-1])
    return frame, y


def read_adult(folder: Path) -> Split:
    """Census data with UCI's split."""
    X, y = read_rows(folder / "adult.csv.gz")
    is_train = X.pop("split") == "train"
    return Split(X[is_train], y[is_train], X[~is_train], y[~is_train])


def read_kddcup99(folder: Path) -> Split:
    """Network connections; the test file has services and attacks that the training file does not have."""
    train, test = (read_rows(folder / f"kddcup99_{part}.csv.gz") for part in ("10pct_train", "corrected_test"))
    return Split(*train, *test)


def as_categories(split: Split) -> Split:
    """The same split with columns of words as pandas categories, which are the words of all rows."""
    words = split.X_train.select_dtypes(exclude="number").columns
    dtypes = {}
    for name in words:
        seen = pd.concat([split.X_train[name], split.X_test[name]]).dropna().unique()
        dtypes[name] = pd.CategoricalDtype(sorted(seen))
    return split._replace(X_train=split.X_train.astype(dtypes), X_test=split.X_test.astype(dtypes))
