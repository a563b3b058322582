"""The values among which validation selects, and the number of seeds that are tested.

Few values for each method, so that all have about the same budget: four trials, and fewer where a fit takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Options = dict[str, Any]
Values = dict[str, tuple[Any, ...]]
Seeds = Mapping[str, int]
"""Number of seeds of the data sets that have fewer than usual."""


@dataclass(frozen=True)
class Tuning:
    """For each option the values to try; all combinations are tried.

    Attributes
    ----------
    usual : dict
    own : dict of dict
        For data sets that have others.
    """

    usual: Values = field(default_factory=dict)
    own: Mapping[str, Values] = field(default_factory=dict)

    def grid(self, dataset: str) -> list[Options]:
        """All combinations."""
        values = self.own.get(dataset, self.usual)
        return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


_SMOOTH: Values = {"lam": (30.0,), "gamma": (5.0, 50.0), "smoothness": (0.01, 0.1)}
_SLOW: Values = {"lam": (30.0,), "gamma": (5.0, 50.0), "smoothness": (0.01,), "learning_rate_decay": (0.1, 0.01)}
_RIDGE: Values = {"lam": (30.0,), "gamma": (5.0, 50.0), "base_ridge": (1.0,), "ridge": (0.1, 1.0)}
_JOINT: Values = {"gamma": (10.0, 30.0), "smoothness": (0.003, 0.03)}
_FEW: Values = {
    "epochs": (30,),
    "lam": (1000.0,),
    "gamma": (20.0,),
    "smoothness": (0.03,),
    "parent_dropout": (0.0, 0.2),
}
_SLOWLY: Values = {"learning_rate_decay": (0.1,)}
_CLIMBED: Values = {"n_members": (12,), "max_parents": (24,), **_FEW}

_SATIMAGE: Values = {"lam": (30.0,), "gamma": (20.0,), "smoothness": (0.01, 0.03)}
_SMOOTHER: Values = _SATIMAGE | {"smoothness": (0.03,)}
_USPS: Values = {"lam": (30.0,), "gamma": (50.0,), "smoothness": (0.01,)}
_MNIST: Values = {"lam": (30.0,), "gamma": (50.0,), "smoothness": (0.03,)}
_SHORT: Values = _MNIST | {"epochs": (20,)}
_AMONG_SOME: Values = _MNIST | {"candidates": ("random",), "max_parents": (64,)}
_WIDE: Values = {"epochs": (10,), "lam": (1000.0,), "gamma": (20.0,), "smoothness": (0.1,), "parent_dropout": (0.0,)}

NOTHING = Tuning()
MARGINS = Tuning({"lam": (10.0, 100.0), "gamma": (5.0, 50.0)}, {"mnist": {"lam": (30.0,), "gamma": (50.0,)}})
SHRUNK = Tuning(
    {"lam": (30.0,), "gamma": (5.0, 50.0), "shrinkage": (0.01, 0.1)},
    {"mnist": {"lam": (30.0,), "gamma": (50.0,), "shrinkage": (0.01,)}},
)
SMOOTH = Tuning(_SMOOTH, {"mnist": _MNIST})
SLOW = Tuning(_SLOW, {"mnist": _MNIST | {"learning_rate_decay": (0.1, 0.01)}})
AVERAGED = Tuning(_SLOW | {"learning_rate_decay": (0.5, 0.1)}, {"mnist": _MNIST | {"learning_rate_decay": (0.5, 0.1)}})
RIDGE = Tuning(_RIDGE, {"mnist": _RIDGE | {"gamma": (50.0,)}})
FREE = Tuning(_SMOOTH, {"satimage": _SMOOTHER, "mnist": _SHORT})
CONDITIONAL = Tuning(_SMOOTH, {"satimage": _SMOOTHER, "mnist": _AMONG_SOME})
MARGIN_SEARCH = Tuning(_SMOOTH, {"satimage": _SMOOTHER, "usps": _USPS, "mnist": _AMONG_SOME | {"lam": (30.0, 300.0)}})
LEFT_OUT = Tuning(_SMOOTH, {"satimage": _SATIMAGE | {"epochs": (200,)}, "mnist": _AMONG_SOME | {"lam": (30.0, 300.0)}})
PAIRS = Tuning(_SMOOTH, {"usps": _USPS | {"smoothness": (0.01, 0.1)}, "mnist": _SHORT})
SEARCHED = Tuning(
    _SMOOTH,
    {
        "satimage": _SATIMAGE,
        "usps": {"lam": (30.0,), "gamma": (5.0,), "smoothness": (0.01, 0.1)},
        "mnist": _MNIST | {"epochs": (10,)},
    },
)
JOINT = Tuning(_JOINT, {"satimage": {"gamma": (10.0, 30.0), "smoothness": (0.03, 0.1)}, "usps": _FEW, "mnist": _WIDE})
JOINT_SLOW = Tuning(
    _JOINT | _SLOWLY,
    {
        "satimage": {"gamma": (20.0, 30.0), "smoothness": (0.03,), **_SLOWLY},
        "usps": _FEW | _SLOWLY,
        "mnist": _WIDE | _SLOWLY,
    },
)
CLIMBED = Tuning(
    _CLIMBED,
    {
        "letter": _CLIMBED | {"max_parents": (5,), "gamma": (10.0,), "smoothness": (0.003,)},
        "satimage": _CLIMBED | {"max_parents": (10,)},
        "mnist": {"n_members": (24,), "max_parents": (24,), **_WIDE},
    },
)
TREES = Tuning(
    {"n_members": (30,), **_FEW},
    {
        "letter": {"n_members": (8,), **_JOINT},
        "satimage": {"n_members": (18,), "gamma": (10.0, 30.0), "smoothness": (0.03,)},
        "mnist": {"n_members": (40,), **_WIDE},
    },
)
SIZED = Tuning(
    {"lam": (30.0,), "gamma": (5.0,), "smoothness": (0.01,)},
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
"""Boosting stops early, by rows that it draws, where rows are many; else it has no randomness."""
