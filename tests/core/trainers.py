"""Random models with rows, as the compiled trainer takes them and as its oracle does."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tanager import core
from tanager.model import Layout, make_layout
from tanager.structure import ParentSets
from tanager.training import Noise, TrainState, initial_state
from tests.oracles import loss_oracle, model_oracle, training_oracle

MARGIN = {"gamma": 1.7, "eta": 3.0}
LOSSES = {
    "nll": (("margin", 1.0, 0.0, 1.0, 1.0), loss_oracle.nll),
    "margin": (("margin", 0.0, 1.0, *MARGIN.values()), partial(loss_oracle.margin, **MARGIN)),
    "hybrid": (("margin", 1.0, 5.0, *MARGIN.values()), partial(loss_oracle.hybrid, lam=5.0, **MARGIN)),
    "conditional": (("conditional", 0.0, 0.0, 1.0, 1.0), loss_oracle.conditional),
}
"""Losses of the core, with the same loss in loops."""

PAIRS = [[-1], [-1, 0], [(0, 1), 1, -1], [-1, (0, 1), (1, 2), 2]], [2, 3, 2, 2]
"""Candidates and cards of a search space with pairs of parents."""

CALLBACK = ("callback", 0.0, 0.0, 1.0, 1.0)
# With the small epsilon of the default, the sign of a gradient that happens to cancel makes a whole step.
ADAM = (0.8, 0.99, 1e-3)


@dataclass
class Case:
    """A search space with parameters, normalised to single precision, and rows."""

    layout: Layout
    codes: np.ndarray  # [N, D]
    y: np.ndarray
    weight: np.ndarray | None  # float32[N]
    theta: np.ndarray  # float32: all CPTs, one after the other
    prior: np.ndarray  # float32[C]
    phi: np.ndarray

    @property
    def n_candidates(self):
        return len(self.phi)

    @property
    def n_slots(self):
        return len(self.layout.cpts.child)

    @property
    def parent(self):
        """Parent of each candidate as a column of `rows`; -1 for none."""
        parent = self.layout.cpts.parent
        return np.where(parent == len(self.layout.cpts.cards) - 1, -1, parent).tolist()

    def split(self, arena):
        """The CPTs of an arena, which may end in slack, as float64."""
        return [self.layout.cpt(arena, e).astype(np.float64) for e in range(self.n_candidates)]

    def rows(self):
        """Codes with a column more for each pair of parents; -1 where a value is unknown."""
        cards = self.layout.cards.tolist()
        known = [
            [x if 0 <= x < card else -1 for x, card in zip(row, cards, strict=True)] for row in self.codes.tolist()
        ]
        pairs = self.layout.pairs.tolist()
        wide = [[-1 if -1 in (row[a], row[b]) else row[a] * cards[b] + row[b] for a, b in pairs] for row in known]
        return np.array([row + more for row, more in zip(known, wide, strict=True)])

    def oracle(self, options):
        tables = self.layout.cpts
        return training_oracle.Training(
            tables=self.split(self.theta),
            prior=self.prior.astype(np.float64),
            phi=self.phi.copy(),
            child=tables.child.tolist(),
            ptr=tables.ptr.tolist(),
            parent=self.parent,
            parent_slot=self.layout.parent_sets.parents.tolist(),
            rows=self.rows(),
            y=self.y,
            weight=self.weight,
            options=replace(options, n_members=self.layout.n_members),
        )

    def state(self) -> TrainState:
        """A state of training with these parameters and without momentum."""
        state = initial_state(self.layout, Noise(seed=0), self.phi)
        state.theta.value[: self.layout.size] = self.theta
        state.prior.value[:] = self.prior
        return state

    def arguments(self, state, loss=CALLBACK, batch_size=None, **changes):
        """Arguments of a trainer that changes the state."""
        return {
            "theta": tuple(state.theta),
            "prior": tuple(state.prior),
            "phi": tuple(state.phi),
            "last": state.last,
            "updates": state.updates,
            "cpts": tuple(self.layout.cpts),
            "pairs": np.ascontiguousarray(self.layout.pairs, np.int64),
            "codes": self.codes,
            "y": self.y,
            "weight": self.weight,
            "batch_size": len(self.y) if batch_size is None else batch_size,
            "n_members": self.layout.n_members,
            "adam": ADAM,
            "is_dense": False,
            "loss": loss,
            "actions": {},
            "n_threads": 1,
            **changes,
        }

    def trainer(self, state, loss=CALLBACK, **changes):
        return core.Trainer(**self.arguments(state, loss, **changes))

    def actions(self, options):
        """Options of the oracle as actions of the core."""
        actions = {}
        if options.dropout:
            actions["dropout"] = options.dropout
        for name in ("shrinkage", "pull"):
            if getattr(options, name) is not None:
                goals, strength = getattr(options, name)
                offset = np.cumsum([0, *(goal.size for goal in goals)])
                actions[name] = (np.concatenate([goal.ravel() for goal in goals]), offset, strength)
        if options.smoothness is not None:
            n_ordered, strength = options.smoothness
            actions["smoothness"] = (np.array([*n_ordered, 0]), strength)
        if options.size_cost is not None:
            actions["size_cost"] = options.size_cost
        if options.samples_forests:
            parents = self.layout.parent_sets.parents
            actions["forest_parents"] = np.where(parents < 0, self.n_slots, parents).astype(np.int64)
        return actions


def make_case(candidates, cards, n_classes, seed, *, n_rows=9, n_members=1, dtype=np.int32, is_weighted=True):
    """A case of the given search space; those of several members are over all their features."""
    rng = np.random.default_rng(seed)
    layout = make_layout(ParentSets.from_lists(candidates), cards, n_classes, n_members)
    case = Case(
        layout=layout,
        codes=rng.integers(0, cards, size=(n_rows, len(cards))).astype(dtype),
        y=rng.integers(0, n_classes, size=n_rows),
        weight=rng.uniform(0.2, 2.0, size=n_rows).astype(np.float32) if is_weighted else None,
        theta=rng.normal(size=layout.size),
        prior=model_oracle.log_softmax_vector(rng.normal(size=n_classes)).astype(np.float32),
        phi=rng.normal(size=layout.parent_sets.n_candidates),
    )
    cpts = [model_oracle.log_softmax_table(cpt).ravel() for cpt in case.split(case.theta)]
    case.theta = np.concatenate(cpts).astype(np.float32)
    return case


def take_step(trainer, case, step, *, rows=None, noise=None, uniform=None, rate=0.05, tau=1.0, **more):
    """One step; on all rows and without noise unless they are given. Returns loss and error."""
    callbacks = more.pop("callbacks", {})
    return trainer.run(
        step=step,
        rows=np.arange(len(case.y)) if rows is None else rows,
        gumbel=np.zeros((1, case.n_candidates)) if noise is None else noise[None],
        uniform=None if uniform is None else uniform[None],
        rate=rate,
        tau=tau,
        phi_rate=more.pop("phi_rate", 0.01),
        callbacks=callbacks,
        **more,
    )


def assert_same_bits(state, expected):
    for name in ("theta", "prior", "phi"):
        for found, wanted in zip(getattr(state, name), getattr(expected, name), strict=True):
            assert found.tobytes() == wanted.tobytes()
    assert state.last.tolist() == expected.last.tolist()
    assert state.updates.tolist() == expected.updates.tolist()
