"""Error of a batch; the losses themselves are tested through `tanager.losses`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.kernels.loss_terms import error_share
from tests.strategies import SEEDS


@given(st.integers(1, 10), st.integers(1, 5), SEEDS)
def test_error_share_is_the_weight_of_the_misclassified(n_rows, n_classes, seed):
    rng = np.random.default_rng(seed)
    # Few distinct values, so that classes tie; argmax takes the first of them too.
    log_joint = rng.integers(-3, 0, size=(n_rows, n_classes)).astype(np.float32)
    y, weight = rng.integers(0, n_classes, size=n_rows), rng.uniform(0.1, 2.0, size=n_rows).astype(np.float32)
    expected = weight[log_joint.argmax(axis=1) != y].sum() / weight.sum()
    assert error_share(log_joint, y, weight) == pytest.approx(expected, rel=1e-6)
