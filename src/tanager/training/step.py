"""One step of training: draw a structure, read its log-joint, ask the loss, and descend (section 3.2 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import Descent, FloatArray, IntArray, Pull, Tables
from tanager.kernels.arborescence import sample_forest
from tanager.kernels.batch import gather_batch
from tanager.kernels.lanes import aligned_zeros, padded
from tanager.kernels.log_joint import batch_log_joint
from tanager.kernels.loss_terms import error_share
from tanager.kernels.pairs import fill_pair_lines
from tanager.kernels.parents import descend_phi, phi_gradient, sample_parents
from tanager.kernels.update import rest_after, update_prior, update_tables
from tanager.losses import Loss
from tanager.model import Layout
from tanager.training.regularisers import Hooks
from tanager.training.settings import TrainingSettings
from tanager.training.state import TrainState


class Batch(NamedTuple):
    """Rows of a step."""

    codes: IntArray  # all rows, int[N, D]
    rows: NDArray[np.int64]  # which of them, int64[B]
    y: IntArray  # int64[B]
    weight: FloatArray | None  # float32[B]


class StepInfo(NamedTuple):
    """Loss and error of a step."""

    loss: float
    error: float


class Stepper:
    """Takes the steps of one training run; owns scratch arrays and each thread's share, but no state."""

    def __init__(
        self,
        layout: Layout,
        loss: Loss,
        settings: TrainingSettings,
        batch_size: int,
        crew: Crew | None = None,
        hooks: Sequence[Hooks] = (),
    ) -> None:
        self._layout = layout
        self._loss = loss
        self._settings = settings
        self._crew = crew or Crew()
        n_slots, n_candidates = layout.parent_sets.n_features, layout.parent_sets.n_candidates
        self._n_members = np.float32(layout.n_members)
        parents = layout.parent_sets.parents
        self._parent_slot = np.where(parents < 0, n_slots, parents).astype(np.int64)
        self._hooks = hooks
        self._pull = _only_pull(hooks)
        # Kernels work on whole lanes of classes and on rows by fours; the padding stays zero.
        n_rows, width = padded(batch_size, multiple=4), padded(layout.n_classes)
        self._batch = np.zeros((len(layout.tables.cards), n_rows), np.int32)
        self._pairs = layout.pairs
        self._padded_log_joint = aligned_zeros((n_rows, width), np.float32)
        self._padded_grad = aligned_zeros((n_rows, width), np.float32)
        self._shape = (batch_size, layout.n_classes)
        self._equal_weight = np.ones(batch_size, np.float32)
        self._selected = np.empty(n_slots, np.int64)
        self._soft = np.empty(n_candidates)
        self._weight_gradient = np.zeros(n_candidates)
        self._phi_gradient = np.empty(n_candidates)
        self._slot_ranges = self._crew.split_by_cost(_slot_costs(layout.tables, n_rows * width, settings.optimiser))
        self._row_ranges = self._crew.split(batch_size)

    def step(
        self,
        state: TrainState,
        batch: Batch,
        noise: FloatArray,
        rate: float,
        tau: float,
    ) -> StepInfo:
        """Change ``state`` by one step.

        Parameters
        ----------
        state : TrainState
        batch : Batch
        noise : float64 array of shape (E,)
            Gumbel noise.
        rate : float
            Learning rate of the CPTs.
        tau : float
            Temperature of the straight-through softmax.
        """
        grad, info = self.loss_gradient(state, batch, noise, tau)
        self._descend(state, grad, rate, tau)
        return info

    def loss_gradient(
        self, state: TrainState, batch: Batch, noise: FloatArray, tau: float
    ) -> tuple[FloatArray, StepInfo]:
        """Draw the structure and return the gradient of the loss with respect to the log-joint, float32[B, C]."""
        tables = self._layout.tables
        if self._settings.samples_forests:
            sample_forest(state.phi.value, noise, tables.ptr, self._parent_slot, tau, self._selected, self._soft)
        else:
            sample_parents(state.phi.value, noise, tables.ptr, tau, self._selected, self._soft)
        for hook in self._hooks:
            hook.change_structure(state.step, tables, self._selected, self._soft)
        # Each member has the prior, and the sum over all members is divided by their number below.
        prior = state.prior.value * self._n_members
        arguments = (state.theta.value, prior, tables, self._selected, self._batch, self._padded_log_joint)

        def read(lo: int, hi: int) -> None:
            gather_batch(lo, hi, batch.codes, batch.rows, self._batch)
            if len(self._pairs):
                fill_pair_lines(self._pairs, tables.cards, self._batch[:, lo:hi])
            batch_log_joint(lo, hi, *arguments)

        self._crew.run(read, self._row_ranges)
        n_rows, n_classes = self._shape
        log_joint = self._padded_log_joint[:n_rows, :n_classes] / self._n_members
        value, grad = self._loss(log_joint, batch.y, batch.weight)
        if np.shape(grad) != self._shape:
            raise ValueError(
                f"the gradient of the loss must have the shape {self._shape} of log_joint, got {np.shape(grad)}"
            )
        if not np.isfinite(grad).all():
            value = math.nan  # kernels treat tiny gradients, and NaN with them, as zero, which would hide it
        weight = self._equal_weight if batch.weight is None else batch.weight
        return grad, StepInfo(float(value), error_share(log_joint, batch.y, weight))

    def _descend(self, state: TrainState, grad: FloatArray, rate: float, tau: float) -> None:
        """Pass the gradient on to CPTs, prior and phi, and take a step of Adam on each."""
        tables, settings = self._layout.tables, self._settings
        n_rows, n_classes = self._shape
        np.divide(grad, self._n_members, out=self._padded_grad[:n_rows, :n_classes], casting="same_kind")
        state.step += 1
        for hook in self._hooks:
            hook.move_cpts(state.theta.value, tables, self._selected, rate, self._run_over_slots)
        is_dense = settings.optimiser == "dense"
        descent = Descent(
            state.step, state.last, state.updates, rate, settings.adam, is_dense, rest_after(settings.adam.beta1)
        )
        draw = (state.theta, tables, self._selected, self._batch, self._padded_grad, n_classes)
        self._crew.run(update_tables, self._slot_ranges, *draw, descent, self._weight_gradient, self._pull)
        update_prior(state.prior, self._padded_grad, state.step, rate, settings.adam)
        if not self._layout.parent_sets.is_fixed:
            phi_gradient(self._weight_gradient, self._soft, tables.ptr, tau, self._phi_gradient)
            for hook in self._hooks:
                hook.add_phi_gradient(state.phi.value, self._phi_gradient)
            descend_phi(state.phi, self._phi_gradient, state.step, settings.structure_learning_rate, settings.adam)

    def _run_over_slots(self, kernel: Callable[..., None], *arguments: Any) -> None:
        self._crew.run(kernel, self._slot_ranges, *arguments)


def _only_pull(hooks: Sequence[Hooks]) -> Pull:
    """The quadratic term of the loss that a regulariser adds, or one of weight zero."""
    pulls = [hook.pull for hook in hooks if hook.pull is not None]
    if len(pulls) > 1:
        raise ValueError("at most one regulariser of a run can pull the CPTs to a goal by a term of the loss")
    return pulls[0] if pulls else Pull(np.zeros(0, np.float32), np.zeros(1, np.int64), 0.0)


def _slot_costs(tables: Tables, batch_entries: int, optimiser: str) -> FloatArray:
    """What a step on each slot's CPTs costs, up to a factor.

    All candidates are read with all rows, and all CPTs come from memory; then one CPT of the slot is updated, or all of
    them with dense Adam. The weights are measured, in nanoseconds.
    """
    cells = np.diff(tables.offset)
    n_candidates = np.diff(tables.ptr)
    of_slot = np.add.reduceat(cells, tables.ptr[:-1])
    moved = of_slot if optimiser == "dense" else of_slot / n_candidates
    return 0.07 * batch_entries * n_candidates + 0.15 * of_slot + 1.5 * moved
