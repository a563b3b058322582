"""The classifier that is left after training: one parent and one table for each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.kernels.log_joint import network_classes, network_log_joint
from tanager.kernels.marginal import marginal_log_joint
from tanager.model.layout import Layout, make_layout
from tanager.structure import ParentSets, find_cycle, topological_order


@dataclass(frozen=True)
class Network:
    """A TAN classifier over codes: class prior, parents and conditional probability tables.

    Attributes
    ----------
    parents : int64 array of shape (D,)
        The extra parent of each feature, -1 for none. The class is a parent of every feature.
    layout : Layout
    theta : float32 array
        Log-probabilities of all tables, one after the other, each read as ``[x_parent, x_child, c]``, and some zeros.
    log_prior : float64 array of shape (C,)

    Notes
    -----
    The parents that a pseudo-TAN search finds may form a cycle. Such a network still classifies, but it is not a
    Bayesian network: its scores are not a joint distribution and nothing can be summed out of it.
    """

    parents: NDArray[np.int64]
    layout: Layout
    theta: FloatArray
    log_prior: FloatArray

    @classmethod
    def from_arena(cls, layout: Layout, theta: FloatArray, log_prior: FloatArray, chosen: IntArray) -> Network:
        """Keep the chosen candidates' tables of an arena; ``chosen`` holds their indices, int[D]."""
        parents = layout.parent_sets.select(chosen)
        tables = [layout.table(theta, e) for e in chosen]
        own = make_layout(ParentSets.from_lists([[j] for j in parents]), layout.cards, layout.n_classes)
        flat = np.zeros(own.arena_size, np.float32)
        flat[: own.size] = np.concatenate([table.ravel() for table in tables])
        return cls(parents, own, flat, np.asarray(log_prior, np.float64))

    @property
    def n_features(self) -> int:
        return len(self.parents)

    @property
    def n_classes(self) -> int:
        return len(self.log_prior)

    @property
    def cards(self) -> IntArray:
        """Number of values of each feature."""
        return self.layout.cards

    @property
    def n_parameters(self) -> int:
        """Number of table entries and class probabilities."""
        return self.layout.size + self.n_classes

    @property
    def is_bayesian_network(self) -> bool:
        """Whether the parents form no cycle."""
        return find_cycle(self.parents) is None

    def cpt(self, feature: int) -> FloatArray:
        """Conditional probabilities ``[x_parent, x_feature, c]`` of a feature; without a parent the first axis is 1."""
        return np.exp(self.layout.table(self.theta, feature).astype(np.float64))

    def log_joint(self, codes: IntArray, n_threads: int = 1) -> FloatArray:
        """Log-probability of each row together with each class, float64[N, C].

        A code equal to the number of values of its feature is unknown; unknown values are summed out exactly. Where
        the parents form a cycle this is not possible, and the terms that need an unknown value are left out.
        """
        log_joint = np.empty((len(codes), self.n_classes))
        incomplete = self._run(network_log_joint, codes, log_joint, n_threads)
        if len(incomplete):
            self._sum_out(incomplete, codes, log_joint, n_threads)
        return log_joint

    def predict(self, codes: IntArray, n_threads: int = 1) -> NDArray[np.int64]:
        """Number of the most probable class of each row, the first of equal ones; unknown values as in `log_joint`."""
        classes = np.empty(len(codes), np.int64)
        incomplete = self._run(network_classes, codes, classes, n_threads)
        if len(incomplete):
            part = np.ascontiguousarray(codes[incomplete])
            log_joint = np.empty((len(part), self.n_classes))
            self._sum_out(np.arange(len(part)), part, log_joint, n_threads)
            classes[incomplete] = log_joint.argmax(axis=1)
        return classes

    def _run(self, kernel: Any, codes: IntArray, out: Any, n_threads: int) -> NDArray[np.int64]:
        """Run a kernel over all rows; returns the rows with unknown values, which it has left."""
        is_complete = np.empty(len(codes), np.bool_)
        with Crew(n_threads) as crew:
            ranges = crew.split(len(codes))
            crew.run(kernel, ranges, self.theta, self.log_prior, self.layout.tables, codes, out, is_complete)
        return np.flatnonzero(~is_complete)

    def _sum_out(self, rows: NDArray[np.int64], codes: IntArray, log_joint: FloatArray, n_threads: int) -> None:
        """Fill the given rows, whose unknown values are summed out."""
        order = topological_order(self.parents) if self.is_bayesian_network else np.empty(0, np.int64)
        model = (self.theta, self.log_prior, self.layout.tables, order)

        def sum_out(lo: int, hi: int) -> None:
            marginal_log_joint(rows[lo:hi], *model, codes, log_joint)

        with Crew(n_threads) as crew:
            crew.run(sum_out, crew.split(len(rows)))
