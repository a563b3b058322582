import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.training.schedules import geometric

POSITIVE = st.floats(1e-6, 1e6)


@given(POSITIVE, POSITIVE, st.integers(2, 600))
def test_both_ends_and_a_constant_factor(first, last, n_epochs):
    values = geometric(first, last, n_epochs)
    assert len(values) == n_epochs
    assert values[0] == first
    assert values[-1] == last
    np.testing.assert_allclose(values[1:] / values[:-1], (last / first) ** (1 / (n_epochs - 1)), rtol=1e-9)


@given(POSITIVE, POSITIVE)
def test_one_epoch_has_the_first_value(first, last):
    assert geometric(first, last, 1).tolist() == [first]


def test_published_temperature():
    taus = geometric(10.0, 0.1, 500)
    np.testing.assert_allclose(taus, np.logspace(1, -1, 500))
    assert taus[250] == pytest.approx(1.0, rel=0.01)
