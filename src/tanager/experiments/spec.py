"""A run as a frozen value, whose identity is the hash of what it holds.

The same run has the same identity in every process and on every machine, so results can be stored by it, runs that are
already stored can be left out, and two computers never do the same work.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Self

from tanager.datasets import find_entry
from tanager.experiments.methods import Method, applies, find_method

RECIPE = 1
"""Number of the way in which a spec is turned into a result; raised when the same spec would give another result."""

PAPER_EPOCHS = 500
PAPER_STRUCTURE_RATE = 1e-3

_MARGIN = ("lam", "gamma", "eta")
_TRAINING = ("learning_rate", "epochs", "batch_size", "structure_learning_rate", "optimiser")
_WHOLE = {"fold": 1, "draw": 0, "max_parents": 1, "epochs": 1, "batch_size": 1, "seed": 0}
_POSITIVE = ("gamma", "eta", "learning_rate", "structure_learning_rate")
IMAGE_ORDERINGS = ("A", "B", "C")
N_ORDERINGS = 5
N_DRAWS = 10


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Everything that determines a run. What a method does not use must be None.

    Attributes
    ----------
    dataset, method : str
        Names, see `tanager.datasets.CATALOGUE` and `tanager.experiments.METHODS`.
    fold : int
        From 1.
    ordering : int or str or None
        0 to 4, one of the published orderings, or "A", "B", "C" for images.
    draw : int or None
        Which of the draws of candidates, 0 to 9.
    max_parents : int or None
        K, the largest number of candidate parents.
    lam, gamma, eta : float or None
        Hyperparameters of the hybrid loss.
    learning_rate : float or None
        Of the tables, in the first epoch.
    epochs, batch_size : int or None
    structure_learning_rate : float or None
        Of phi.
    optimiser : {"dense", "selected"} or None
    seed : int
        Of initial parameters, order of rows and noise.
    validation_share : float
        Share of the training rows that is held back to select on; 0 trains on all of them, as the paper did.

    Examples
    --------
    >>> spec = RunSpec(dataset="letter", method="nb-ml")
    >>> spec.key[:8]
    '141b88af'
    >>> RunSpec.from_json(spec.to_json()) == spec
    True
    """

    dataset: str
    method: str
    fold: int = 1
    ordering: int | str | None = None
    draw: int | None = None
    max_parents: int | None = None
    lam: float | None = None
    gamma: float | None = None
    eta: float | None = None
    learning_rate: float | None = None
    epochs: int | None = None
    batch_size: int | None = None
    structure_learning_rate: float | None = None
    optimiser: str | None = None
    seed: int = 0
    validation_share: float = 0.0

    def __post_init__(self) -> None:
        method = find_method(self.method)
        self._check_presence(method)
        for name, lowest in _WHOLE.items():
            self._check_whole(name, lowest)
        for name in ("validation_share", "lam", *_POSITIVE):
            self._check_real(name)
        self._check_ranges()

    def _check_presence(self, method: Method) -> None:
        needed = {*method.choices}
        if method.is_trained:
            needed |= {*_TRAINING}
        if method.has_margin:
            needed |= {*_MARGIN}
        for name in ("ordering", "draw", "max_parents", *_MARGIN, *_TRAINING):
            if (getattr(self, name) is not None) != (name in needed):
                verb = "needs" if name in needed else "has no"
                raise ValueError(f"method {self.method!r} {verb} {name}")

    def _check_whole(self, name: str, lowest: int) -> None:
        value = getattr(self, name)
        if value is None:
            return
        if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
            raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}")
        object.__setattr__(self, name, int(value))

    def _check_real(self, name: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")
        if value < 0 or (value == 0 and name in _POSITIVE):
            raise ValueError(f"{name} must be {'above 0' if name in _POSITIVE else 'at least 0'}, got {value!r}")
        # Adding zero turns -0.0, which has another text, into 0.0.
        object.__setattr__(self, name, float(value) + 0.0)

    def _check_ranges(self) -> None:
        entry = find_entry(self.dataset)
        if not applies(self.method, entry):
            raise ValueError(f"method {self.method!r} does not apply to {self.dataset}: see docs/reproduce.md")
        if self.fold > entry.n_folds:
            raise ValueError(f"{self.dataset} has {entry.n_folds} fold(s), got fold {self.fold}")
        if self.validation_share >= 1:
            raise ValueError(f"validation_share must be below 1, got {self.validation_share!r}")
        if self.optimiser not in (None, "dense", "selected"):
            raise ValueError(f"optimiser must be 'dense' or 'selected', got {self.optimiser!r}")
        allowed = IMAGE_ORDERINGS if self.method == "heuristic" else tuple(range(N_ORDERINGS))
        if self.ordering is not None and self.ordering not in allowed:
            raise ValueError(f"ordering of {self.method!r} must be one of {allowed}, got {self.ordering!r}")
        if self.draw is not None and self.draw >= N_DRAWS:
            raise ValueError(f"draw must be 0 to {N_DRAWS - 1}, got {self.draw}")
        if self.max_parents is not None and self.max_parents >= entry.n_features:
            raise ValueError(f"max_parents must be below {entry.n_features}, the number of features of {self.dataset}")

    def to_json(self) -> str:
        """The one text of this spec: sorted names, no spaces, floats in their shortest exact form."""
        content: dict[str, Any] = {"recipe": RECIPE, **asdict(self)}
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of a spec."""
        content = json.loads(text)
        recipe = content.pop("recipe", None)
        if recipe != RECIPE:
            raise ValueError(f"the spec is of recipe {recipe}, and this version of tanager has recipe {RECIPE}")
        unknown = content.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"a spec has no {', '.join(sorted(unknown))}")
        return cls(**content)

    @cached_property
    def key(self) -> str:
        """Identity of the run: SHA-256 of its text."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def configuration(self) -> str:
        """Identity of what is selected: the run without its fold and without its validation share."""
        return replace(self, fold=1, validation_share=0.0).key

    @property
    def is_full(self) -> bool:
        """Whether all training rows are trained on, as in the paper."""
        return self.validation_share == 0
