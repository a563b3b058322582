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

# Rows that are enough for a mean, taken at equal distances; fewer where their terms would take more than 32 MB.
_MOST_ROWS, _FEWEST_ROWS, _MOST_TERMS = 2_000, 100, 4_000_000


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
    n_features, n_classes = networks[0].n_features, networks[0].n_classes
    n_rows = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_TERMS // (n_features * n_classes)))
    step = -(-len(codes) // n_rows)
    share, terms = weight[::step] / weight[::step].sum(), centred_terms(networks, codes[::step])
    terms -= np.einsum("n,ndc->dc", share, terms)
    sizes: FloatArray = share @ np.abs(terms, out=terms).mean(axis=2)
    # With two classes the contribution to their log-odds is twice the distance of each from their mean.
    return sizes * n_classes / max(n_classes - 1, 1)


def centred_terms(networks: Sequence[Network], codes: IntArray) -> FloatArray:
    """What each feature adds to the log-odds of each class against the mean of all classes, float64[N, D, C]."""
    terms = networks[0].log_terms(codes)
    for network in networks[1:]:
        terms += network.log_terms(codes)
    terms /= len(networks)
    terms -= terms.mean(axis=2, keepdims=True)
    return terms
