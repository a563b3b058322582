"""Inputs that were misread or met with errors of other libraries: masks, weights out of range, frames not in memory."""

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tanager import GradientDescent, MDLPDiscretizer, TANClassifier
from tanager.data import as_frame
from tanager.estimators.inputs import count_threads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.array(["a", "b"] * 30)


def counted(**options):
    return TANClassifier("none", "ml", **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masked_numbers_are_missing(dtype):
    numbers, mask = X.astype(dtype), X > 1
    masked, with_nan = np.ma.array(numbers, mask=mask), np.where(mask, np.nan, numbers)
    one, other = counted().fit(masked, Y), counted().fit(with_nan, Y)
    np.testing.assert_array_equal(one.predict_proba(masked), other.predict_proba(with_nan))
    np.testing.assert_array_equal(one.predict_proba(with_nan), other.predict_proba(masked))


@pytest.mark.parametrize("cells", [[1, 2, 3], ["a", "b", "c"], [True, False, True], [2**62, 2**62 + 1, 7]], ids=str)
def test_masked_cells_of_any_type_are_missing(cells):
    masked = np.ma.array(np.array(cells)[:, None], mask=[[False], [True], [False]])
    frame = as_frame(masked)
    values, levels = frame.columns[0], frame.levels[0]
    is_missing = values == -1 if levels is not None else np.isnan(values)
    assert is_missing.tolist() == [False, True, False]
    assert frame.array is None


def test_a_mask_without_entries_changes_nothing():
    numbers = np.ma.array(X)
    assert as_frame(numbers).array is not None
    np.testing.assert_array_equal(counted().fit(numbers, Y).predict_proba(X), counted().fit(X, Y).predict_proba(X))


def test_masks_that_cannot_be_missing_cells_are_refused():
    with pytest.raises(ValueError, match="y contains NaN or None"):
        counted().fit(X, np.ma.array(Y, mask=Y == "a"))
    with pytest.raises(ValueError, match="sample_weight has masked entries"):
        counted().fit(X, Y, np.ma.array(np.ones(60), mask=Y == "a"))
    with pytest.raises(ValueError, match="X has masked entries"):
        MDLPDiscretizer().fit(np.ma.array(X, mask=X > 1), Y)


@pytest.mark.parametrize("weight", [1e300, 1e308, 1e-310])
@pytest.mark.parametrize("parameters", ["ml", GradientDescent(epochs=1)], ids=["counts", "gradient"])
def test_weights_out_of_range_are_named(weight, parameters):
    with pytest.raises(ValueError, match=r"sample_weight sums to .*; multiply all weights by one factor"):
        TANClassifier("none", parameters).fit(X, Y, np.full(60, weight))


@pytest.mark.parametrize("parameters", ["ml", "penalised", GradientDescent(epochs=2, batch_size=5)])
def test_weights_far_apart_are_taken(parameters):
    """Rows whose weights vanish beside others are as good as left out, also where a batch has no others."""
    weight = np.where(np.arange(60) < 30, 1e-300, 1e8)
    probabilities = TANClassifier("none", parameters, random_state=0).fit(X, Y, weight).predict_proba(X)
    assert np.isfinite(probabilities).all()


def test_very_many_jobs_are_as_many_threads_as_are_of_use():
    assert count_threads(10**6) == count_threads(10**30) <= 1024
    assert [count_threads(n_jobs) for n_jobs in (None, 1, 2, 4)] == [1, 1, 2, 4]
    search = TANClassifier("subset", GradientDescent(epochs=1), random_state=0)
    expected = search.fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(search.set_params(n_jobs=10**6).fit(X, Y).predict_proba(X), expected)


FRAME = pd.DataFrame(X, columns=list("abc"))
UNREAD = {
    "Dask frame": (lambda: dask.dataframe.from_pandas(FRAME, npartitions=2), r"Dask frame .*call X\.compute\(\)"),
    "struct": (lambda: pa.table(FRAME).to_struct_array(), r"structs; use pyarrow\.Table\.from_struct_array\(X\)"),
    "reader": (lambda: pa.table(FRAME).to_reader(), r"stream of Arrow record batches; call X\.read_all\(\)"),
    "lazy": (lambda: pl.DataFrame(X).lazy(), r"lazy frame; call X\.collect\(\)"),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_data_that_are_not_columns_in_memory(kind):
    make, message = UNREAD[kind]
    with pytest.raises(TypeError, match=message):
        counted().fit(make(), Y)
    with pytest.raises(TypeError, match=message):
        counted().fit(FRAME, Y).predict(make())


def test_classes_of_dask_are_refused_and_its_arrays_are_read():
    series = dask.dataframe.from_pandas(pd.Series(Y), npartitions=2)
    with pytest.raises(TypeError, match=r"y is a Dask frame or series; use tanager\.dask, or call y\.compute\(\)"):
        counted().fit(X, series)
    assert counted().fit(dask.array.from_array(X), Y).n_features_in_ == 3


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt64, pl.Int8])
def test_integers_of_polars(dtype):
    numbers = pl.DataFrame({"a": pl.Series([1, 2, None, 3] * 15, dtype=dtype)})
    assert counted().fit(numbers, Y).predict(numbers).shape == (60,)


def test_a_discretizer_that_fails_stays_as_it_was():
    fitted = MDLPDiscretizer().fit(FRAME, Y)
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.fit(X[:, :2], Y[:9])
    assert vars(fitted) == before
    unfitted = MDLPDiscretizer()
    with pytest.raises(ValueError, match="inconsistent"):
        unfitted.fit(X, Y[:9])
    assert not hasattr(unfitted, "n_features_in_")
