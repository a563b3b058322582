"""What the estimators take: tables, classes and weights, checked by scikit-learn's rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_consistent_length, validate_data

from tanager.data import Table, as_table


def read_table(estimator: BaseEstimator, X: Any, y: Any = "no_validation", *, reset: bool) -> Table:
    """Read X as a table, and set or check the number and the names of the features on the estimator.

    ``y`` is only looked at to tell that it was given.
    """
    if not _is_frame(X):
        X = check_array(
            X,
            dtype=None,
            ensure_all_finite=True,
            ensure_min_samples=1,
            estimator=estimator,
            input_name="X",
        )
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    return as_table(X)


def read_targets(y: Any, n_rows: int) -> NDArray[Any]:
    """Classes as a vector of one entry for each row."""
    labels = column_or_1d(np.asarray(y), warn=True)
    labels = check_array(labels, ensure_2d=False, dtype=None, ensure_all_finite=True, input_name="y")
    if len(labels) != n_rows:
        check_consistent_length(np.empty(n_rows), labels)
    return labels


def read_weights(sample_weight: ArrayLike | None, n_rows: int) -> tuple[NDArray[np.float64] | None, Any]:
    """Weights, or None, and which rows have a positive one."""
    if sample_weight is None:
        return None, slice(None)
    weight = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, ensure_all_finite=True, input_name="sample_weight"
    )
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be 1D with one weight for each of {n_rows} rows, got shape {weight.shape}"
        )
    if (weight < 0).any():
        raise ValueError("sample_weight must not be negative")
    is_kept = weight > 0
    if not is_kept.any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    return weight, is_kept


def _is_frame(X: Any) -> bool:
    """Whether X is a table with columns of its own types, which must not be cast to one."""
    return hasattr(X, "columns") and not isinstance(X, np.ndarray)
