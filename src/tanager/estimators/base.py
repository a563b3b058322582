"""What both classifiers share: options that are checked before X is read, encoding, and prediction."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager._options import (
    ShortNames,
    changed_params,
    check_choice,
    check_count,
    check_number,
    is_auto,
    refuse_not_kept,
)
from tanager._types import FloatArray, IntArray
from tanager.data import BINNINGS, Fingerprint, FrameEncoder, check_categorical
from tanager.estimators.conformal import ConformalMixin
from tanager.estimators.deciding import DecidingMixin
from tanager.estimators.explaining import ExplainingMixin
from tanager.estimators.findings import FindingsMixin
from tanager.estimators.frontier import FrontierMixin
from tanager.estimators.inputs import Encoded, GivenRows, TrainingData, count_threads, read_rows
from tanager.estimators.knowledge import check_knowledge
from tanager.estimators.notebook import NotebookMixin
from tanager.estimators.querying import QueryingMixin
from tanager.estimators.saving import SavingMixin
from tanager.estimators.streams import StreamData
from tanager.estimators.weights import check_class_weight
from tanager.learning import Limits

_TRAINING = "GradientDescent(...), an option of parameters"

RENAMED = {
    "choose": "a preset: TANClassifier(**tanager.learning.PRESETS['tree'].get_params(deep=False))",
    "max_parents": "an option of the structure, such as Subset(max_parents=...)",
    "max_table_size": "an option of the structure KDependence(max_table_size=...)",
    "candidates": "an option of the structure, such as Free(candidates=...)",
    "screening": "an option of the structure: Free(candidates=Screened(score=...)) or ChowLiu(score=...)",
    "free": "an option of the structure: Free(forest='project') or Free(forest='sample')",
    "ordering": "an option of the structure, such as Subset(ordering=...)",
    "image_shape": "an option of the structure Nearest(image_shape=...), and of plot_structure",
    "lam": "an option of the loss: GradientDescent(loss=Hybrid(lam=...))",
    "gamma": "an option of the loss: GradientDescent(loss=Hybrid(gamma=...))",
    "eta": "an option of the loss: GradientDescent(loss=Hybrid(eta=...))",
    "smoothing": "an option of the parameters: Counts(smoothing=...)",
    "base_ridge": "the start of GradientDescent(start=NaiveBayesStart(ridge=...)), an option of parameters",
    **dict.fromkeys(
        [
            *("loss", "epochs", "batch_size", "learning_rate", "learning_rate_decay", "structure_learning_rate", "tau"),
            *("optimiser", "parent_dropout", "shrinkage", "smoothness", "ridge", "size_penalty"),
        ],
        f"an option of {_TRAINING}",
    ),
    "estimator": "part of the ensemble itself: its options are the ensemble's, and its structure that of members",
    "n_members": "an option of members, such as DisjointTrees(n_members=...)",
}
"""For options of earlier versions, where they are now."""


# what not every fit sets anew
_OF_ONE_FIT = ("feature_names_in_", "fingerprint_", "conformal_", "_history", "_kept")


class TANBase(
    NotebookMixin,
    FindingsMixin,
    FrontierMixin,
    QueryingMixin,
    ExplainingMixin,
    DecidingMixin,
    ConformalMixin,
    SavingMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Base of the classifiers, which say how a fit goes and what the scores of encoded rows are."""

    short_names: ClassVar[Mapping[str, ShortNames]] = {}
    _scorer: ClassVar[str]  # name of the fitted attribute that has `log_joint`

    categorical_features: Any
    binning: Any
    ordinal_features: Any
    max_bins: int | None
    max_categories: int | str | None
    missing: str
    class_weight: Any
    forbid: Any
    require: Any
    monotonic_cst: Any
    calibrate: bool | str
    time_limit: float | None
    random_state: Any
    n_jobs: int | None
    verbose: int

    classes_: NDArray[Any]
    encoder_: FrameEncoder
    fingerprint_: Fingerprint

    def set_params(self, **params: Any) -> Self:
        """Set options; those of nested values have names such as ``parameters__loss__gamma``.

        Values are not changed but replaced by changed copies, so that estimators can share them.

        Returns
        -------
        self
        """
        for name, value in changed_params(self, params, RENAMED).items():
            setattr(self, name, value)
        return self

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Log-probability of each class given each row, shape (N, C)."""
        return log_softmax(self._scores(self._encode(X)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class given each row, shape (N, C)."""
        return softmax(self._scores(self._encode(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row, shape (N,)."""
        codes = self._encode(X)
        return self.classes_[self._best(codes)]

    def _scores(self, codes: IntArray) -> FloatArray:
        """Log-probabilities of the classes up to a constant of each row, a new float64[N, C]."""
        scores: FloatArray = getattr(self, self._scorer).log_joint(codes, self._n_threads())
        return scores

    def _best(self, codes: IntArray) -> IntArray:
        """Number of the class with the highest score, int64[N]."""
        return self._scores(codes).argmax(axis=1)

    def _encode(self, X: Any) -> IntArray:
        if not hasattr(self, "encoder_"):
            check_is_fitted(self)
        return self.encoder_.encode(read_rows(self, X, reset=False), n_threads=self._n_threads())

    def _n_threads(self) -> int:
        return count_threads(self.n_jobs)

    @contextmanager
    def _training_data(
        self, X: Any, y: Any, sample_weight: Any, given: GivenRows | None, limits: Limits
    ) -> Iterator[TrainingData | StreamData]:
        """The rows of a fit, in memory or from a source."""
        if not _is_source(X):
            yield TrainingData(self, X, y, sample_weight, self._n_threads(), given, limits)
            return
        if y is not None or sample_weight is not None:
            raise ValueError("a source yields classes and weights with its rows: fit(source) takes neither")
        if given is not None:
            raise ValueError("validation rows require training rows in memory: a source holds out rows of its own")
        data = StreamData(self, X, self._n_threads(), limits)
        try:
            yield data
        finally:
            data.close()

    def _check_options(self) -> None:
        """Refuse wrong options that both classifiers have, before X is read."""
        refuse_not_kept(self.get_params(deep=True))
        if not isinstance(self.binning, (Mapping, FrameEncoder)):
            check_choice("binning", self.binning, BINNINGS)
        check_choice("missing", self.missing, ("value", "ignore"))
        check_choice("calibrate", self.calibrate, ("auto", True, False))
        for name, least in {"max_bins": 1, "max_categories": 2}.items():
            value = getattr(self, name)
            if value is not None and not (name == "max_categories" and is_auto(value)):
                check_count(name, value, least)
        if not isinstance(self.verbose, bool):
            check_count("verbose", self.verbose, 0)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {self.n_jobs!r}")
        check_categorical(self.categorical_features)
        if self.class_weight is not None:
            check_class_weight(self.class_weight)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0)
        if self._has_knowledge():
            check_knowledge(self)
        check_random_state(self.random_state)

    def _has_knowledge(self) -> bool:
        """Whether options say anything about edges, directions, cut points or the order of categories."""
        options = (self.forbid, self.require, self.monotonic_cst, self.ordinal_features)
        return isinstance(self.binning, Mapping) or any(option is not None for option in options)

    def _warn_of_pooled(self, encoded: Encoded) -> None:
        """Say which columns lost values of their own to a limit that the user did not set."""
        if self.max_categories != "auto":
            return
        for name, values in encoded.encoder.pooled().items():
            warnings.warn(
                f"column {name!r} has so many values that its {len(values)} rarest share one code "
                "(see pooled_categories_); max_categories sets the limit",
                stacklevel=4,  # where fit was called
            )

    def _keep(self, encoded: Encoded, learned: Mapping[str, Any]) -> None:
        """Take over all that a fit has found, at once: what fails or is interrupted before leaves nothing behind."""
        found = {
            "classes_": encoded.classes,
            "encoder_": encoded.encoder,
            "target_name_": encoded.target_name,
            "n_features_in_": len(encoded.encoder.columns),
            **learned,
        }
        if encoded.take_fingerprint is not None:
            found["fingerprint_"] = encoded.take_fingerprint()
        if encoded.feature_names is not None:
            found["feature_names_in_"] = encoded.feature_names
        options = {name: value for name, value in vars(self).items() if name not in _OF_ONE_FIT}
        self.__dict__ = {**options, **found}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _is_source(X: Any) -> bool:
    """Whether X is a source of pieces rather than rows; a frame may have a column of that name."""
    return callable(getattr(type(X), "pieces", None))


def log_softmax(scores: FloatArray) -> FloatArray:
    """Logarithm of the softmax of each row, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def softmax(scores: FloatArray) -> FloatArray:
    """Softmax of each row, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores
