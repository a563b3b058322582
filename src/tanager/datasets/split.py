"""The rule that split the paper's data into training rows and test rows.

It was recovered from the published files and reproduces every class and fold of letter, satimage and usps. With more
than three parts, a few rows of each class belong to no test part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def split_rows(
    y: NDArray[np.int64], order: NDArray[np.int64], n_parts: int, fold: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split rows class by class.

    The n rows of a class, numbered 1 to n in the order of ``order``, are cut at the edges
    ``round(linspace(1, n, n_parts + 1))``. The test rows of fold f lie strictly between edge f and edge f + 1; rows 1
    and n belong to the first and the last part.

    Parameters
    ----------
    y : int array of shape (N,)
        Classes.
    order : int array of shape (N,)
        A permutation of the rows.
    n_parts : int
    fold : int
        From 1.

    Returns
    -------
    train, test : int64 arrays
        Row numbers, in the order of ``order``.

    Examples
    --------
    >>> train, test = split_rows(np.zeros(9, int), np.arange(9), 3, 1)
    >>> test
    array([0, 1, 2])
    """
    is_test = np.zeros(len(y), dtype=bool)
    classes = y[order]
    for label in np.unique(classes):
        rows = order[classes == label]
        # Round half up, as MATLAB does.
        edges = np.floor(np.linspace(1, len(rows), n_parts + 1) + 0.5).astype(np.int64)
        is_test[rows[edges[fold - 1] : edges[fold] - 1]] = True
        if fold == 1:
            is_test[rows[0]] = True
        if fold == n_parts:
            is_test[rows[-1]] = True
    return order[~is_test[order]], order[is_test[order]]
