"""Temperature scaling of a network that keeps it a Bayesian network.

Dividing the log-joint by a temperature T makes p(c | x) proportional to its power 1 / T. The CPTs divided by T are no
longer normalised, but in a forest this can be fixed without changing p(c | x): the normaliser of a feature's CPT is a
number for each value of its parent and each class, so it can be moved into the parent's CPT, and from a root into the
class prior. Leaves go first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tanager._types import FloatArray
from tanager.model.network import Network
from tanager.structure import depth_first_order


def can_temper(network: Network) -> bool:
    """Whether the network is a forest."""
    return network.is_bayesian_network and not network.has_pairs


def temper(network: Network, temperature: float) -> Network:
    """The Bayesian network whose log-odds between classes are those of ``network`` divided by the temperature.

    Parameters
    ----------
    network : Network
        A forest; see `can_temper`.
    temperature : float, above 0
        Values above 1 make probabilities less extreme.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> clf = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True))
    >>> flat = temper(clf.network_, 2.0)
    >>> codes = np.zeros((1, 4), np.int64)
    >>> odds, flat_odds = (np.ptp(net.log_joint(codes)) for net in (clf.network_, flat))
    >>> round(float(odds / flat_odds), 4)
    2.0
    >>> flat.cpt(0).sum(axis=1).round(4).tolist()
    [[1.0, 1.0, 1.0]]
    """
    if not can_temper(network):
        raise ValueError(
            "a temperature (calibrate=True) requires a forest, but parents form a cycle or a feature has two of them"
        )
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature!r}")
    cpts = [network.layout.cpt(network.theta, i) / temperature for i in range(network.n_features)]
    log_prior, groups = network.log_prior / temperature, network.layout.groups
    for i in depth_first_order(network.parents)[::-1].tolist():
        normaliser = _log_sum(cpts[i], axis=1)
        cpts[i] = cpts[i] - normaliser[:, None, :]
        parent = network.parents[i]
        if parent < 0:
            log_prior = log_prior + normaliser[0]
        else:
            cpts[parent] = cpts[parent] + (normaliser if groups is None else normaliser[groups.of(parent)])
    theta = np.zeros_like(network.theta)
    theta[: network.layout.size] = np.concatenate([cpt.ravel() for cpt in cpts])
    return replace(network, theta=theta, log_prior=log_prior - _log_sum(log_prior, axis=0))


def _log_sum(terms: FloatArray, axis: int) -> FloatArray:
    highest = terms.max(axis=axis, keepdims=True)
    total: FloatArray = np.log(np.exp(terms - highest).sum(axis=axis)) + highest.squeeze(axis)
    return total
