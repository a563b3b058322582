"""What is worth a look in the columns of the data: missing cells, constants, identifiers, leaks of the class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tanager._types import FloatArray
from tanager.data import CategoryColumn
from tanager.report.rows import Classifier, ReportRows

_MANY_MISSING = 0.2
_MANY_UNKNOWN = 0.01
_FEWEST_ROWS = 30  # for a column to be called an identifier
_LEAK = 0.9


@dataclass(frozen=True)
class ColumnQuality:
    """One column of the rows.

    Attributes
    ----------
    missing, unknown : float
        Share of missing cells, and of cells with values that training did not show.
    n_values : int
        Number of distinct values.
    told : float or None
        Share of the uncertainty about the class that the column alone takes away, from 0 to 1.
    findings : list of str
        What is worth a look, in words.
    """

    missing: float
    unknown: float
    n_values: int
    told: float | None
    findings: list[str]


def inspect_columns(clf: Classifier, rows: ReportRows) -> list[ColumnQuality]:
    """Look at each column of the rows."""
    told = _told_by_each(clf, rows)
    return [_inspect(clf, rows, i, None if told is None else float(told[i])) for i in range(rows.codes.shape[1])]


def _inspect(clf: Classifier, rows: ReportRows, i: int, told: float | None) -> ColumnQuality:
    column, cells, levels = clf.encoder_.columns[i], rows.frame.columns[i], rows.frame.levels[i]
    is_missing = cells < 0 if levels is not None else cells != cells
    present = cells[~is_missing]
    n_values = len(np.unique(present))
    is_unknown = (rows.codes[:, i] == column.card) & ~is_missing
    missing, unknown = float(is_missing.mean()), float(is_unknown.mean())
    is_whole = levels is not None or cells.dtype.kind in "iu" or bool((present == np.floor(present)).all())
    findings = []
    if column.card == 1:
        findings.append("constant in training: it says nothing")
    elif n_values == 1 and not is_missing.any():
        findings.append("constant in these rows")
    if is_whole and n_values == len(present) >= _FEWEST_ROWS:
        findings.append("a different value in every row, as an identifier has")
    if told is not None and told >= _LEAK:
        findings.append("tells the class almost alone: is it known before the class is?")
    if missing >= _MANY_MISSING:
        findings.append("many missing cells")
    if unknown >= _MANY_UNKNOWN:
        findings.append("values that training did not show")
    if isinstance(column, CategoryColumn) and column.pooled.size:
        findings.append(f"{column.pooled.size:,} rare values share one code")
    return ColumnQuality(missing, unknown, n_values, told, findings)


def _told_by_each(clf: Classifier, rows: ReportRows) -> FloatArray | None:
    """Share of the log-loss of the class prior that each column alone takes away, float64[D]; None if unknown."""
    network = clf.description_
    if rows.truth is None or network.has_pairs or not network.is_bayesian_network or network.n_classes < 2:
        return None
    is_known = rows.truth >= 0
    codes, truth = rows.codes[is_known], rows.truth[is_known]
    given_class = network.marginals(classes=np.arange(network.n_classes)).features
    prior = network.log_prior - np.logaddexp.reduce(network.log_prior)
    entropy = -prior[truth].mean()
    told = np.zeros(network.n_features)
    for i, probabilities in enumerate(given_class):  # [C, R_i]
        lines = np.log(np.maximum(np.column_stack([probabilities, np.ones(network.n_classes)]), 1e-12))
        scores = prior + lines.T[codes[:, i]]
        posterior = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
        told[i] = 1.0 + posterior[np.arange(len(truth)), truth].mean() / entropy if entropy > 0 else 0.0
    return np.maximum(told, 0.0)
