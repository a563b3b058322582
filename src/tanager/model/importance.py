"""How much each feature has to say about the class: the mean size of its contributions to the log-odds.

The log-joint is a sum over the features. What a feature adds to the log-odds of a class against the mean of all classes
varies from row to row; its importance is the mean distance of that from its own mean. So a feature that says the same
of every row has none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.model.network import Network

_MOST_ROWS = 2_000  # enough for a mean; of more rows, so many are taken at equal distances
_BLOCK = 250  # rows whose terms are held at the same time


def mean_contributions(networks: Sequence[Network], codes: IntArray, weight: FloatArray) -> FloatArray:
    """Mean distance of each feature's contribution to the log-odds from its mean, in nats, float64[D].

    Parameters
    ----------
    networks : sequence of Network
        Networks whose mean log-joint classifies.
    codes : int array of shape (N, D)
    weight : float array of shape (N,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import Counts, TANClassifier
    >>> from tanager.data import as_frame
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier("none", Counts(1.0)).fit(X, y)
    >>> mean_contributions([clf.network_], clf.encoder_.encode(as_frame(X)), np.ones(150)).round(1)
    array([1.5, 1. , 2.3, 2.3])
    """
    step = -(-len(codes) // _MOST_ROWS)
    part, part_weight = codes[::step], weight[::step] / weight[::step].sum()
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(part), _BLOCK)]
    mean = sum(np.einsum("n,ndc->dc", part_weight[rows], centred_terms(networks, part[rows])) for rows in blocks)
    n_classes = networks[0].n_classes
    sizes: FloatArray = np.zeros(networks[0].n_features)
    for rows in blocks:
        distance = np.abs(centred_terms(networks, part[rows]) - mean).mean(axis=2)
        sizes += part_weight[rows] @ distance
    # With two classes the contribution to their log-odds is twice the distance of each from their mean.
    return sizes * n_classes / max(n_classes - 1, 1)


def centred_terms(networks: Sequence[Network], codes: IntArray) -> FloatArray:
    """What each feature adds to the log-odds of each class against the mean of all classes, float64[N, D, C]."""
    terms: FloatArray = np.mean([network.log_terms(codes) for network in networks], axis=0)
    return terms - terms.mean(axis=2, keepdims=True)
