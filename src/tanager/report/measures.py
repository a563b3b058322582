"""The first section of the report: measures beside those of the baselines, and a warning where they would mislead."""

from __future__ import annotations

import html

import numpy as np

from tanager.report.baselines import Baselines
from tanager.report.comparison import Other
from tanager.report.evaluation import Evaluation
from tanager.report.markup import MISSING, measured_table, number, percent
from tanager.report.rows import Classifier

_MOST = 0.5  # share of training rows from which on measures say nothing
_SOME = 0.05

_HEADS = ["", "Error", "Log-loss", "Calibration error", "Area under ROC"]


def measure_table(
    clf: Classifier, evaluation: Evaluation | None, baselines: Baselines | None, other: Other | None
) -> str:
    """The measures of the classifier, of a second one, and of the baselines; empty if nothing was measured."""
    lines, own = [], None
    if evaluation is not None:
        lines.append(["This model", *_measures(evaluation)])
        own = 0
    if other is not None and other.rows.evaluation is not None:
        lines.append([other.name, *_measures(other.rows.evaluation)])
    for name, each in ({} if baselines is None else baselines.evaluations).items():
        lines.append([name[0].upper() + name[1:], *_measures(each)])
    held_out = held_out_trial(clf)
    if held_out is not None:
        error, log_loss = held_out
        lines.append(["This model, on rows held out in the fit", percent(error, 2), number(log_loss), MISSING, MISSING])
    return measured_table(_HEADS, lines, own) if lines else ""


def _measures(each: Evaluation) -> list[str]:
    share = each.confusion.sum(axis=1) / max(each.confusion.sum(), 1)
    is_known = ~np.isnan(each.areas)
    area = float(np.average(each.areas[is_known], weights=share[is_known])) if share[is_known].any() else float("nan")
    return [
        f"{percent(each.error, 2)}\n± {percent(each.standard_error, 2)}",
        number(each.log_loss),
        percent(each.calibration.expected_error, 2),
        number(area),
    ]


def held_out_trial(clf: Classifier) -> tuple[float, float] | None:
    """Error and log-loss of the chosen preset on the rows that the fit held out, if it held out any."""
    choice = clf.choice_
    if choice["preset"] not in choice["tried"]:
        return None
    place = choice["tried"].index(choice["preset"])
    return choice["errors"][place], choice["log_losses"][place]


def measures_text(clf: Classifier, evaluation: Evaluation | None, baselines: Baselines | None) -> str:
    """What was measured on which rows, escaped."""
    parts = []
    if evaluation is None:
        parts.append("No rows with classes were given, so nothing was measured here.")
    else:
        parts.append(f"Measured on {evaluation.n_rows:,} rows, with the standard error of the error rate.")
        parts.append("Log-loss is in nats a row; lower is better for all measures but the area.")
    if baselines is not None:
        parts.append(f"The baselines were {baselines.fitted_to}.")
    if held_out_trial(clf) is not None:
        parts.append("The last line is of training rows that the fit held out to choose and to calibrate.")
    return html.escape(" ".join(parts))


def are_trained_on(share: float | None) -> bool:
    """Whether so many rows are training rows that measures on them say nothing."""
    return share is not None and share >= _MOST


def warning(share: float | None, n_unknown: int) -> str:
    """A paragraph that warns of rows the classifier was trained on, or of classes it does not know; may be empty."""
    told = []
    if share is not None and are_trained_on(share):
        told.append(
            "These are training rows." if share > 0.95 else f"About {100 * share:.0f} % of these are training rows."
        )
        told.append(
            "The measures of this model on them are too good to be true; give rows that it was not fitted to. "
            "The baselines were judged by rows that they had not seen."
        )
    elif share is not None and share >= _SOME:
        told.append(f"About {100 * share:.0f} % of these rows are training rows, so the measures are optimistic.")
    if n_unknown:
        told.append(f"{n_unknown:,} rows have classes that did not occur in training, and count as errors.")
    if not told:
        return ""
    return f'<p class="warning" role="alert"><strong>Careful.</strong> {html.escape(" ".join(told))}</p>'
