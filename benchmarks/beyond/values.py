"""The values that validation selects from, and the number of seeds that are tested.

Each method has few values, so that all have about the same budget: four trials, and fewer where a fit takes long.
Options are named as ``set_params`` of the classifier takes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Options = dict[str, Any]
Values = dict[str, tuple[Any, ...]]
Seeds = Mapping[str, int]
"""Number of seeds, for the data sets that have fewer than usual."""

_LAM, _GAMMA = "parameters__loss__lam", "parameters__loss__gamma"
_EPOCHS, _DECAY = "parameters__epochs", "parameters__learning_rate_decay"
_DROPOUT, _SMOOTHNESS = "parameters__parent_dropout", "parameters__smoothness"
_SHRINKAGE, _RIDGE = "parameters__shrinkage", "parameters__ridge"
_N_MEMBERS, _MAX_PARENTS = "members__n_members", "members__structure__max_parents"


@dataclass(frozen=True)
class Tuning:
    """For each option the values to try; all combinations are tried.

    Attributes
    ----------
    usual : dict
    own : dict of dict
        For the data sets that have values of their own.
    """

    usual: Values = field(default_factory=dict)
    own: Mapping[str, Values] = field(default_factory=dict)

    def grid(self, dataset: str) -> list[Options]:
        """All combinations."""
        values = self.own.get(dataset, self.usual)
        return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


_SMOOTH: Values = {_LAM: (30.0,), _GAMMA: (5.0, 50.0), _SMOOTHNESS: (0.01, 0.1)}
_SLOW: Values = {_LAM: (30.0,), _GAMMA: (5.0, 50.0), _SMOOTHNESS: (0.01,), _DECAY: (0.1, 0.01)}
_RIDGED: Values = {_LAM: (30.0,), _GAMMA: (5.0, 50.0), _RIDGE: (0.1, 1.0)}
_JOINT: Values = {_GAMMA: (10.0, 30.0), _SMOOTHNESS: (0.003, 0.03)}
_FEW: Values = {_EPOCHS: (30,), _LAM: (1000.0,), _GAMMA: (20.0,), _SMOOTHNESS: (0.03,), _DROPOUT: (0.0, 0.2)}
_SLOWLY: Values = {_DECAY: (0.1,)}
_CLIMBED: Values = {_N_MEMBERS: (12,), _MAX_PARENTS: (24,), **_FEW}

_SATIMAGE: Values = {_LAM: (30.0,), _GAMMA: (20.0,), _SMOOTHNESS: (0.01, 0.03)}
_SMOOTHER: Values = _SATIMAGE | {_SMOOTHNESS: (0.03,)}
_USPS: Values = {_LAM: (30.0,), _GAMMA: (50.0,), _SMOOTHNESS: (0.01,)}
_MNIST: Values = {_LAM: (30.0,), _GAMMA: (50.0,), _SMOOTHNESS: (0.03,)}
_SHORT: Values = _MNIST | {_EPOCHS: (20,)}
_AMONG_SOME: Values = _MNIST | {"structure__max_parents": (64,)}
_WIDE: Values = {_EPOCHS: (10,), _LAM: (1000.0,), _GAMMA: (20.0,), _SMOOTHNESS: (0.1,), _DROPOUT: (0.0,)}

NOTHING = Tuning()
MARGINS = Tuning({_LAM: (10.0, 100.0), _GAMMA: (5.0, 50.0)}, {"mnist": {_LAM: (30.0,), _GAMMA: (50.0,)}})
SHRUNK = Tuning(
    {_LAM: (30.0,), _GAMMA: (5.0, 50.0), _SHRINKAGE: (0.01, 0.1)},
    {"mnist": {_LAM: (30.0,), _GAMMA: (50.0,), _SHRINKAGE: (0.01,)}},
)
SMOOTH = Tuning(_SMOOTH, {"mnist": _MNIST})
SLOW = Tuning(_SLOW, {"mnist": _MNIST | {_DECAY: (0.1, 0.01)}})
AVERAGED = Tuning(_SLOW | {_DECAY: (0.5, 0.1)}, {"mnist": _MNIST | {_DECAY: (0.5, 0.1)}})
RIDGE = Tuning(_RIDGED, {"mnist": _RIDGED | {_GAMMA: (50.0,)}})
FREE = Tuning(_SMOOTH, {"satimage": _SMOOTHER, "mnist": _SHORT})
CONDITIONAL = Tuning(_SMOOTH, {"satimage": _SMOOTHER, "mnist": _AMONG_SOME})
MARGIN_SEARCH = Tuning(_SMOOTH, {"satimage": _SMOOTHER, "usps": _USPS, "mnist": _AMONG_SOME | {_LAM: (30.0, 300.0)}})
LEFT_OUT = Tuning(_SMOOTH, {"satimage": _SATIMAGE | {_EPOCHS: (200,)}, "mnist": _AMONG_SOME | {_LAM: (30.0, 300.0)}})
PAIRS = Tuning(_SMOOTH, {"usps": _USPS | {_SMOOTHNESS: (0.01, 0.1)}, "mnist": _SHORT})
SEARCHED = Tuning(
    _SMOOTH,
    {
        "satimage": _SATIMAGE,
        "usps": {_LAM: (30.0,), _GAMMA: (5.0,), _SMOOTHNESS: (0.01, 0.1)},
        "mnist": _MNIST | {_EPOCHS: (10,)},
    },
)
JOINT = Tuning(_JOINT, {"satimage": {_GAMMA: (10.0, 30.0), _SMOOTHNESS: (0.03, 0.1)}, "usps": _FEW, "mnist": _WIDE})
JOINT_SLOW = Tuning(
    _JOINT | _SLOWLY,
    {
        "satimage": {_GAMMA: (20.0, 30.0), _SMOOTHNESS: (0.03,), **_SLOWLY},
        "usps": _FEW | _SLOWLY,
        "mnist": _WIDE | _SLOWLY,
    },
)
CLIMBED = Tuning(
    _CLIMBED,
    {
        "letter": _CLIMBED | {_MAX_PARENTS: (5,), _GAMMA: (10.0,), _SMOOTHNESS: (0.003,)},
        "satimage": _CLIMBED | {_MAX_PARENTS: (10,)},
        "mnist": {_N_MEMBERS: (24,), _MAX_PARENTS: (24,), **_WIDE},
    },
)
TREES = Tuning(
    {_N_MEMBERS: (30,), **_FEW},
    {
        "letter": {_N_MEMBERS: (8,), **_JOINT},
        "satimage": {_N_MEMBERS: (18,), _GAMMA: (10.0, 30.0), _SMOOTHNESS: (0.03,)},
        "mnist": {_N_MEMBERS: (40,), **_WIDE},
    },
)
SIZED = Tuning(
    {_LAM: (30.0,), _GAMMA: (5.0,), _SMOOTHNESS: (0.01,)},
    {"satimage": _SMOOTHER, "usps": _USPS, "mnist": _SHORT},
)
PENALTIES = Tuning({"C": (0.03, 0.1, 0.3, 1.0)})
ROUNDS = Tuning(
    {"learning_rate": (0.05, 0.1), "max_iter": (100, 300)},
    {"mnist": {"learning_rate": (0.1,), "max_iter": (100, 300)}},
)

USUAL: Seeds = {}
FEWER_ON_MNIST: Seeds = {"mnist": 3}
FEWER: Seeds = {"satimage": 3, "usps": 3, "mnist": 3}
ONE: Seeds = {"letter": 1, "satimage": 1, "usps": 1, "mnist": 1}
"""For what has no randomness."""
ONE_WITHOUT_STOPPING: Seeds = {"satimage": 1, "usps": 1, "mnist": 3}
"""Boosting is random only where rows are many: there it stops early, judged by rows that it draws."""
