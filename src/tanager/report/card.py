"""The model card: what the model is, what it was learned from, how well it does, and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from tanager.report.evaluation import Evaluation
from tanager.report.markup import number, percent, plain_table
from tanager.report.measures import held_out_trial
from tanager.report.payload import class_shares
from tanager.report.rows import Classifier

_MOST_CLASSES = 12


def model_card(
    clf: Classifier, sentence: str, evaluation: Evaluation | None, metadata: Mapping[str, Any], today: date
) -> str:
    """A table of what is known about the model, escaped; ``sentence`` is the model in words."""
    from tanager import __version__

    fingerprint = getattr(clf, "fingerprint_", None)
    n_rows = metadata.get("n_rows") if fingerprint is None else fingerprint.n_rows
    lines = [
        ("Model", f"{type(clf).__name__}. {sentence}"),
        ("Target", _text(metadata, "target") or clf.target_name_),
        ("Classes", _classes(clf)),
        ("Learned from", ", ".join(filter(None, [_text(metadata, "source"), f"{n_rows:,} rows" if n_rows else ""]))),
        ("Features", f"{len(clf.encoder_.columns):,}, with {int(clf.encoder_.cards.sum()):,} values in all"),
        ("Missing cells", _missing(clf)),
        ("Fitted", ", ".join(filter(None, [_text(metadata, "date"), _version(metadata)]))),
        ("Held out in the fit", _held_out(clf)),
        ("Measured here", _measured(evaluation)),
        *(("Changed by hand", _edit(edit)) for edit in clf.edits_),
        ("This page", f"written on {today.isoformat()} by tanager {__version__}"),
    ]
    return plain_table((name, text) for name, text in lines if text)


def _edit(edit: Mapping[str, str]) -> str:
    member = f"member {edit['member']}, " if "member" in edit else ""
    return f"{edit['when'][:10]}, {edit['who']}: {member}{edit['what']} ({edit['why']})"


def _text(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _version(metadata: Mapping[str, Any]) -> str:
    version = _text(metadata, "version")
    return f"with tanager {version}" if version else ""


def _classes(clf: Classifier) -> str:
    labels = zip(clf.classes_.tolist(), class_shares(clf).tolist(), strict=True)
    shown = [f"{label} ({percent(share)})" for label, share in labels]
    more = f" and {len(shown) - _MOST_CLASSES} more" if len(shown) > _MOST_CLASSES else ""
    return ", ".join(shown[:_MOST_CLASSES]) + more


def _missing(clf: Classifier) -> str:
    n_columns = sum(column.has_missing for column in clf.encoder_.columns)
    if n_columns:
        return f"a value of their own in {n_columns} columns; elsewhere summed out"
    return "none in training; in prediction they are summed out"


def _held_out(clf: Classifier) -> str:
    trial = held_out_trial(clf)
    return "" if trial is None else f"error {percent(trial[0], 2)}, log-loss {number(trial[1])}"


def _measured(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return ""
    return (
        f"error {percent(evaluation.error, 2)} (± {percent(evaluation.standard_error, 2)}), log-loss "
        f"{number(evaluation.log_loss)}, calibration error {percent(evaluation.calibration.expected_error, 2)}, on "
        f"{evaluation.n_rows:,} rows"
    )
