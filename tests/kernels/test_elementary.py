"""Polynomials for exp and log against double precision, over the whole range."""

import numpy as np
import pytest

from tanager._jit import kernel
from tanager.kernels.elementary import exp, log

F32 = np.finfo(np.float32)


@kernel
def exp_into(values, out):
    """Compiled as kernels use it: inlined into a loop over an array."""
    for k in range(values.shape[0]):
        out[k] = exp(values[k])


@kernel
def log_into(values, out):
    for k in range(values.shape[0]):
        out[k] = log(values[k])


def apply(function, values):
    values = np.asarray(values, np.float32)
    out = np.empty_like(values)
    function(values, out)
    return out


def test_exp_over_its_range():
    values = np.concatenate([np.linspace(-87, 88, 200_001), np.linspace(-1, 1, 50_001)]).astype(np.float32)
    expected = np.exp(values.astype(np.float64))
    np.testing.assert_allclose(apply(exp_into, values), expected, rtol=2e-7)


def test_exp_of_zero_is_one():
    assert apply(exp_into, [0.0, -0.0]).tolist() == [1.0, 1.0]


def test_exp_is_clipped_to_normal_numbers():
    results = apply(exp_into, [-1e30, -np.inf, -88.0, 89.0, np.inf])
    np.testing.assert_allclose(results, np.exp([-87.0, -87.0, -87.0, 88.0, 88.0]), rtol=2e-7)
    assert np.all(results >= F32.tiny)
    assert np.all(np.isfinite(results))


def test_exp_rises():
    results = apply(exp_into, np.linspace(-87, 88, 20_001))
    assert np.all(np.diff(results) > 0)


def test_log_over_its_range():
    values = np.concatenate([np.geomspace(F32.tiny, F32.max, 200_001), np.linspace(0.5, 2, 50_001)]).astype(np.float32)
    results, expected = apply(log_into, values), np.log(values.astype(np.float64))
    # Relative where the result is large, absolute near log(1) = 0.
    np.testing.assert_allclose(results, expected, rtol=2e-7, atol=2e-7)


def test_log_near_one_is_relative():
    values = np.float32(1.0) + np.arange(1, 64, dtype=np.float32) * F32.eps
    np.testing.assert_allclose(apply(log_into, values), np.log(values.astype(np.float64)), rtol=2e-7)
    assert apply(log_into, [1.0]).tolist() == [0.0]


@pytest.mark.parametrize("power", range(-126, 128, 23))
def test_log_of_powers_of_two(power):
    assert apply(log_into, [2.0**power])[0] == pytest.approx(power * np.log(2), rel=2e-7, abs=0.0)


def test_log_undoes_exp():
    values = np.linspace(-80, 80, 5_001).astype(np.float32)
    np.testing.assert_allclose(apply(log_into, apply(exp_into, values)), values, rtol=2e-7, atol=4e-7)
