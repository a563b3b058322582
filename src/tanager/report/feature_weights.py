"""How informative each feature is about the class, on given rows or under the model itself.

The log-joint is a sum with one term for each feature, so the log-odds of two classes are a sum of exact contributions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.model import Network
from tanager.structure import topological_order


def mean_contributions(networks: Sequence[Network], codes: IntArray, probabilities: FloatArray) -> FloatArray:
    """Mean size of each feature's contribution to the log-odds of the most probable class against the second, float[D].

    Parameters
    ----------
    networks : sequence of Network
        One, or the members of an average in log space.
    codes : unsigned int array of shape (N, D)
        Rows without unknown values.
    probabilities : float array of shape (N, C)
        Class posteriors, which determine the two most probable classes.
    """
    second, first = np.argpartition(probabilities, -2, axis=1)[:, -2:].T
    means = np.empty(codes.shape[1])
    for feature in range(codes.shape[1]):
        total = sum(_contribution(network, feature, codes, first, second) for network in networks)
        means[feature] = np.abs(total / len(networks)).mean()
    return means


def _contribution(network: Network, feature: int, codes: IntArray, first: IntArray, second: IntArray) -> FloatArray:
    """Difference of a feature's log-probability between two classes, float[N]."""
    table = network.layout.cpt(network.theta, feature).astype(np.float64)
    line: IntArray = np.zeros(len(codes), np.int64)
    for parent in network.extra_parents[feature].tolist():  # none, one, or a pair with combined values
        if parent >= 0:
            groups = network.groups_of(parent)
            line = line * int(network.cards[parent]) + codes[:, parent] if groups is None else groups[codes[:, parent]]
    x = codes[:, feature].astype(np.int64)
    return table[line, x, first] - table[line, x, second]


def class_information(network: Network) -> FloatArray:
    """Mutual information of each feature and the class under the model, in bits, float64[D].

    Requires a forest: with a cycle there is no joint distribution, and with two parents the sum does not factorise over
    the features.
    """
    prior = np.exp(network.log_prior - network.log_prior.max())
    prior /= prior.sum()
    groups, marginals = network.layout.groups, {}
    information = np.empty(network.n_features)
    for feature in topological_order(network.parents).tolist():
        parent = int(network.parents[feature])
        cpt = network.cpt(feature, grouped=True)
        if parent < 0:
            marginals[feature] = cpt[0]
        else:
            above = marginals[parent] if groups is None else groups.totals(parent, marginals[parent])
            marginals[feature] = np.einsum("pc,pxc->xc", above, cpt)
        joint = marginals[feature] * prior
        independent = joint.sum(axis=1, keepdims=True) * prior
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(joint > 0, joint * np.log2(joint / independent), 0.0)
        information[feature] = max(float(terms.sum()), 0.0)
    return information
