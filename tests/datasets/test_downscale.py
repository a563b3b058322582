"""Downscaling agrees with the definition, pixel by pixel."""

import numpy as np

from tanager.datasets.downscale import bicubic_matrix, downscale_images


def keys(x):
    x = abs(x)
    if x <= 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x <= 2 else 0.0


def oracle_line(values, n_out):
    """One line by the definition: the kernel around each new centre, edges repeated, weights scaled to sum to one."""
    n_in = len(values)
    stretch = n_in / n_out
    line = []
    for k in range(n_out):
        centre = (k + 0.5) * stretch - 0.5
        weights = {i: keys((centre - i) / stretch) for i in range(-3 * n_in, 4 * n_in)}
        total = sum(weights.values())
        line.append(sum(w * values[min(max(i, 0), n_in - 1)] for i, w in weights.items()) / total)
    return np.array(line)


def test_lines_by_definition():
    rng = np.random.default_rng(0)
    for n_in, n_out in [(28, 14), (9, 3), (10, 4)]:
        values = rng.integers(0, 256, n_in).astype(float)
        np.testing.assert_allclose(bicubic_matrix(n_in, n_out) @ values, oracle_line(values, n_out), atol=1e-9)


def test_images_by_definition():
    images = np.random.default_rng(1).integers(0, 256, (3, 8, 8)).astype(np.uint8)
    expected = [
        np.array([oracle_line(column, 4) for column in np.array([oracle_line(row, 4) for row in image]).T]).T
        for image in images.astype(float)
    ]
    np.testing.assert_allclose(downscale_images(images, 4), expected, atol=1e-9)


def test_weights_of_the_paper_are_exact():
    # Halving needs only sums of powers of two, so the values do not depend on the order of summation.
    matrix = bicubic_matrix(28, 14)
    assert (matrix * 256 == np.round(matrix * 256)).all()
    np.testing.assert_array_equal(matrix.sum(axis=1), 1.0)


def test_blocks_do_not_show():
    images = np.random.default_rng(2).integers(0, 256, (5000, 4, 4)).astype(np.uint8)
    np.testing.assert_array_equal(downscale_images(images, 2)[4990:], downscale_images(images[4990:], 2))
