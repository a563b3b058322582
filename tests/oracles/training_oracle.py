"""Steps of training with every option, written as loops.

CPTs are kept normalised, as the package keeps them; a regulariser may move a CPT before the step of Adam, which then
sees it as it was moved. Names are those of `model_oracle`, with these differences: `child` is that of each slot,
`parent[e]` a column of the rows, which hold -1 where a value is unknown, and `parent_slot[e]` the slot of the parent.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import model_oracle, regulariser_oracle


@dataclass
class Options:
    """What a run does in every step; goals are CPTs [R_child, C] by child."""

    loss: Callable[..., Any]
    adam: tuple[float, float, float] = (0.9, 0.999, 1e-7)
    is_dense: bool = False
    phi_rate: float = 0.01
    n_members: int = 1
    samples_forests: bool = False
    dropout: float = 0.0
    shrinkage: tuple[list[Any], float] | None = None  # goals and strength
    smoothness: tuple[list[int], float] | None = None  # ordered values of every column, none for "no parent"; strength
    pull: tuple[list[Any], float] | None = None  # goals and weight
    size_cost: Any = None


@dataclass
class Training:
    """A run, changed step by step."""

    tables: list[np.ndarray]
    prior: np.ndarray
    phi: np.ndarray
    child: list[int]
    ptr: list[int]
    parent: list[int]
    parent_slot: list[int]
    rows: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    options: Options

    def __post_init__(self):
        self.n_steps = 0
        self.updates = [0] * len(self.tables)
        self.moments = [(np.zeros(table.shape), np.zeros(table.shape)) for table in self.tables]
        self.prior_moments = (np.zeros(len(self.prior)), np.zeros(len(self.prior)))
        self.phi_moments = (np.zeros(len(self.phi)), np.zeros(len(self.phi)))
        self.selected, self.soft = None, None

    def step(self, batch, noise, uniform, rate, tau):
        """One step on the rows of a batch; returns the loss and the weighted share of errors."""
        options = self.options
        self.n_steps += 1
        self.draw(noise, uniform, tau)
        log_joint = self.log_joint(batch)
        weight = None if self.weight is None else self.weight[batch]
        value, grad = options.loss(log_joint, self.y[batch], weight)
        shares = np.ones(len(batch)) if weight is None else weight
        error = sum(w for w, line, c in zip(shares, log_joint, self.y[batch], strict=True) if np.argmax(line) != c)
        grad = np.asarray(grad, np.float64) / options.n_members
        for slot, e in enumerate(self.selected):
            self.tables[e] = self.moved(self.child[slot], e, rate)
        weight_gradient = np.zeros(len(self.tables))
        for slot in range(len(self.child)):
            for e in range(self.ptr[slot], self.ptr[slot + 1]):
                sums = self.sums_of_cells(slot, e, batch, grad)
                weight_gradient[e] = (sums * self.tables[e]).sum()
                self.descend(slot, e, sums, rate)
        self.descend_prior(grad, rate)
        self.descend_phi(weight_gradient, tau)
        return value, error / sum(shares)

    def draw(self, noise, uniform, tau):
        """Selected candidates and soft weights, with the parents that dropout leaves."""
        draw = self.sample_forest if self.options.samples_forests else model_oracle.sample
        self.selected, self.soft = draw(self.phi, noise, self.ptr, tau)
        for slot in range(len(self.child)):
            candidates = range(self.ptr[slot], self.ptr[slot + 1])
            orphans = [e for e in candidates if self.parent[e] == -1]
            if self.options.dropout > 0 and uniform[slot] < self.options.dropout and orphans:
                self.selected[slot] = orphans[0]
                self.soft[candidates] = 0.0

    def sample_forest(self, phi, noise, ptr, tau):
        """The best forest of all, and soft weights of the candidates that could stand in it instead."""
        scores = phi + noise
        choices = [range(first, last) for first, last in itertools.pairwise(ptr)]
        forests = [each for each in itertools.product(*choices) if self.is_forest(each)]
        best = max(forests, key=lambda each: sum(scores[e] for e in each))
        soft = np.zeros(len(phi))
        for slot, candidates in enumerate(choices):
            for e in candidates:
                if self.is_forest((*best[:slot], e, *best[slot + 1 :])):
                    soft[e] = np.exp((scores[e] - scores[best[slot]]) / tau)
            soft[candidates] /= soft[candidates].sum()
        return np.array(best), soft

    def is_forest(self, selected):
        for start in range(len(selected)):
            slot = start
            for _ in selected:
                slot = self.parent_slot[selected[slot]]
                if slot == -1:
                    break
            else:
                return False
        return True

    def cell(self, slot, e, row):
        """Position of a row in the CPT of candidate e; None if one of the values is unknown."""
        values = 0 if self.parent[e] == -1 else int(row[self.parent[e]]), int(row[self.child[slot]])
        return None if -1 in values else values

    def log_joint(self, batch):
        """Mean log-joint of the members."""
        result = np.tile(self.prior, (len(batch), 1))
        for n, row in enumerate(self.rows[batch]):
            for slot, e in enumerate(self.selected):
                if (cell := self.cell(slot, e, row)) is not None:
                    result[n] += self.tables[e][cell] / self.options.n_members
        return result

    def moved(self, child, e, rate):
        """The CPT after the regularisers that move it directly."""
        cpt = self.tables[e]
        if self.options.shrinkage is not None and self.parent[e] != -1:
            goals, strength = self.options.shrinkage
            cpt = regulariser_oracle.shrunk(cpt, goals[child], rate * strength)
        if self.options.smoothness is not None:
            n_ordered, strength = self.options.smoothness
            n_parent = 0 if self.parent[e] == -1 else n_ordered[self.parent[e]]
            cpt = regulariser_oracle.smoothed(cpt, n_ordered[child], n_parent, rate * strength)
        return cpt

    def sums_of_cells(self, slot, e, batch, grad):
        """Sum of the loss gradient over the rows of each cell."""
        sums = np.zeros(self.tables[e].shape)
        for n, row in enumerate(self.rows[batch]):
            if (cell := self.cell(slot, e, row)) is not None:
                sums[cell] += grad[n]
        return sums

    def descend(self, slot, e, sums, rate):
        """Adam on a CPT; one that is not selected moves on its momentum if the descent is dense."""
        options, cpt = self.options, self.tables[e]
        if e != self.selected[slot] and not options.is_dense:
            return
        gradient = np.zeros(cpt.shape)
        if e == self.selected[slot]:
            gradient = sums - np.exp(cpt) * sums.sum(axis=1, keepdims=True)
            self.updates[e] += 1
            if options.pull is not None:
                goals, weight = options.pull
                gradient += regulariser_oracle.ridge_gradient(cpt, goals[self.child[slot]], weight)
        t = self.n_steps if options.is_dense else self.updates[e]
        stepped, *self.moments[e] = model_oracle.adam_step(cpt, gradient, *self.moments[e], t, rate, *options.adam)
        self.tables[e] = model_oracle.log_softmax_table(stepped)

    def descend_prior(self, grad, rate):
        slopes = grad.sum(axis=0)
        gradient = slopes - np.exp(self.prior) * slopes.sum()
        stepped, *self.prior_moments = model_oracle.adam_step(
            self.prior, gradient, *self.prior_moments, self.n_steps, rate, *self.options.adam
        )
        self.prior = model_oracle.log_softmax_vector(stepped)

    def descend_phi(self, weight_gradient, tau):
        if len(self.phi) == len(self.child):
            return
        gradient = model_oracle.soft_max_gradient(weight_gradient, self.soft, tau, self.ptr)
        if self.options.size_cost is not None:
            gradient += regulariser_oracle.size_gradient(self.phi, self.options.size_cost, self.ptr)
        self.phi, *self.phi_moments = model_oracle.adam_step(
            self.phi, gradient, *self.phi_moments, self.n_steps, self.options.phi_rate, *self.options.adam
        )
