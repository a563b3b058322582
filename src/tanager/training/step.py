"""Steps of training: draw a structure, read its log-joint, ask the loss, and descend (section 3.2 of the paper).

The compiled core takes all steps of an epoch in one call. It calls back for a loss or a regulariser of the user's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager._types import FloatArray, IntArray
from tanager.losses import Loss
from tanager.losses.builtin import Compiled, CompiledLoss
from tanager.model import Layout
from tanager.training.problem import Problem
from tanager.training.regularisers import Hooks
from tanager.training.settings import TrainingSettings
from tanager.training.state import TrainState

_CALLBACK: Compiled = ("callback", 0.0, 0.0, 1.0, 1.0)


class StepInfo(NamedTuple):
    """Mean loss and error of the batches of some steps."""

    loss: float
    error: float


class Schedule(NamedTuple):
    """What the steps of an epoch share."""

    rate: float  # learning rate of CPTs and prior
    tau: float  # temperature of the straight-through softmax


class Stepper:
    """Takes the steps of one training run, and changes its state in place.

    Parameters
    ----------
    state : TrainState
    layout : Layout
    problem : Problem
    loss : Loss
    settings : TrainingSettings
    hooks : sequence of Hooks
        Of the regularisers, prepared for this run.
    n_threads : int
        Has no influence on the result.
    """

    def __init__(
        self,
        state: TrainState,
        layout: Layout,
        problem: Problem,
        loss: Loss,
        settings: TrainingSettings,
        hooks: Sequence[Hooks] = (),
        n_threads: int = 1,
    ) -> None:
        self._state = state
        self._phi_rate = settings.structure_learning_rate
        self._callbacks = _callbacks(state, layout, loss, hooks) | problem.callbacks(state, layout, loss)
        self._trainer = core.Trainer(
            theta=tuple(state.theta),
            prior=tuple(state.prior),
            phi=tuple(state.phi),
            last=state.last,
            updates=state.updates,
            cpts=tuple(layout.cpts),
            pairs=np.ascontiguousarray(layout.pairs, np.int64),
            codes=problem.codes,
            y=problem.y,
            weight=problem.weight,
            batch_size=problem.batch_size,
            n_members=layout.n_members,
            adam=tuple(settings.adam),
            is_dense=settings.optimiser == "dense",
            loss=compiled_loss(loss),
            actions=_actions(layout, settings, hooks),
            n_threads=n_threads,
        )

    @property
    def selected(self) -> NDArray[np.int64]:
        """Candidate of each slot in the structure that the last step drew."""
        selected: NDArray[np.int64] = self._trainer.selected
        return selected

    def run(
        self, rows: NDArray[np.int64], gumbel: FloatArray, uniform: FloatArray | None, schedule: Schedule
    ) -> StepInfo:
        """Take some steps.

        Parameters
        ----------
        rows : int64 array of shape (n_steps * B,)
            Rows of the batches, one batch after the other.
        gumbel : float64 array of shape (n_steps, E)
            Gumbel noise.
        uniform : float64 array of shape (n_steps, S) or None
            Uniform draws, which decide which parents are dropped; only needed with dropout.
        schedule : Schedule
        """
        info = self._trainer.run(
            step=self._state.step,
            rows=rows,
            gumbel=gumbel,
            uniform=uniform,
            rate=schedule.rate,
            tau=schedule.tau,
            phi_rate=self._phi_rate,
            callbacks=self._callbacks,
        )
        self._state.step += len(gumbel)
        return StepInfo(*info)


def _actions(layout: Layout, settings: TrainingSettings, hooks: Sequence[Hooks]) -> dict[str, Any]:
    """What the compiled step does for the regularisers and for the settings."""
    actions: dict[str, Any] = {}
    for hook in hooks:
        for name in actions.keys() & hook.actions.keys():
            raise ValueError(f"at most one regulariser of a run can have the action {name!r}")
        actions |= hook.actions
    pulls = [hook.pull for hook in hooks if hook.pull is not None]
    if len(pulls) > 1:
        raise ValueError("at most one regulariser of a run can pull the CPTs to a goal by a term of the loss")
    if pulls:
        actions["pull"] = tuple(pulls[0])
    if settings.samples_forests:
        parents = layout.parent_sets.parents
        actions["forest_parents"] = np.where(parents < 0, layout.parent_sets.n_features, parents).astype(np.int64)
    return actions


def _callbacks(state: TrainState, layout: Layout, loss: Loss, hooks: Sequence[Hooks]) -> dict[str, Callable[..., Any]]:
    """Functions that the compiled step calls, each taking all hooks that override it."""
    called = called_loss(loss)
    theta, phi, cpts = state.theta.value, state.phi.value, layout.cpts
    if changing := [hook for hook in hooks if _overrides(hook, "change_structure")]:

        def change_structure(step: int, selected: IntArray, soft: FloatArray) -> None:
            for hook in changing:
                hook.change_structure(step, cpts, selected, soft)

        called["change_structure"] = change_structure
    if moving := [hook for hook in hooks if _overrides(hook, "move_cpts")]:

        def move_cpts(selected: IntArray, rate: float) -> None:
            for hook in moving:
                hook.move_cpts(theta, cpts, selected, rate)

        called["move_cpts"] = move_cpts
    if adding := [hook for hook in hooks if _overrides(hook, "add_phi_gradient")]:

        def add_phi_gradient(gradient: FloatArray) -> None:
            for hook in adding:
                hook.add_phi_gradient(phi, gradient)

        called["add_phi_gradient"] = add_phi_gradient
    return called


def compiled_loss(loss: Loss) -> Compiled:
    """The loss as the core takes it; one of the user's, also one derived from a built-in one, is called back."""
    if isinstance(loss, CompiledLoss) and type(loss).__call__ is CompiledLoss.__call__:
        return loss.compiled
    return _CALLBACK


def called_loss(loss: Loss) -> dict[str, Callable[..., Any]]:
    """The function that the core calls back for a loss of the user's."""
    return {"loss": _checked(loss)} if compiled_loss(loss) is _CALLBACK else {}


def _overrides(hook: Hooks, method: str) -> bool:
    return getattr(type(hook), method) is not getattr(Hooks, method)


def _checked(loss: Loss) -> Callable[..., tuple[float, FloatArray]]:
    """A loss of the user's, with its gradient as the core reads it."""

    def evaluate(log_joint: FloatArray, y: IntArray, weight: FloatArray | None) -> tuple[float, FloatArray]:
        found = loss(log_joint, y, weight)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise TypeError(
                "the loss must return two things, its mean over the batch and its gradient with respect to log_joint, "
                f"got {type(found).__name__}"
            )
        value, grad = found
        if np.shape(grad) != log_joint.shape:
            raise ValueError(
                f"the gradient of the loss must have the shape {log_joint.shape} of log_joint, got {np.shape(grad)}"
            )
        gradient = np.ascontiguousarray(grad, np.float32)
        # A gradient that is not finite must not go unseen where the loss itself is.
        return (float(value) if np.isfinite(gradient).all() else math.nan), gradient

    return evaluate
