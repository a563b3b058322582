"""What the JavaScript code reads: columns, classes and networks of a classifier, as a document for JSON.

CPTs are base 64 of little-endian numbers in single precision, as they are in the network.
"""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import numpy as np

from tanager._types import FloatArray
from tanager.data import CategoryColumn, NumericColumn
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.model import Network
from tanager.structure import depth_first_order

_LARGEST_EXACT = 2**53  # whole numbers beyond it are not all different in JavaScript

Classifier = TANClassifier | TANEnsembleClassifier


def describe_classifier(clf: Classifier) -> dict[str, Any]:
    """All that predicting from cells takes.

    Raises
    ------
    ValueError
        If a category is of a type that JavaScript does not have, such as bytes.
    """
    encoder = clf.encoder_
    columns = zip(encoder.columns, encoder.feature_labels, strict=True)
    return {
        "features": encoder.feature_labels,
        "classes": [_class_label(label) for label in clf.classes_.tolist()],
        "columns": [_describe_column(column, label) for column, label in columns],
        **describe_networks(clf),
    }


def describe_networks(clf: Classifier) -> dict[str, Any]:
    """The networks, and how they are combined."""
    if isinstance(clf, TANEnsembleClassifier):
        networks = [member.network_ for member in clf.estimators_]
        return {"combine": clf.combine, "members": [_describe_network(network) for network in networks]}
    return {"combine": "log", "members": [_describe_network(clf.network_)]}


def _describe_network(network: Network) -> dict[str, Any]:
    prior = network.log_prior.tolist()
    if network.has_pairs:
        cpts = network.open_cpts().cpts
        theta = np.concatenate([cpt.ravel() for cpt in cpts])
        return {"pairs": network.extra_parents.tolist(), "prior": prior, "theta": _pack(theta)}
    is_parent = np.isin(np.arange(network.n_features), network.parents)
    groups = None
    if network.layout.groups is not None:
        groups = [network.layout.groups.of(j).tolist() if is_parent[j] else None for j in range(network.n_features)]
    return {
        "parents": network.parents.tolist(),
        "order": depth_first_order(network.parents).tolist() if network.is_bayesian_network else [],
        "groups": groups,
        "prior": prior,
        "theta": _pack(network.theta[: network.layout.size]),
    }


def _describe_column(column: NumericColumn | CategoryColumn, label: str) -> dict[str, Any]:
    common = {"card": column.card, "missing": column.card - column.has_missing}
    if isinstance(column, NumericColumn):
        return {**common, "cuts": column.cuts.tolist()}
    values = {
        name: [_category(value, label) for value in array.tolist()]
        for name, array in (("categories", column.categories), ("pooled", column.pooled))
    }
    return {**common, **values}


def _category(value: Any, label: str) -> str | float | bool:
    """A category as JavaScript has it; refuses what would be another value there."""
    if isinstance(value, str | bool | float) or (isinstance(value, int) and abs(value) <= _LARGEST_EXACT):
        return value
    if isinstance(value, Decimal) and Decimal(float(value)) == value:
        return float(value)
    raise ValueError(
        f"column {label!r} has the category {value!r}, which JavaScript cannot hold; it has text, truth values, and "
        "numbers in double precision"
    )


def _class_label(label: Any) -> str | float | bool:
    is_plain = isinstance(label, str | bool | float) or (isinstance(label, int) and abs(label) <= _LARGEST_EXACT)
    return label if is_plain else str(label)


def _pack(numbers: FloatArray) -> str:
    return base64.b64encode(numbers.astype("<f4").tobytes()).decode("ascii")
