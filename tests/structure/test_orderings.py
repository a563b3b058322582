from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tanager.structure.orderings import (
    along_diagonal,
    centre_outwards,
    natural_order,
    pixel_positions,
    random_order,
    row_wise,
)

ImageOrder = Callable[[tuple[int, int]], NDArray[np.int64]]

SQUARE_ORDERS = [row_wise, along_diagonal, centre_outwards]


def order_from_ranks(picture: str) -> list[int]:
    """Read a picture of an image in which every pixel shows its position in the order."""
    ranks = [int(rank) for rank in picture.split()]
    return [ranks.index(position) for position in range(len(ranks))]


PICTURES = [
    (
        row_wise,
        3,
        """
        0 1 2
        3 4 5
        6 7 8
        """,
    ),
    (
        row_wise,
        4,
        """
         0  1  2  3
         4  5  6  7
         8  9 10 11
        12 13 14 15
        """,
    ),
    # Each row up to the diagonal, and after each pixel its transposed one.
    (
        along_diagonal,
        3,
        """
        0 2 5
        1 3 7
        4 6 8
        """,
    ),
    (
        along_diagonal,
        4,
        """
        0  2  5 10
        1  3  7 12
        4  6  8 14
        9 11 13 15
        """,
    ),
    # H = 1: one above, one below, one to the left, one to the right, four corners.
    (
        centre_outwards,
        3,
        """
        5 1 6
        3 0 4
        7 2 8
        """,
    ),
    # H = 0: four corners. H = 2: two above, two below, two to the left, two to the right, four corners.
    (
        centre_outwards,
        4,
        """
        12  4  5 13
         8  0  1 10
         9  2  3 11
        14  6  7 15
        """,
    ),
    (
        centre_outwards,
        5,
        """
        21  9 10 11 22
        15  5  1  6 18
        16  3  0  4 19
        17  7  2  8 20
        23 12 13 14 24
        """,
    ),
]


class TestImageOrders:
    @pytest.mark.parametrize(("image_order", "size", "picture"), PICTURES)
    def test_pictures(self, image_order: ImageOrder, size: int, picture: str) -> None:
        assert image_order((size, size)).tolist() == order_from_ranks(picture)

    def test_pictures_as_lists(self) -> None:
        assert along_diagonal((3, 3)).tolist() == [0, 3, 1, 4, 6, 2, 7, 5, 8]
        assert centre_outwards((4, 4)).tolist() == [5, 6, 9, 10, 1, 2, 13, 14, 4, 8, 7, 11, 0, 3, 12, 15]

    def test_row_wise_of_an_image_that_is_not_square(self) -> None:
        assert row_wise((2, 3)).tolist() == [0, 1, 2, 3, 4, 5]

    @pytest.mark.parametrize("image_order", SQUARE_ORDERS)
    @pytest.mark.parametrize("size", [*range(1, 8), 14, 16])
    def test_every_pixel_once(self, image_order: ImageOrder, size: int) -> None:
        order = image_order((size, size))
        assert np.array_equal(np.sort(order), np.arange(size * size))
        assert order.dtype == np.int64

    @pytest.mark.parametrize("size", [3, 4, 14, 15])
    def test_each_ring_of_c_is_full_before_the_next(self, size: int) -> None:
        rows, columns = np.divmod(centre_outwards((size, size)), size)
        distance = np.maximum(np.abs(rows - (size - 1) / 2), np.abs(columns - (size - 1) / 2))
        assert np.all(np.diff(distance) >= 0)

    @pytest.mark.parametrize("image_order", [along_diagonal, centre_outwards])
    def test_only_square(self, image_order: ImageOrder) -> None:
        message = "is only defined for square images, got 2 rows and 3 columns"
        with pytest.raises(ValueError, match=message):
            image_order((2, 3))

    @pytest.mark.parametrize("from_shape", [*SQUARE_ORDERS, pixel_positions])
    def test_bad_shapes(self, from_shape: ImageOrder) -> None:
        with pytest.raises(ValueError, match=r"image_shape must be \(n_rows, n_columns\), got \(3, 3, 1\)"):
            from_shape((3, 3, 1))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="n_rows in image_shape must be at least 1, got 0"):
            from_shape((0, 3))
        with pytest.raises(TypeError, match=r"n_columns in image_shape must be an integer, got 3\.0"):
            from_shape((3, 3.0))  # type: ignore[arg-type]


class TestPixelPositions:
    def test_row_by_row(self) -> None:
        positions = pixel_positions((2, 3))
        assert positions.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
        assert positions.dtype == np.float64


class TestPlainOrders:
    def test_natural(self) -> None:
        order = natural_order(3)
        assert order.tolist() == [0, 1, 2]
        assert order.dtype == np.int64

    @given(st.integers(1, 30), st.integers(0, 2**32 - 1))
    def test_random_is_the_permutation_of_the_generator(self, n: int, seed: int) -> None:
        order = random_order(n, np.random.RandomState(seed))
        assert order.tolist() == np.random.RandomState(seed).permutation(n).tolist()
        assert sorted(random_order(n, np.random.default_rng(seed)).tolist()) == list(range(n))

    def test_draws_follow_each_other(self) -> None:
        rng = np.random.default_rng(0)
        assert random_order(20, rng).tolist() != random_order(20, rng).tolist()

    def test_no_features(self) -> None:
        with pytest.raises(ValueError, match="n_features must be at least 1, got 0"):
            natural_order(0)
        with pytest.raises(ValueError, match="n_features must be at least 1, got -1"):
            random_order(-1, np.random.default_rng(0))
