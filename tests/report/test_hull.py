"""The lower convex hull: no point is below it, and its corners are points."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tanager.report.hull import lower_hull

coordinates = st.integers(-20, 20).map(float)


@given(points=st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=30))
def test_no_point_lies_below(points):
    x, y = map(np.array, zip(*points, strict=True))
    hull_x, hull_y = lower_hull(x, y)
    assert set(zip(hull_x, hull_y, strict=True)) <= set(points)
    assert (hull_x[0], hull_x[-1]) == (x.min(), x.max())
    assert (y >= np.interp(x, hull_x, hull_y) - 1e-9).all()
    slopes = np.diff(hull_y) / np.diff(hull_x)
    assert (np.diff(slopes) > 0).all()
