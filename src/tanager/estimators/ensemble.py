"""Several TANs of different structure, averaged."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager._types import FloatArray, IntArray
from tanager.estimators.explaining import ExplainingMixin
from tanager.estimators.inputs import read_table
from tanager.estimators.probabilities import softmax_rows
from tanager.estimators.saving import SavingMixin
from tanager.estimators.tan import TANClassifier
from tanager.model import Network, average_networks


class TANEnsembleClassifier(ExplainingMixin, SavingMixin, ClassifierMixin, BaseEstimator):
    """Average of TAN classifiers that differ in their orderings and candidate sets.

    Parameters
    ----------
    estimator : TANClassifier or None, default=None
        What the members are; None is ``TANClassifier()``. Each member has a random state of its own, so that
        ``structure="subset"`` and ``"random"`` give each another ordering and other candidates.
    n_members : int, default=10
    combine : {"log", "probability"}, default="log"
        Average log-probabilities, which makes the prediction one sum of table lines (tables of the same pair of
        features add up to one), or average probabilities.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Number of members that are trained at the same time; None is 1 and -1 is one for each core. It has no influence
        on the result.

    Attributes
    ----------
    estimators_ : list of TANClassifier
        The members. They share bins and categories.
    average_ : tanager.model.LogAverage
        The members as one sum of tables.
    classes_ : ndarray of shape (C,)
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier, TANEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = TANEnsembleClassifier(TANClassifier(epochs=20), n_members=3, random_state=0).fit(X, y)
    >>> ensemble.predict_proba(X).shape
    (150, 3)
    """

    def __init__(
        self,
        estimator: TANClassifier | None = None,
        *,
        n_members: int = 10,
        combine: Literal["log", "probability"] = "log",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_members = n_members
        self.combine = combine
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Encode the table once and train the members on it.

        Parameters
        ----------
        X, y, sample_weight
            As in `TANClassifier.fit`.

        Returns
        -------
        self
        """
        self._check_options()
        template = TANClassifier() if self.estimator is None else clone(self.estimator)
        read_table(self, X, y, reset=True)
        rows = template.encode_training(X, y, sample_weight)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_members)
        members = [_sibling(template, int(seed)) for seed in seeds]
        # The kernels release the interpreter lock, and threads share the codes.
        self.estimators_ = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(member.fit_encoded)(rows) for member in members
        )
        self.classes_ = template.classes_
        self.encoder_ = template.encoder_
        self.average_ = average_networks([member.network_ for member in self.estimators_])
        return self

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Log-probability of each class given each row, shape (N, C)."""
        return np.log(self.predict_proba(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class given each row, shape (N, C)."""
        codes = self._encode(X)
        if self.combine == "log":
            return softmax_rows(self.average_.log_joint(codes))
        return np.mean([softmax_rows(member.network_.log_joint(codes)) for member in self.estimators_], axis=0)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row, shape (N,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _networks(self) -> list[Network]:
        if self.combine != "log":
            raise ValueError(
                f"combine={self.combine!r} averages probabilities, which are no sum over the features; "
                "an ensemble with combine='log' can be explained"
            )
        return [member.network_ for member in self.estimators_]

    def _encode(self, X: Any) -> IntArray:
        check_is_fitted(self)
        return self.encoder_.encode(read_table(self, X, reset=False))

    def _check_options(self) -> None:
        if isinstance(self.n_members, bool) or not isinstance(self.n_members, (int, np.integer)) or self.n_members < 1:
            raise ValueError(f"n_members must be a whole number of at least 1, got {self.n_members!r}")
        if self.combine not in ("log", "probability"):
            raise ValueError(f"combine must be 'log' or 'probability', got {self.combine!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _sibling(template: TANClassifier, seed: int) -> TANClassifier:
    """A member with the template's options, bins, categories and classes, and a random state of its own."""
    member = clone(template).set_params(random_state=seed)
    for name, value in vars(template).items():
        if name.endswith("_") or name in ("feature_names_in_", "n_features_in_"):
            setattr(member, name, value)
    return member
