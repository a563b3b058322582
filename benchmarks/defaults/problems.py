"""Small and large learning problems, made from the training rows of the comparison's data sets.

A problem has a number of training rows of a data set to learn from, and up to 5,000 of the others to measure on. So
what is learned from 100 rows is judged by many more, and test rows are never used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.csv_files import Split
from benchmarks.rivals.data import load_splits

SIZES = (100, 300, 1000, 3000)
MOST_MEASURED = 5000
MOST_LEARNED = 15_000

_LARGEST_SHARE = 0.75
_SEED = 1000


class Problem(NamedTuple):
    """A number of rows of a data set, drawn with a seed."""

    table: str
    n_rows: int
    seed: int


def problems_of(table: str, n_seeds: int = 1) -> list[Problem]:
    """Problems of a data set: of few rows, of more, and of three quarters of the training rows (15,000 at most).

    Examples
    --------
    >>> [problem.n_rows for problem in problems_of("digits")]
    [100, 300, 1077]
    """
    most = min(int(_LARGEST_SHARE * len(load_splits(table)[0].y_train)), MOST_LEARNED)
    sizes = [size for size in SIZES if size < 0.8 * most] + [most]
    return [Problem(table, size, seed) for size in sizes for seed in range(n_seeds)]


def load_problem(problem: Problem) -> Split:
    """Rows to learn from and rows to measure on."""
    split = load_splits(problem.table)[0]
    order = np.random.default_rng(_SEED + problem.seed).permutation(len(split.y_train))
    learned, measured = order[: problem.n_rows], order[problem.n_rows :][:MOST_MEASURED]
    return Split(
        split.X_train.iloc[learned],
        split.y_train.iloc[learned],
        split.X_train.iloc[measured],
        split.y_train.iloc[measured],
    )
