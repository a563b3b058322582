"""What a classifier has to beat: the most frequent class, naive Bayes and the Chow-Liu tree, on the same rows.

A model file does not hold the training rows. If they are given, the baselines are fitted to them; otherwise to parts of
the report's own rows, and each is judged by the part that it has not seen. Either way no baseline is judged by rows
that it was fitted to.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.estimators import TANClassifier
from tanager.report.evaluation import Evaluation, evaluate
from tanager.report.rows import Classifier, ReportRows

_STRUCTURES = {"naive Bayes": "none", "Chow-Liu tree": "chow-liu"}
_N_PARTS = 5
_FEWEST_ROWS = 20
_MOST_ROWS = 20_000


@dataclass(frozen=True)
class Baselines:
    """Baselines by name, and in words what they were fitted to."""

    evaluations: dict[str, Evaluation]
    fitted_to: str


def evaluate_baselines(clf: Classifier, rows: ReportRows, training: ReportRows | None) -> Baselines | None:
    """Fit and judge the baselines; None if there are too few rows for it."""
    if rows.truth is None or len(clf.classes_) < 2:
        return None
    matrix, is_category = rows.matrix(clf)
    is_known = rows.truth >= 0
    matrix, truth = matrix[is_known], rows.truth[is_known]
    if training is not None and training.truth is not None:
        train_matrix, _ = training.matrix(clf)
        parts = [(train_matrix, training.truth, np.arange(len(truth)))]
        fitted_to = f"fitted to the {training.n_rows:,} training rows"
    else:
        if len(truth) < _FEWEST_ROWS:
            return None
        order = np.random.default_rng(0).permutation(len(truth))[:_MOST_ROWS]
        matrix, truth = matrix[order], truth[order]
        held = np.array_split(np.arange(len(truth)), _N_PARTS)
        kept = [np.setdiff1d(np.arange(len(truth)), part) for part in held]
        parts = [(matrix[k], truth[k], h) for k, h in zip(kept, held, strict=True)]
        some = f"{len(truth):,} of these rows" if len(truth) < rows.n_rows else "these rows"
        fitted_to = f"fitted to four fifths of {some} and judged by the other fifth, five times"
    n_classes = len(clf.classes_)
    found = {}
    for name in ("most frequent class", *_STRUCTURES):
        probabilities = np.zeros((len(truth), n_classes))
        for train_X, train_y, judged in parts:
            probabilities[judged] = _predict(name, train_X, train_y, matrix[judged], is_category, n_classes)
        # A class that a part does not show has no probability there, and is taken for unknown.
        has_chance = probabilities[np.arange(len(truth)), truth] > 0
        found[name] = evaluate(probabilities, np.where(has_chance, truth, -1))
    constant = found["most frequent class"]  # its probabilities differ from part to part, but order no rows
    found["most frequent class"] = replace(constant, areas=np.full(n_classes, np.nan))
    return Baselines(found, fitted_to)


def _predict(
    name: str, X: FloatArray, y: IntArray, judged: FloatArray, is_category: NDArray[np.bool_], n_classes: int
) -> FloatArray:
    """Probabilities of the classes, float64[N, C], of a baseline that was fitted to X and y."""
    if name not in _STRUCTURES:
        share: FloatArray = np.bincount(y, minlength=n_classes) / len(y)
        return np.tile(share, (len(judged), 1))
    has_values = ~np.isnan(X).all(axis=0)
    model = TANClassifier(_STRUCTURES[name], "ml", categorical_features=is_category[has_values])
    with warnings.catch_warnings():
        # They are about rare values, which nobody has asked baselines to keep.
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X[:, has_values], y)
    probabilities = np.zeros((len(judged), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(judged[:, has_values])
    return probabilities
