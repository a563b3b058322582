"""The network that describes the data: a structure with counted CPTs, smoothed as much as the data say.

A network that is trained to tell the classes apart has other probabilities than the data. This one has theirs. The
frequencies of a feature's values given parent and class are pulled to those given the class alone, and these to those
without the class, each as if so many rows had been seen of the coarser ones. How many is the number for which the rows,
each left out in turn, are most probable.
"""

from __future__ import annotations

import numpy as np

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.model.maximum_likelihood import class_log_prior, counts_of_cpts
from tanager.model.network import Network

_PRIOR_ROWS = 10.0 ** np.arange(-1.0, 3.1, 0.5)


def describe(network: Network, codes: IntArray, y: IntArray, weight: FloatArray, n_threads: int = 1) -> Network:
    """The same structure with the probabilities of the data.

    Parameters
    ----------
    network : Network
    codes : int array of shape (N, D)
    y : int array of shape (N,)
    weight : float array of shape (N,)
    n_threads : int
        Does not change the result.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = TANClassifier("chow-liu", "penalised", random_state=0).fit(X, y).description_
    >>> network.marginals().classes.round(2)
    array([[0.33, 0.33, 0.33]])
    """
    with Crew(n_threads) as crew:
        counts = counts_of_cpts(network.layout, codes, y, weight, crew)
    one_row = float(weight.mean())
    theta = np.zeros_like(network.theta)
    for i in range(network.n_features):
        probabilities = backed_off(network.layout.cpt(counts, i) / one_row)
        network.layout.cpt(theta, i)[...] = np.log(probabilities)
    prior = class_log_prior(y, weight / one_row, network.n_classes, 1.0)
    return Network(network.parents, network.layout, theta, prior)


def backed_off(counts: FloatArray) -> FloatArray:
    """Smoothed frequencies of the values for each line of parents' values and each class, float64[G, R, C].

    >>> counts = np.array([[[8.0], [2.0]], [[0.0], [0.0]]])
    >>> backed_off(counts).sum(axis=1).ravel()
    array([1., 1.])
    """
    of_value = counts.sum(axis=(0, 2))
    alone = (of_value + 1.0) / (of_value.sum() + len(of_value))
    given_class = _pulled(counts.sum(axis=0, keepdims=True), alone[None, :, None])
    return given_class if len(counts) == 1 else _pulled(counts, given_class)


def _pulled(counts: FloatArray, goal: FloatArray) -> FloatArray:
    """Frequencies along the second axis, pulled to a goal with the weight of the best number of rows."""
    total = counts.sum(axis=1, keepdims=True)
    is_seen = counts > 0
    seen, of_all = counts[is_seen], np.broadcast_to(total, counts.shape)[is_seen]
    of_goal = np.broadcast_to(goal, counts.shape)[is_seen]

    def left_out(rows: float) -> float:
        others = np.maximum(seen - 1.0, 0.0) + rows * of_goal
        return float((seen * np.log(others / (np.maximum(of_all - 1.0, 0.0) + rows))).sum())

    best = max(_PRIOR_ROWS.tolist(), key=left_out)
    return (counts + best * goal) / (total + best)
