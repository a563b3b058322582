"""The discretised data sets of the paper if TANAGER_DATA names their folder, otherwise random data of their shapes."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.shapes import Shape, random_codes, random_labels


class Fold(NamedTuple):
    """Codes and classes of training and test rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    cards: np.ndarray


@cache
def paper_fold(name: str) -> Fold | None:
    """The first fold of a data set, or None if its file is missing."""
    path = Path(os.environ.get("TANAGER_DATA", "")) / f"{name}_paper.npz"
    if not os.environ.get("TANAGER_DATA") or not path.exists():
        return None
    fields = ("X_train", "y_train", "X_test", "y_test", "n_values")
    with np.load(path, allow_pickle=False) as arrays:
        return Fold(*(arrays[f"{field}_1"] for field in fields))


def random_fold(shape: Shape) -> Fold:
    """Uniform codes of a shape. Half of the classes follow the first feature, so that there is something to learn."""
    X, y = random_codes(shape, seed=0).astype(np.uint8), random_labels(shape, seed=0)
    y = np.where(y % 2 == 0, X[:, 0] % shape.n_classes, y).astype(np.uint8)
    # Every value and every class must occur.
    longest = max(*shape.cards, shape.n_classes)
    X[:longest] = np.arange(longest)[:, None] % np.array(shape.cards)
    y[:longest] = np.arange(longest) % shape.n_classes
    return Fold(X, y, X, y, np.array(shape.cards))


def no_data(name: str) -> str:
    """What to print if a data set is missing."""
    return f"{name}_paper.npz (set TANAGER_DATA to the folder that holds it)"


def error_percent(predicted: np.ndarray, y: np.ndarray) -> float:
    """Share of wrong classes, in percent."""
    return 100.0 * float(np.mean(predicted != y))
