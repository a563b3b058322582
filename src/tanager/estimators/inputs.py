"""What the estimators take: data sets, classes and weights, checked by scikit-learn's rules and encoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from joblib import cpu_count, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from tanager.data import (
    Fingerprint,
    Frame,
    FrameEncoder,
    GivenValues,
    as_frame,
    hash_cells,
    hash_rows,
    make_binning,
    refuse_unread,
    resolve_categorical,
    unique_labels,
)
from tanager.data.arrays import are_exact_floats, as_integers, exact_array, object_array
from tanager.estimators.knowledge import directions_of, edge_rules, given_values, which_are_numbers
from tanager.estimators.weights import class_factors, class_weighted, read_weights
from tanager.learning import Context, Limits, Part, Rows, hold_out
from tanager.model import CptCounts
from tanager.model.queries import CLASS

GIVEN = "given"
"""The way of cutting where an encoder is given."""

_COARSE_CATEGORIES, _FINE_CATEGORIES = 64, 1_000  # values of a category, by default


_MOST_THREADS = 16  # or one for each processor: more only take memory, and results do not depend on the number


class Encoded(NamedTuple):
    """Training rows as codes, and what was learned to encode them."""

    rows: Rows
    sample_weight: NDArray[np.float64] | None  # of the rows, without the weights of their classes
    class_factors: NDArray[np.float64] | None  # what class_weight has multiplied the weights by, float64[C]
    classes: NDArray[Any]
    encoder: FrameEncoder
    feature_names: NDArray[Any] | None  # only if X has column names that are all text
    target_name: str
    take_fingerprint: Callable[[], Fingerprint] | None = None  # of the rows

    def unweighted(self, counts: CptCounts) -> CptCounts:
        """The counts of rows without the weights of their classes."""
        return counts if self.class_factors is None else counts.scaled_by_class(1.0 / self.class_factors)


class GivenRows(NamedTuple):
    """Validation rows as they are given."""

    X: Any
    y: Any
    sample_weight: ArrayLike | None

    @classmethod
    def check(cls, X: Any, y: Any, sample_weight: ArrayLike | None) -> GivenRows | None:
        """The rows, or None if there are none."""
        if X is None and y is None and sample_weight is None:
            return None
        if X is None or y is None:
            raise ValueError(
                "validation rows require X_val and y_val, but " + ("X_val" if X is None else "y_val") + " is missing"
            )
        return cls(X, y, sample_weight)


class TrainingData:
    """X, y and weights of a fit, read once, and encoded by the options of an estimator, which stays as it is."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        n_threads: int,
        given: GivenRows | None = None,
        limits: Limits | None = None,
    ) -> None:
        scratch = clone(estimator)
        self._estimator, self._n_threads = estimator, n_threads
        self._limits = Limits() if limits is None else limits
        self._trials = self._limits.for_trials()
        self._frame = read_rows(scratch, X, y, reset=True)
        self._classes, self._numbers = read_classes(y, self._frame.n_rows)
        self._sample_weight, self._is_used, self._factors = None, slice(None), None
        if sample_weight is not None:
            self._sample_weight, self._is_used = read_weights(sample_weight, self._frame.n_rows)
        if estimator.class_weight is not None:
            self._factors = class_factors(estimator.class_weight, self._classes, self._numbers, self._sample_weight)
        self._weight = self._sample_weight
        if self._factors is not None:
            self._weight = class_weighted(self._sample_weight, self._factors, self._numbers)
        self._validation = None if given is None else _read_given(scratch, given, self._classes, self._factors)
        self._given, self._known = GivenValues(), {}
        self._is_number = ~resolve_categorical(self._frame, estimator.categorical_features)
        if self._frame.ordered or estimator._has_knowledge():
            self._given = given_values(estimator, self._frame)
            self._is_number = which_are_numbers(estimator, self._frame, self._given)
            self._known = known_beforehand(estimator, self._frame, self._given, len(self._classes))
        self._feature_names = getattr(scratch, "feature_names_in_", None)
        self._target_name = name_target(y, self._frame.names)
        self._encoded: dict[str, Encoded] = {}
        self._contexts: dict[str, Context] = {}
        self._splits: list[tuple[Part, Part]] | None = None
        self._parts: dict[str, list[tuple[Context, Rows]]] = {}

    @property
    def frame(self) -> Frame:
        """All columns of X."""
        return self._frame

    @property
    def given(self) -> GivenValues:
        """What the user says about values of columns."""
        return self._given

    def encoded(self, bins: str) -> Encoded:
        """Learn bins and categories and encode the rows; ``bins`` says how numbers are cut by default."""
        binning = binning_of(self._estimator, bins)
        if binning not in self._encoded:
            self._encoded[binning] = self._encode(binning)
        return self._encoded[binning]

    def context(self, bins: str) -> Context:
        """The encoded rows with what recipes ask of them; always the same for the same bins."""
        binning = binning_of(self._estimator, bins)
        if binning not in self._contexts:
            encoded = self.encoded(bins)
            self._contexts[binning] = Context(
                encoded.rows,
                self._n_threads,
                self._estimator.verbose,
                validation=self._encode_validation(encoded),
                limits=self._limits,
                **self._known,
            )
        return self._contexts[binning]

    def trial_context(self, bins: str) -> Context:
        """The same for what is tried before the last fit, which has half of the time and no call-back."""
        return self.context(bins).with_options(limits=self._trials)

    @property
    def has_validation(self) -> bool:
        """Whether there are validation rows."""
        return self._validation is not None

    def is_over(self, what: str) -> bool:
        """Whether the time for trials is over; a note then says what was left out."""
        return self._trials.is_over(what)

    def parts(self, seed: int, bins: str) -> list[tuple[Context, Rows]]:
        """Rows to learn from and rows to judge by; bins and categories are those of the former alone.

        There are none if there are fewer than two rows. Validation rows, if there are some, are those to judge by.
        """
        if self.has_validation:
            context = self.trial_context(bins)
            return [(context, cast(Rows, context.validation))]
        binning, rows = binning_of(self._estimator, bins), self.encoded(bins).rows
        if rows.n_counted < 2:
            return []
        if self._splits is None:
            self._splits = hold_out(rows, seed)
        if binning not in self._parts:
            self._parts[binning] = [self._part(rows, binning, *split) for split in self._splits]
        return self._parts[binning]

    def _part(self, rows: Rows, binning: str, kept: Part, held: Part) -> tuple[Context, Rows]:
        of_kept = np.zeros(self._frame.n_rows)
        used = np.arange(self._frame.n_rows)[self._is_used]
        of_kept[used[kept.rows]] = rows.take_part(kept).full_weight()
        try:
            encoder = self._fit_encoder(binning, of_kept, keeps_contents=False)
        except ValueError:  # a column has no value in these rows; that of all rows has some
            encoder = self.encoded(binning).encoder
        codes = encoder.encode(self._frame, n_threads=self._n_threads)[self._is_used]
        own = rows._replace(
            codes=codes, cards=encoder.cards.astype(np.int64), n_ordered=encoder.n_ordered(self._is_number)
        )
        context = Context(own.take_part(kept), self._n_threads, limits=self._trials, **self._known)
        return context, own.take_part(held)

    def _encode_validation(self, encoded: Encoded) -> Rows | None:
        """The validation rows with the codes of the training rows."""
        if self._validation is None:
            return None
        frame, numbers, weight = self._validation
        position = {label: code for code, label in enumerate(encoded.classes.tolist())}
        of_number = np.array([position.get(label, -1) for label in self._classes.tolist()])
        codes, y = encoded.encoder.encode(frame, n_threads=self._n_threads), of_number[numbers]
        is_used = (y >= 0) if weight is None else (y >= 0) & (weight > 0)
        rows = encoded.rows._replace(codes=codes[is_used], y=y[is_used].astype(np.int64))
        return rows._replace(weight=None if weight is None else weight[is_used])

    def _encode(self, binning: str) -> Encoded:
        numbers, weight, own, factors = self._numbers, self._weight, self._sample_weight, self._factors
        encoder = self._fit_encoder(binning, weight)
        codes, classes = encoder.encode(self._frame, n_threads=self._n_threads), self._classes
        all_codes, y_codes = codes, numbers.astype(np.int64)
        if own is not None:
            # Classes that only rows without weight have are left out.
            present, y_codes = np.unique(numbers[self._is_used], return_inverse=True)
            classes, codes, own = classes[present], codes[self._is_used], own[self._is_used]
            factors = None if factors is None else factors[present]
        if weight is not None:
            weight = weight[self._is_used]
        cards, n_ordered = encoder.cards.astype(np.int64), encoder.n_ordered(self._is_number)
        rows = Rows(codes, y_codes.astype(np.int64, copy=False), weight, cards, len(classes), n_ordered)

        @cache  # members of an ensemble share it
        def take_fingerprint() -> Fingerprint:
            return Fingerprint.take(hash_rows(hash_cells(encoder, self._frame, all_codes)[self._is_used], rows.y))

        names = (self._feature_names, self._target_name)
        return Encoded(rows, own, factors, classes, encoder, *names, take_fingerprint)

    def _fit_encoder(
        self, binning: str, weight: NDArray[np.float64] | None, *, keeps_contents: bool = True
    ) -> FrameEncoder:
        estimator = self._estimator
        if binning == GIVEN:
            return cast(FrameEncoder, estimator.binning)
        is_categorical = np.ones_like(self._is_number) if binning == "none" else ~self._is_number
        cut = make_binning(binning, self._numbers, estimator.max_bins, self._n_threads)
        most = most_categories(estimator, binning)
        return FrameEncoder.fit(
            self._frame,
            is_categorical,
            weight,
            cut,
            missing=estimator.missing,
            max_categories=most,
            given=self._given,
            keeps_contents=keeps_contents,
        )


def _read_given(
    scratch: BaseEstimator, given: GivenRows, classes: NDArray[Any], factors: NDArray[np.float64] | None
) -> tuple[Frame, NDArray[np.int64], NDArray[np.float64] | None]:
    """Frame, numbers of classes and weights of validation rows, which must have the columns of the training rows."""
    try:
        frame = read_rows(scratch, given.X, reset=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"X_val: {error}") from error
    numbers = read_known_classes(given.y, frame.n_rows, classes, "y_val")
    weight, _ = read_weights(given.sample_weight, frame.n_rows, "sample_weight_val")
    return frame, numbers, class_weighted(weight, factors, numbers)


def known_beforehand(estimator: Any, frame: Frame, given: GivenValues, n_classes: int) -> dict[str, Any]:
    """What the user knows about edges and directions, as a context takes it."""
    is_number = which_are_numbers(estimator, frame, given)
    is_ordered = is_number | np.isin(np.arange(frame.n_columns), list(given.orders))
    directions = directions_of(estimator, frame, is_ordered)
    if directions is not None and n_classes > 2:
        raise ValueError(
            f"monotonic_cst requires two classes, but y has {n_classes}: with more, a feature cannot make all of them "
            "more probable, and 'rising' means something else for each pair of them"
        )
    return {"rules": edge_rules(estimator, frame), "directions": directions}


def binning_of(estimator: Any, bins: str) -> str:
    """How numbers are cut, in a word: by the options of an estimator or, where these leave it open, by ``bins``."""
    if isinstance(estimator.binning, FrameEncoder):
        return GIVEN
    binning = "auto" if isinstance(estimator.binning, Mapping) else str(estimator.binning)
    return bins if binning == "auto" else binning


def most_categories(estimator: Any, binning: str) -> int | None:
    """Largest number of values of a category, by the options of an estimator and how it cuts numbers."""
    if isinstance(estimator.max_categories, str):
        return _FINE_CATEGORIES if binning in ("fine", "both") else _COARSE_CATEGORIES
    most: int | None = estimator.max_categories
    return most


def count_threads(n_jobs: int | None) -> int:
    """Number of threads for the option ``n_jobs``."""
    n_threads = int(effective_n_jobs(n_jobs))
    # Counting processors reads files, which takes longer than a prediction of one row.
    return n_threads if n_threads <= _MOST_THREADS else min(n_threads, max(cpu_count(), _MOST_THREADS))


def read_rows(estimator: BaseEstimator, X: Any, y: Any = "no_validation", *, reset: bool) -> Frame:
    """Read X as a frame, and set or check the number and the names of the features on the estimator.

    ``y`` is only looked at to tell that it was given.
    """
    if not reset and _is_plain(X, estimator):
        return as_frame(X)
    if not isinstance(X, np.ndarray):
        refuse_unread(X, "X")
    if not _is_frame(X) and not np.ma.is_masked(X):
        X = check_array(
            exact_array(X) if isinstance(X, (list, tuple)) else X,
            dtype=None,
            ensure_all_finite=False,  # the encoder refuses infinite numbers, and names their column
            ensure_min_samples=1,
            estimator=estimator,
            input_name="X",
        )
    frame = as_frame(X)
    validate_data(estimator, X, y, reset=reset, skip_check_array=True)
    return frame


def _is_plain(X: Any, estimator: Any) -> bool:
    """Whether X is an array of numbers with which nothing can be wrong; scikit-learn takes longer than a prediction."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "iuf" or not len(X):
        return False
    return X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_")


def name_target(y: Any, columns: list[str] | None) -> str:
    """What the class is called: as y is if it has a name, else "class"; never as a column is."""
    name = getattr(y, "name", None)
    if columns is None and name is None:
        return CLASS
    taken = [] if columns is None else columns
    return unique_labels([*taken, name if isinstance(name, str) and name and name not in taken else CLASS])[-1]


def read_classes(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Distinct classes, sorted, and for each row the number of its class."""
    if not isinstance(y, np.ndarray):
        refuse_unread(y, "y")
    if np.ma.is_masked(y):
        raise _missing_error()
    classes, numbers = _number_classes(y)
    if len(numbers) != n_rows:
        check_consistent_length(np.empty(n_rows), numbers)
    return classes, numbers


def read_known_classes(y: Any, n_rows: int, classes: NDArray[Any], name: str = "y") -> NDArray[np.int64]:
    """For each row the number of its class among those of the fit."""
    labels, numbers = read_classes(y, n_rows)
    known = {label: number for number, label in enumerate(classes.tolist())}
    unseen = [label for label in labels.tolist() if label not in known]
    if unseen:
        listed = ", ".join(map(repr, classes.tolist()[:20]))
        raise ValueError(f"{name} has the class {unseen[0]!r}, which was not trained on; the classes are {listed}")
    return np.array([known[label] for label in labels.tolist()], np.int64)[numbers]


def _number_classes(y: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
    if hasattr(y, "to_frame") and str(y.dtype).lower().startswith(("str", "large_string")):
        # The library that owns the text codes it without making an object of each cell.
        frame = as_frame(y.to_frame())
        levels, codes = frame.levels[0], frame.columns[0]
        if levels is not None:
            return _sort_classes(levels.tolist(), codes, object)
    labels = column_or_1d(_exact_labels(y), warn=True)
    cells = labels.tolist() if labels.dtype.kind in "OU" else []
    if set(map(type, cells)) == {str}:
        # Looking text up is many times faster than sorting it.
        position = {label: code for code, label in enumerate(dict.fromkeys(cells))}
        codes = np.fromiter(map(position.__getitem__, cells), dtype=np.int32, count=len(cells))
        return _sort_classes(list(position), codes, labels.dtype)
    if labels.dtype.kind == "O":
        _refuse_missing(cells)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise _missing_error()
    labels = check_array(labels, ensure_2d=False, dtype=None, ensure_all_finite=True, input_name="y")
    check_classification_targets(labels)
    classes, numbers = np.unique(labels, return_inverse=True)
    return classes, numbers.astype(np.int32)


def _exact_labels(y: Any) -> NDArray[Any]:
    """Labels as an array; NumPy would make floats of large integers in a list, and cut zero bytes off texts."""
    labels = np.asarray(y)
    if not isinstance(y, (list, tuple)) or labels.ndim != 1:
        return labels
    if labels.dtype.kind == "f" and not are_exact_floats(labels) and all(isinstance(each, int) for each in y):
        integers = as_integers(list(y))
        return labels if integers is None else integers
    is_cut = labels.dtype.kind == "U" and any(isinstance(each, str) and each.endswith("\0") for each in y)
    return object_array(list(y)) if is_cut else labels


def _sort_classes(levels: list[str], codes: NDArray[Any], dtype: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Renumber coded text in sorted order; levels that no row has are left out, and -1 is a missing label."""
    counts = np.bincount(codes + 1, minlength=len(levels) + 1)
    if counts[0]:
        raise _missing_error()
    present = sorted((level, code) for code, level in enumerate(levels) if counts[code + 1])
    number = np.empty(len(levels), np.int32)
    number[[code for _, code in present]] = np.arange(len(present))
    numbers = number[codes]
    check_classification_targets(numbers)
    return np.array([level for level, _ in present], dtype=dtype), numbers


def _is_frame(X: Any) -> bool:
    """Whether X is a frame with columns of its own types, which must not be cast to one."""
    # A lazy frame is asked first, since it warns when it is asked for its columns.
    return hasattr(X, "collect_schema") or (hasattr(X, "columns") and not isinstance(X, np.ndarray))


def _refuse_missing(cells: list[Any]) -> None:
    """Refuse classes that are None or NaN."""
    is_missing = {"NoneType", "NAType", "NaTType"} & {kind.__name__ for kind in set(map(type, cells))}
    if is_missing or any(cell != cell for cell in cells):
        raise _missing_error()


def _missing_error() -> ValueError:
    return ValueError("Input y contains NaN or None; leave out the rows without a class")
