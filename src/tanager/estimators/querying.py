"""Questions to the network that describes the data, in the columns' own values: probabilities, completions, samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager._types import IntArray
from tanager.data import CategoryColumn, FrameEncoder, as_frame, encode_assignment, find_column
from tanager.data.frames import has_pandas, to_series
from tanager.data.restoring import fill_gaps, restore_frame
from tanager.model import Network
from tanager.model.queries import CLASS

_IMPOSSIBLE = -1e4  # log-probability of what must not be chosen

Given = Mapping[str | int, Any]


class QueryingMixin:
    """Adds `query`, `complete` and `sample` to a classifier with a `description_`."""

    classes_: NDArray[Any]
    encoder_: FrameEncoder
    description_: Network
    target_name_: str

    def query(self, target: str | int | Sequence[str | int], *, given: Given | None = None) -> Any:
        """Probabilities, in the data, of a column's values, of the classes, or of several of them together.

        Parameters
        ----------
        target : str, int or list
            Name or number of a column, "class" or the target's own name for the class, or a list of them.
        given : mapping, optional
            Known values, by name or number of the column; "class" or the target's name for a known class. All others
            are summed out.

        Returns
        -------
        pandas.Series, or dict if pandas is not installed
            Probabilities by value, or by tuples of values if there are several targets. They sum to one. Classes and
            categories stand for themselves; bins of numbers, rare values and missing ones are named by their label.

        Notes
        -----
        "class" means the class unless a column of X has that name. Then it is ambiguous and an error: write the number
        of the column for the column, and ``clf.target_name_`` for the class.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import Counts, TANClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = TANClassifier("chow-liu", Counts(1.0)).fit(X, y)
        >>> clf.query("class", given={"petal width (cm)": 0.2}).round(2).to_dict()
        {0: 0.91, 1: 0.05, 2: 0.04}
        >>> clf.query("petal width (cm)", given={"class": 0}).round(2).to_dict()
        {'< 0.8': 0.92, '0.8 to 1.75': 0.04, '>= 1.75': 0.04}
        """
        check_is_fitted(self)
        targets = [target] if isinstance(target, (str, int, np.integer)) else list(target)
        numbers = [self._variable(each) for each in targets]
        found = self.description_.query(numbers, *self._read_given(given))[0]
        values = [self._values_of(each) for each in numbers]
        keys = values[0] if len(values) == 1 else list(product(*values))
        probabilities = dict(zip(keys, found.ravel().tolist(), strict=True))
        return to_series(probabilities, [str(each) for each in targets]) if has_pandas() else probabilities

    def complete(self, X: Any, y: Any = None) -> tuple[Any, NDArray[Any]]:
        """Fill the gaps of rows with what is jointly most probable given the rest of each row.

        Parameters
        ----------
        X : array-like or frame of shape (N, D)
            Missing cells (NaN, None) are filled in; all others stay as they are. Values that training did not show tell
            nothing about the others.
        y : array-like of shape (N,), optional
            Known classes, with None or NaN where they are not known; None: none of them is.

        Returns
        -------
        X : pandas.DataFrame if X is one, or has column names and pandas is installed; else an array
            A bin of numbers is given by the median of the numbers that training showed in it, a category by its value,
            and rare values that were taken as one by the first of them.
        y : array of shape (N,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import Counts, TANClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = TANClassifier("chow-liu", Counts(1.0)).fit(X, y)
        >>> row = X[:1].assign(**{"petal length (cm)": np.nan})
        >>> filled, classes = clf.complete(row)
        >>> filled["petal length (cm)"].tolist(), classes.tolist()
        ([1.5], [0])
        """
        check_is_fitted(self)
        frame = as_frame(X)
        codes = self.encoder_.encode(frame).astype(np.int64)
        is_gap = np.column_stack([frame.is_missing(index) for index in range(frame.n_columns)])
        codes[is_gap] = np.broadcast_to(self.encoder_.cards, codes.shape)[is_gap]
        classes = _read_known_classes(self.classes_, y, len(codes))
        found, numbers, _ = _without_missing(self.description_, self.encoder_).most_probable(codes, classes)
        columns = self.encoder_.decode(found, bins="median")
        return fill_gaps(X, frame, columns, is_gap, self.encoder_), self.classes_[numbers]

    def sample(
        self,
        n_samples: int = 1,
        *,
        given: Given | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their classes from the joint distribution that describes the data.

        Parameters
        ----------
        n_samples : int, default=1
        given : mapping, optional
            Values that the rows are to have, by name or number of the column, and their class as "class" or by the
            target's name; the others are drawn given these.
        random_state : int, RandomState or None

        Returns
        -------
        X : pandas.DataFrame, or array of shape (n_samples, D)
            A frame if the training frame had column names and pandas is installed. Columns have the types that they had
            in training. Numbers lie in the range that training showed, with the distribution inside their bin, and
            whole numbers stay whole; a missing value is NaN or None.
        y : array of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import Counts, TANClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = TANClassifier("chow-liu", Counts(1.0)).fit(X, y)
        >>> drawn, classes = clf.sample(100, given={"petal width (cm)": 0.2}, random_state=0)
        >>> np.bincount(classes)
        array([93,  3,  4])
        >>> drawn["petal length (cm)"].between(X["petal length (cm)"].min(), X["petal length (cm)"].max()).all()
        np.True_
        """
        check_is_fitted(self)
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        codes, classes = self.description_.sample(n_samples, *self._read_given(given), random_state=seed)
        columns = self.encoder_.draw(codes, np.random.default_rng([seed, 1]))
        for key, value in ({} if given is None else given).items():
            index = self._variable(key)
            if isinstance(index, int):  # the number itself, and not one from its bin
                columns[index] = np.full(len(codes), value, columns[index].dtype)
        return restore_frame(columns, self.encoder_), self.classes_[classes]

    def _variable(self, key: str | int) -> int | Literal["class"]:
        """The number of a column, or the word for the class."""
        names = self.encoder_.names or ()
        if key == CLASS and CLASS in names:
            raise ValueError(
                f"'class' is a column of X, but also means the class: write {names.index(CLASS)} for the column, "
                f"and {self.target_name_!r} for the class"
            )
        return "class" if key in (CLASS, self.target_name_) else find_column(self.encoder_, key)

    def _values_of(self, variable: int | Literal["class"]) -> list[Any]:
        """What the values of a variable are called: by themselves, bins of numbers by their label."""
        if not isinstance(variable, int):
            classes: list[Any] = self.classes_.tolist()
            return classes
        column, labels = self.encoder_.columns[variable], self.encoder_.value_labels(variable)
        own = column.categories.tolist() if isinstance(column, CategoryColumn) else []
        return [*own, *labels[len(own) :]]

    def _read_given(self, given: Given | None) -> tuple[IntArray, list[int] | None]:
        """Codes of one row and the number of its class; a value that has no code is an error, not an unknown value."""
        classes: list[int] | None = None
        known: dict[str | int, Any] = {}
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"given must be a dict from columns to values, got {type(given).__name__}")
        for key, value in ({} if given is None else given).items():
            index = self._variable(key)
            if index in known or (index == CLASS and classes is not None):
                raise ValueError(f"given: {key!r} is given twice, by two of its names")
            if not isinstance(index, int):
                classes = [_class_number(self.classes_, value)]
                continue
            known[index] = value
            if encode_assignment(self.encoder_, {index: value})[index] == self.encoder_.cards[index]:
                raise ValueError(f"given: training did not show the value {value!r} of column {key!r}")
        return encode_assignment(self.encoder_, known)[None, :], classes


def _class_number(classes: NDArray[Any], label: Any) -> int:
    known = classes.tolist()
    if label not in known:
        raise ValueError(f"{label!r} is not a class; the classes are {', '.join(map(repr, known))}")
    return known.index(label)


def _read_known_classes(classes: NDArray[Any], y: Any, n_rows: int) -> IntArray | None:
    """Numbers of the classes, -1 where they are missing."""
    if y is None:
        return None
    labels = np.asarray(y, dtype=object).tolist()
    if len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(labels)}")
    is_known = [label is not None and label == label and str(label) not in ("<NA>", "NaT") for label in labels]
    numbers = [_class_number(classes, label) if known else -1 for label, known in zip(labels, is_known, strict=True)]
    return np.array(numbers, np.int64)


def _without_missing(network: Network, encoder: FrameEncoder) -> Network:
    """The network in which no column that has other values can be missing: a gap is not filled with a gap."""
    whole = network.expanded
    theta = whole.theta.copy()
    for i, column in enumerate(encoder.columns):
        if column.has_missing and column.card > 1:
            whole.layout.cpt(theta, i)[:, column.card - 1] = _IMPOSSIBLE
    return replace(whole, theta=theta)
