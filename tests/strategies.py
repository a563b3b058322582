"""Small random models for property tests, in the form of the oracles and in the form of the package.

Hypothesis chooses sizes and structure, so that a failing example shrinks to few features, values and rows; parameters
and rows come from a NumPy generator with a seed that Hypothesis chooses.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from tanager.model import Layout, make_layout
from tanager.structure import NO_PARENT, ParentSets
from tanager.training import (
    Noise,
    Problem,
    Schedule,
    StepInfo,
    Stepper,
    TrainingSettings,
    TrainState,
    initial_state,
)
from tests.oracles import loss_oracle, model_oracle

SEEDS = st.integers(0, 2**32 - 1)


@dataclass
class Model:
    """A random model with random rows. Cpts are normalised, as the package keeps them, to single precision."""

    parent_sets: ParentSets
    cards: list[int]
    n_classes: int
    codes: np.ndarray  # int32[N, D]
    y: np.ndarray
    weight: np.ndarray  # float32[N]
    theta: np.ndarray  # float32: all tables, one after the other
    prior: np.ndarray  # float32[C]
    phi: np.ndarray
    noise: np.ndarray
    tau: float

    @cached_property
    def layout(self) -> Layout:
        return make_layout(self.parent_sets, self.cards, self.n_classes)

    @cached_property
    def child(self):
        """Child of each candidate, as the oracles want it."""
        return [i for i, parents in enumerate(self.parent_sets.to_lists()) for _ in parents]

    @cached_property
    def parent(self):
        """Parent of each candidate, a column of `wide_rows`; -1 for none."""
        return self.parent_sets.parents.tolist()

    @property
    def wide_rows(self):
        """Codes of the rows with a column more for each pair of parents, which the oracles take for features."""
        pairs = self.parent_sets.pairs.tolist()
        return np.array([[*row, *(row[a] * self.cards[b] + row[b] for a, b in pairs)] for row in self.codes.tolist()])

    @cached_property
    def ptr(self):
        return self.parent_sets.ptr.tolist()

    @cached_property
    def shapes(self):
        """Shape [R_parent or 1, R_child, C] of each candidate's table."""
        n_pair_values = [self.cards[a] * self.cards[b] for a, b in self.parent_sets.pairs]
        n_values = {NO_PARENT: 1, **dict(enumerate([*self.cards, *n_pair_values]))}
        return [(n_values[j], n_values[i], self.n_classes) for i, j in zip(self.child, self.parent, strict=True)]

    def arena(self):
        """All tables, with the zeros that kernels want behind them."""
        arena = np.zeros(self.layout.arena_size, np.float32)
        arena[: self.layout.size] = self.theta
        return arena

    def tables(self):
        """Cpts of all candidates as float64 arrays."""
        return self.split(self.theta)

    def split(self, arena):
        """Cut an arena into the tables of the candidates, without the help of the package; it may end in slack."""
        tables, start = [], 0
        for shape in self.shapes:
            stop = start + math.prod(shape)
            tables.append(arena[start:stop].reshape(shape).astype(np.float64))
            start = stop
        return tables

    def sample(self):
        """Selected candidates and soft weights, by the oracle."""
        return model_oracle.sample(self.phi, self.noise, self.ptr, self.tau)

    def log_joint(self, selected):
        """Log-joint of the rows, by the oracle."""
        return model_oracle.log_joint(self.tables(), self.prior, self.child, self.parent, selected, self.wide_rows)

    def gradients(self, grad):
        """Gradients of tables, prior and phi for a gradient of the log-joint, by the oracle."""
        selected, soft = self.sample()
        structure = (self.child, self.parent, selected, soft, self.tau)
        return model_oracle.gradients(self.tables(), self.prior, *structure, self.wide_rows, grad, self.ptr)

    def state(self) -> TrainState:
        """A state of training with these parameters and without momentum."""
        state = initial_state(self.layout, Noise(seed=0))
        state.theta.value[: self.layout.size] = self.theta
        state.prior.value[:] = self.prior
        state.phi.value[:] = self.phi
        return state

    def problem(self, *, is_weighted: bool = True) -> Problem:
        """All rows as one batch."""
        n_rows = len(self.y)
        return Problem(self.codes, self.y, self.weight if is_weighted else None, 1, n_rows, float(n_rows))

    def stepper(self, state, loss, plan=None, *, is_weighted=True, hooks=(), n_threads=1) -> Stepper:
        """Steps on all rows at a time, from a state of this model."""
        problem = self.problem(is_weighted=is_weighted)
        return Stepper(state, self.layout, problem, loss, plan or TrainingSettings(), hooks, n_threads)

    def take_step(self, stepper: Stepper, rate: float, tau: float | None = None, *, noise=None) -> StepInfo:
        """One step on all rows; temperature and Gumbel noise are those of the model unless others are given."""
        noise, tau = self.noise if noise is None else noise, self.tau if tau is None else tau
        return stepper.run(np.arange(len(self.y)), noise[None], None, Schedule(rate, tau))


class RowsOf(NamedTuple):
    """A number of rows, for recipes whose options depend on it."""

    n_counted: float

    def sized(self, parameters):
        return parameters.sized(self.n_counted)


def make_model(candidates, cards, n_classes, seed, *, order=None, n_rows=9, spread=1.0, tau=0.7) -> Model:
    """A model of the given search space with random parameters and rows."""
    rng = np.random.default_rng(seed)
    parent_sets = ParentSets.from_lists(candidates, order)
    model = Model(
        parent_sets=parent_sets,
        cards=list(cards),
        n_classes=n_classes,
        codes=rng.integers(0, cards, size=(n_rows, len(cards)), dtype=np.int32),
        y=rng.integers(0, n_classes, size=n_rows),
        weight=rng.uniform(0.2, 2.0, size=n_rows).astype(np.float32),
        theta=np.empty(0),
        prior=model_oracle.log_softmax_vector(rng.normal(scale=spread, size=n_classes)).astype(np.float32),
        phi=rng.normal(size=parent_sets.n_candidates),
        noise=model_oracle.gumbel(rng.random(parent_sets.n_candidates)),
        tau=tau,
    )
    tables = [model_oracle.log_softmax_table(rng.normal(scale=spread, size=shape)) for shape in model.shapes]
    model.theta = np.concatenate([table.ravel() for table in tables]).astype(np.float32)
    return model


@st.composite
def models(
    draw, *, max_features=5, max_card=4, max_classes=4, max_rows=12, is_ordered=None, is_fixed=False, has_pairs=False
):
    """Models of every shape: constant features, one feature, one class and one row among them."""
    n_features = draw(st.integers(1, max_features))
    cards = draw(st.lists(st.integers(1, max_card), min_size=n_features, max_size=n_features))
    has_order = draw(st.booleans()) if is_ordered is None else is_ordered
    order = draw(st.permutations(range(n_features))) if has_order else None
    candidates = []
    for i in range(n_features):
        others = [j for j in range(n_features) if j != i]
        if order is not None:
            others = order[: order.index(i)]
        choices = st.sampled_from([NO_PARENT, *others, *(combinations(sorted(others), 2) if has_pairs else ())])
        candidates.append(draw(st.lists(choices, min_size=1, max_size=1 if is_fixed else None, unique=True)))
    return make_model(
        candidates,
        cards,
        draw(st.integers(1, max_classes)),
        draw(SEEDS),
        order=order,
        n_rows=draw(st.integers(1, max_rows)),
        spread=draw(st.sampled_from([0.1, 1.0, 3.0])),
        tau=draw(st.sampled_from([10.0, 1.0, 0.3])),
    )


@st.composite
def loss_batches(draw):
    """What a loss is called with: log_joint, y and weights; one row and one class among them."""
    rng = np.random.default_rng(draw(SEEDS))
    n_rows, n_classes = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    spread = draw(st.sampled_from([0.1, 2.0, 20.0]))
    log_joint = (rng.normal(scale=spread, size=(n_rows, n_classes)) - 3 * spread).astype(np.float32)
    return log_joint, rng.integers(0, n_classes, size=n_rows), rng.uniform(0.1, 3.0, size=n_rows).astype(np.float32)


def misses_the_kink(log_joint, y, gamma, eta) -> bool:
    """Whether no row just meets the margin: there the gradient jumps, and rounding decides to which side."""
    for row, label in zip(log_joint.astype(np.float64), y, strict=True):
        rival = loss_oracle.log_sum_exp([eta * value for c, value in enumerate(row) if c != label]) / eta
        if abs(gamma - row[label] + rival) < 1e-4:
            return False
    return True
