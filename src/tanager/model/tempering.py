"""Temperature scaling of a network that keeps it a Bayesian network.

Dividing the log-joint by a temperature T makes p(c | x) proportional to its power 1 / T. The CPTs divided by T are no
longer normalised, but in a forest this can be fixed without changing p(c | x): the normaliser of a feature's CPT is a
number for each value of its parent and each class, so it can be moved into the parent's CPT, and from a root into the
class prior. Leaves go first.

The best temperature is the one with the smallest log-loss on rows that the network has not been learned from.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from tanager import core
from tanager._types import Cpts, FloatArray, IntArray, OpenForest
from tanager.model.cpt_counts import count_rows
from tanager.model.network import Network
from tanager.structure import depth_first_order

_TEMPERATURES = (0.5, 50.0)
_ENOUGH_ERRORS = 10
MOST_LOSS = 20.0


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
    forest = open_forest(network)
    np.divide(forest.theta, temperature, out=forest.theta)
    np.divide(forest.log_prior, temperature, out=forest.log_prior)
    return normalised(network, forest)


def open_forest(network: Network) -> OpenForest:
    """The network in double precision, as a copy that can be changed."""
    layout = network.layout
    start = np.concatenate([[0], np.cumsum(layout.cards)])
    group = np.arange(start[-1]) - np.repeat(start[:-1], layout.cards) if layout.groups is None else layout.groups[0]
    theta = network.theta[: layout.size].astype(np.float64)
    order = depth_first_order(network.parents)
    return OpenForest(theta, network.log_prior.astype(np.float64), Cpts(*layout.cpts), order, group, start)


def normalised(network: Network, forest: OpenForest) -> Network:
    """The network with the CPTs of a forest that was changed, each of which sums to one again."""
    core.normalise_forest(forest)
    theta = np.zeros_like(network.theta)
    theta[: network.layout.size] = forest.theta
    return replace(network, theta=theta, log_prior=forest.log_prior)


def best_temperature(scores: FloatArray, y: IntArray, weight: FloatArray) -> float:
    """Number to divide log-joints by, from 0.5 to 50, for the smallest log-loss.

    With fewer than ten errors it is at least 1: rows that are all right say nothing against being surer and surer.

    Examples
    --------
    >>> scores = np.log([[0.9, 0.1]] * 4)
    >>> round(best_temperature(scores, np.array([0, 0, 0, 1]), np.ones(4)), 2)
    2.0
    """
    if scores.shape[1] == 1:
        return 1.0
    low, high = np.log(_TEMPERATURES)
    if count_rows(weight[scores.argmax(axis=1) != y]) < _ENOUGH_ERRORS:
        low = 0.0
    found = minimize_scalar(
        lambda log_t: np.average(log_losses(scores / np.exp(log_t), y), weights=weight),
        bounds=(low, high),
        method="bounded",
    )
    return float(np.exp(found.x))


def log_losses(scores: FloatArray, y: IntArray) -> FloatArray:
    """Log-loss of each row, at most 20: one that was taken for impossible must not outweigh all others."""
    highest = scores.max(axis=1)
    log_total = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    losses: FloatArray = np.minimum(log_total - scores[np.arange(len(y)), y], MOST_LOSS)
    return losses
