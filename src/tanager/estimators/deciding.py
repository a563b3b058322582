"""Decisions from class probabilities: the class of least expected cost."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._options import suggest
from tanager._types import FloatArray


class DecidingMixin:
    """Adds `decide` to a classifier with `classes_` and `predict_proba`."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class given each row, shape (N, C)."""
        raise NotImplementedError

    def decide(self, X: Any, costs: ArrayLike | Mapping[Any, Mapping[Any, float]]) -> NDArray[Any]:
        """The class of least expected cost of each row, by the class probabilities of `predict_proba`.

        The probabilities stay what they are, and other costs need no other fit. Prefer this to ``class_weight``, which
        learns from rows of other frequencies than the data's and so gives other probabilities. Decisions are only as
        good as the probabilities: leave ``calibrate`` on.

        Parameters
        ----------
        X : array-like or frame of shape (N, D)
        costs : array-like of shape (C, C), or mapping of mappings
            ``costs[true, predicted]`` in the order of ``classes_``, or ``costs[true][predicted]`` by class. What a
            mapping leaves out of its diagonal costs nothing. Negative costs are gains.

        Returns
        -------
        ndarray of shape (N,)
            The first of several classes of equal expected cost.

        Examples
        --------
        To miss a malignant tumour (class 0) is ten times as bad as a false alarm:

        >>> from sklearn.datasets import load_breast_cancer
        >>> from tanager import TANClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> clf = TANClassifier("none", "ml").fit(X, y)
        >>> decided = clf.decide(X, costs={0: {1: 10}, 1: {0: 1}})
        >>> bool((decided == 0).sum() >= (clf.predict(X) == 0).sum())
        True
        """
        check_is_fitted(self)
        matrix = cost_matrix(costs, self.classes_)
        return self.classes_[(self.predict_proba(X) @ matrix).argmin(axis=1)]


def cost_matrix(costs: Any, classes: NDArray[Any]) -> FloatArray:
    """Costs as a matrix of true and predicted classes, float64[C, C].

    >>> cost_matrix({"ill": {"well": 10}, "well": {"ill": 1}}, np.array(["ill", "well"]))
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    if isinstance(costs, Mapping):
        return _matrix_of_mapping(costs, classes.tolist())
    try:
        matrix = np.array(costs, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"costs must be numbers, got {costs!r}") from None
    n_classes = len(classes)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"costs must have shape ({n_classes}, {n_classes}), a row for each true class and a column for each "
            f"predicted one in the order of classes_, got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("costs must be finite numbers")
    return matrix


def _matrix_of_mapping(costs: Mapping[Any, Any], classes: list[Any]) -> FloatArray:
    for true, line in costs.items():
        if not isinstance(line, Mapping):
            raise ValueError(f"costs[{true!r}] must be a mapping from predicted classes to costs, got {line!r}")
        for label in (true, *line):
            if label not in classes:
                raise ValueError(f"costs name the class {label!r}; {suggest(str(label), map(str, classes))}")
    matrix = np.zeros((len(classes), len(classes)))
    for i, true in enumerate(classes):
        for j, predicted in enumerate(classes):
            place = f"costs[{true!r}][{predicted!r}]"
            given = costs.get(true, {}).get(predicted, 0.0 if i == j else None)
            if given is None:
                raise ValueError(
                    f"costs do not say what it costs to predict {predicted!r} where {true!r} is true: give {place}"
                )
            if not isinstance(given, Real):
                raise ValueError(f"{place} must be a number, got {given!r}")
            matrix[i, j] = given
    return cost_matrix(matrix, np.array(classes, object))
