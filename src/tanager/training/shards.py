"""Gradients summed over rows that lie elsewhere, in shards.

All rows are cut into a fixed number of shards by their order. In each step every shard sums the gradient of its share
of the batch, and the sums are added in the order of the shards. So a step is the same, to the last bit, wherever the
shards are and however many of them are worked on at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager._types import FloatArray, IntArray
from tanager.losses import Loss
from tanager.model import Layout
from tanager.training.noise import Noise
from tanager.training.problem import Problem
from tanager.training.state import TrainState
from tanager.training.step import StepInfo, called_loss, compiled_loss

_TURN = (5**0.5 - 1) / 2  # of a shard, by which its first batch moves on from epoch to epoch: it never comes back


class Request(NamedTuple):
    """What a step asks of every shard."""

    layout: Layout
    loss: Loss
    theta: FloatArray  # float32[arena_size]
    prior: FloatArray  # float32[C]
    selected: IntArray  # int64[S]: candidate of each slot
    step: int  # from the start of training
    n_steps: int  # of an epoch


class Share(NamedTuple):
    """What the rows of a shard add to a step."""

    weight: float  # of the rows
    info: StepInfo
    cells: FloatArray  # float32: gradients of the drawn CPTs, one after the other
    weights: FloatArray  # float64[E]: gradients of the weights of the candidates
    prior: FloatArray  # float32[C]


@dataclass(frozen=True)
class ShardedProblem(Problem):
    """Rows in shards that lie elsewhere. ``codes``, ``y`` and ``weight`` are a sample of them.

    Attributes
    ----------
    sum_shards : callable
        Gives the shares of all shards, in order, for a `Request`; None for a shard without rows in that step.
    """

    sum_shards: Callable[[Request], Iterable[Share | None]] = lambda request: ()

    def windows(self, noise: Noise, epoch: int) -> Iterator[tuple[Problem, NDArray[np.int64]]]:
        """The sample, of which steps read nothing."""
        yield self, np.zeros(self.n_steps, np.int64)

    def callbacks(self, state: TrainState, layout: Layout, loss: Loss) -> dict[str, Callable[..., Any]]:
        """The function by which a compiled step asks for the sums over all shards."""

        def sums(step: int, selected: IntArray, cells: FloatArray, weights: FloatArray, prior: FloatArray) -> StepInfo:
            request = Request(layout, loss, state.theta.value, state.prior.value, selected, step, self.n_steps)
            shares = [share for share in self.sum_shards(request) if share is not None]
            total = sum(share.weight for share in shares)
            parts = [share.weight / total for share in shares]

            def mean(values: Iterable[Any]) -> Any:
                return sum(part * np.asarray(value, np.float64) for part, value in zip(parts, values, strict=True))

            cells[_drawn(layout, selected)] = mean(share.cells for share in shares)
            weights[:] = mean(share.weights for share in shares)
            prior[:] = mean(share.prior for share in shares)
            return StepInfo(*map(float, mean(share.info for share in shares)))

        return {"sums": sums}


def sum_shard(codes: IntArray, y: IntArray, weight: FloatArray | None, request: Request) -> Share | None:
    """The share of a shard's rows in a step.

    Rows must have been shuffled. An epoch goes through them in their order, and begins elsewhere each time.
    """
    rows = step_rows(len(y), request.step, request.n_steps)
    if not len(rows):
        return None
    layout, n_candidates = request.layout, request.layout.parent_sets.n_candidates
    theta, prior = np.array(request.theta, np.float32), np.array(request.prior, np.float32)
    phi, none = np.zeros(n_candidates), np.zeros(n_candidates, np.int64)
    single = None if weight is None else weight[rows].astype(np.float32)
    trainer = core.Trainer(
        theta=(theta, theta, theta),  # moments, which a sum does not read
        prior=(prior, prior, prior),
        phi=(phi, phi, phi),
        last=none,
        updates=none,
        cpts=tuple(layout.cpts),
        pairs=np.ascontiguousarray(layout.pairs, np.int64),
        codes=np.ascontiguousarray(codes[rows]),
        y=np.ascontiguousarray(y[rows], np.int64),
        weight=single,
        batch_size=len(rows),
        n_members=layout.n_members,
        adam=(0.0, 0.0, 1.0),
        is_dense=True,
        loss=compiled_loss(request.loss),
        actions={},
        n_threads=1,
    )
    cells, weights, slope = np.zeros_like(theta), np.zeros(n_candidates), np.zeros_like(prior)
    sums = {"cells": cells, "weight": weights, "prior": slope}
    drawn, called = request.selected, called_loss(request.loss)
    info = trainer.sum(rows=np.arange(len(rows)), selected=drawn, **sums, callbacks=called)
    total = float(len(rows)) if single is None else float(single.sum(dtype=np.float64))
    return Share(total, StepInfo(*info), cells[_drawn(layout, drawn)], weights, slope)


def step_rows(n_rows: int, step: int, n_steps: int) -> NDArray[np.int64]:
    """Rows of a shard in a step: those of all steps of an epoch are all rows.

    >>> [step_rows(5, step, 2).tolist() for step in (0, 1, 2, 3)]
    [[0, 1], [2, 3, 4], [3, 4], [0, 1, 2]]
    """
    epoch, number = divmod(step, n_steps)
    first, stop = n_rows * number // n_steps, n_rows * (number + 1) // n_steps
    start = int(n_rows * (epoch * _TURN % 1.0))
    return (start + np.arange(first, stop)) % max(n_rows, 1)


def _drawn(layout: Layout, selected: IntArray) -> NDArray[np.int64]:
    """Places of the cells of the drawn CPTs."""
    offset = layout.cpts.offset
    return np.concatenate([np.arange(offset[e], offset[e + 1]) for e in selected.tolist()])
