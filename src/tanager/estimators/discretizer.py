"""The MDL discretiser as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tanager.data import mdlp_column_cuts
from tanager.estimators.inputs import count_threads, read_classes
from tanager.estimators.weights import read_weights


class MDLPDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cut numeric columns into bins by the minimum description length method of Fayyad and Irani (1993).

    A column is cut in two where the entropy of the classes falls most, each part again, and so on, as long as a cut
    shortens the description of the classes. A column whose values tell nothing of the class gets one bin.

    Parameters
    ----------
    rule : {"textbook", "best-passing"}, default="textbook"
        What happens where the best cut does not shorten the description: stop, as published, or take the best of the
        cuts that do, as some implementations do.
    max_bins : int or None, default=None
        Largest number of bins of a column; None is no limit.
    n_jobs : int or None, default=None
        Number of threads; None is 1 and -1 is all. It has no influence on the result.

    Attributes
    ----------
    cuts_ : list of ndarray
        Cut points of each column, rising. A value on a cut belongs to the bin above it.
    bin_edges_ : list of ndarray
        The same with minus and plus infinity at the ends.
    n_bins_ : ndarray of shape (D,)
        Number of bins of each column.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    U. M. Fayyad and K. B. Irani (1993). Multi-interval discretization of continuous-valued attributes for
    classification learning. IJCAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import MDLPDiscretizer
    >>> X, y = load_iris(return_X_y=True)
    >>> discretizer = MDLPDiscretizer().fit(X, y)
    >>> discretizer.cuts_[3]
    array([0.8 , 1.75])
    >>> discretizer.transform([[5.0, 3.0, 4.0, 0.8]])
    array([[0, 1, 1, 1]])
    """

    def __init__(
        self,
        rule: Literal["textbook", "best-passing"] = "textbook",
        *,
        max_bins: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.rule = rule
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Find the cuts.

        Parameters
        ----------
        X : array-like of shape (N, D)
            Numbers.
        y : array-like of shape (N,)
            Classes.
        sample_weight : array-like of shape (N,), optional

        Returns
        -------
        self
        """
        scratch = clone(self)  # a fit that fails changes nothing
        numbers = self._numbers(X)
        validate_data(scratch, X, y, skip_check_array=True)
        _, classes = read_classes(y, len(numbers))
        weight, _ = read_weights(sample_weight, len(numbers))
        columns = list(np.asfortranarray(numbers).T)
        n_threads = count_threads(self.n_jobs)
        scratch.cuts_ = mdlp_column_cuts(columns, classes, weight, self.rule, self.max_bins, n_threads)
        scratch.bin_edges_ = [np.concatenate([[-np.inf], cuts, [np.inf]]) for cuts in scratch.cuts_]
        scratch.n_bins_ = np.array([len(cuts) + 1 for cuts in scratch.cuts_])
        kept = {name: value for name, value in vars(self).items() if name != "feature_names_in_"}
        found = {name: value for name, value in vars(scratch).items() if name.endswith("_")}
        self.__dict__ = {**kept, **found}
        return self

    def transform(self, X: Any) -> NDArray[np.int64]:
        """Number of the bin of each value, from 0, shape (N, D)."""
        check_is_fitted(self)
        numbers = self._numbers(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        codes = np.empty(numbers.shape, np.int64, order="F")
        for j, cuts in enumerate(self.cuts_):
            codes[:, j] = np.searchsorted(cuts, numbers[:, j], side="right")
        return codes

    def inverse_transform(self, X: Any) -> NDArray[np.float64]:
        """Edges of the bins, shape (N, D, 2): values x of bin b have ``edges[0] <= x < edges[1]``."""
        check_is_fitted(self)
        bins = check_array(X, estimator=self, input_name="X")
        if bins.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {bins.shape[1]} columns, but {self.n_features_in_} were fitted")
        codes = bins.astype(np.int64)
        is_bin = (codes == bins) & (codes >= 0) & (codes < self.n_bins_)
        if not is_bin.all():
            row, column = np.argwhere(~is_bin)[0].tolist()
            raise ValueError(
                f"column {column} holds {bins[row, column]}, which is none of its bins: they go from 0 to "
                f"{self.n_bins_[column] - 1}"
            )
        edges = np.empty((*codes.shape, 2))
        for j, bounds in enumerate(self.bin_edges_):
            edges[:, j, 0], edges[:, j, 1] = bounds[codes[:, j]], bounds[codes[:, j] + 1]
        return edges

    def _numbers(self, X: Any) -> NDArray[np.float64]:
        """X as numbers, none of them missing."""
        if np.ma.is_masked(X):
            raise ValueError("X has masked entries; fill them, or leave out their rows")
        numbers: NDArray[np.float64] = check_array(X, dtype=np.float64, estimator=self, input_name="X")
        return numbers

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags
