"""The distribution over structures: a categorical one over the candidates of each feature, with logits phi."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray
from tanager.core import parent_probabilities
from tanager.structure import ParentSets, extra_parents_of

_LEAST = 1e-12


@dataclass(frozen=True)
class ParentDistribution:
    """Independent categorical distributions over the candidates of each feature.

    Attributes
    ----------
    parent_sets : ParentSets
    phi : float64 array of shape (E,)
        Unnormalised log-probabilities of the candidates.

    Examples
    --------
    >>> sets = ParentSets.from_lists([[-1], [-1, 0]], order=[0, 1])
    >>> distribution = ParentDistribution(sets, np.log([1.0, 0.25, 0.75]))
    >>> distribution.probabilities
    array([1.  , 0.25, 0.75])
    >>> distribution.most_probable()
    array([0, 2])
    """

    parent_sets: ParentSets
    phi: FloatArray

    @property
    def probabilities(self) -> FloatArray:
        """Probability of every candidate, float64[E]."""
        out = np.empty(len(self.phi))
        parent_probabilities(self.phi, self.parent_sets.ptr, out)
        return out

    @property
    def log_probabilities(self) -> FloatArray:
        """Log-probability of every candidate, float64[E]; kept finite by adding 1e-12 to the probabilities."""
        return np.log(self.probabilities + _LEAST)

    def most_probable(self) -> NDArray[np.int64]:
        """Index of the most probable candidate of each feature; the first in case of ties."""
        ptr = self.parent_sets.ptr
        return np.array([start + np.argmax(self.phi[start:stop]) for start, stop in pairwise(ptr)])

    def mean_entropy(self) -> float:
        """Mean entropy in nats over the features with several candidates; 0 if there are none."""
        probabilities = self.probabilities
        terms = -probabilities * np.log(np.maximum(probabilities, np.finfo(float).tiny))
        n_choices = int((np.diff(self.parent_sets.ptr) > 1).sum())
        return float(terms.sum() / max(n_choices, 1)) + 0.0

    def matrix(self) -> FloatArray:
        """Probabilities as a matrix float64[D, D + 1]: row i, column j for parent j; the last column is no parent.

        A pair of parents counts for both features, so a row with pairs may sum to more than one.
        """
        sets = self.parent_sets
        out = np.zeros((sets.n_features, sets.n_features + 1))
        child = np.repeat(np.arange(sets.n_features), np.diff(sets.ptr))
        members = extra_parents_of(sets.parents, sets.pairs, sets.n_features)
        probabilities = self.probabilities
        np.add.at(out, (child, members[:, 0]), probabilities)  # -1, no parent, is the last column
        is_pair = members[:, 1] >= 0
        np.add.at(out, (child[is_pair], members[is_pair, 1]), probabilities[is_pair])
        return out
