"""What watches over learning: a limit of time, a function of the user's, and rows that tell when to stop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.losses import Loss
from tanager.model import Network
from tanager.training import TrainState
from tanager.training.progress import ProgressBar

SEARCH, REFIT = "search", "refit"
"""Stages of training: the second is that of the forest that a search without an ordering ends with."""


class Epoch(NamedTuple):
    """What a call-back is told after each epoch of gradient descent."""

    epoch: int  # counted from 1
    n_epochs: int
    stage: str  # "search" or "refit"
    loss: float  # mean of the batches
    error: float  # share of rows that were misclassified in them
    validation_loss: float | None  # of the validation rows, if there are some
    seconds: float  # since the fit began


Callback = Callable[[Epoch], object]
"""Called after each epoch; True ends training with what there is."""


@dataclass(frozen=True)
class Limits:
    """A limit of time and a call-back; by default there is neither.

    Attributes
    ----------
    start, end : float
        By `time.monotonic`.
    callback : callable, optional
    notes : list of str
        What was cut short. Limits of parts of the work share the list.
    """

    start: float = 0.0
    end: float = float("inf")
    callback: Callback | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, time_limit: float | None, callback: Callback | None) -> Limits:
        """Limits of a fit that begins now."""
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function that takes an Epoch, got {callback!r}")
        now = time.monotonic()
        return cls(now, float("inf") if time_limit is None else now + float(time_limit), callback)

    def for_trials(self) -> Limits:
        """Limits of what comes before the last fit: half of the time, and no call-back."""
        return Limits(self.start, self.start + (self.end - self.start) / 2, None, self.notes)

    def is_over(self, what: str) -> bool:
        """Whether the time is over; if so, a note says what was cut short."""
        if time.monotonic() < self.end:
            return False
        self.note(f"time limit: {what}")
        return True

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes:
            self.notes.append(text)


class Validation(NamedTuple):
    """Rows that training does not learn from, how to judge them, and how long to wait for something better."""

    codes: IntArray
    y: IntArray
    weight: FloatArray
    loss: Loss
    patience: int | None  # epochs

    def judge(self, networks: Sequence[Network]) -> float:
        """The loss of the rows with the mean log-joint of networks."""
        log_joint = np.mean([network.log_joint(self.codes) for network in networks], axis=0).astype(np.float32)
        weight = self.weight.astype(np.float32) if getattr(self.loss, "takes_weights", True) else None
        return float(self.loss(log_joint, self.y, weight)[0])


class Monitor:
    """Called after each epoch of one run of training; returns whether it is to end.

    Parameters
    ----------
    limits : Limits
    stage : str
    n_epochs : int
    networks_of : callable
        Gives the networks that would be kept, from a state.
    validation : Validation, optional
    bar : ProgressBar, optional
    """

    def __init__(
        self,
        limits: Limits,
        stage: str,
        n_epochs: int,
        networks_of: Callable[[TrainState], list[Network]],
        validation: Validation | None,
        bar: ProgressBar | None,
    ) -> None:
        self._limits, self._stage, self._n_epochs, self._bar = limits, stage, n_epochs, bar
        self._networks_of, self._validation = networks_of, validation
        self._least, self._best_epoch = float("inf"), 0
        self._best: list[Any] = []

    def __call__(self, state: TrainState) -> bool:
        if self._bar is not None:
            self._bar(state)
        is_told = self._is_told(state, self._judge(state))
        if state.epoch == self._n_epochs:
            return True
        if is_told:
            self._limits.note(f"call-back: {self._stage} ended after {state.epoch} of {self._n_epochs} epochs")
        ends = (
            is_told or self._is_stale(state) or self._limits.is_over(f"{self._stage} by gradient descent ended early")
        )
        if ends and self._bar is not None:
            sys.stderr.write("\n")
        return ends

    def restore(self, state: TrainState) -> None:
        """Put back the parameters of the epoch with the least loss of the validation rows, if that is to be done."""
        for moments, value in zip((state.theta, state.prior, state.phi), self._best, strict=False):
            moments.value[...] = value

    def _judge(self, state: TrainState) -> float | None:
        if self._validation is None:
            return None
        value = self._validation.judge(self._networks_of(state))
        state.history.validation_loss.append(value)
        if value < self._least:
            self._least, self._best_epoch = value, state.epoch
            if self._validation.patience is not None:
                self._best = [moments.value.copy() for moments in (state.theta, state.prior, state.phi)]
        return value

    def _is_told(self, state: TrainState, value: float | None) -> bool:
        callback, history = self._limits.callback, state.history
        if callback is None:
            return False
        seconds = time.monotonic() - self._limits.start
        told = Epoch(state.epoch, self._n_epochs, self._stage, history.loss[-1], history.error[-1], value, seconds)
        return callback(told) is True

    def _is_stale(self, state: TrainState) -> bool:
        patience = None if self._validation is None else self._validation.patience
        return patience is not None and state.epoch - self._best_epoch >= patience
