"""Orderings of the features: natural, random, and three for images (section 4.4 of the paper).

An order is an array whose entry ``p`` is the feature at position ``p``; parents come before children. The pixels of an
image are numbered row by row: pixel (row, column) is feature ``row * n_columns + column``. For an image
that is stored column by column, swap "row" and "column" below.
"""

from __future__ import annotations

import operator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rng: TypeAlias = np.random.Generator | np.random.RandomState


def natural_order(n_features: int) -> NDArray[np.int64]:
    """Return the features in the order of their numbers.

    Parameters
    ----------
    n_features : int
        Number of features, D.

    Returns
    -------
    int64 array of shape (D,)

    Examples
    --------
    >>> natural_order(3)
    array([0, 1, 2])
    """
    return np.arange(check_count(n_features, "n_features"), dtype=np.int64)


def random_order(n_features: int, rng: Rng) -> NDArray[np.int64]:
    """Return the features in random order.

    Parameters
    ----------
    n_features : int
        Number of features, D.
    rng : numpy Generator or RandomState
        Used for one ``rng.permutation(D)``.

    Returns
    -------
    int64 array of shape (D,)

    Examples
    --------
    >>> import numpy as np
    >>> random_order(4, np.random.RandomState(0))
    array([2, 3, 1, 0])
    """
    return rng.permutation(check_count(n_features, "n_features")).astype(np.int64)


def row_wise(image_shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return ordering A: rows from top to bottom, each from left to right.

    Parameters
    ----------
    image_shape : tuple of int
        Number of rows and columns.

    Returns
    -------
    int64 array of shape (n_rows * n_columns,)

    Examples
    --------
    >>> row_wise((2, 3))
    array([0, 1, 2, 3, 4, 5])
    """
    n_rows, n_columns = _check_image_shape(image_shape)
    return natural_order(n_rows * n_columns)


def along_diagonal(image_shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return ordering B: along the main diagonal.

    The pixels on and below the diagonal are taken row by row; each pixel below the diagonal is followed by its mirror
    image above it.

    Parameters
    ----------
    image_shape : tuple of int
        Number of rows and columns, which must be equal.

    Returns
    -------
    int64 array of shape (n_rows * n_columns,)

    Examples
    --------
    >>> along_diagonal((3, 3))
    array([0, 3, 1, 4, 6, 2, 7, 5, 8])
    """
    size = _check_square(image_shape, "along_diagonal")
    pixels: list[tuple[int, int]] = []
    for row in range(size):
        for column in range(row):
            pixels += [(row, column), (column, row)]
        pixels.append((row, row))
    return _features_at(pixels, size)


def centre_outwards(image_shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return ordering C: square rings from the centre of the image outwards.

    Around a region of H times H pixels the next ring has the H pixels above, then the H pixels below, both from left
    to right; then the H pixels to the left and the H pixels to the right, both from top to bottom; then the corners:
    left above, right above, left below, right below. An image of odd size starts with its middle pixel (H = 1), one
    of even size with nothing (H = 0), so its first ring is just the four corners.

    Parameters
    ----------
    image_shape : tuple of int
        Number of rows and columns, which must be equal.

    Returns
    -------
    int64 array of shape (n_rows * n_columns,)

    Examples
    --------
    >>> centre_outwards((3, 3))
    array([4, 1, 7, 3, 5, 0, 2, 6, 8])
    """
    size = _check_square(image_shape, "centre_outwards")
    middle = size // 2
    pixels = [(middle, middle)] if size % 2 else []
    for ring in range(1, middle + 1):
        low, high = middle - ring, size - 1 - middle + ring
        inner = range(low + 1, high)
        pixels += [(low, column) for column in inner]
        pixels += [(high, column) for column in inner]
        pixels += [(row, low) for row in inner]
        pixels += [(row, high) for row in inner]
        pixels += [(low, low), (low, high), (high, low), (high, high)]
    return _features_at(pixels, size)


def pixel_positions(image_shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return the position of each pixel in the image.

    Parameters
    ----------
    image_shape : tuple of int
        Number of rows and columns.

    Returns
    -------
    float64 array of shape (n_rows * n_columns, 2)
        Row and column of each feature.

    Examples
    --------
    >>> pixel_positions((1, 2))
    array([[0., 0.],
           [0., 1.]])
    """
    n_rows, n_columns = _check_image_shape(image_shape)
    return np.indices((n_rows, n_columns)).reshape(2, -1).T.astype(np.float64)


def _features_at(pixels: list[tuple[int, int]], n_columns: int) -> NDArray[np.int64]:
    """Return the features of (row, column) pairs."""
    return np.array([row * n_columns + column for row, column in pixels], dtype=np.int64)


def _check_image_shape(image_shape: tuple[int, int]) -> tuple[int, int]:
    """Return ``image_shape`` as two ints of at least one."""
    if np.shape(image_shape) != (2,):
        raise ValueError(f"image_shape must be (n_rows, n_columns), got {image_shape}")
    n_rows, n_columns = image_shape
    return check_count(n_rows, "n_rows in image_shape"), check_count(n_columns, "n_columns in image_shape")


def _check_square(image_shape: tuple[int, int], name: str) -> int:
    """Return the size of a square image."""
    n_rows, n_columns = _check_image_shape(image_shape)
    if n_rows != n_columns:
        raise ValueError(f"{name} is only defined for square images, got {n_rows} rows and {n_columns} columns")
    return n_rows


def check_int_vector(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return ``values`` as a one-dimensional int64 array."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, got {array.dtype}")
    return array.astype(np.int64)


def check_count(value: int, name: str) -> int:
    """Return ``value`` as an int of at least one."""
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {count}")
    return count


def check_order(order: ArrayLike) -> NDArray[np.int64]:
    """Return ``order`` as an int64 array that holds every feature once."""
    vector = check_int_vector(order, "order")
    n_features = check_count(vector.size, "the number of features in order")
    rule = f"order must hold each of 0 to {n_features - 1} once"
    outside = vector[(vector < 0) | (vector >= n_features)]
    if outside.size:
        raise ValueError(f"{rule}, but it holds {outside[0]}")
    missing = np.flatnonzero(np.bincount(vector, minlength=n_features) == 0)
    if missing.size:
        raise ValueError(f"{rule}, but feature {missing[0]} is missing")
    return vector


def check_max_parents(k: int, n_features: int) -> int:
    """Return ``k`` as an int that at least one of ``n_features`` features can reach."""
    k = check_count(k, "max_parents")
    if k > n_features - 1:
        features = "is only 1 feature" if n_features == 1 else f"are only {n_features} features"
        raise ValueError(f"max_parents={k} but there {features}, so at most {n_features - 1}")
    return k
