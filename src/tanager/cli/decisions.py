"""What ``tanager predict`` writes for each row besides its class, and by which costs it decides."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow
import typer
from numpy.typing import NDArray

from tanager._options import suggest
from tanager._types import FloatArray
from tanager.cli.errors import InputError
from tanager.cli.model_rows import NO_CLASS, LoadedModel, Piece
from tanager.data.fingerprint import hash_cells, hash_rows
from tanager.estimators.deciding import cost_matrix
from tanager.estimators.inputs import read_rows

_MOST = 0.5  # share of training rows from which on an error says nothing about others


@dataclass(frozen=True)
class Decisions:
    """What is asked for.

    Attributes
    ----------
    classifier : TANClassifier or TANEnsembleClassifier
    costs : float64 array of shape (C, C) or None
        What it costs to predict a class where another one is true; None takes the most probable class.
    coverage : float or None
        Of prediction sets; None writes none.
    has_proba : bool
    """

    classifier: Any
    costs: FloatArray | None
    coverage: float | None
    has_proba: bool

    @property
    def names(self) -> list[str]:
        """Names of the columns that come after the class."""
        labels = self.classifier.classes_.tolist()
        chances = [f"probability_{label}" for label in labels] if self.has_proba else []
        return [*chances, *([] if self.coverage is None else [f"set_{label}" for label in labels])]

    def answer(self, X: Any) -> Answers:
        """Classes, probabilities and sets of the rows of a piece."""
        classifier, n_classes = self.classifier, len(self.classifier.classes_)
        probabilities, sets = np.empty((X.num_rows, n_classes)), np.empty((X.num_rows, n_classes), np.bool_)
        if not X.num_rows:
            return Answers(classifier.classes_[:0], probabilities, sets)
        with warnings.catch_warnings():
            # A model that was fitted to an array takes its columns by position.
            warnings.filterwarnings("ignore", message="X has feature names")
            if self.coverage is not None:
                sets = classifier.predict_set(X, self.coverage)
            if not self.has_proba and self.costs is None:
                return Answers(classifier.predict(X), probabilities, sets)
            probabilities = classifier.predict_proba(X)
        best = probabilities.argmax(axis=1) if self.costs is None else (probabilities @ self.costs).argmin(axis=1)
        return Answers(classifier.classes_[best], probabilities, sets)

    def columns(self, answers: Answers) -> list[Any]:
        """The columns of the output that `names` names."""
        chances = list(answers.probabilities.T) if self.has_proba else []
        sets = [] if self.coverage is None else list(answers.sets.T)
        return [pyarrow.array(np.ascontiguousarray(column)) for column in [*chances, *sets]]


@dataclass(frozen=True)
class Answers:
    """Of some rows.

    Attributes
    ----------
    labels : ndarray of shape (N,)
    probabilities : float64 array of shape (N, C)
    sets : bool array of shape (N, C)
        Nothing of use where they were not asked for, as the probabilities.
    """

    labels: NDArray[Any]
    probabilities: FloatArray
    sets: NDArray[np.bool_]


class Tally:
    """Numbers of rows and errors, with costs and prediction sets where there are some."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions, self._classes = decisions, decisions.classifier.classes_
        self.n_rows = self._n_known = self._n_wrong = self._n_right_sets = self._n_in_sets = 0
        self._cost = 0.0
        self._share_trained_on: float | None = None  # of the first piece, as far as it can be told

    def add(self, piece: Piece, answers: Answers) -> None:
        """Count some rows; a class that the model does not know counts as an error."""
        labels, decisions = answers.labels, self._decisions
        self.n_rows += len(labels)
        if decisions.coverage is not None:
            self._n_in_sets += int(answers.sets.sum())
        if piece.classes is None:
            return
        if self.n_rows == len(labels):
            self._share_trained_on = _share_trained_on(decisions.classifier, piece.X, piece.classes)
        is_right = (piece.classes >= 0) & (self._classes[piece.classes] == labels)
        has_class = piece.classes != NO_CLASS
        self._n_known += int(has_class.sum())
        self._n_wrong += int((has_class & ~is_right).sum())
        known = np.flatnonzero(piece.classes >= 0)
        if decisions.costs is not None:
            place = {label: number for number, label in enumerate(self._classes.tolist())}
            decided = [place[label] for label in labels[known].tolist()]
            self._cost += float(decisions.costs[piece.classes[known], decided].sum())
        if decisions.coverage is not None:
            self._n_right_sets += int(answers.sets[known, piece.classes[known]].sum())

    def text(self, seconds: float) -> str:
        """The result in one line."""
        text = f"{self.n_rows} rows in {seconds:.1f} s ({self.n_rows / max(seconds, 1e-9):,.0f} rows per second)"
        decisions = self._decisions
        if decisions.coverage is not None and self.n_rows:
            text += f"; {self._n_in_sets / self.n_rows:.2f} classes in a set"
        if not self._n_known:
            return text
        error = self._n_wrong / self._n_known
        spread = (error * (1 - error) / self._n_known) ** 0.5
        text += f"; error {error:.2%}, standard error {spread:.2%}, on {self._n_known} rows with a class"
        if decisions.costs is not None:
            text += f"; cost {self._cost / self._n_known:.4g} a row"
        if decisions.coverage is not None:
            text += f"; {self._n_right_sets / self._n_known:.2%} of the sets have it"
        if (self._share_trained_on or 0.0) > _MOST:
            share = f"{self._share_trained_on:.0%}"
            text += f"\nnote: about {share} of these rows are training rows; expect more errors on new ones"
        return text


def _share_trained_on(classifier: Any, X: Any, classes: NDArray[np.int64]) -> float | None:
    """Estimate of the share of rows that a classifier was trained on, None if it cannot be told."""
    fingerprint, known = getattr(classifier, "fingerprint_", None), np.flatnonzero(classes >= 0)
    if fingerprint is None:
        return None
    frame = read_rows(classifier, X, reset=False)
    cells = hash_cells(classifier.encoder_, frame, classifier.encoder_.encode(frame))
    share: float | None = fingerprint.share_of(hash_rows(cells[known], classes[known]))
    return share


def make_decisions(model: LoadedModel, costs: Sequence[str], coverage: float | None, *, has_proba: bool) -> Decisions:
    """Read and check the options ``--cost`` and ``--coverage``."""
    if coverage is not None and not 0 < coverage < 1:
        raise typer.BadParameter(f"--coverage must be above 0 and below 1, got {coverage:g}")
    if coverage is not None and not hasattr(model.classifier, "conformal_"):
        raise InputError(
            f"--coverage requires rows that the model was not trained on, and {model.path} has none: fit it with "
            "--calibration-size 0.2, or call conformalize in Python before saving it"
        )
    matrix = read_costs(costs, model.classifier.classes_) if costs else None
    return Decisions(model.classifier, matrix, coverage, has_proba)


def read_costs(texts: Sequence[str], classes: NDArray[Any]) -> FloatArray:
    """The cost matrix that texts such as TRUE:PREDICTED=NUMBER give.

    >>> read_costs(["ill:well=10", "well:ill=1"], np.array(["ill", "well"]))
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    labels = {str(label): label for label in classes.tolist()}
    costs: dict[Any, dict[Any, float]] = {}
    for text in texts:
        pair, _, number = text.rpartition("=")
        splits = [(pair[:k], pair[k + 1 :]) for k, letter in enumerate(pair) if letter == ":"]
        # A class may have a colon in its name.
        known = [split for split in splits if all(name in labels for name in split)]
        try:
            cost = float(number)
        except ValueError:
            splits = []
        if not splits:
            raise typer.BadParameter(f"--cost must have the form TRUE:PREDICTED=NUMBER, got {text!r}")
        if not known:
            wrong = next(name for name in splits[0] if name not in labels)
            raise InputError(f"--cost: the model has no class {wrong!r}; {suggest(wrong, labels)}")
        true, predicted = (labels[name] for name in known[0])
        costs.setdefault(true, {})[predicted] = cost
    try:
        return cost_matrix(costs, classes)
    except ValueError as error:
        raise InputError(f"--cost: {error}") from None
