"""The log-joint of a network; that of a batch is tested with the training step."""

import numpy as np
from hypothesis import given, settings

from tanager.kernels.log_joint import network_log_joint
from tests.strategies import make_model, models

# A sum of at most six terms, whose parameters are in single precision.
TOLERANCE = {"rtol": 1e-6, "atol": 1e-6}


@given(models(is_fixed=True))
@settings(max_examples=40)
def test_network_equals_oracle(model):
    n_rows, n_features = model.codes.shape
    log_joint, is_complete = np.empty((n_rows, model.n_classes)), np.zeros(n_rows, np.bool_)
    prior = model.prior.astype(np.float64)
    network_log_joint(0, n_rows, model.arena(), prior, model.layout.tables, model.codes, log_joint, is_complete)
    np.testing.assert_allclose(log_joint, model.log_joint(range(n_features)), **TOLERANCE)
    assert is_complete.all()


def test_network_leaves_rows_with_unknown_values():
    model = make_model([[-1], [0], [1]], [2, 3, 2], 2, seed=0, n_rows=4)
    model.codes[1, 2] = 2
    model.codes[3, 0] = 2
    log_joint, is_complete = np.full((4, 2), 7.0), np.empty(4, np.bool_)
    prior = model.prior.astype(np.float64)
    network_log_joint(0, 4, model.arena(), prior, model.layout.tables, model.codes, log_joint, is_complete)
    assert is_complete.tolist() == [True, False, True, False]
    assert np.all(log_joint[[1, 3]] == 7.0)
    assert np.all(log_joint[[0, 2]] < 0.0)
