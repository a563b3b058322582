"""Epochs of training, from any state: the start, or a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tanager.losses import Loss
from tanager.model import Layout
from tanager.training.noise import DropoutStream, GumbelStream, Noise
from tanager.training.problem import Problem
from tanager.training.regularisers import FeatureCpts, Run
from tanager.training.settings import TrainingSettings, geometric
from tanager.training.state import TrainState, structure_of
from tanager.training.step import Schedule, StepInfo, Stepper

_MOST_DRAWS = 4_000_000  # Gumbel noise that is held at a time, 32 MB


class TrainingDivergedError(ArithmeticError):
    """The loss or its gradient became infinite or NaN."""


def train(
    state: TrainState,
    layout: Layout,
    problem: Problem,
    loss: Loss,
    settings: TrainingSettings,
    noise: Noise,
    *,
    n_threads: int = 1,
    start: FeatureCpts | None = None,
    on_epoch: Callable[[TrainState], bool | None] | None = None,
) -> TrainState:
    """Run the remaining epochs of ``state``.

    Parameters
    ----------
    state : TrainState
        Changed in place, and returned.
    layout : Layout
        Must include the CPTs that regularisers add (see `Regulariser.extend`).
    problem : Problem
    loss : Loss
    settings : TrainingSettings
    noise : Noise
        With the same noise, a run resumed from a copy of its state ends as if it had never stopped.
    n_threads : int
        Has no influence on the result.
    start : FeatureCpts, optional
        Where the CPTs started, if not at random; regularisers may pull towards it.
    on_epoch : callable, optional
        Called with the state after each epoch; True ends training.
    """
    rates = geometric(settings.learning_rate, settings.learning_rate * settings.learning_rate_decay, settings.epochs)
    taus = geometric(*settings.tau, settings.epochs)
    gumbel = GumbelStream(noise, layout.parent_sets.n_candidates)
    run = Run(problem, layout, noise, start)
    hooks = [regulariser.prepare(run) for regulariser in settings.regularisers]
    has_dropout = any("dropout" in hook.actions for hook in hooks)
    uniform = DropoutStream(noise, layout.parent_sets.n_features) if has_dropout else None
    if state.epoch == 0:
        state.path.record(0, settings.epochs, structure_of(state, layout))
    stepper: Stepper | None = None
    while state.epoch < settings.epochs:
        schedule = Schedule(float(rates[state.epoch]), float(taus[state.epoch]))
        infos = []
        for window, rows in problem.windows(noise, state.epoch):
            if stepper is None or window is not problem:
                stepper = Stepper(state, layout, window, loss, settings, hooks, n_threads)
            batches = rows.reshape(-1, window.batch_size)
            infos.append((len(batches), _run_epoch(state, stepper, batches, gumbel, uniform, schedule)))
        info = _mean_info(infos)
        if not math.isfinite(info.loss):
            raise TrainingDivergedError(
                f"the loss is {info.loss} in epoch {state.epoch + 1}: lower learning_rate, lam or gamma, or check "
                "the gradient of a loss of your own"
            )
        state.epoch += 1
        structure = structure_of(state, layout)
        rate, tau = schedule
        entropy = structure.mean_entropy()
        state.history.append(loss=info.loss, error=info.error, entropy=entropy, learning_rate=rate, tau=tau)
        state.path.record(state.epoch, settings.epochs, structure)
        if on_epoch is not None and on_epoch(state):
            break
    return state


def _mean_info(infos: list[tuple[int, StepInfo]]) -> StepInfo:
    """Mean over the steps of several windows."""
    n_steps = sum(number for number, _ in infos)
    return StepInfo(
        sum(number / n_steps * info.loss for number, info in infos),
        sum(number / n_steps * info.error for number, info in infos),
    )


def _run_epoch(
    state: TrainState,
    stepper: Stepper,
    batches: NDArray[np.int64],
    gumbel: GumbelStream,
    uniform: DropoutStream | None,
    schedule: Schedule,
) -> StepInfo:
    """Take the steps of an epoch, as many at a time as their noise leaves room for; batches [n_steps, B] are rows."""
    n_steps, n_at_once = len(batches), max(1, _MOST_DRAWS // len(state.phi.value))
    loss = error = 0.0
    for first in range(0, n_steps, n_at_once):
        rows = batches[first : first + n_at_once]
        draws = None if uniform is None else uniform.steps(state.step, len(rows))
        info = stepper.run(rows.reshape(-1), gumbel.steps(state.step, len(rows)), draws, schedule)
        share = len(rows) / n_steps
        loss, error = loss + share * info.loss, error + share * info.error
    return StepInfo(loss, error)
