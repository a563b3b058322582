"""Questions to the network that describes the data, in values instead of codes: probabilities and drawn rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager._types import IntArray
from tanager.data import FrameEncoder, encode_assignment, find_column
from tanager.data.frames import has_pandas, to_pandas, to_series
from tanager.model import Network
from tanager.model.queries import CLASS


class SamplingMixin:
    """Adds `query` and `sample` to a classifier with one network."""

    classes_: NDArray[Any]
    encoder_: FrameEncoder
    description_: Network

    def query(
        self, target: str | int | Sequence[str | int], *, given: Mapping[str | int, Any] | None = None, y: Any = None
    ) -> Any:
        """Probabilities of a column's values, of the class, or of two of them together, in the data.

        Parameters
        ----------
        target : str, int or list
            Name or number of a column, "class" for the class, or a list of up to two columns and the class.
        given : mapping, optional
            Known values, by name or number of the column; all others are summed out.
        y : class, optional
            The known class.

        Returns
        -------
        pandas.Series, or dict if pandas is not installed
            Probabilities by value, or by tuples of values if there are several targets. They sum to one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = TANClassifier("chow-liu", parameters="ml").fit(X, y)
        >>> clf.query("class", given={"petal width (cm)": 0.2}).round(2).tolist()
        [0.91, 0.05, 0.04]
        >>> clf.query("petal width (cm)", y=0).round(2).to_dict()
        {'< 0.8': 0.92, '0.8 to 1.75': 0.04, '>= 1.75': 0.04}
        """
        check_is_fitted(self)
        targets = [target] if isinstance(target, (str, int, np.integer)) else list(target)
        numbers = [_target_number(self.encoder_, each) for each in targets]
        codes = _read_given(self.encoder_, {} if given is None else given)
        known = None if y is None else [_class_number(self.classes_, y)]
        found = self.description_.query(numbers, codes[None, :], known)[0]
        labels = [
            self.encoder_.value_labels(each) if isinstance(each, int) else list(map(str, self.classes_.tolist()))
            for each in numbers
        ]
        keys = labels[0] if len(labels) == 1 else list(product(*labels))
        probabilities = dict(zip(keys, found.ravel().tolist(), strict=True))
        return to_series(probabilities, [str(each) for each in targets]) if has_pandas() else probabilities

    def sample(
        self,
        n_samples: int = 1,
        *,
        given: Mapping[str | int, Any] | None = None,
        y: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their classes from the joint distribution that describes the data.

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
        drawn, numbers = self.description_.sample(n_samples, codes[None, :], number, random_state=seed)
        columns = self.encoder_.decode(drawn, bins="middle")
        return _as_table(columns, self.encoder_.names), self.classes_[numbers]


def _target_number(encoder: FrameEncoder, target: str | int) -> int | Literal["class"]:
    """The number of a column, or the word for the class, unless a column has that name."""
    if target == CLASS and (encoder.names is None or CLASS not in encoder.names):
        return "class"
    return find_column(encoder, target)


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
