"""The data of the report's charts, as plain lists and numbers for JSON.

Large arrays of probabilities are packed as whole numbers from 0 to 255 or 65535, in base 64.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.data import CategoryColumn, FrameEncoder
from tanager.data.coders import number_reader
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.estimators.findings import Edge
from tanager.javascript import describe_networks
from tanager.learning.structures import check_image_shape
from tanager.model import Network
from tanager.pictures.tree_layout import lay_out_tree
from tanager.report.evaluation import Evaluation, ThresholdCurve
from tanager.report.rows import ReportRows
from tanager.structure import extra_parents_of

_MOST_CELLS = 3_000_000  # of CPTs, 8 MB in the page
_MOST_PARAMETERS = 3_000_000  # of the networks that classify, 16 MB in the page
_MOST_FINE = 500_000  # probabilities of the path that are stored in two bytes each
_LONGEST_LABEL = 60


def describe_features(clf: TANClassifier | TANEnsembleClassifier) -> dict[str, Any]:
    """Names of features, values and classes."""
    encoder = clf.encoder_
    return {
        "features": [shorten(label) for label in encoder.feature_labels],
        "values": [[shorten(label) for label in encoder.value_labels(i)] for i in range(len(encoder.columns))],
        "classes": [shorten(str(label)) for label in clf.classes_.tolist()],
        "shares": _rounded(class_shares(clf)),
    }


def class_shares(clf: TANClassifier | TANEnsembleClassifier) -> FloatArray:
    """Frequencies of the classes in the training rows, float64[C]."""
    log_prior = clf.description_.log_prior
    return np.exp(log_prior - np.logaddexp.reduce(log_prior))


def find_image_shape(
    clf: TANClassifier | TANEnsembleClassifier, given: tuple[int, int] | None = None
) -> tuple[int, int] | None:
    """Rows and columns if the features are pixels: as given, or else those of the structure."""
    n_features = len(clf.encoder_.columns)
    if given is not None:
        return check_image_shape(given, n_features)
    shape = getattr(used_structure(clf), "image_shape", None)
    if shape is None or int(shape[0]) * int(shape[1]) != n_features:
        return None
    return int(shape[0]), int(shape[1])


def used_structure(clf: TANClassifier | TANEnsembleClassifier) -> Any:
    """The structure that a classifier was fitted with; None for an ensemble whose members have different ones."""
    if isinstance(clf, TANEnsembleClassifier):
        return getattr(clf.options_.get("members", clf.members), "structure", None)
    return clf.options_.get("structure", clf.structure)


def describe_network(clf: TANClassifier, edges: Sequence[Edge]) -> dict[str, Any]:
    """Parents and CPTs in the data, the groups of values, and the trees to draw: one, or that of each network."""
    network = clf.description_
    parents, second = network.extra_parents.T
    learned = clf.network_.extra_parents
    strength = clf.parent_probabilities_[np.arange(len(learned)), learned[:, 0]]
    trees = [{**_tree(learned, strength), **_gains(clf, edges)}]
    if has_own_description(clf):
        told = [edge._replace(gain=edge.information, standard_error=0.0) for edge in clf.description_edges_]
        trees.insert(0, {**_tree(network.extra_parents, np.ones(len(parents))), **_gains(clf, told)})
    return {
        "parents": parents.tolist(),
        "second": second.tolist(),
        **_pack_cpts(network),
        "groups": _group_labels(network, clf.encoder_),
        "trees": trees,
    }


def has_own_description(clf: TANClassifier) -> bool:
    """Whether the network that describes the data has a tree of its own."""
    return not np.array_equal(clf.description_.extra_parents, clf.network_.extra_parents)


def _tree(extra_parents: IntArray, strength: FloatArray) -> dict[str, Any]:
    """Where the features of a structure are drawn."""
    parents, second = extra_parents.T
    layout = lay_out_tree(parents)
    places = {"row": layout.row.tolist(), "depth": layout.depth.tolist()}
    return {"parents": parents.tolist(), "second": second.tolist(), "strength": _rounded(strength), **places}


def _gains(clf: TANClassifier, edges: Sequence[Edge]) -> dict[str, Any]:
    """What the edge to each feature adds, None where it is not known, and whether that is beyond chance."""
    of_child = {edge.child: edge for edge in edges if not np.isnan(edge.gain)}
    found = [of_child.get(label) for label in clf.encoder_.feature_labels]
    return {
        "gain": [None if edge is None else round(edge.gain, 6) for edge in found],
        "adds": [edge is None or edge.adds for edge in found],
    }


def describe_members(clf: TANEnsembleClassifier) -> dict[str, Any]:
    """Edges with the fraction of members that have them, as a path with a single snapshot."""
    n_members = len(clf.estimators_)
    counts = Counter(
        (child, *parents)
        for member in clf.estimators_
        for child, parents in enumerate(member.network_.extra_parents.tolist())
    )
    edges = np.array(sorted(counts))
    share = np.array([[counts[edge] / n_members for edge in sorted(counts)]])
    return _path([0], share, edges[:, 0], edges[:, 1:], range(len(clf.encoder_.columns)))


def describe_path(clf: TANClassifier) -> dict[str, Any] | None:
    """Snapshots of the parent distribution; None without a search."""
    path = clf.parent_path_
    if not len(path["epoch"]):
        return None
    sets = clf._distribution.parent_sets
    places = range(sets.n_features) if sets.order is None else sets.order.tolist()
    members = extra_parents_of(path["parent"], sets.pairs, sets.n_features)
    return _path(path["epoch"].tolist(), path["probability"], path["child"], members, places)


def _path(
    epochs: list[int], probability: FloatArray, child: IntArray, members: IntArray, order: Iterable[int]
) -> dict[str, Any]:
    """Snapshots of a distribution over candidates; ``members``, int[E, 2], are their one or two parents."""
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
    """Confusion matrix and calibration curve, without empty bins."""
    calibration = evaluation.calibration
    is_filled = calibration.n_rows > 0
    return {
        "confusion": evaluation.confusion.tolist(),
        "confidence": _rounded(calibration.confidence[is_filled]),
        "accuracy": _rounded(calibration.accuracy[is_filled]),
        "n_rows": calibration.n_rows[is_filled].tolist(),
    }


def describe_threshold(curves: Iterable[ThresholdCurve]) -> list[dict[str, Any]]:
    """Rows from each threshold on, for each of two classes as the one that is looked for."""
    return [
        {
            "threshold": _rounded(curve.threshold, 6),
            "positive": curve.positive.tolist(),
            "negative": curve.negative.tolist(),
        }
        for curve in curves
    ]


def describe_prediction(clf: TANClassifier | TANEnsembleClassifier) -> dict[str, Any] | None:
    """What predicting in the page takes: cuts and networks; None if they would make it too large."""
    members = clf.estimators_ if isinstance(clf, TANEnsembleClassifier) else [clf]
    if sum(member.network_.n_parameters for member in members) > _MOST_PARAMETERS:
        return None
    columns = []
    for column in clf.encoder_.columns:
        codes = {"card": column.card, "missing": column.card - column.has_missing}
        columns.append(codes if isinstance(column, CategoryColumn) else {**codes, "cuts": column.cuts.tolist()})
    return {"columns": columns, **describe_networks(clf)}


def describe_frequencies(network: Network) -> dict[str, Any] | None:
    """Frequencies of the values of each feature given the class, in sequence [x_i, c]; None if there is a cycle."""
    if not network.is_bayesian_network:
        return None
    if network.has_pairs:
        tables = [np.exp(cpt[-1, -1, :-1]) for cpt in network.open_cpts().cpts]
    else:
        tables = [each.T for each in network.marginals(classes=np.arange(network.n_classes)).features]
    start = np.concatenate([[0], np.cumsum(network.cards)[:-1]])
    return {"packed": _pack(np.concatenate(tables), 2), "start": start.tolist()}


def describe_examples(clf: TANClassifier | TANEnsembleClassifier, rows: ReportRows) -> dict[str, Any]:
    """Rows to look at one by one: their codes, their numbers as they were given, and their classes."""
    kinds = rows.examples()
    numbers = sorted({number for listed in kinds.values() for number in listed})
    place = {number: k for k, number in enumerate(numbers)}
    cells = [_cells(clf, rows, i, numbers) for i in range(rows.codes.shape[1])]
    return {
        "numbers": numbers,
        "codes": rows.codes[numbers].tolist(),
        "cells": [list(row) for row in zip(*cells, strict=True)] if numbers else [],
        "truth": None if rows.truth is None else rows.truth[numbers].tolist(),
        "kinds": {kind: [place[number] for number in listed] for kind, listed in kinds.items()},
    }


def _cells(clf: TANClassifier | TANEnsembleClassifier, rows: ReportRows, i: int, numbers: list[int]) -> list[Any]:
    """Some cells of a column: numbers, and texts that training did not show; None where the code says it all."""
    levels, column = rows.frame.levels[i], clf.encoder_.columns[i]
    cells = rows.frame.columns[i][numbers]
    if not isinstance(column, CategoryColumn):
        found = number_reader(levels, rows.frame.label(i))(cells).tolist()
        return [None if cell != cell else cell for cell in found]
    is_unseen = (rows.codes[numbers, i] == column.card).tolist()
    texts = [str(cell) for cell in (cells if levels is None else levels[cells]).tolist()]
    is_missing = (cells < 0 if levels is not None else cells != cells).tolist()
    parts = zip(texts, is_unseen, is_missing, strict=True)
    return [shorten(text) if unseen and not missing else None for text, unseen, missing in parts]


def mean_image(codes: IntArray, cards: IntArray) -> list[float]:
    """Mean code of each feature, from 0 to 1."""
    return _rounded(codes.mean(axis=0) / np.maximum(cards - 1, 1), 3)


def _pack_cpts(network: Network) -> dict[str, Any]:
    """All CPTs in sequence, except for the largest where they would make the page too large."""
    offset = network.layout.cpts.offset
    sizes = np.diff(offset)
    by_size = np.argsort(sizes, kind="stable")
    is_kept = np.zeros(len(sizes), np.bool_)
    is_kept[by_size] = np.cumsum(sizes[by_size]) <= _MOST_CELLS
    kept = [network.cpt(i, grouped=True).ravel() for i in np.flatnonzero(is_kept).tolist()]
    starts = np.where(is_kept, np.cumsum(sizes * is_kept) - sizes, -1)
    packed = np.concatenate(kept) if kept else np.empty(0)
    return {"tables": _pack(packed, 2), "table_start": starts.tolist()}


def _group_labels(network: Network, encoder: FrameEncoder) -> list[list[str] | None]:
    """What the groups of each parent's values stand for; None of a feature whose values are not grouped."""
    labels: list[list[str] | None] = []
    for feature in range(network.n_features):
        groups = network.groups_of(feature) if feature in network.parents else None
        is_plain = groups is None or np.array_equal(groups, np.arange(len(groups)))
        labels.append(None if is_plain else [shorten(label) for label in encoder.value_labels(feature, groups)])
    return labels


def _pack(probabilities: FloatArray, n_bytes: int) -> str:
    top = 256**n_bytes - 1
    numbers = np.rint(np.clip(probabilities, 0.0, 1.0) * top).astype(f"<u{n_bytes}")
    return base64.b64encode(numbers.tobytes()).decode("ascii")


def _rounded(values: FloatArray, digits: int = 4) -> list[float]:
    return np.round(np.asarray(values, np.float64), digits).tolist()


def shorten(label: str, length: int = _LONGEST_LABEL) -> str:
    """A label on one line, truncated to ``length`` characters."""
    flat = " ".join(label.split()) or label
    return flat if len(flat) <= length else f"{flat[: length - 1]}…"
