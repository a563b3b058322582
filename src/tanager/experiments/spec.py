"""A run as a frozen value, identified by the hash of its content.

The same run has the same identity in every process and on every machine. Results are stored under it, stored runs are
skipped, and two computers never repeat each other's work.
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

SPEC_VERSION = 1
"""Raised when the same spec would give another result. Stored specs hold it as "recipe", which their hashes cover."""

PAPER_EPOCHS = 500
PAPER_STRUCTURE_RATE = 1e-3

_MARGIN = ("lam", "gamma", "eta")
_TRAINING = ("learning_rate", "epochs", "batch_size", "structure_learning_rate", "optimiser")
_WHOLE = {"fold": 1, "draw": 0, "max_parents": 1, "epochs": 1, "batch_size": 1, "seed": 0}
_EXPERIMENT = ("dataset", "method", "ordering", "draw", "max_parents", *_MARGIN, *_TRAINING[1:])
_POSITIVE = ("gamma", "eta", "learning_rate", "structure_learning_rate")
IMAGE_ORDERINGS = ("A", "B", "C")
N_ORDERINGS = 5
N_DRAWS = 10


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Everything that determines a run. Fields that the method does not use must be None.

    Attributes
    ----------
    dataset, method : str
        Names from `tanager.datasets.CATALOGUE` and `tanager.experiments.METHODS`.
    fold : int
        Counted from 1.
    ordering : int or str or None
        Number of a published ordering, 0 to 4, or "A", "B" or "C" for images.
    draw : int or None
        Number of the candidate draw, 0 to 9.
    max_parents : int or None
        K, the maximum number of candidate parents.
    lam, gamma, eta : float or None
        Hyperparameters of the hybrid loss.
    learning_rate : float or None
        Initial learning rate of the CPTs.
    epochs, batch_size : int or None
    structure_learning_rate : float or None
        Learning rate of phi.
    optimiser : {"dense", "selected"} or None
    seed : int
        Seed of the initial parameters, the order of rows and the noise.
    validation_share : float
        Held-out fraction of the training rows, used for selection; 0 trains on all rows, as the paper did.

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
        required = {*method.choices}
        if method.is_trained:
            required |= {*_TRAINING}
        if method.has_margin:
            required |= {*_MARGIN}
        for name in ("ordering", "draw", "max_parents", *_MARGIN, *_TRAINING):
            if (getattr(self, name) is not None) != (name in required):
                verb = "requires" if name in required else "has no"
                raise ValueError(f"method {self.method!r} {verb} {name}")

    def _check_whole(self, name: str, lowest: int) -> None:
        value = getattr(self, name)
        if value is None or (type(value) is int and value >= lowest):
            return
        if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
            raise ValueError(f"{name} must be a whole number of at least {lowest}, got {value!r}")
        object.__setattr__(self, name, int(value))

    def _check_real(self, name: str) -> None:
        value = getattr(self, name)
        # The usual cases first: tests against the abstract classes of numbers are slow, and grids are large.
        if value is None or (type(value) is float and 0 < value < math.inf):
            return
        if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")
        if value < 0 or (value == 0 and name in _POSITIVE):
            raise ValueError(f"{name} must be {'above 0' if name in _POSITIVE else 'at least 0'}, got {value!r}")
        # Adding zero turns -0.0, which prints differently, into 0.0.
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
        """The canonical text of this spec: sorted names, no spaces, floats in their shortest exact form."""
        content: dict[str, Any] = {"recipe": SPEC_VERSION, **asdict(self)}
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of a spec."""
        content = json.loads(text)
        version = content.pop("recipe", None)
        if version != SPEC_VERSION:
            raise ValueError(f"the spec has version {version}, but this tanager reads version {SPEC_VERSION}")
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
        """Identity of the configuration that is selected: the run without its fold and its validation share."""
        return replace(self, fold=1, validation_share=0.0).key

    @property
    def experiment(self) -> tuple[Any, ...]:
        """What the paper calls an experiment: the configuration without its learning rate and its seed."""
        return tuple(getattr(self, name) for name in _EXPERIMENT)

    @property
    def is_full(self) -> bool:
        """Whether the run trains on all training rows, as in the paper."""
        return self.validation_share == 0
