"""How gradient training runs, as one frozen value. Its defaults are those of a structure that is given."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Literal

from tanager._types import Adam

LARGEST_SHRINKAGE = 1.0  # of shrinkage times learning rate: above it tables swing
LARGEST_EXCHANGE = 0.2  # of smoothness times learning rate: above it diffusion swings

_REFIT_RATE = 0.3  # learning rate of a refit, as a share of that of the search
_BASE_RATE = 0.1  # largest learning rate of naive Bayes: the higher ones of many trees together are too high for it


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of gradient training.

    Attributes
    ----------
    epochs : int
        Passes over the rows.
    batch_size : int
        Rows of a step. An incomplete last batch is dropped, as published.
    learning_rate : float
        Of the tables and the class prior, in the first epoch.
    learning_rate_decay : float
        The learning rate of the last epoch is this times that of the first; in between it falls geometrically.
    structure_learning_rate : float
        Of phi, constant.
    tau : (float, float)
        Temperature of the straight-through softmax in the first and the last epoch, geometric in between.
    optimiser : {"dense", "selected"}
        Whether Adam moves all tables in each step, as published, or only the selected ones and their moments.
    parent_dropout : float
        Probability with which a feature goes without its extra parent for one step. It makes up for tables that are
        large for the number of rows.
    shrinkage : float
        Pull of a table with a parent towards the relative frequencies without one: each step takes the selected tables
        ``shrinkage`` times the learning rate of the way.
    smoothness : float
        Pull of neighbouring lines of a table to each other, where values have an order: in each step they exchange
        ``smoothness`` times the learning rate of their difference.
    ridge : float
        How far tables may go from where ``base_ridge`` has them start, or from making no difference between the
        classes: a pull, as part of the loss, that counts as much as so many rows. It differs from ``shrinkage`` in that
        cells with many rows give way less.
    base_ridge : float or None
        None: tables start at random, as published. Else naive Bayes is trained first, with this ridge, and tables start
        there.
    size_penalty : float
        Weight, in the loss, of the expected number of table entries as a share of the largest possible one.
    is_forest : bool
        Whether the structure of a step is the best forest of the perturbed scores. Else every feature takes its own
        best candidate, which without an order may make cycles.
    adam : Adam
    """

    epochs: int = 60
    batch_size: int = 100
    learning_rate: float = 0.1
    learning_rate_decay: float = 1e-3
    structure_learning_rate: float = 0.01
    tau: tuple[float, float] = (10.0, 0.1)
    optimiser: Literal["dense", "selected"] = "selected"
    parent_dropout: float = 0.0
    shrinkage: float = 0.0
    smoothness: float = 0.0
    ridge: float = 0.0
    base_ridge: float | None = None
    size_penalty: float = 0.0
    is_forest: bool = False
    adam: Adam = field(default_factory=Adam)

    def for_refit(self) -> TrainingSettings:
        """Settings of the shorter run that trains a structure found alone."""
        epochs, rate = max(1, self.epochs // 2), self.learning_rate * _REFIT_RATE
        return replace(self, epochs=epochs, learning_rate=rate, is_forest=False)

    def for_base(self) -> TrainingSettings:
        """Settings of the run that trains the naive Bayes classifier from which tables start."""
        ridge = 0.0 if self.base_ridge is None else self.base_ridge
        plain: dict[str, Any] = {"parent_dropout": 0.0, "shrinkage": 0.0, "size_penalty": 0.0, "is_forest": False}
        return replace(self, ridge=ridge, base_ridge=None, learning_rate=min(self.learning_rate, _BASE_RATE), **plain)

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            count = getattr(self, name)
            if not isinstance(count, Integral) or count < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {count!r}")
        rates = {name: getattr(self, name) for name in ("learning_rate", "learning_rate_decay")}
        rates |= {"structure_learning_rate": self.structure_learning_rate, "tau[0]": self.tau[0], "tau[1]": self.tau[1]}
        for name, value in rates.items():
            if not math.isfinite(value) or value <= 0:
                raise ValueError(f"{name} must be a finite number above 0, got {value!r}")
        if not 0.0 <= self.parent_dropout < 1.0:
            raise ValueError(f"parent_dropout must be at least 0 and below 1, got {self.parent_dropout!r}")
        pulls = {name: getattr(self, name) for name in ("shrinkage", "smoothness", "ridge", "size_penalty")}
        for name, value in (pulls | {"base_ridge": self.base_ridge or 0.0}).items():
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
        if self.smoothness * self.learning_rate > LARGEST_EXCHANGE:
            raise ValueError(
                f"smoothness times learning_rate must be at most {LARGEST_EXCHANGE}, got "
                f"smoothness={self.smoothness!r} and learning_rate={self.learning_rate!r}"
            )
        if self.shrinkage * self.learning_rate > LARGEST_SHRINKAGE:
            raise ValueError(
                f"shrinkage times learning_rate must be at most {LARGEST_SHRINKAGE:g}, got "
                f"shrinkage={self.shrinkage!r} and learning_rate={self.learning_rate!r}"
            )
        if self.optimiser not in ("dense", "selected"):
            raise ValueError(f"optimiser must be 'dense' or 'selected', got {self.optimiser!r}")
