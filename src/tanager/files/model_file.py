"""Model files: from the parts of a fitted classifier to one file and back (docs/model-files.md).

No pickle: a file holds numbers and texts, and reading it executes no code from it and imports nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tanager.data import Fingerprint, FrameEncoder
from tanager.data.fingerprint import N_MARKS
from tanager.files.columns import pack_encoder, unpack_encoder
from tanager.files.container import Arrays, read_container, read_document, write_container
from tanager.files.header import Fields, shortened
from tanager.files.networks import Member, pack_findings, pack_network, unpack_findings, unpack_network
from tanager.files.options import pack_options, unpack_options
from tanager.files.signing import check_key
from tanager.files.values import ELEMENTS, array_of, check_distinct, pack_values, take_spans, unpack_values
from tanager.learning import Findings, SetLine, SetParent

CHOSEN = ("choice", "options")
"""The choices of a fit that a file holds: attributes of the estimator without their underscores."""

_EDIT_TEXTS = ("when", "who", "why", "what")
_SPARE_WIDTH = 1024  # by which an array of class names may be wider than its longest name, in characters


class ModelFileError(ValueError):
    """A model file cannot be read, or a classifier cannot be saved; the message says why.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import load
    >>> with tempfile.NamedTemporaryFile(suffix=".tanager") as file:
    ...     load(file.name)
    Traceback (most recent call last):
        ...
    tanager.files.model_file.ModelFileError: ....tanager: this is not a tanager model file
    """


@dataclass(frozen=True)
class Model:
    """The content of a model file.

    Attributes
    ----------
    kind : str
        Name of the estimator.
    classes : ndarray of shape (C,)
    encoder : FrameEncoder
    has_feature_names : bool
        Whether the estimator has `feature_names_in_`.
    members : tuple of Member
        One, or those of an ensemble.
    options : mapping
        Constructor options of an ensemble; those of a single classifier are in its member.
    metadata : mapping
        The user's.
    target_name : str
        What the class is called.
    describing : int
        Number of the member whose description is that of an ensemble.
    findings : Findings or None
        Of an ensemble; those of a single classifier are in its member.
    chosen : mapping of mappings
        The choices of a fit: ``choice`` (plain values) and ``options`` (also option values).
    fingerprint : Fingerprint, optional
        Of the training rows.
    set_scores : tuple of arrays
        What prediction sets are made from: none, scores of all classes together, or those of each class.
    """

    kind: str
    classes: NDArray[Any]
    encoder: FrameEncoder
    has_feature_names: bool
    members: tuple[Member, ...]
    options: Mapping[str, Any]
    metadata: Mapping[str, Any]
    target_name: str
    describing: int = 0
    findings: Findings | None = None
    chosen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fingerprint: Fingerprint | None = None
    set_scores: tuple[NDArray[np.float64], ...] = ()


def write_model(path: Path | str, model: Model, key: bytes | None = None) -> None:
    """Write a model file completely or not at all."""
    key = check_key(key)
    with _named(path):
        document, arrays = _pack(model)
        write_container(path, document, arrays, key)


def read_model(path: Path | str, sha256: str | None = None, key: bytes | None = None) -> Model:
    """Read and check a model file; any defect raises a ModelFileError."""
    key = check_key(key)
    with _named(path):
        document, arrays = read_container(Path(path), sha256, key)
        model = _unpack(Fields(document, "the header"), arrays)
        if arrays.names:
            raise ValueError(f"there is an array {shortened(min(arrays.names))} that nothing uses")
        return model


def read_header(path: Path | str) -> dict[str, Any]:
    """Read the summary and the metadata of a model file, but not its arrays.

    The checksum is not verified; `tanager.load` does that.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        ``kind`` (name of the estimator), ``writer`` (the version of tanager), ``metadata`` (what was given to
        ``save``), and the counts ``n_features``, ``n_classes``, ``n_members`` and ``n_parameters``.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> clf = TANClassifier(structure="chow-liu", parameters="ml").fit(*load_iris(return_X_y=True))
    >>> path = Path(tempfile.mkdtemp()) / "iris.tanager"
    >>> clf.save(path, metadata={"target": "species"})
    >>> header = read_header(path)
    >>> header["kind"], header["n_features"], header["metadata"]
    ('TANClassifier', 4, {'target': 'species'})
    """
    with _named(path):
        header = Fields(read_document(Path(path)), "the header")
        summary = header.fields("summary")
        counts = {key: summary.count(key) for key in ("n_features", "n_classes", "n_members", "n_parameters")}
        texts = {key: header.take(key, str) for key in ("kind", "writer")}
        return {**texts, **counts, "metadata": header.take("metadata", dict)}


@contextmanager
def _named(path: Path | str) -> Iterator[None]:
    """Turn any defect of a file into a ModelFileError that names it."""
    try:
        yield
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}") from error


def _pack(model: Model) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a model."""
    element, width = _class_type(model.classes)
    arrays = pack_values("classes", model.classes.tolist(), "the classes") | pack_encoder(model.encoder)
    members = []
    for number, member in enumerate(model.members):
        name = f"members.{number}"
        entry, own_arrays = pack_network(name, member)
        options, option_arrays = pack_options(f"{name}.options", member.options)
        members.append({**entry, "options": options})
        arrays |= own_arrays | option_arrays
        if member.before is not None:
            members[-1] |= _pack_edits(name, member, arrays)
    options, option_arrays = pack_options("options", model.options)
    arrays |= option_arrays
    if model.findings is not None:
        arrays |= pack_findings("findings", model.findings)
    chosen = {}
    for part, values in model.chosen.items():
        chosen[part], option_arrays = pack_options(f"chosen.{part}", values)
        arrays |= option_arrays
    document = {
        "kind": model.kind,
        "writer": f"tanager {_version()}",
        "metadata": _plain_metadata(model.metadata),
        "summary": {
            "n_features": len(model.encoder.columns),
            "n_classes": len(model.classes),
            "n_members": len(model.members),
            "n_parameters": sum(member.network.n_parameters for member in model.members),
        },
        "classes": {"element": element, "width": width, "name": model.target_name},
        "columns": {"has_names": model.encoder.names is not None, "has_feature_names": model.has_feature_names},
        "options": options,
        "members": members,
        "describing": model.describing,
        "chosen": chosen,
    }
    if model.fingerprint is not None:
        document["fingerprint"] = {key: getattr(model.fingerprint, key) for key in ("n_rows", "limit", "repeated")}
        arrays["fingerprint.marks"] = model.fingerprint.marks
    if model.set_scores:
        arrays["sets.scores"] = np.concatenate(model.set_scores)
        arrays["sets.end"] = np.cumsum([len(scores) for scores in model.set_scores], dtype=np.int64)
    return document, arrays


def _unpack(header: Fields, arrays: Arrays) -> Model:
    """The model of a header and arrays."""
    summary, columns = header.fields("summary"), header.fields("columns")
    n_features, n_classes = summary.count("n_features", 1), summary.count("n_classes", 1)
    classes = _unpack_classes(header.fields("classes"), arrays, n_classes)
    has_names, has_feature_names = columns.take("has_names", bool), columns.take("has_feature_names", bool)
    if has_feature_names and not has_names:
        raise ValueError("it has names of features, but not of columns")
    encoder = unpack_encoder(arrays, n_features, has_names)
    cards = encoder.cards.astype(np.int64)
    members = []
    for number, entry in enumerate(header.list_of_fields("members")):
        name = f"members.{number}"
        options = unpack_options(f"{name}.options", entry.fields("options"), arrays)
        members.append(unpack_network(name, entry, arrays, cards, n_classes, options))
        if "edits" in entry.values:
            edits, entry_before = _unpack_edits(name, entry, arrays), entry.fields("before")
            before = unpack_network(f"{name}.before", entry_before, arrays, cards, n_classes, {})
            members[-1] = replace(members[-1], edits=edits, before=before)
    n_parameters = sum(member.network.n_parameters for member in members)
    if not members or len(members) != summary.count("n_members") or n_parameters != summary.count("n_parameters"):
        raise ValueError("the summary does not match the members")
    describing = header.count("describing")
    if describing >= len(members):
        raise ValueError(f"member {describing} is to describe the data, but there are {len(members)}")
    return Model(
        kind=header.take("kind", str),
        classes=classes,
        encoder=encoder,
        has_feature_names=has_feature_names,
        members=tuple(members),
        options=unpack_options("options", header.fields("options"), arrays),
        metadata=header.take("metadata", dict),
        target_name=header.fields("classes").take("name", str),
        describing=describing,
        findings=unpack_findings("findings", arrays, n_features) if "findings.importances" in arrays.names else None,
        chosen=_unpack_chosen(header, arrays),
        fingerprint=_unpack_fingerprint(header, arrays),
        set_scores=_unpack_set_scores(arrays, n_classes),
    )


def _pack_edits(name: str, member: Member, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The changes of a member by hand, and what there was before."""
    edits = []
    for number, edit in enumerate(member.edits):
        entry, own_arrays = pack_options(f"{name}.edits.{number}", edit)
        edits.append(entry)
        arrays |= own_arrays
    before, own_arrays = pack_network(f"{name}.before", cast(Member, member.before))
    arrays |= own_arrays
    return {"edits": edits, "before": before}


def _unpack_edits(name: str, entry: Fields, arrays: Arrays) -> tuple[dict[str, Any], ...]:
    fields = enumerate(entry.list_of_fields("edits"))
    edits = tuple(unpack_options(f"{name}.edits.{number}", each, arrays) for number, each in fields)
    for edit in edits:
        is_right = edit.keys() == {*_EDIT_TEXTS, "change"} and isinstance(edit["change"], (SetLine, SetParent))
        if not is_right or any(type(edit[key]) is not str for key in _EDIT_TEXTS):
            raise ValueError(f"a change by hand of {name!r} is not understood")
    return edits


def _unpack_chosen(header: Fields, arrays: Arrays) -> dict[str, dict[str, Any]]:
    if "chosen" not in header.values:
        return {}
    entry = header.fields("chosen")
    for part in entry.values:
        if part not in CHOSEN:
            raise ValueError(f"it has chosen {shortened(part)}, which this tanager does not know: upgrade tanager")
    return {part: unpack_options(f"chosen.{part}", entry.fields(part), arrays) for part in entry.values}


def _unpack_set_scores(arrays: Arrays, n_classes: int) -> tuple[NDArray[np.float64], ...]:
    """Scores that prediction sets are made from, of all classes together or of each, if there are some."""
    if "sets.scores" not in arrays.names:
        return ()
    scores, n_parts = arrays.take("sets.scores", "float64"), arrays.size_of("sets.end")
    if n_parts not in (1, n_classes):
        raise ValueError(f"array 'sets.end' must have 1 or {n_classes} entries, got {n_parts}")
    parts = tuple(scores[lo:hi].copy() for lo, hi in take_spans(arrays, "sets.end", n_parts, scores.size))
    is_right = [np.isfinite(part).all() and not (np.diff(part) < 0).any() for part in parts]
    if not all(is_right) or (scores.size and (scores.min() < 0 or scores.max() > 1)):
        raise ValueError("array 'sets.scores' must hold numbers from 0 to 1 that rise")
    return parts


def _unpack_fingerprint(header: Fields, arrays: Arrays) -> Fingerprint | None:
    if "fingerprint" not in header.values:
        return None
    entry, marks = header.fields("fingerprint"), arrays.take("fingerprint.marks", "uint16")
    limit, repeated = entry.count("limit"), entry.take("repeated", float)
    if not 0 < marks.size <= N_MARKS or (np.diff(marks.astype(np.int64)) <= 0).any():
        raise ValueError(f"the fingerprint of the training rows must have 1 to {N_MARKS} marks that rise")
    if limit >= 2**64 or not 0.0 <= repeated <= 1.0:
        raise ValueError("the fingerprint of the training rows is not possible")
    return Fingerprint(entry.count("n_rows", 1), limit, marks, repeated)


def _class_type(classes: NDArray[Any]) -> tuple[str, int]:
    """Element type of the classes, and the width of fixed-width text."""
    if classes.dtype.kind == "U":
        longest = max(map(len, classes.tolist()))
        return "str", min(classes.dtype.itemsize // 4, longest + _SPARE_WIDTH)
    is_text = classes.dtype.kind == "O" and all(type(label) is str for label in classes.tolist())
    if not is_text and (classes.dtype.kind == "O" or classes.dtype.name not in ELEMENTS):
        raise ValueError(
            f"the classes are of type {classes.dtype}, which a model file cannot hold; they must be texts, numbers or "
            "truth values"
        )
    return classes.dtype.name, 0


def _unpack_classes(entry: Fields, arrays: Arrays, n_classes: int) -> NDArray[Any]:
    labels = unpack_values(arrays, "classes", length=n_classes)
    element, width = entry.take("element", str), entry.count("width")
    check_distinct(labels, "the classes")
    if element in ("str", "object") and any(type(label) is not str for label in labels):
        raise ValueError("the classes must be texts")
    if element == "str":
        longest = max(map(len, labels))
        if not longest <= width <= longest + _SPARE_WIDTH:
            raise ValueError(f"texts of {longest} characters do not fit the width {width} of the classes")
        return np.array(labels, f"U{max(width, 1)}")
    if element not in ELEMENTS:
        raise ValueError(f"the classes are of the unknown type {shortened(element)}")
    return array_of(labels, element, "the classes")


def _plain_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The user's metadata, which must survive a round trip through JSON."""
    try:
        document: dict[str, Any] = dict(metadata)
        is_same = json.loads(json.dumps(document, allow_nan=False)) == document
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"metadata must be a mapping that JSON can hold: {error}") from None
    if not is_same:
        raise ValueError("metadata must be a mapping that JSON can hold, with texts as keys and lists, not tuples")
    return document


def _version() -> str:
    """The installed version."""
    try:
        return version("tanager")
    except PackageNotFoundError:
        return "of unknown version"
