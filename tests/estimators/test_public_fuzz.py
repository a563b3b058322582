"""Every public method with wrong shapes, types, ranges, strides, read-only and misaligned arrays.

A call works or raises an error that the user can act on, leaves its arguments as they are, and never ends the process.
``TANAGER_FUZZ_ROUNDS=2000`` makes more calls, and ``pytest -s`` prints each before it is made.
"""

import os
import warnings
import zlib

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.damages import arrays_in, damage_call
from tests.estimators.public_calls import MAKERS, fitted, public_methods, rows

N_ROUNDS = int(os.environ.get("TANAGER_FUZZ_ROUNDS", "60")) // 4
ERRORS = (ValueError, TypeError, MemoryError, RuntimeError, OSError)

plt.switch_backend("agg")


def test_no_method_is_left_out():
    assert set(public_methods()) <= set(MAKERS)


@pytest.mark.parametrize("name", MAKERS)
def test_right_arguments_are_taken(name):
    call = MAKERS[name](np.random.default_rng(0))
    call.function(**call.arguments)
    plt.close("all")


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=N_ROUNDS, derandomize=True)
@given(number=st.integers(0, 2**32 - 1))
def test_damaged_arguments_raise_errors_or_work(name, number):
    rng = np.random.default_rng([zlib.crc32(name.encode()), number])
    call = MAKERS[name](rng)
    what, arguments = damage_call(call.arguments, rng)
    print(name, number, what, flush=True)
    arrays = [array for value in arguments.values() for array in arrays_in(value) if not array.dtype.hasobject]
    before = [(array.shape, array.strides, array.tobytes()) for array in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call.function(**arguments)
            message = "none"
        except ERRORS as error:
            message = str(error)
        finally:
            plt.close("all")
    assert message  # a bare error says nothing
    assert [(array.shape, array.strides, array.tobytes()) for array in arrays] == before


def test_fitted_classifiers_are_as_before():
    """After all that, they still predict."""
    X, y = rows(np.random.default_rng(100))
    for kind in ("TANClassifier", "TANEnsembleClassifier"):
        again = type(fitted(kind))(**fitted(kind).get_params(deep=False)).fit(X, y)
        np.testing.assert_array_equal(fitted(kind).predict_proba(X), again.predict_proba(X))
