"""Data sets as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.datasets.catalogue import Entry


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training rows and test rows, as codes.

    Attributes
    ----------
    name : str
    fold, n_folds : int
        Number of this fold, counted from 1, and the number of folds.
    X_train, X_test : uint8 arrays of shape (N, D)
        Codes of the features, from 0; read-only.
    y_train, y_test : int64 arrays of shape (N,)
        Classes, from 0; read-only.
    cards : int64 array of shape (D,)
        Number of values of each feature.
    class_names : tuple of str
    image_shape : (int, int) or None
    """

    name: str
    fold: int
    n_folds: int
    X_train: NDArray[np.uint8]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.uint8]
    y_test: NDArray[np.int64]
    cards: NDArray[np.int64]
    class_names: tuple[str, ...]
    image_shape: tuple[int, int] | None

    def __post_init__(self) -> None:
        for array in (self.X_train, self.y_train, self.X_test, self.y_test, self.cards):
            array.flags.writeable = False

    @property
    def n_features(self) -> int:
        """Number of features, D."""
        return len(self.cards)

    @property
    def n_classes(self) -> int:
        """Number of classes, C."""
        return len(self.class_names)


@dataclass(frozen=True, eq=False)
class RawData:
    """A data set as published by its authors.

    Attributes
    ----------
    name : str
    X : uint8 array of shape (N, D)
    y : int64 array of shape (N,)
        Classes, from 0, numbered as in the discretised data.
    class_names : tuple of str
    """

    name: str
    X: NDArray[np.uint8]
    y: NDArray[np.int64]
    class_names: tuple[str, ...]


def make_dataset(
    entry: Entry,
    fold: int,
    *,
    train: tuple[NDArray[Any], NDArray[Any]],
    test: tuple[NDArray[Any], NDArray[Any]],
    cards: NDArray[Any],
) -> Dataset:
    """Assemble a data set from codes and classes."""
    return Dataset(
        name=entry.name,
        fold=fold,
        n_folds=entry.n_folds,
        X_train=train[0].astype(np.uint8),
        y_train=train[1].astype(np.int64),
        X_test=test[0].astype(np.uint8),
        y_test=test[1].astype(np.int64),
        cards=cards.astype(np.int64),
        class_names=entry.class_names,
        image_shape=entry.image_shape,
    )
