"""What the scripts of the report draw, as plain lists and numbers for JSON.

Large arrays of probabilities are packed: whole numbers from 0 to 255 or 65535, in base 64.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.model import Network
from tanager.pictures.tree_layout import lay_out_tree
from tanager.report.evaluation import Evaluation
from tanager.structure import members_of

_MOST_CELLS = 3_000_000  # of tables, 8 MB in the page
_MOST_FINE = 500_000  # probabilities of the path that are packed into two bytes each
_LONGEST_LABEL = 60


def describe_features(clf: TANClassifier | TANEnsembleClassifier) -> dict[str, Any]:
    """Names of features, values and classes, and the shape of an image."""
    encoder = clf.encoder_
    return {
        "features": [shorten(label) for label in encoder.feature_labels],
        "values": [[shorten(label) for label in encoder.value_labels(i)] for i in range(len(encoder.columns))],
        "classes": [shorten(str(label)) for label in clf.classes_.tolist()],
        "image": image_shape(clf),
    }


def image_shape(clf: TANClassifier | TANEnsembleClassifier) -> list[int] | None:
    """Rows and columns if the features are pixels."""
    single = clf.estimators_[0] if isinstance(clf, TANEnsembleClassifier) else clf
    shape = single.image_shape
    if shape is None or int(shape[0]) * int(shape[1]) != len(clf.encoder_.columns):
        return None
    return [int(shape[0]), int(shape[1])]


def describe_network(clf: TANClassifier) -> dict[str, Any]:
    """Parents with their probabilities, where to draw the features, the class prior and all tables."""
    network = clf.network_
    parents, second = network.members.T
    layout = lay_out_tree(parents)
    strength = clf.parent_probabilities_[np.arange(len(parents)), parents]
    return {
        "parents": parents.tolist(),
        "second": second.tolist(),
        "strength": _rounded(strength),
        "row": layout.row.tolist(),
        "depth": layout.depth.tolist(),
        "prior": _rounded(np.exp(network.log_prior - np.logaddexp.reduce(network.log_prior)), 6),
        **_pack_tables(network),
    }


def describe_members(clf: TANEnsembleClassifier) -> dict[str, Any]:
    """Edges of the members with the share of members that have them, in the form of a path of one moment."""
    n_members = len(clf.estimators_)
    counts = Counter(
        (child, *parents)
        for member in clf.estimators_
        for child, parents in enumerate(member.network_.members.tolist())
    )
    edges = np.array(sorted(counts))
    share = np.array([[counts[edge] / n_members for edge in sorted(counts)]])
    return _path([0], share, edges[:, 0], edges[:, 1:], range(len(clf.encoder_.columns)))


def describe_path(clf: TANClassifier) -> dict[str, Any] | None:
    """Snapshots of the parent distribution, if there was a search."""
    path = clf.parent_path_
    if not len(path["epoch"]):
        return None
    sets = clf._distribution.parent_sets
    places = range(sets.n_features) if sets.order is None else sets.order.tolist()
    members = members_of(path["parent"], sets.pairs, sets.n_features)
    return _path(path["epoch"].tolist(), path["probability"], path["child"], members, places)


def _path(
    epochs: list[int], probability: FloatArray, child: IntArray, members: IntArray, order: Iterable[int]
) -> dict[str, Any]:
    """Moments of a distribution over candidates, whose one or two parents are ``members``, int[E, 2]."""
    n_bytes = 2 if probability.size <= _MOST_FINE else 1
    return {
        "epochs": epochs,
        "child": child.tolist(),
        "parent": members[:, 0].tolist(),
        "second": members[:, 1].tolist(),
        "order": list(order),
        "probability": _pack(probability, n_bytes),
        "bytes": n_bytes,
    }


def describe_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """Confusion matrix and calibration curve; bins without rows are left out."""
    calibration = evaluation.calibration
    is_filled = calibration.n_rows > 0
    return {
        "confusion": evaluation.confusion.tolist(),
        "confidence": _rounded(calibration.confidence[is_filled]),
        "accuracy": _rounded(calibration.accuracy[is_filled]),
        "n_rows": calibration.n_rows[is_filled].tolist(),
    }


def mean_image(codes: IntArray, cards: IntArray) -> list[float]:
    """Mean code of each feature, from 0 to 1."""
    return _rounded(codes.mean(axis=0) / np.maximum(cards - 1, 1), 3)


def _pack_tables(network: Network) -> dict[str, Any]:
    """All tables one after the other; the largest are left out where they would make the page too large."""
    offset = network.layout.tables.offset
    sizes = np.diff(offset)
    by_size = np.argsort(sizes, kind="stable")
    is_kept = np.zeros(len(sizes), np.bool_)
    is_kept[by_size] = np.cumsum(sizes[by_size]) <= _MOST_CELLS
    kept = [network.cpt(i).ravel() for i in np.flatnonzero(is_kept).tolist()]
    starts = np.where(is_kept, np.cumsum(sizes * is_kept) - sizes, -1)
    packed = np.concatenate(kept) if kept else np.empty(0)
    return {"tables": _pack(packed, 2), "table_start": starts.tolist()}


def _pack(probabilities: FloatArray, n_bytes: int) -> str:
    top = 256**n_bytes - 1
    numbers = np.rint(np.clip(probabilities, 0.0, 1.0) * top).astype(f"<u{n_bytes}")
    return base64.b64encode(numbers.tobytes()).decode("ascii")


def _rounded(values: FloatArray, digits: int = 4) -> list[float]:
    return np.round(np.asarray(values, np.float64), digits).tolist()


def shorten(label: str, length: int = _LONGEST_LABEL) -> str:
    """A label of at most so many characters, on one line."""
    flat = " ".join(label.split()) or label
    return flat if len(flat) <= length else f"{flat[: length - 1]}…"
