"""Saving fitted estimators: the parts of an estimator that its model file holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from tanager.files import CHOSEN, RECORDS, Member, Model, ModelFileError, write_model

KINDS = ("TANClassifier", "TANEnsembleClassifier")


class SavingMixin:
    """Adds `save` to an estimator."""

    def save(self, path: Path | str, metadata: Mapping[str, Any] | None = None, *, key: bytes | None = None) -> None:
        """Write the fitted classifier to one file, which `tanager.load` reads.

        The file holds plain arrays and JSON, no pickle (docs/model-files.md). It appears only when it is complete; what
        was at ``path`` before stays until then.

        Parameters
        ----------
        path : path
            Any name; ``.tanager`` is a good ending.
        metadata : mapping, optional
            Anything that JSON can hold, for `tanager.files.read_header`.
        key : bytes, optional
            Sign the file, so that ``tanager.load(path, key=key)`` refuses any other.

        Raises
        ------
        tanager.files.ModelFileError
            If classes or categories are of a type that a file cannot hold: other than text, numbers, truth values.

        Notes
        -----
        A loss function of your own and a random generator are not kept, only their names. The loaded classifier
        predicts; before it is fitted again they must be given with ``set_params``.

        Examples
        --------
        >>> import tempfile
        >>> from sklearn.datasets import load_iris
        >>> import tanager
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = tanager.TANClassifier(structure="chow-liu", parameters="ml").fit(X, y)
        >>> path = Path(tempfile.mkdtemp()) / "iris.tanager"
        >>> clf.save(path)
        >>> bool((tanager.load(path).predict_proba(X) == clf.predict_proba(X)).all())
        True
        """
        check_is_fitted(self)
        write_model(path, _model_of(self, {} if metadata is None else metadata), key)


def _model_of(estimator: Any, metadata: Mapping[str, Any]) -> Model:
    """The parts of a fitted estimator that make a model file."""
    kind = type(estimator).__name__
    if kind not in KINDS or not type(estimator).__module__.startswith("tanager."):
        raise ModelFileError(f"{kind} is a class of your own, which would not come back: save a {' or '.join(KINDS)}")
    members = getattr(estimator, "estimators_", None)
    return Model(
        kind=kind,
        classes=estimator.classes_,
        encoder=estimator.encoder_,
        has_feature_names=hasattr(estimator, "feature_names_in_"),
        members=tuple(map(_member_of, [estimator] if members is None else members)),
        options={} if members is None else estimator.get_params(deep=False),
        metadata=metadata,
        target_name=estimator.target_name_,
        describing=getattr(estimator, "_describing", 0),
        findings=None if members is None else estimator._findings,
        chosen={name: getattr(estimator, f"{name}_") for name in CHOSEN},
        fingerprint=getattr(estimator, "fingerprint_", None),
        set_scores=estimator.conformal_.scores if hasattr(estimator, "conformal_") else (),
    )


def _member_of(estimator: Any) -> Member:
    records = {name: getattr(estimator, f"{name}_") for name in RECORDS if hasattr(estimator, f"{name}_")}
    return Member(
        estimator.network_,
        estimator.description_,
        estimator._distribution,
        records,
        estimator.get_params(deep=False),
        estimator._findings,
        *_edits_of(estimator),
    )


def _edits_of(estimator: Any) -> tuple[tuple[dict[str, Any], ...], Member | None]:
    """Changes by hand, and what there was before them."""
    history = getattr(estimator, "_history", None)
    if history is None or not history.edits:
        return (), None
    records = {name.removesuffix("_"): arrays for name, arrays in history.records.items()}
    old = history.before
    before = Member(old.network, old.description, old.distribution, records, {}, old.findings)
    return tuple(edit._asdict() for edit in history.edits), before
