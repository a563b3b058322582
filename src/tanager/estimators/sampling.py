"""Drawing rows from a fitted classifier, as values instead of codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager._types import IntArray
from tanager.data import FrameEncoder, encode_assignment, find_column
from tanager.data.frames import has_pandas, to_pandas
from tanager.model import Network


class SamplingMixin:
    """Adds `sample` to a classifier with one network."""

    classes_: NDArray[Any]
    encoder_: FrameEncoder
    network_: Network

    def sample(
        self,
        n_samples: int = 1,
        *,
        given: Mapping[str | int, Any] | None = None,
        y: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their classes from the learned joint distribution.

        Parameters
        ----------
        n_samples : int, default=1
        given : mapping, optional
            Values that the rows are to have, by name or number of the column; the others are drawn given these.
        y : class, optional
            The class that the rows are to have; None draws it too.
        random_state : int, RandomState or None

        Returns
        -------
        X : pandas.DataFrame, or object array of shape (n_samples, D)
            A frame if the training table had column names and pandas is installed. A bin of numbers is given by its
            middle, the outer ones by a number beyond the cut, and rare values that were taken as one by the first of
            them; a missing value is NaN or None.
        y : array of shape (n_samples,)

        Notes
        -----
        The rows are as good as the joint distribution, which only ``loss="nll"`` and ``parameters="ml"`` fit to the
        data; the other losses are about the class alone.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = TANClassifier("chow-liu", parameters="ml").fit(X, y)
        >>> drawn, classes = clf.sample(100, given={"petal width (cm)": 0.2}, random_state=0)
        >>> np.bincount(classes)
        array([93,  3,  4])
        """
        check_is_fitted(self)
        codes = _read_given(self.encoder_, {} if given is None else given)
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        number = None if y is None else [_class_number(self.classes_, y)]
        drawn, numbers = self.network_.sample(n_samples, codes[None, :], number, random_state=seed)
        columns = self.encoder_.decode(drawn, bins="middle")
        return _as_table(columns, self.encoder_.names), self.classes_[numbers]


def _read_given(encoder: FrameEncoder, given: Mapping[str | int, Any]) -> IntArray:
    """Codes of the given values; one that has no code is an error, not an unknown value."""
    codes = encode_assignment(encoder, given)
    for key, value in given.items():
        index = find_column(encoder, key)
        if codes[index] == encoder.cards[index]:
            raise ValueError(f"given: training did not show the value {value!r} of column {key!r}")
    return codes


def _class_number(classes: NDArray[Any], label: Any) -> int:
    known = classes.tolist()
    if label not in known:
        raise ValueError(f"y: {label!r} is not a class; the classes are {', '.join(map(repr, known))}")
    return known.index(label)


def _as_table(columns: list[NDArray[Any]], names: tuple[str, ...] | None) -> Any:
    """A frame where there are names and pandas, else an array of objects."""
    if names is not None and has_pandas():
        return to_pandas(dict(zip(names, columns, strict=True)))
    cells = np.empty((len(columns[0]), len(columns)), dtype=object)
    for index, column in enumerate(columns):
        cells[:, index] = column
    return cells
