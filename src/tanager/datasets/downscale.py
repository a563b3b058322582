"""Smaller images by bicubic interpolation, as MATLAB's ``imresize`` makes them.

The kernel is that of Keys (1981) with a = -1/2, stretched by the downscaling factor to avoid aliasing, and
pixels beyond the edge repeat the edge. Nothing is rounded or clipped, so values may lie a little outside the
range of the input.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROWS_OF_BLOCK = 4096


def downscale_images(images: NDArray[np.uint8], size: int) -> NDArray[np.float64]:
    """Downscale square images.

    Parameters
    ----------
    images : uint8 array of shape (N, n, n)
    size : int
        New number of rows and columns.

    Returns
    -------
    float64 array of shape (N, size, size)

    Examples
    --------
    >>> downscale_images(np.full((1, 4, 4), 7, np.uint8), 2)
    array([[[7., 7.],
            [7., 7.]]])
    """
    matrix = bicubic_matrix(images.shape[-1], size)
    small = np.empty((len(images), size, size))
    for start in range(0, len(images), _ROWS_OF_BLOCK):
        block = images[start : start + _ROWS_OF_BLOCK].astype(np.float64)
        small[start : start + _ROWS_OF_BLOCK] = matrix @ (block @ matrix.T)
    return small


def bicubic_matrix(n_in: int, n_out: int) -> NDArray[np.float64]:
    """Weights of ``n_in`` pixels in each of ``n_out`` pixels of a line, float64[n_out, n_in]; rows sum to one."""
    stretch = n_in / n_out
    centres = (np.arange(n_out) + 0.5) * stretch - 0.5
    first = np.floor(centres - 2 * stretch).astype(np.int64)
    sources = first[:, None] + np.arange(int(np.ceil(4 * stretch)) + 2)
    weights = _keys_kernel((centres[:, None] - sources) / stretch)
    weights /= weights.sum(axis=1, keepdims=True)
    matrix = np.zeros((n_out, n_in))
    lines = np.broadcast_to(np.arange(n_out)[:, None], sources.shape)
    np.add.at(matrix, (lines, sources.clip(0, n_in - 1)), weights)
    return matrix


def _keys_kernel(x: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.abs(x)
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x <= 2, far, 0.0))
