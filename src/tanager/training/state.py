"""Everything that changes during training. A copy of it at the end of an epoch is a checkpoint."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager._types import FloatArray, IntArray, Moments
from tanager.model import Layout, ParentDistribution, recode
from tanager.training.history import History, ParentPath
from tanager.training.noise import Noise
from tanager.training.regularisers import FeatureCpts

_SPREAD = 0.1  # parameters start uniform over [-0.1, 0.1] (section 4.2)


@dataclass
class TrainState:
    """Parameters with their moments, and the progress of training. Steps change the arrays in place.

    Attributes
    ----------
    theta : Moments of float32[arena_size]
        CPTs, normalised over the child's values.
    prior : Moments of float32[C]
        Class prior, normalised.
    phi : Moments of float64[E]
    last, updates : int64[E]
        For each candidate's CPT, the last step that gave it a gradient, and the number of such steps.
    step, epoch : int
        Steps and epochs done.
    history : History
    path : ParentPath
    """

    theta: Moments
    prior: Moments
    phi: Moments
    last: NDArray[np.int64]
    updates: NDArray[np.int64]
    step: int
    epoch: int
    history: History
    path: ParentPath = field(default_factory=ParentPath)

    def copy(self) -> TrainState:
        """Return a checkpoint that training from here on does not change."""
        return copy.deepcopy(self)


class Start(NamedTuple):
    """Where training starts, if not at random."""

    cpts: FeatureCpts
    prior: FloatArray  # float32[C]


def initial_state(
    layout: Layout, noise: Noise, phi: FloatArray | None = None, start: Start | None = None
) -> TrainState:
    """Random CPTs and prior, and the uniform distribution over candidates (phi = 0), unless others are given."""
    draws = noise.initial(layout.size + layout.n_classes, _SPREAD)
    prior = draws[layout.size :].copy()
    theta = np.zeros(layout.arena_size, np.float32)
    theta[: layout.size] = draws[: layout.size]
    if start is not None:
        prior = start.prior.copy()
        _copy_to_candidates(start.cpts, layout, theta)
    core.normalise_cpts(theta, layout.cpts, layout.n_classes)
    prior -= np.log(np.exp(prior).sum())
    n_candidates = layout.parent_sets.n_candidates
    return TrainState(
        theta=_at_rest(theta),
        prior=_at_rest(prior),
        phi=_at_rest(np.zeros(n_candidates) if phi is None else phi.astype(np.float64)),
        last=np.zeros(n_candidates, np.int64),
        updates=np.zeros(n_candidates, np.int64),
        step=0,
        epoch=0,
        history=History(),
    )


def _copy_to_candidates(cpts: FeatureCpts, layout: Layout, theta: FloatArray) -> None:
    """Write each feature's CPT to all its candidates', for every value of the parents."""
    child, ptr, offset = layout.cpts.child, layout.cpts.ptr, layout.cpts.offset
    for slot, i in enumerate(child.tolist()):
        cpt = cpts.value[cpts.offset[i] : cpts.offset[i + 1]]
        room = theta[offset[ptr[slot]] : offset[ptr[slot + 1]]]
        room.reshape(-1, len(cpt))[:] = cpt


def keep_structure(state: TrainState, chosen: NDArray[np.int64]) -> None:
    """Keep only the chosen candidates, and restart the count of epochs."""
    state.phi.value[:] = -np.inf
    state.phi.value[chosen] = 0.0
    state.phi.mean[:] = 0.0
    state.phi.square[:] = 0.0
    state.epoch = 0
    state.path.is_closed = True


def recode_state(state: TrainState, layout: Layout, wider: Layout, maps: Sequence[IntArray]) -> TrainState:
    """The state for CPTs in which values have other codes and there may be more of them.

    A new value starts as rare as the rarest one in its CPT; where it is the parent's, with the mean over the others.
    """
    theta, mean, square = (np.zeros(wider.arena_size, np.float32) for _ in range(3))
    children = np.repeat(layout.cpts.child, np.diff(layout.cpts.ptr)).tolist()
    for e, child in enumerate(children):
        old, new = layout.cpt(state.theta.value, e), wider.cpt(theta, e)
        new[...] = old.min()
        new[:, maps[child]] = old.mean(axis=0)
    for old, new in zip(state.theta, (theta, mean, square), strict=True):
        recode(layout, old, wider, new, maps)
    core.normalise_cpts(theta, wider.cpts, wider.n_classes)
    return replace(state.copy(), theta=Moments(theta, mean, square))


def structure_of(state: TrainState, layout: Layout) -> ParentDistribution:
    """A copy of the current distribution over structures, which later steps do not change."""
    return ParentDistribution(layout.parent_sets, state.phi.value.copy())


def _at_rest(value: np.ndarray) -> Moments:
    return Moments(value, np.zeros_like(value), np.zeros_like(value))
