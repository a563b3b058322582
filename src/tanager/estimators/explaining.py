"""Explaining one prediction: what each feature adds to the log-odds of two classes.

The log-joint is a sum over the features, so the log-odds of two classes are one too, and a feature's contribution is
exact: log p(x_i | x_parent, c) - log p(x_i | x_parent, c'). Where the parent is unknown, the probability is that of x_i
given what was observed before it (see `tanager.model.Network.log_terms`); the sum stays exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._types import FloatArray, IntArray
from tanager.data import FrameEncoder, as_frame, encode_assignment
from tanager.data.frames import to_pandas
from tanager.model import Network
from tanager.pictures import draw_explanation

PRIOR_LABEL = "(class prior)"
UNKNOWN_LABEL = "(unknown)"


@dataclass(frozen=True)
class Explanation:
    """Contributions to the log-odds of two classes: of the class prior, then of each feature."""

    classes: tuple[Any, Any]
    feature: list[str]
    value: list[str]
    parent: list[str]
    parent_value: list[str]
    contribution: FloatArray

    def columns(self) -> dict[str, NDArray[Any]]:
        """The explanation as columns of equal length."""
        texts = {name: np.array(getattr(self, name), dtype=object) for name in _TEXT_COLUMNS}
        return {**texts, "contribution": self.contribution, "total": np.cumsum(self.contribution)}

    def labels(self) -> list[str]:
        """What each contribution is of: feature and value, and in a second line the parent, if there is one."""
        parts = zip(self.feature, self.value, self.parent, self.parent_value, strict=True)
        return [_label(*part) for part in parts]


_TEXT_COLUMNS = ("feature", "value", "parent", "parent_value")


class ExplainingMixin:
    """Adds `explain` and `plot_explanation` to a classifier with `encoder_`, `classes_` and `_networks()`."""

    classes_: NDArray[Any]
    encoder_: FrameEncoder

    def _networks(self) -> Sequence[Network]:
        """The networks whose mean log-joint classifies."""
        raise NotImplementedError

    def _encode(self, X: Any) -> IntArray:
        """Codes of rows."""
        raise NotImplementedError

    def explain(self, x: Any, classes: Sequence[Any] | None = None) -> Any:
        """What each feature adds to the log-odds of two classes for one row.

        Parameters
        ----------
        x : array-like, Series, frame of one row, or mapping
            One row: ``X[i]``, ``X.iloc[i]``, ``X[i : i + 1]``, or values by column name or number, with all other
            columns unknown.
        classes : (class, class), optional
            The log-odds are of the first against the second. Default is the most probable class against the next.

        Returns
        -------
        pandas.DataFrame, or dict of arrays if pandas is not installed
            The first line is of the class prior, then comes a line for each feature, with the columns

            - ``feature``, ``value``: its name, and what its code stands for, "(unknown)" where it was summed out;
            - ``parent``, ``parent_value``: the same of its extra parent, empty without one; of an ensemble all parents
              that it has in some member;
            - ``contribution``: what it adds to the log-odds, positive if it speaks for the first class;
            - ``total``: the sum up to this line; the last is the log-odds.

            ``frame.attrs["classes"]`` has the two classes.

        Notes
        -----
        The total equals the log-odds of `predict_log_proba` up to the rounding of the latter, about 1e-6, since
        prediction adds eight CPT lines at a time in single precision. A row with unknown values is split by the chain
        rule: a known feature below an unknown parent gets what it adds to what the features before it told of that
        parent, in an order in which all that is below a feature follows it at once. Unknown features add nothing.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import Counts, TANClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> clf = TANClassifier("chow-liu", Counts(1.0)).fit(X, y)
        >>> clf.explain(X.iloc[80], classes=(1, 2))[["feature", "contribution", "total"]].round(1)
                     feature  contribution  total
        0      (class prior)           0.0    0.0
        1  sepal length (cm)           1.8    1.8
        2   sepal width (cm)           0.5    2.2
        3  petal length (cm)           0.5    2.8
        4   petal width (cm)           0.6    3.4
        """
        explanation = self._explanation(x, classes)
        frame = to_pandas(explanation.columns())
        if hasattr(frame, "attrs"):
            frame.attrs["classes"] = explanation.classes
        return frame

    def explain_rows(self, X: Any, classes: Sequence[Any] | None = None) -> FloatArray:
        """What each feature adds to the log-odds in every row, as an array whose sums are the log-odds.

        Parameters
        ----------
        X : array-like or frame of shape (N, D)
        classes : (class, class), optional
            The log-odds are of the first against the second. Default with two classes is ``classes_[1]`` against
            ``classes_[0]``.

        Returns
        -------
        float64 array of shape (N, D + 1), or (N, D + 1, C)
            First the class prior, then each feature. Summed over the second axis it is the log-odds of the two classes,
            up to the rounding of `predict_log_proba` (see `explain`). With more than two classes, if none are given,
            there is a last axis for the classes: contributions to the log-odds of each class against the (geometric)
            mean of all, so that the difference of two of them sums to the log-odds of these two.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import Counts, TANClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TANClassifier("chow-liu", Counts(1.0)).fit(X, y)
        >>> clf.explain_rows(X).shape, clf.explain_rows(X, classes=(1, 2)).shape
        ((150, 5, 3), (150, 5))
        >>> odds, log_proba = clf.explain_rows(X, classes=(1, 2)).sum(axis=1), clf.predict_log_proba(X)
        >>> bool(np.allclose(odds, log_proba[:, 1] - log_proba[:, 2], atol=1e-5))
        True
        """
        codes, networks = self._encode(X), self._networks()
        terms = np.mean([network.log_terms(codes) for network in networks], axis=0)
        prior = np.mean([network.log_prior for network in networks], axis=0)
        parts = np.concatenate([np.broadcast_to(prior, (len(terms), 1, len(prior))), terms], axis=1)
        if classes is None and len(prior) != 2:
            return parts - parts.mean(axis=2, keepdims=True)
        pair = self.classes_.tolist()[::-1] if classes is None else classes
        first, second = _choose_pair(self.classes_, pair, prior)
        return parts[:, :, first] - parts[:, :, second]

    def plot_explanation(
        self, x: Any, classes: Sequence[Any] | None = None, *, max_bars: int = 15, ax: Any = None
    ) -> Any:
        """Draw what each feature adds to the log-odds of two classes as bars; needs the extra ``tanager[plots]``.

        Parameters
        ----------
        x, classes
            As in `explain`.
        max_bars : int, default=15
            The smallest of more contributions are summed up in the last bar.
        ax : matplotlib axes, optional

        Returns
        -------
        ax : matplotlib axes
        """
        explanation = self._explanation(x, classes)
        first, second = explanation.classes
        pair = (str(first), str(second))
        return draw_explanation(explanation.labels(), explanation.contribution, pair, max_bars=max_bars, ax=ax)

    def _explanation(self, x: Any, classes: Sequence[Any] | None) -> Explanation:
        check_is_fitted(self)
        codes = _read_row(self.encoder_, x)
        networks = self._networks()
        terms = np.mean([network.log_terms(codes[None, :])[0] for network in networks], axis=0)
        prior = np.mean([network.log_prior for network in networks], axis=0)
        first, second = _choose_pair(self.classes_, classes, prior + terms.sum(axis=0))
        contribution = np.append(prior[first] - prior[second], terms[:, first] - terms[:, second])
        labels = self.classes_.tolist()
        names, values = self.encoder_.feature_labels, _labels_of(self.encoder_, codes)
        parents = _distinct_parents(networks)
        return Explanation(
            classes=(labels[first], labels[second]),
            feature=[PRIOR_LABEL, *names],
            value=["", *values],
            parent=["", *(", ".join(names[j] for j in own) for own in parents)],
            parent_value=["", *(", ".join(values[j] for j in own) for own in parents)],
            contribution=contribution,
        )


def _read_row(encoder: FrameEncoder, x: Any) -> IntArray:
    """Codes of one row in any of the forms that users have one in."""
    if isinstance(x, Mapping):
        return encode_assignment(encoder, x)
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # a row that was taken out of a pandas frame
        x = x.to_frame().T
    elif not hasattr(x, "columns"):
        x = np.asarray(x, dtype=object)
        x = x[None, :] if x.ndim == 1 else x
    frame = as_frame(x)
    if frame.n_rows != 1:
        raise ValueError(
            f"one row can be explained at a time, got {frame.n_rows}; pass X[i : i + 1] or X.iloc[i], or use "
            "explain_rows"
        )
    return encoder.encode(frame)[0]


def _choose_pair(classes: NDArray[Any], asked: Sequence[Any] | None, scores: FloatArray) -> tuple[int, int]:
    """Numbers of two classes: those asked for, or those with the highest scores."""
    known = classes.tolist()
    if len(known) < 2:
        raise ValueError(f"there are no log-odds with a single class, {known[0]!r}")
    if asked is None:
        first, second = np.argsort(-scores, kind="stable")[:2]
        return int(first), int(second)
    pair = list(asked) if isinstance(asked, (Sequence, np.ndarray)) and not isinstance(asked, str) else []
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ValueError(f"classes must be two different classes, the first against the second, got {asked!r}")
    for label in pair:
        if label not in known:
            raise ValueError(f"{label!r} is not a class; the classes are {', '.join(map(repr, known))}")
    return known.index(pair[0]), known.index(pair[1])


def _labels_of(encoder: FrameEncoder, codes: IntArray) -> list[str]:
    """What the codes of a row stand for."""
    return [[*encoder.value_labels(i), UNKNOWN_LABEL][code] for i, code in enumerate(codes)]


def _distinct_parents(networks: Sequence[Network]) -> list[list[int]]:
    """Extra parents of each feature in any of the networks, in rising order."""
    together = np.concatenate([network.extra_parents for network in networks], axis=1)
    return [sorted(set(own) - {-1}) for own in together.tolist()]


def _label(feature: str, value: str, parent: str, parent_value: str) -> str:
    own = f"{feature}: {value}" if value else feature
    # Several parents, as a feature of an ensemble may have, would not fit.
    return own if not parent or ", " in parent_value else f"{own}\ngiven {parent}: {parent_value}"
