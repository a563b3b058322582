"""What the classifiers do without being told: the one place that holds it. docs/defaults.md says how it was chosen.

A constructor's None stands for a value from here. Where a structure is given, the values of `GIVEN_STRUCTURE` hold.
Where none is, there are a few `Preset` for `tanager.estimators.choosing` to choose among; an option that the user gives
holds in all of them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from tanager.losses import Hybrid
from tanager.training import TrainingSettings
from tanager.training.settings import LARGEST_EXCHANGE, LARGEST_SHRINKAGE

if TYPE_CHECKING:
    from tanager.estimators.tan import TANClassifier

AUTO = "auto"

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Preset:
    """Options that go together, under a name; ``is_single``: in an ensemble for one member alone."""

    name: str
    options: Options
    is_single: bool = False

    @property
    def is_closed_form(self) -> bool:
        return self.options.get("parameters") == "ml"


_LOSS, _SETTINGS = Hybrid(), TrainingSettings()
_OPEN_SETTINGS = ("learning_rate", "structure_learning_rate", "parent_dropout", "smoothness", "ridge")

GIVEN_STRUCTURE: Options = {
    "parameters": "gradient",
    "loss": "hybrid",
    **{name: getattr(_LOSS, name) for name in ("lam", "gamma", "eta")},
    **{name: getattr(_SETTINGS, name) for name in _OPEN_SETTINGS},
}

_FREE: Options = {"structure": "free", "candidates": "mixed", "structure_learning_rate": 0.03, "smoothness": 0.03}
_MARGIN: Options = {"loss": "hybrid", "lam": 30.0, "parent_dropout": 0.2}

ONE_TREE = (
    Preset("likelihood", {**_FREE, "loss": "conditional", "ridge": 1.0, "base_ridge": 1.0}),
    Preset("margin", {**_FREE, **_MARGIN, "gamma": 5.0, "ridge": 0.3, "base_ridge": 1.0}),
    Preset("wide margin", {**_FREE, **_MARGIN, "gamma": 20.0}),
    Preset("no parents", {"structure": "none", "loss": "conditional", "ridge": 1.0, "smoothness": 0.01}),
    Preset("naive Bayes", {"structure": "none", "parameters": "ml"}),
    Preset("Chow-Liu", {"structure": "chow-liu", "parameters": "ml"}),
)
"""Presets of one tree; the first is taken where nothing is to be chosen."""

GIVEN = Preset("given", {})
"""For a structure that is given, or that was found before."""

_JOINT: Options = {"smoothness": 0.01}
_JOINT_MARGIN: Options = {
    **_JOINT,
    **{"loss": "hybrid", "lam": 100.0, "eta": 1.0, "learning_rate": 0.3, "parent_dropout": 0.2},
}

SEVERAL_TREES = (
    Preset("likelihood", {**_JOINT, "loss": "conditional", "ridge": 0.3, "base_ridge": 1.0, "smoothness": 0.03}),
    Preset("margin", {**_JOINT_MARGIN, "gamma": 10.0}),
    Preset("wide margin", {**_JOINT_MARGIN, "gamma": 30.0}),
    Preset("careful", {**_JOINT, "loss": "conditional", "ridge": 30.0, "base_ridge": 1.0}),
    Preset("counted", {**_JOINT, "parameters": "ml"}),
    Preset("naive Bayes", {"structure": "none", "parameters": "ml"}, is_single=True),
)
"""Presets of several trees that are trained jointly or counted; the structures come from the ensemble."""

_MOST_MEMBERS, _FEWEST_MEMBERS = 30, 4
_MOST_TABLES = 700

_SMALLEST_BATCH, _LARGEST_BATCH = 16, 1000
_BATCHES_PER_EPOCH = 40
_FEWEST_EPOCHS, _MOST_EPOCHS = 10, 500
_FEWEST_STEPS, _MOST_STEPS, _STEPS_PER_ROOT = 300, 2000, 50


def default_members(n_features: int, how: str) -> int:
    """Number of members: with "trees" and "cover" as many as hold all pairs, if these are not too many tables.

    Examples
    --------
    >>> default_members(16, "trees"), default_members(256, "trees"), default_members(16, "search")
    (8, 4, 10)
    """
    if how not in ("trees", "cover"):
        return 10
    wanted = max(_FEWEST_MEMBERS, min(_MOST_MEMBERS, _MOST_TABLES // n_features))
    return max(1, min((n_features + 1) // 2, wanted))


def training_length(n_rows: float) -> dict[str, int]:
    """Rows of a step and passes over the rows: about 40 steps of a pass, and 300 to 2000 steps in all.

    Few rows need many passes for the parent distribution to settle; many rows need large batches to be done in time.

    Examples
    --------
    >>> training_length(150), training_length(13_342), training_length(494_021)
    ({'batch_size': 16, 'epochs': 69}, {'batch_size': 256, 'epochs': 39}, {'batch_size': 1000, 'epochs': 10})
    """
    wanted = 2.0 ** round(math.log2(max(n_rows, 1.0) / _BATCHES_PER_EPOCH))
    batch_size = int(min(max(wanted, _SMALLEST_BATCH), _LARGEST_BATCH))
    n_steps = min(max(_STEPS_PER_ROOT * math.sqrt(n_rows), _FEWEST_STEPS), _MOST_STEPS)
    epochs = math.ceil(n_steps / max(1, n_rows // batch_size))
    return {"batch_size": batch_size, "epochs": min(max(epochs, _FEWEST_EPOCHS), _MOST_EPOCHS)}


def is_auto(estimator: TANClassifier) -> bool:
    """Whether structure and all that goes with it are left to the defaults."""
    return isinstance(estimator.structure, str) and estimator.structure == AUTO


def presets_of(estimator: TANClassifier) -> tuple[Preset, ...]:
    """What there is to choose among; a structure that is given leaves no choice."""
    return fitting_presets(estimator, ONE_TREE) if is_auto(estimator) else (GIVEN,)


def fitting_presets(estimator: TANClassifier, presets: Sequence[Preset]) -> tuple[Preset, ...]:
    """Those of the presets that go with what the user has given: closed forms have no loss."""
    is_trained = estimator.loss is not None or estimator.parameters is not None
    return tuple(preset for preset in presets if not (is_trained and preset.is_closed_form))


def with_preset(estimator: TANClassifier, preset: Preset, n_rows: float) -> TANClassifier:
    """A copy of the estimator, bins and classes included, that has a value for every option.

    The user's come first, then the preset's, then those that hold for any structure.
    """
    plan = copy.copy(estimator)
    for name, value in missing_options(estimator, preset, n_rows).items():
        setattr(plan, name, value)
    return plan


def missing_options(estimator: TANClassifier, preset: Preset, n_rows: float) -> dict[str, Any]:
    """Values of the options that the user has not given."""
    values = {**GIVEN_STRUCTURE, **training_length(n_rows), **preset.options}
    given = estimator.get_params(deep=False)
    rate = given["learning_rate"]
    if isinstance(rate, Real):
        # A high learning rate of the user's must not make an option wrong that the user has not given.
        values["smoothness"] = min(values["smoothness"], LARGEST_EXCHANGE / max(float(rate), 1e-9))
    # Nor may the high rate of a preset make an option of the user's wrong that is right for one tree.
    usual = GIVEN_STRUCTURE["learning_rate"]
    values["learning_rate"] = min(values["learning_rate"], max(_largest_rate(given), usual))
    is_open = {name: value is None for name, value in given.items()} | {"structure": is_auto(estimator)}
    return {name: value for name, value in values.items() if is_open[name]}


def _largest_rate(given: Options) -> float:
    """The learning rate up to which the smoothness and the shrinkage that were given are allowed."""
    limits = {"smoothness": LARGEST_EXCHANGE, "shrinkage": LARGEST_SHRINKAGE}
    pulls = {name: value for name in limits if isinstance(value := given[name], Real) and float(value) > 0}
    return min((limits[name] / float(value) for name, value in pulls.items()), default=math.inf)
