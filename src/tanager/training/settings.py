"""Settings of one run of gradient training, with every value resolved, and its schedules.

The public options are those of `tanager.learning.GradientDescent`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tanager._types import Adam, FloatArray
from tanager.training.regularisers import Regulariser, Ridge

_REFIT_RATE = 0.3  # learning rate of a refit, as a share of that of the search
_START_RATE = 0.1  # largest learning rate of naive Bayes, for which the higher rates of many joint trees are too high


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of one training run; `tanager.learning.GradientDescent` documents and checks them.

    Attributes
    ----------
    epochs, batch_size : int
        An incomplete last batch is dropped, as published.
    learning_rate, learning_rate_decay, structure_learning_rate : float
    tau : (float, float)
    optimiser : {"dense", "selected"}
    regularisers : tuple of Regulariser
    samples_forests : bool
        Whether the structure of a step is the best forest of the perturbed scores. Otherwise every feature takes its
        own best candidate, which without an order may make cycles.
    adam : Adam
    """

    epochs: int = 60
    batch_size: int = 100
    learning_rate: float = 0.1
    learning_rate_decay: float = 1e-3
    structure_learning_rate: float = 0.01
    tau: tuple[float, float] = (10.0, 0.1)
    optimiser: Literal["dense", "selected"] = "selected"
    regularisers: tuple[Regulariser, ...] = ()
    samples_forests: bool = False
    adam: Adam = field(default_factory=Adam)

    def for_refit(self) -> TrainingSettings:
        """Settings of the shorter run that trains the structure found by itself."""
        epochs, rate = max(1, self.epochs // 2), self.learning_rate * _REFIT_RATE
        return replace(self, epochs=epochs, learning_rate=rate, samples_forests=False)

    def for_more_rows(self) -> TrainingSettings:
        """Settings of one pass over rows that come after training, at the learning rate of a refit."""
        return replace(self, epochs=1, learning_rate=self.learning_rate * _REFIT_RATE, samples_forests=False)

    def for_naive_bayes(self, ridge: float) -> TrainingSettings:
        """Settings of the run that trains the naive Bayes classifier to start from, with a ridge of its own."""
        kept = tuple(each for each in self.regularisers if not (each.needs_parents or each.pulls_to_start))
        regularisers = (*kept, Ridge(ridge)) if ridge > 0 else kept
        rate = min(self.learning_rate, _START_RATE)
        return replace(self, regularisers=regularisers, learning_rate=rate, samples_forests=False)


def geometric(first: float, last: float, n_epochs: int) -> FloatArray:
    """Values falling (or rising) by a constant factor, both ends included; one epoch has the first value.

    >>> geometric(10.0, 0.1, 3)
    array([10. ,  1. ,  0.1])
    """
    if n_epochs == 1:
        return np.array([first])
    return np.geomspace(first, last, n_epochs)
