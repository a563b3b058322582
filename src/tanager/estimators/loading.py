"""Loading model files: from the parts in a file to a fitted estimator."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from tanager.estimators.conformal import ConformalScores
from tanager.estimators.editing import Edit, EditHistory
from tanager.estimators.ensemble import TANEnsembleClassifier
from tanager.estimators.tan import TANClassifier
from tanager.files import Member, Model, ModelFileError, read_model
from tanager.learning import NO_CHOICE, Editable
from tanager.model import average_networks

_TRIAL = (str, float, float)  # name, error and log-loss of a preset that was tried
_MAX_JOBS = 4096  # a file must not make a prediction start more threads than any machine has use for


def load(
    path: Path | str, *, sha256: str | None = None, key: bytes | None = None
) -> TANClassifier | TANEnsembleClassifier:
    """Read a classifier that was written with its ``save`` method.

    It predicts exactly what the saved one did, to the last bit. Nothing in a file is run, and everything is checked: a
    damaged, cut off or hostile file is an error.

    Parameters
    ----------
    path : path
    sha256 : str, optional
        SHA-256 of the file that is expected, as ``sha256sum`` prints it.
    key : bytes, optional
        Key that the file must have been signed with; see ``save``.

    Returns
    -------
    TANClassifier or TANEnsembleClassifier

    Raises
    ------
    tanager.files.ModelFileError
        If the file is not a model file, is damaged, was written by a newer format, or is not the one that ``sha256`` or
        ``key`` stand for; the message says which.
    OSError
        If there is no such file, or it may not be read.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> path = Path(tempfile.mkdtemp()) / "iris.tanager"
    >>> TANClassifier(structure="chow-liu", parameters="ml").fit(*load_iris(return_X_y=True)).save(path)
    >>> load(path)
    TANClassifier(parameters='ml', structure='chow-liu')
    """
    model = read_model(path, sha256, key)
    try:
        if model.kind == "TANClassifier":
            return _classifier(model)
        if model.kind == "TANEnsembleClassifier":
            return _ensemble(model)
        raise ValueError(f"it holds a {model.kind[:60]!r}, which this tanager does not know: upgrade tanager")
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: {error}") from error


def _classifier(model: Model) -> TANClassifier:
    if len(model.members) != 1 or model.options:
        raise ValueError("a single classifier must have one member and no options of an ensemble")
    classifier = _fitted_member(model, model.members[0], model.encoder.pooled())
    _set_chosen(classifier, model.chosen)
    return classifier


def _ensemble(model: Model) -> TANEnsembleClassifier:
    options: dict[str, Any] = dict(model.options)
    if options.get("combine", "log") not in ("log", "probability"):
        raise ValueError("the option 'combine' must be 'log' or 'probability'")
    ensemble = _make(TANEnsembleClassifier, options)
    _set_inputs(ensemble, model)
    pooled = model.encoder.pooled()
    ensemble.estimators_ = [_fitted_member(model, member, pooled) for member in model.members]
    if model.findings is None:
        raise ValueError("an ensemble must have findings")
    ensemble._describing, ensemble._findings = model.describing, model.findings
    ensemble.average_ = average_networks([member.network for member in model.members])
    _set_chosen(ensemble, model.chosen)
    return ensemble


def _fitted_member(model: Model, member: Member, pooled: dict[str | int, list[Any]]) -> TANClassifier:
    clf = _make(TANClassifier, member.options)
    _set_inputs(clf, model)
    clf.pooled_categories_ = pooled
    _set_chosen(clf, {"options": {name: member.options.get(name) for name in ("structure", "parameters")}})
    clf.network_, clf._distribution = member.network, member.distribution
    clf.description_, clf._findings = member.description, member.findings
    for name, arrays in member.records.items():
        setattr(clf, f"{name}_", arrays)
    if member.before is not None:
        old = member.before
        before = Editable(old.network, old.description, old.distribution, old.findings)
        records = {f"{name}_": arrays for name, arrays in old.records.items()}
        clf._history = EditHistory(tuple(Edit(**edit) for edit in member.edits), before, records)
    return clf


def _set_chosen(estimator: Any, chosen: Mapping[str, Mapping[str, Any]]) -> None:
    """Set what a fit has chosen; members of an ensemble leave no choice."""
    estimator.choice_ = chosen.get("choice", NO_CHOICE.to_dict())
    estimator.options_ = chosen.get("options", {})
    _check_choice(estimator.choice_)


def _check_choice(choice: Mapping[str, Any]) -> None:
    """Refuse what no fit can have chosen: reports show it."""
    lists = dict.fromkeys(("tried", "errors", "log_losses", "notes"), list)
    kinds = {"why": str, "preset": str, "temperature": float, **lists}
    is_right = choice.keys() == kinds.keys() and all(isinstance(choice[name], kind) for name, kind in kinds.items())
    if is_right:
        trials = list(zip_longest(choice["tried"], choice["errors"], choice["log_losses"]))
        is_right = all(isinstance(value, kind) for trial in trials for value, kind in zip(trial, _TRIAL, strict=True))
        is_right = is_right and all(isinstance(note, str) for note in choice["notes"])
    if not is_right:
        raise ValueError("what it says of the choice of a preset is not understood")


def _make(kind: Any, options: Mapping[str, Any]) -> Any:
    """An estimator with the options of the file, those that this version knows; predicting uses only ``n_jobs``."""
    unknown = sorted(set(options) - set(kind().get_params(deep=False)))
    if unknown:
        raise ValueError(f"it has the option {unknown[0][:60]!r}, which this tanager does not know: upgrade tanager")
    n_jobs = options.get("n_jobs")
    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0 or abs(n_jobs) > _MAX_JOBS):
        raise ValueError(f"the option 'n_jobs' must be None or a whole number up to {_MAX_JOBS}, and not 0")
    return kind(**options)


def _set_inputs(estimator: Any, model: Model) -> None:
    """Set what an estimator knows of tables and classes."""
    estimator.encoder_, estimator.classes_ = model.encoder, model.classes
    estimator.n_features_in_, estimator.target_name_ = len(model.encoder.columns), model.target_name
    if model.fingerprint is not None:
        estimator.fingerprint_ = model.fingerprint
    if model.set_scores:
        estimator.conformal_ = ConformalScores(model.set_scores)
    if model.has_feature_names:
        estimator.feature_names_in_ = np.array(model.encoder.names, dtype=object)
