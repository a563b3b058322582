"""Quantised classifiers: log-probabilities as multiples of one step, with as few bits as the user chooses.

Bayesian network classifiers classify well with few bits for each parameter (Tschiatschek and Pernkopf, 2015, On
Bayesian network classifiers with reduced precision parameters). The score of a class is a sum over D + 1 CPT rows,
and a constant added to a row does not change which class wins. So the largest log-probability of each row is
subtracted, and the absolute value of the rest is rounded to a multiple of the step: a penalty of 0 to 2**bits - 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.model import Groups, Network
from tanager.structure import topological_order

MAX_BITS = 16
_LARGEST_SUM = 2**31 - 1  # penalties are summed in 32-bit integers
_SAMPLE = 100_000  # number of penalties that suffices to choose the step
_FLOOR = 0.01  # minimum weight of penalties, however rarely they are used


class Term(NamedTuple):
    """A term of the sum: a CPT with rows for each value of the parent, or each group of them, and of the child.

    For a child with a parent, the last entry of the first axis is for an unknown parent.
    """

    child: int
    parent: int  # -1 for none
    log_table: FloatArray  # float64[number of values or groups of the parent + 1, or 1; R_child; C]


@dataclass(frozen=True)
class IntegerClassifier:
    """A classifier over codes that sums small integers; made by `quantise`.

    Attributes
    ----------
    bits : int
    step : float
        Size of one unit of a penalty, in nats.
    cards : int64 array of shape (D,)
        Number of values of each feature.
    child, parent : int64 arrays of shape (S,)
        Of each term of the sum; the parent is D if there is none.
    offset : int64 array of shape (S + 1,)
        Start of each term's CPT in `penalties`.
    penalties : uint8 or uint16 array
        CPTs in sequence, each ``[x_parent, x_child, c]``. With a parent, the first axis has one more entry, for an
        unknown parent.
    prior : array of shape (C,)
        Penalties of the classes.
    groups : Groups or None
        Groups of the values of parents, if they are grouped: the first axis of a CPT has the groups then.
    """

    bits: int
    step: float
    cards: NDArray[np.int64]
    child: NDArray[np.int64]
    parent: NDArray[np.int64]
    offset: NDArray[np.int64]
    penalties: NDArray[Any]
    prior: NDArray[Any]
    groups: Groups | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes, C."""
        return len(self.prior)

    def table(self, term: int) -> NDArray[Any]:
        """The penalties of a term, ``[x_parent, x_child, c]``."""
        block = self.penalties[self.offset[term] : self.offset[term + 1]]
        return block.reshape(-1, self.cards[self.child[term]], self.n_classes)

    def largest_sum(self) -> int:
        """The largest possible sum of penalties."""
        largest = [int(self.table(term).max()) for term in range(len(self.child))]
        return int(self.prior.max()) + sum(largest)

    def lines_of(self, parent: int) -> NDArray[np.int64]:
        """Entry of the first axis that each value of a parent reads, and, last, an unknown one; int64[R_parent + 1]."""
        if self.groups is None:
            return np.arange(self.cards[parent] + 1)
        return np.append(self.groups.of(parent), self.groups.cards[parent])

    def scores(self, codes: IntArray) -> NDArray[np.int32]:
        """Negative sum of the penalties of each row and class, int32[N, C].

        Codes from the number of values of their feature on are unknown. The term of an unknown child is left out; if
        only the parent is unknown, the last entry of the first axis is p(child | class).
        """
        known = np.minimum(codes, self.cards)
        scores = np.repeat(-self.prior.astype(np.int32)[None], len(codes), axis=0)
        for s, (i, j) in enumerate(zip(self.child.tolist(), self.parent.tolist(), strict=True)):
            rows = np.flatnonzero(known[:, i] < self.cards[i])
            line = np.zeros(len(rows), np.int64) if j == len(self.cards) else self.lines_of(j)[known[rows, j]]
            scores[rows] -= self.table(s)[line, known[rows, i]].astype(np.int32)
        return scores

    def predict(self, codes: IntArray) -> NDArray[np.int64]:
        """Number of the class with the largest score of each row, the first in case of ties."""
        return self.scores(codes).argmax(axis=1)


class BitWidthCurve(NamedTuple):
    """Errors over bit widths; made by `bit_width_curve`."""

    bits: NDArray[np.int64]
    error: FloatArray  # fraction of rows misclassified, for each width
    full_error: float  # with the unrounded parameters


def quantise(clf: Any, bits: int = 8) -> IntegerClassifier:
    """Round the parameters of a fitted classifier to integers with few bits.

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier
        An ensemble must average log-probabilities (``combine="log"``).
    bits : int, 1 to 16
        Bits per parameter.

    Returns
    -------
    IntegerClassifier
        Predicts the same classes as the C code that `to_c` writes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> from tanager.data import as_frame
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier("chow-liu", parameters="ml").fit(X, y)
    >>> integer = quantise(clf, bits=4)
    >>> int(integer.penalties.max())
    15
    >>> float((integer.predict(clf.encoder_.encode(as_frame(X))) == y).mean())
    0.9...
    """
    if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not 1 <= bits <= MAX_BITS:
        raise ValueError(f"bits must be a whole number from 1 to {MAX_BITS}, got {bits!r}")
    terms, log_prior = _terms_of(clf)
    sizes = [_below_best(term.log_table) for term in terms]
    prior = _below_best(log_prior)
    largest = 2 ** int(bits) - 1
    step = _best_range(terms, [*sizes, prior], largest) / largest
    dtype = np.min_scalar_type(largest)
    rounded = [np.rint(size / step).clip(max=largest).astype(dtype) for size in [*sizes, prior]]
    parents = np.array([term.parent for term in terms])
    integer = IntegerClassifier(
        bits=int(bits),
        step=step,
        cards=clf.encoder_.cards.astype(np.int64),
        child=np.array([term.child for term in terms]),
        parent=np.where(parents < 0, len(clf.encoder_.columns), parents),
        offset=np.cumsum([0, *(size.size for size in sizes)]),
        penalties=np.concatenate([table.ravel() for table in rounded[:-1]]),
        prior=rounded[-1],
        groups=_networks_of(clf)[0].layout.groups if (parents >= 0).any() else None,
    )
    if integer.largest_sum() > _LARGEST_SUM:
        raise ValueError(f"sums of {len(terms)} terms with {bits} bits may overflow 32-bit integers: use fewer bits")
    return integer


def bit_width_curve(clf: Any, X: Any, y: Any, bits: Iterable[int] = range(1, MAX_BITS + 1)) -> BitWidthCurve:
    """Error of the classifier for each number of bits per parameter.

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier
    X, y
        Held-out rows and their classes.
    bits : iterable of int

    Returns
    -------
    BitWidthCurve

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier("chow-liu", parameters="ml").fit(X[::2], y[::2])
    >>> curve = bit_width_curve(clf, X[1::2], y[1::2], bits=[1, 8])
    >>> bool(curve.error[1] == curve.full_error)
    True
    """
    widths = np.array(list(bits), np.int64)
    labels = np.asarray(y)
    codes = clf._encode(X)
    error = [np.mean(clf.classes_[quantise(clf, int(width)).predict(codes)] != labels) for width in widths]
    return BitWidthCurve(widths, np.array(error), float(np.mean(clf.predict(X) != labels)))


def _terms_of(clf: Any) -> tuple[list[Term], FloatArray]:
    """Terms of a classifier's log-joint, merged if child and parent are the same, and its log prior."""
    if getattr(clf, "combine", "log") != "log":
        raise ValueError("an ensemble that averages probabilities is not a sum of CPTs: export one with combine='log'")
    networks = _networks_of(clf)
    if any(network.has_pairs for network in networks):
        raise ValueError(
            "features with two extra parents cannot be exported as integers; fit with another structure than "
            "'k-dependence', or export as ONNX"
        )
    merged: dict[tuple[int, int], FloatArray] = {}
    for network in networks:
        for term in _network_terms(network):
            key = (term.child, term.parent)
            merged[key] = merged.get(key, 0.0) + term.log_table / len(networks)
    terms = [Term(*key, merged[key]) for key in sorted(merged)]
    return terms, np.mean([network.log_prior for network in networks], axis=0)


def _networks_of(clf: Any) -> list[Network]:
    """The networks of a classifier, which group values in the same way if they group them."""
    return [member.network_ for member in getattr(clf, "estimators_", [clf])]


def _network_terms(network: Network) -> list[Term]:
    """CPTs of a network, with entries for unknown parents."""
    is_network = network.is_bayesian_network
    order = topological_order(network.parents) if is_network else np.arange(network.n_features)
    marginal: dict[int, FloatArray] = {}  # p(x | c) of each feature, [x, c]
    groups = network.layout.groups

    def above(j: int) -> FloatArray:
        return marginal[j] if groups is None else groups.totals(j, marginal[j])

    terms = {}
    for i in order.tolist():
        j = int(network.parents[i])
        log_table = network.layout.cpt(network.theta, i).astype(np.float64)
        if is_network:
            table = np.exp(log_table)
            marginal[i] = table[0] if j < 0 else np.einsum("pc,pic->ic", above(j), table)
        if j >= 0:
            # With a cycle there are no marginals: zeros skip the term, as the classifier itself does.
            extra = np.log(marginal[i]) if is_network else np.zeros(log_table.shape[1:])
            log_table = np.concatenate([log_table, extra[None]])
        terms[i] = Term(i, j, log_table)
    return [terms[i] for i in sorted(terms)]


def _below_best(log_table: FloatArray) -> FloatArray:
    """Distance of each class from the best class of its row, at least 0."""
    distance: FloatArray = log_table.max(axis=-1, keepdims=True) - log_table
    return distance


def _best_range(terms: list[Term], sizes: list[FloatArray], largest: int) -> float:
    """The clipping point that minimises the rounding error.

    With few bits it pays to clip rare large sizes so that common ones are rounded less. Sizes are weighted by how often
    their row is used if the values of the parent are equally frequent; a small weight for all of them ensures that
    nothing is clipped with many bits.
    """
    weights = []
    for term in terms:
        n_lines = np.prod(term.log_table.shape[:2])
        met = np.exp(np.minimum(term.log_table, 0.0)).mean(axis=-1, keepdims=True) / len(term.log_table)
        weights.append(np.broadcast_to(met + _FLOOR / n_lines, term.log_table.shape).ravel())
    weights.append(np.ones(sizes[-1].size))
    values, weight = np.concatenate([size.ravel() for size in sizes]), np.concatenate(weights)
    top = float(values.max())
    if top == 0.0:
        return float(largest)  # all classes are equal everywhere: any step will do
    if values.size > _SAMPLE:
        chosen = np.append(np.random.default_rng(0).choice(values.size, _SAMPLE), values.argmax())
        values, weight = values[chosen], weight[chosen]
    ranges = top * 2.0 ** -(np.arange(57) / 8)
    losses = [(weight * (values - _rounded(values, limit / largest, largest)) ** 2).sum() for limit in ranges]
    return float(ranges[int(np.argmin(losses))])


def _rounded(sizes: FloatArray, step: float, largest: int) -> FloatArray:
    """Sizes rounded to multiples of the step, and clipped to the largest multiple."""
    rounded: FloatArray = np.rint(sizes / step).clip(max=largest) * step
    return rounded
