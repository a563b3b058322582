"""How often rows occur in a network that was trained to tell the classes apart.

The class posteriors of complete rows leave that open: numbers h_i(x_j, x_i) that are the same for all classes can be
added to the log-CPT of each feature i with the parent j. Unknown values, however, are summed out in proportion to how
often they occur. So h is chosen for which a feature and its parent occur together as often as in the data, which makes
the features of the rows most probable, and, as far as that takes exceptions, for which the classes do as well:

    p(x_j, x_i) = f(x_j, x_i) + sum_c a_c p(x_j, x_i | c)

Iterative proportional fitting finds h in a forest, an edge at a time; a_c grows as long as class c is too rare.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.model.cpt_counts import CptCounts
from tanager.model.network import Network
from tanager.model.tempering import temper
from tanager.structure import depth_first_order

_PRIOR_ROWS = 10.0  # that a feature's frequencies alone count for beside those given its parent
_MOST_SWEEPS, _MOST_FITS = 30, 6_000  # over all edges, and of single ones: 0.2 ms each
_STEP = 0.8  # of the multipliers: with 1.3 and more they oscillate
_LEAST_SHARE = 0.1  # of a frequency that classes can take it down to in a sweep
_TOLERANCE = 0.05  # of frequencies: less makes no difference to predictions where half of the cells are unknown
_CLASS_TOLERANCE = 0.3  # of class frequencies, in standard errors


def settle(network: Network, counts: CptCounts) -> Network:
    """The network with the same class posteriors of complete rows, in which values and classes occur as in the data.

    Parameters
    ----------
    network : Network
        A forest.
    counts : CptCounts
        Of the rows, in the layout of the network.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = TANClassifier("chow-liu", "penalised", random_state=0).fit(X, y).network_
    >>> network.marginals().classes.round(1)
    array([[0.3, 0.3, 0.3]])
    """
    in_rows = counts.n_counted / counts.of_class.sum()
    of_class = counts.of_class * in_rows + 1.0
    classes = of_class / of_class.sum()
    layout, features = network.layout, range(network.n_features)
    targets = [_frequencies(layout.cpt(counts.cells, i).sum(axis=2) * in_rows) for i in features]
    tree, multipliers = _Tree(network), np.zeros(len(classes))
    tolerance = _CLASS_TOLERANCE * np.sqrt(classes / of_class.sum())
    for _ in range(int(np.clip(_MOST_FITS // network.n_features, 2, _MOST_SWEEPS))):
        change = tree.sweep(targets, multipliers)
        missing = classes - tree.classes
        if change < _TOLERANCE and (np.abs(missing) < tolerance).all():
            break
        multipliers += _STEP * missing
    theta = np.zeros_like(network.theta)
    theta[: layout.size] = np.concatenate([cpt.ravel() for cpt in tree.cpts])
    return temper(replace(network, theta=theta), 1.0)


class _Tree:
    """Log-CPTs and what features say of the values of their parents: messages, as in any sum over a tree."""

    def __init__(self, network: Network) -> None:
        layout, n_features = network.layout, network.n_features
        self.cpts = [layout.cpt(network.theta, i).astype(np.float64) for i in range(n_features)]
        self._parents, self._groups = network.parents.tolist(), layout.groups
        self._order = depth_first_order(network.parents).tolist()
        # Of the values of each feature, and last of the class alone, which is above the roots: what comes from above
        # and what comes from below.
        shapes: list[Any] = [*(cpt.shape[1:] for cpt in self.cpts), (1, network.n_classes)]
        self._above, self._below = ([np.zeros(shape) for shape in shapes] for _ in range(2))
        self._below[-1] += network.log_prior
        self._told: list[Any] = [np.zeros((len(cpt), network.n_classes)) for cpt in self.cpts]
        for i in self._order[::-1]:
            self._tell(i)

    @property
    def classes(self) -> FloatArray:
        """Probabilities of the classes, float64[C]."""
        log_prior = self._below[-1][0]
        return np.exp(log_prior - _log_sum(log_prior, 0))

    def sweep(self, targets: list[FloatArray], multipliers: FloatArray) -> float:
        """Fit each edge once to its target; returns how far off the worst was."""
        worst, path = 0.0, list[int]()
        for i in self._order:
            while path and path[-1] != self._parents[i]:
                self._tell(path.pop())
            worst = max(worst, self._fit(i, targets[i], multipliers))
            path.append(i)
        while path:
            self._tell(path.pop())
        return worst

    def _fit(self, i: int, target: FloatArray, multipliers: FloatArray) -> float:
        above = self._heard(i)[:, None, :]
        log_joint = above + self.cpts[i] + self._below[i]
        log_joint -= _log_sum(log_joint.ravel(), 0)
        joint = np.exp(log_joint)
        of_class = np.maximum(joint.sum(axis=(0, 1)), np.finfo(np.float64).tiny)
        goal = np.maximum(target + joint @ (multipliers / of_class), _LEAST_SHARE * target)
        goal /= goal.sum()
        self.cpts[i] += (np.log(goal) - _log_sum(log_joint, 2))[:, :, None]
        self._above[i] = _log_sum(above + self.cpts[i], 0)
        return float(np.abs(goal - joint.sum(axis=2)).sum())

    def _heard(self, i: int) -> FloatArray:
        """What everything but the feature and those below it say of the groups of its parent's values, [G, C]."""
        parent = self._parents[i]
        own = self._above[parent] + self._below[parent] - self._told[i][self._group_of(parent)]
        if parent < 0 or self._groups is None:
            return own
        highest = own.max(axis=0)
        return np.log(np.maximum(self._groups.totals(parent, np.exp(own - highest)), 1e-300)) + highest

    def _tell(self, i: int) -> None:
        """Tell the parent what the feature and those below it say of its values."""
        message, parent = _log_sum(self.cpts[i] + self._below[i], 1), self._parents[i]
        self._below[parent] = self._below[parent] + (message - self._told[i])[self._group_of(parent)]
        self._told[i] = message

    def _group_of(self, parent: int) -> IntArray | slice:
        return slice(None) if parent < 0 or self._groups is None else self._groups.of(parent)


def _frequencies(counts: FloatArray) -> FloatArray:
    """Smoothed frequencies of the values of a feature and its parent's, float64[G, R]."""
    alone = (counts.sum(axis=0) + 1.0) / (counts.sum() + counts.shape[1])
    total = counts.sum(axis=1, keepdims=True)
    given = (counts + _PRIOR_ROWS * alone) / (total + _PRIOR_ROWS)
    return given * (total + 1.0) / (total + 1.0).sum()


def _log_sum(terms: FloatArray, axis: int) -> FloatArray:
    highest = terms.max(axis=axis, keepdims=True)
    total: FloatArray = np.log(np.exp(terms - highest).sum(axis=axis)) + highest.squeeze(axis)
    return total
