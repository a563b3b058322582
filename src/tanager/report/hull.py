"""Lower convex hull of points: no point lies below it. These are the lines of the paper's figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def lower_hull(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners of the lower convex hull, from left to right.

    Parameters
    ----------
    x, y : array-like of shape (N,)

    Returns
    -------
    x, y : float64 arrays of shape (M,)

    Examples
    --------
    >>> lower_hull([0, 1, 2, 3], [2, 0, 1.5, 2])
    (array([0., 1., 3.]), array([2., 0., 2.]))
    """
    points = np.column_stack([np.asarray(x, np.float64), np.asarray(y, np.float64)])
    order = np.lexsort((points[:, 1], points[:, 0]))
    corners: list[NDArray[np.float64]] = []
    for point in points[order]:
        if corners and corners[-1][0] == point[0]:
            continue  # straight above the corner before it
        while len(corners) > 1 and _turns_down(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    hull = np.array(corners).reshape(-1, 2)
    return hull[:, 0], hull[:, 1]


def _turns_down(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> bool:
    """Whether b lies on or above the line from a to c."""
    return bool((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0)
