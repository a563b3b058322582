"""Two classifiers on the same rows: paired differences, where they agree, and which edges they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray
from tanager.report.markup import MISSING, measured_table, number, percent
from tanager.report.rows import Classifier, ReportRows

_N_ROWS = 12

_Flags = NDArray[np.bool_]  # one for each row
_Pairs = set[tuple[str, str]]


class Other(NamedTuple):
    """The classifier to compare with, its name, and the rows as it sees them."""

    classifier: Classifier
    name: str
    rows: ReportRows


@dataclass(frozen=True)
class Difference:
    """A mean of differences over rows, and its standard error."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, differences: FloatArray) -> Difference:
        """The mean difference of rows."""
        spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
        return cls(float(differences.mean()), spread / np.sqrt(len(differences)))

    @property
    def is_clear(self) -> bool:
        """Whether the mean is further from zero than two standard errors."""
        return abs(self.mean) > 2 * self.standard_error


def compare(clf: Classifier, rows: ReportRows, other: Other) -> tuple[str, str]:
    """Text and tables of a comparison."""
    tables = [_edge_table(clf, other)]
    text = f"The first model is the one of this page, the second is {other.name}."
    if rows.truth is not None and other.rows.truth is not None:
        is_known = (rows.truth >= 0) & (other.rows.truth >= 0)
        losses = [_losses(each)[is_known] for each in (rows, other.rows)]
        wrong = [(each.probabilities.argmax(axis=1) != each.truth)[is_known] for each in (rows, other.rows)]
        text += f" {_sentence(wrong[0], wrong[1], losses[0], losses[1])}"
        measures = _measure_table(rows, other)
        tables = [measures, _agreement_table(wrong[0], wrong[1]), _row_table(rows, other, is_known), *tables]
    return text, f'<div class="split">{"".join(tables)}</div>'


def _losses(rows: ReportRows) -> FloatArray:
    """Log-loss of each row, NaN where the class is unknown."""
    assert rows.truth is not None
    own = rows.probabilities[np.arange(rows.n_rows), rows.truth]
    return np.where(rows.truth >= 0, -np.log(np.maximum(own, np.finfo(float).tiny)), np.nan)


def _sentence(wrong: _Flags, other_wrong: _Flags, loss: FloatArray, other_loss: FloatArray) -> str:
    error = Difference.of(other_wrong.astype(float) - wrong.astype(float))
    log_loss = Difference.of(other_loss - loss)
    parts = [
        f"the error of the second is {100 * abs(error.mean):.2f} percentage points"
        f" {'higher' if error.mean > 0 else 'lower'} (± {100 * error.standard_error:.2f})",
        f"its log-loss {abs(log_loss.mean):.3f} {'higher' if log_loss.mean > 0 else 'lower'}"
        f" (± {log_loss.standard_error:.3f})",
    ]
    verdict = "clear" if log_loss.is_clear or error.is_clear else "within what chance explains"
    return f"On the same rows, {' and '.join(parts)}; the difference is {verdict}."


def _measure_table(rows: ReportRows, other: Other) -> str:
    lines = []
    for name, each in (("first", rows.evaluation), (other.name, other.rows.evaluation)):
        assert each is not None
        ece = percent(each.calibration.expected_error, 2)
        error = f"{percent(each.error, 2)}\n± {percent(each.standard_error, 2)}"
        lines.append([name, error, number(each.log_loss), ece])
    return measured_table(["Model", "Error", "Log-loss", "Calibration error"], lines)


def _agreement_table(wrong: _Flags, other_wrong: _Flags) -> str:
    counts = [
        ("both right", ~wrong & ~other_wrong),
        ("only the first right", ~wrong & other_wrong),
        ("only the second right", wrong & ~other_wrong),
        ("both wrong", wrong & other_wrong),
    ]
    lines = [[name, f"{int(each.sum()):,}", percent(float(each.mean()))] for name, each in counts]
    return measured_table(["Rows", "Number", "Share"], lines)


def _row_table(rows: ReportRows, other: Other, is_known: _Flags) -> str:
    """Rows whose true class the two models give the most different probabilities."""
    assert rows.truth is not None
    assert other.rows.truth is not None
    every = np.arange(rows.n_rows)
    first, second = rows.probabilities[every, rows.truth], other.rows.probabilities[every, other.rows.truth]
    distance = np.where(is_known, np.abs(first - second), -1.0)
    chosen = np.argsort(-distance, kind="stable")[:_N_ROWS]
    lines = [[f"row {n}", percent(float(first[n])), percent(float(second[n]))] for n in chosen.tolist() if is_known[n]]
    return measured_table(["Probability of the true class", "first", other.name], lines)


def _edge_table(clf: Classifier, other: Other) -> str:
    """Pairs of features that are connected in both models or in one of them, by name, whatever the direction."""
    ours, theirs = _pairs(clf), _pairs(other.classifier)
    parts = [("both", ours & theirs), ("the first only", ours - theirs), (f"{other.name} only", theirs - ours)]
    lines = [[f"in {name}", f"{len(pairs):,}", _listed(pairs)] for name, pairs in parts]
    return measured_table(["Connected features", "Pairs", "Such as"], lines, ends_in_text=True)


def _listed(pairs: _Pairs) -> str:
    shown = [f"{a} – {b}" for a, b in sorted(pairs)[:3]]
    return "; ".join(shown) + ("; ..." if len(pairs) > 3 else "") if shown else MISSING


def _pairs(clf: Classifier) -> _Pairs:
    names = clf.encoder_.feature_labels
    members = getattr(clf, "estimators_", [clf])
    edges = {
        (child, parent)
        for member in members
        for child, parents in enumerate(member.network_.extra_parents.tolist())
        for parent in parents
        if parent >= 0
    }
    return {(min(names[a], names[b]), max(names[a], names[b])) for a, b in edges}
