"""Weights of rows: those that are given, and those that ``class_weight`` makes of the classes.

Class weights are scaled so that the rows weigh as much as before: only their ratios count, and a penalty that was right
for the rows stays right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from tanager._options import check_number, suggest
from tanager.data import refuse_unread

BALANCED = "balanced"
# Training has weights in single precision, which ends at 3e38 and loses digits below 1e-38.
_LEAST_TOTAL, _GREATEST_TOTAL = 1e-20, 1e30


def read_weights(
    sample_weight: ArrayLike | None, n_rows: int, name: str = "sample_weight"
) -> tuple[NDArray[np.float64] | None, Any]:
    """Weights, or None, and which rows have a positive one."""
    if sample_weight is None:
        return None, slice(None)
    refuse_unread(sample_weight, name)
    if np.ma.is_masked(sample_weight):
        raise ValueError(f"{name} has masked entries; give each row a weight, 0 to leave it out")
    weight = check_array(sample_weight, dtype=np.float64, ensure_2d=False, ensure_all_finite=True, input_name=name)
    if weight.shape != (n_rows,):
        raise ValueError(f"{name} must be 1D with one weight for each of {n_rows} rows, got shape {weight.shape}")
    if (weight < 0).any():
        raise ValueError(f"{name} must not be negative")
    is_kept = weight > 0
    if not is_kept.any():
        raise ValueError(f"{name} is zero for every row: there is nothing to learn from")
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not _LEAST_TOTAL <= total <= _GREATEST_TOTAL:
        raise ValueError(
            f"{name} sums to {total:g}, and training computes with sums from {_LEAST_TOTAL:g} to "
            f"{_GREATEST_TOTAL:g}; multiply all weights by one factor, which does not change what they mean"
        )
    return weight, is_kept


def check_class_weight(class_weight: Any) -> None:
    """Refuse what cannot be weights of classes, whatever the classes are."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict from classes to weights, got {class_weight!r}"
        )
    for label, weight in class_weight.items():
        check_number(f"class_weight of class {label!r}", weight, above=0)


def class_factors(
    class_weight: Any, classes: NDArray[Any], numbers: NDArray[Any], weight: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """What the weights of the rows of each class are multiplied by, float64[C]; None without class weights.

    Parameters
    ----------
    class_weight : None, "balanced" or mapping
        Classes that a mapping does not name have the weight 1.
    classes : ndarray of shape (C,)
    numbers : int array of shape (N,)
        Class of each row.
    weight : float array of shape (N,) or None

    Examples
    --------
    >>> class_factors("balanced", np.array(["no", "yes"]), np.array([0, 0, 0, 1]), None)
    array([0.66666667, 2.        ])
    >>> class_factors({"yes": 3}, np.array(["no", "yes"]), np.array([0, 0, 0, 1]), None)
    array([0.66666667, 2.        ])
    """
    if class_weight is None:
        return None
    totals = np.bincount(numbers, weight, minlength=len(classes))
    if isinstance(class_weight, str):
        factors = np.divide(1.0, totals, out=np.zeros(len(classes)), where=totals > 0)
    else:
        _check_known(class_weight, classes)
        factors = np.array([class_weight.get(label, 1.0) for label in classes.tolist()], np.float64)
    return factors * (totals.sum() / (factors * totals).sum())


def _check_known(class_weight: Mapping[Any, float], classes: NDArray[Any]) -> None:
    known = classes.tolist()
    for label in class_weight:
        if label not in known:
            raise ValueError(
                f"class_weight names the class {label!r}, which y does not have; {suggest(str(label), map(str, known))}"
            )


def class_weighted(
    weight: NDArray[np.float64] | None, factors: NDArray[np.float64] | None, numbers: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Weights of rows times those of their classes."""
    if factors is None:
        return weight
    return factors[numbers] if weight is None else weight * factors[numbers]
