"""What comes before training: from tables to codes, from options to tables to be learned, and the memory needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from tanager.data import TableEncoder, resolve_categorical
from tanager.estimators.defaults import presets_of, with_preset
from tanager.estimators.evidence import Evidence
from tanager.estimators.fitting import Rows, training_bytes
from tanager.estimators.inputs import read_classes, read_table, read_weights
from tanager.estimators.options import make_binning, make_settings
from tanager.estimators.structures import make_parent_sets
from tanager.model import Layout, make_layout

if TYPE_CHECKING:
    from tanager.estimators.tan import TANClassifier


def encode_training(estimator: TANClassifier, X: Any, y: Any, sample_weight: ArrayLike | None) -> Rows:
    """Set the estimator's bins, categories and classes, and return the codes, class numbers and weights of the rows."""
    n_threads = effective_n_jobs(estimator.n_jobs)
    table = read_table(estimator, X, y, reset=True)
    estimator.classes_, numbers = read_classes(y, table.n_rows)
    weight, rows = read_weights(sample_weight, table.n_rows)
    is_number = ~resolve_categorical(table, estimator.categorical_features)
    is_categorical = np.ones_like(is_number) if estimator.binning == "none" else ~is_number
    binning = make_binning(estimator, numbers, n_threads)
    estimator.encoder_ = TableEncoder.fit(
        table, is_categorical, weight, binning, missing=estimator.missing, max_categories=estimator.max_categories
    )
    estimator.pooled_categories_ = estimator.encoder_.pooled()
    codes = estimator.encoder_.encode(table, n_threads=n_threads)
    n_ordered = estimator.encoder_.n_ordered(is_number)
    if weight is None:
        return Rows(codes, numbers.astype(np.int64), None, n_ordered)
    # Classes that only rows without weight have are left out.
    present, classes = np.unique(numbers[rows], return_inverse=True)
    estimator.classes_ = estimator.classes_[present]
    return Rows(codes[rows], classes.astype(np.int64), weight[rows], n_ordered)


def lay_out(plan: TANClassifier, rows: Rows, seed: int) -> Layout:
    """Lay out the tables of the search space of an estimator that has a value for every option."""
    cards, n_threads = plan.encoder_.cards.astype(np.int64), effective_n_jobs(plan.n_jobs)
    evidence = Evidence(rows, cards, len(plan.classes_), plan.smoothing, n_threads, is_verbose=plan.verbose > 0)
    parent_sets = make_parent_sets(plan, evidence, np.random.default_rng(seed))
    return make_layout(parent_sets, cards, len(plan.classes_))


def memory_needed(estimator: TANClassifier, rows: Rows) -> int:
    """Bytes of the rows and of the tables while they are trained, for the preset that takes most."""
    plans = [with_preset(estimator, preset, rows.n_counted) for preset in presets_of(estimator)]
    of_rows = rows.codes.nbytes + 2 * rows.y.nbytes + (0 if rows.weight is None else rows.weight.nbytes)
    return of_rows + max(training_bytes(lay_out(plan, rows, seed=0), make_settings(plan)) for plan in plans)
