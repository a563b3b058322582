"""Networks in which features have up to two extra parents: unknown values, and draws.

Such a network is not a forest, and summing out values exactly may take exponential time. If a parent is unknown, the
probability of a known feature is the mean over its CPT, weighted by p(x_parent | c) of each unknown parent:

    ``p(x_i | x_a, c) = sum_b p(x_b | c) p(x_i | x_a, x_b, c)``   with a known and b unknown.

p(x_b | c) comes from the network in the same way, parents before their children. This is exact if no other observed
value is informative about the unknown parent, and an approximation otherwise. An unknown feature contributes nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.structure import dependence_order


class OpenCpts:
    """Logarithms of CPTs with an additional entry for unknown values on each axis, ``[x_a, x_b, x_i, c]``.

    An axis with R values has R + 1 entries; the axis of a parent that the feature does not have, one.

    Parameters
    ----------
    extra_parents : int64 array of shape (D, 2)
        Parents of each feature, -1 for none.
    cpts : list of D float64 arrays
        Probabilities ``[x_a * R_b + x_b, x_i, c]``.
    cards : int64 array of shape (D,)

    Attributes
    ----------
    CPTs : list of D float64 arrays

    Examples
    --------
    Feature 1 is feature 0 with probability 0.9, and feature 0 is 1 with probability 0.8; there is one class.

    >>> cpts = [np.array([[[0.2], [0.8]]]), np.array([[[0.9], [0.1]], [[0.1], [0.9]]])]
    >>> cpts = OpenCpts(np.array([[-1, -1], [0, -1]]), cpts, np.array([2, 2]))
    >>> np.exp(cpts.terms(1, np.array([[1, 1], [2, 1], [2, 2]]))).round(2)  # code 2 is unknown
    array([[0.9 ],
           [0.74],
           [1.  ]])
    """

    def __init__(self, extra_parents: NDArray[np.int64], cpts: list[FloatArray], cards: IntArray) -> None:
        self._extra_parents = extra_parents
        order = dependence_order(extra_parents)
        marginals: dict[int, FloatArray] = {}
        found: dict[int, FloatArray] = {}
        for i in range(len(cpts)) if order is None else order.tolist():
            a, b = extra_parents[i].tolist()
            shape = (1 if a < 0 else cards[a], 1 if b < 0 else cards[b], *cpts[i].shape[1:])
            cpt = cpts[i].reshape(shape)
            if b >= 0:
                cpt = np.concatenate([cpt, _mean(cpt, 1, marginals.get(b))], axis=1)
            if a >= 0:
                cpt = np.concatenate([cpt, _mean(cpt, 0, marginals.get(a))])
            marginals[i] = cpt[-1, -1]
            with np.errstate(divide="ignore"):
                log_table = np.log(cpt)
            found[i] = np.concatenate([log_table, np.zeros_like(log_table[:, :, :1])], axis=2)
        self.cpts = [found[i] for i in range(len(cpts))]

    def terms(self, feature: int, codes: IntArray) -> FloatArray:
        """Log-probability of a feature in each row and class, float64[N, C]."""
        x_a, x_b = (codes[:, j] if j >= 0 else 0 for j in self._extra_parents[feature].tolist())
        return self.cpts[feature][x_a, x_b, codes[:, feature]]


def _mean(cpt: FloatArray, axis: int, marginal: FloatArray | None) -> FloatArray:
    """Mean over the values of one parent, weighted by p(x_parent | c); ones if there is a cycle, to skip the term."""
    if marginal is None:
        return np.ones_like(cpt.take([0], axis))
    subscripts = "abic,ac->bic" if axis == 0 else "abic,bc->aic"
    return np.expand_dims(np.einsum(subscripts, cpt, marginal), axis)


def draw_rows(
    extra_parents: NDArray[np.int64],
    cpts: list[FloatArray],
    cards: IntArray,
    classes: IntArray,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw one row for each of the given classes, int64[N, D], parents before their children.

    Parameters
    ----------
    extra_parents, cpts, cards
        As in `OpenCpts`; there must be no cycle.
    classes : int64 array of shape (N,)
    rng : numpy Generator
    """
    codes = np.zeros((len(classes), len(cpts)), np.int64)
    order = dependence_order(extra_parents)
    assert order is not None
    for i in order.tolist():
        a, b = extra_parents[i].tolist()
        given = np.zeros(len(classes), np.int64) if a < 0 else codes[:, a]
        if b >= 0:
            given = given * cards[b] + codes[:, b]
        share = np.cumsum(cpts[i], axis=1)
        share /= share[:, -1:]
        # The position where the cumulative sum first exceeds a uniform number.
        codes[:, i] = (share[given, :, classes] <= rng.random(len(classes))[:, None]).sum(axis=1)
    return codes
