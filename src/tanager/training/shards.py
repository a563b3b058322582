"""Gradients summed over rows that lie elsewhere, in shards.

All rows are cut into a fixed number of shards by their order. In each step every shard sums the gradient of its share
of the batch, and the sums of neighbours are added in pairs. So a step is the same, to the last bit, wherever the
shards are and however many of them are worked on at a time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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


class Steps(NamedTuple):
    """What all steps of a run ask of every shard."""

    layout: Layout
    loss: Loss
    n_steps: int  # of an epoch


class Request(NamedTuple):
    """What one step asks of every shard."""

    theta: FloatArray  # float32[arena_size]
    prior: FloatArray  # float32[C]
    selected: IntArray  # int64[S]: candidate of each slot
    step: int  # from the start of training


class Share(NamedTuple):
    """Sums over the rows of some shards in a step, each row times its weight."""

    weight: float
    info: FloatArray  # float64: the numbers of a StepInfo
    cells: FloatArray  # float64: gradients of the drawn CPTs, one after the other
    weights: FloatArray  # float64[E]: gradients of the weights of the candidates
    prior: FloatArray  # float64[C]


@dataclass(frozen=True)
class ShardedProblem(Problem):
    """Rows in shards that lie elsewhere. ``codes``, ``y`` and ``weight`` are a sample of them.

    Attributes
    ----------
    sum_shards : callable
        Gives the share of all shards in a step, for `Steps` and a `Request`.
    """

    sum_shards: Callable[[Steps, Request], Share] = field(kw_only=True)

    def windows(self, noise: Noise, epoch: int) -> Iterator[tuple[Problem, NDArray[np.int64]]]:
        """The sample, of which steps read nothing."""
        yield self, np.zeros(self.n_steps, np.int64)

    def callbacks(self, state: TrainState, layout: Layout, loss: Loss) -> dict[str, Callable[..., Any]]:
        """The function by which a compiled step asks for the sums over all shards."""
        steps = Steps(layout, loss, self.n_steps)

        def sums(step: int, selected: IntArray, cells: FloatArray, weights: FloatArray, prior: FloatArray) -> StepInfo:
            share = self.sum_shards(steps, Request(state.theta.value, state.prior.value, selected, step))
            cells[_drawn(layout, selected)] = share.cells / share.weight
            weights[:] = share.weights / share.weight
            prior[:] = share.prior / share.weight
            return StepInfo(*(share.info / share.weight).tolist())

        return {"sums": sums}


class _Batch(NamedTuple):
    """Rows of a shard in a step, and what sums over them."""

    codes: IntArray
    y: IntArray
    weight: FloatArray | None
    trainer: Any


class ShardSums:
    """Sums over the rows of shards in steps, of one shard after the other in the same memory.

    Parameters
    ----------
    steps : Steps
    """

    def __init__(self, steps: Steps) -> None:
        self._steps, n_classes = steps, steps.layout.n_classes
        self._theta, self._prior = np.zeros(steps.layout.arena_size, np.float32), np.zeros(n_classes, np.float32)
        self._cells = np.empty_like(self._theta)
        self._request: Request | None = None
        self._batches: dict[int, _Batch] = {}

    def __call__(self, request: Request, codes: IntArray, y: IntArray, weight: FloatArray | None) -> Share | None:
        """The share of a shard; None if it has no rows in the step.

        Rows must have been shuffled. An epoch goes through them in their order, and begins elsewhere each time.
        """
        if request is not self._request:
            self._request, self._drawn = request, _drawn(self._steps.layout, request.selected)
            self._theta[:], self._prior[:] = request.theta, request.prior
        rows = step_rows(len(y), request.step, self._steps.n_steps)
        if not len(rows):
            return None
        batch = self._batch(len(rows), codes.dtype, weight is not None)
        np.take(codes, rows, axis=0, out=batch.codes)
        batch.y[:] = y[rows]
        total = float(len(rows))
        if weight is not None and batch.weight is not None:  # both, or none
            batch.weight[:] = weight[rows]
            total = float(batch.weight.sum(dtype=np.float64))
        weights, slope = np.zeros(self._steps.layout.parent_sets.n_candidates), np.zeros_like(self._prior)
        sums = {"cells": self._cells, "weight": weights, "prior": slope}
        called = called_loss(self._steps.loss)
        info = batch.trainer.sum(rows=np.arange(len(rows)), selected=request.selected, **sums, callbacks=called)
        means = (np.array(info), self._cells[self._drawn], weights, slope)
        return Share(total, *(total * mean.astype(np.float64) for mean in means))

    def _batch(self, n_rows: int, dtype: Any, is_weighted: bool) -> _Batch:
        """Memory for so many rows."""
        if n_rows not in self._batches:
            layout, theta, prior = self._steps.layout, self._theta, self._prior
            phi, none = np.zeros(layout.parent_sets.n_candidates), np.zeros(layout.parent_sets.n_candidates, np.int64)
            codes, y = np.zeros((n_rows, len(layout.cards)), dtype), np.zeros(n_rows, np.int64)
            weight = np.ones(n_rows, np.float32) if is_weighted else None
            trainer = core.Trainer(
                theta=(theta, theta, theta),  # moments, which a sum does not read
                prior=(prior, prior, prior),
                phi=(phi, phi, phi),
                last=none,
                updates=none,
                cpts=tuple(layout.cpts),
                pairs=np.ascontiguousarray(layout.pairs, np.int64),
                codes=codes,
                y=y,
                weight=weight,
                batch_size=n_rows,
                n_members=layout.n_members,
                adam=(0.0, 0.0, 1.0),
                is_dense=True,
                loss=compiled_loss(self._steps.loss),
                actions={},
                n_threads=1,
            )
            self._batches[n_rows] = _Batch(codes, y, weight, trainer)
        return self._batches[n_rows]


def merge_shares(one: Share | None, other: Share | None) -> Share | None:
    """The share of the shards of both; None is that of shards without rows in the step."""
    if one is None or other is None:
        return other if one is None else one
    sums: Iterator[Any] = map(operator.add, one, other)
    return Share(*sums)


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
