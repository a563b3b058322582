"""Epochs of training, from any state: the start, or a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tanager._threads import Crew
from tanager.losses import Loss
from tanager.model import Layout
from tanager.training.noise import GumbelStream, Noise
from tanager.training.problem import Problem
from tanager.training.regularisers import FeatureCpts, Run
from tanager.training.schedules import geometric
from tanager.training.settings import TrainingSettings
from tanager.training.state import TrainState, structure_of
from tanager.training.step import Batch, Stepper


class TrainingDivergedError(ArithmeticError):
    """The loss or its gradient is no longer a number."""


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
    on_epoch: Callable[[TrainState], object] | None = None,
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
        Called with the state after each epoch.
    """
    rates = geometric(settings.learning_rate, settings.learning_rate * settings.learning_rate_decay, settings.epochs)
    taus = geometric(*settings.tau, settings.epochs)
    gumbel = GumbelStream(noise, layout.parent_sets.n_candidates)
    run = Run(problem, layout, noise, start)
    hooks = [regulariser.prepare(run) for regulariser in settings.regularisers]
    if state.epoch == 0:
        state.path.record(0, settings.epochs, structure_of(state, layout))
    with Crew(n_threads) as crew:
        stepper = Stepper(layout, loss, settings, problem.batch_size, crew, hooks)
        while state.epoch < settings.epochs:
            rate, tau = float(rates[state.epoch]), float(taus[state.epoch])
            mean_loss, mean_error = _run_epoch(state, problem, stepper, noise, gumbel, (rate, tau))
            if not math.isfinite(mean_loss):
                raise TrainingDivergedError(
                    f"the loss is {mean_loss} in epoch {state.epoch + 1}: lower learning_rate, lam or gamma, or check "
                    "the gradient of a loss of your own"
                )
            state.epoch += 1
            structure = structure_of(state, layout)
            entropy = structure.mean_entropy()
            state.history.append(loss=mean_loss, error=mean_error, entropy=entropy, learning_rate=rate, tau=tau)
            state.path.record(state.epoch, settings.epochs, structure)
            if on_epoch is not None:
                on_epoch(state)
    return state


def _run_epoch(
    state: TrainState,
    problem: Problem,
    stepper: Stepper,
    noise: Noise,
    gumbel: GumbelStream,
    schedule: tuple[float, float],
) -> tuple[float, float]:
    """One pass over the rows with one learning rate and tau; returns the mean loss and error of its steps."""
    order = None if problem.is_full_batch else noise.permutation(state.epoch, len(problem.y))
    seen = np.zeros(2)
    for k in range(problem.n_steps):
        rows = problem.batch_rows(order, k)
        weight = None if problem.weight is None else problem.weight[rows]
        batch = Batch(problem.codes, rows, problem.y[rows], weight)
        seen += stepper.step(state, batch, gumbel.at(state.step), *schedule)
    mean_loss, mean_error = seen / problem.n_steps
    return float(mean_loss), float(mean_error)
