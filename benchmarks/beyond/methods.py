"""What is compared, and what each method is tuned by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks.beyond.left_out import AveragedTables, WeightedEnsemble
from tanager import TANClassifier, TANEnsembleClassifier
from tanager.training import AnnealedSearch, GreedySearch

BATCH_SIZES = {"letter": 100, "satimage": 50, "usps": 100, "mnist": 250, "digits": 50}
"""Rows of a mini-batch, as in the paper."""

EPOCHS = {"letter": 60, "satimage": 60, "usps": 60, "mnist": 40, "digits": 20}

_N_FEATURES = {"letter": 16, "satimage": 36, "usps": 256, "mnist": 196, "digits": 64}

_N_MOVES = {"usps": 200_000, "mnist": 200_000}

Options = dict[str, Any]
Values = dict[str, tuple[Any, ...]]

# Every option that matters is named, so that the comparison stays what it is when defaults change.
_FIXED: Options = {
    "max_parents": 8,
    "max_table_size": 50_000,
    "candidates": None,
    "screening": "information",
    "free": "project",
    "ordering": None,
    "loss": "hybrid",
    "lam": 10.0,
    "gamma": 1.0,
    "eta": 10.0,
    "parameters": "gradient",
    "smoothing": 1.0,
    "binning": "none",
    "max_bins": None,
    "max_categories": None,
    "learning_rate": 0.1,
    "learning_rate_decay": 1e-3,
    "structure_learning_rate": 0.01,
    "tau": (10.0, 0.1),
    "optimiser": "selected",
    "parent_dropout": 0.0,
    "shrinkage": 0.0,
    "smoothness": 0.0,
    "size_penalty": 0.0,
    "ridge": 0.0,
    "base_ridge": None,
}


@dataclass(frozen=True)
class Method:
    """A method and the values among which validation selects.

    Attributes
    ----------
    title : str
    group : {"one network", "several networks", "baseline"}
    make : callable
        From data set, options and seed to an estimator.
    values : dict
        For each option the values to try; all combinations are tried.
    own_values : dict
        The same for data sets that have others.
    own_seeds : dict
        Number of seeds tested, for data sets where that is less than the usual number.
    """

    title: str
    group: str
    make: Callable[[str, Options, int], Any]
    values: Values = field(default_factory=dict)
    own_values: dict[str, Values] = field(default_factory=dict)
    own_seeds: dict[str, int] = field(default_factory=dict)

    def grid(self, dataset: str) -> list[Options]:
        """All combinations of the values."""
        values = self.own_values.get(dataset, self.values)
        return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]

    def n_seeds(self, dataset: str, usual: int) -> int:
        """How many seeds are tested."""
        return min(usual, self.own_seeds.get(dataset, usual))


def make_model(dataset: str, method: str, options: Options, seed: int) -> Any:
    """An estimator that is not fitted yet."""
    return METHODS[method].make(dataset, options, seed)


def _tan(dataset: str, options: Options, seed: int | None) -> TANClassifier:
    of_dataset: Options = {"epochs": EPOCHS[dataset], "batch_size": BATCH_SIZES[dataset]}
    return TANClassifier(random_state=seed, **_FIXED | of_dataset | options)


def _single(**fixed: Any) -> Callable[[str, Options, int], Any]:
    return lambda dataset, options, seed: _tan(dataset, fixed | options, seed)


def _ensemble(*, of: Options, **fixed: Any) -> Callable[[str, Options, int], Any]:
    def make(dataset: str, options: Options, seed: int) -> Any:
        own = {name: value for name, value in options.items() if name in ("n_members",)}
        member = {name: value for name, value in options.items() if name not in own}
        return TANEnsembleClassifier(_tan(dataset, of | member, None), random_state=seed, **fixed | own)

    return make


def _cover(dataset: str, options: Options, seed: int) -> Any:
    """Half as many members as features hold every pair once; no more than 30, for time and memory."""
    n_members = min(30, (_N_FEATURES[dataset] + 1) // 2)
    return _ensemble(of=_COVER, n_members=n_members, members="cover", training="joint")(dataset, options, seed)


def _climbed(dataset: str, options: Options, seed: int) -> Any:
    """Trees that hill climbing finds among random candidates; the margin that it looks at is that of one tree."""
    search = GreedySearch("margin", gamma=50.0, leaves_out=True, max_rows=8000)
    member = {"structure": search, "candidates": "random", **_COVER}
    return _ensemble(of=member, members="search", training="joint")(dataset, options, seed)


def _trees(dataset: str, options: Options, seed: int) -> Any:
    return _ensemble(of={"screening": "conditional", **_COVER}, members="trees", training="joint")(
        dataset, options, seed
    )


def _annealed(dataset: str, options: Options, seed: int) -> Any:
    """More moves where there are many candidates."""
    search = AnnealedSearch("margin", gamma=options["gamma"], n_moves=_N_MOVES.get(dataset, 20_000))
    return _tan(dataset, {"structure": search, **_DROPOUT, **options}, seed)


def _averaged(dataset: str, options: Options, seed: int) -> Any:
    return AveragedTables(_tan(dataset, {"structure": "chow-liu", **_DROPOUT, **options}, None), seed)


def _weighted(dataset: str, options: Options, seed: int) -> Any:
    return WeightedEnsemble(_ensemble(of=_SEARCHED, n_members=10)(dataset, options, seed))


def _boosting(dataset: str, options: Options, seed: int) -> Any:
    return HistGradientBoostingClassifier(random_state=seed, **options)


def _logistic(dataset: str, options: Options, seed: int) -> Any:
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(encoder, LogisticRegression(max_iter=1000, **options))


# Few values for each method, so that all have about the same budget: four trials, and two where a fit takes long.
_MARGINS: Values = {"lam": (10.0, 100.0), "gamma": (5.0, 50.0)}
_SMOOTH: Values = {"lam": (30.0,), "gamma": (5.0, 50.0), "smoothness": (0.01, 0.1)}
_SHRUNK: Values = {"lam": (30.0,), "gamma": (5.0, 50.0), "shrinkage": (0.01, 0.1)}
_JOINT: Values = {"gamma": (10.0, 30.0), "smoothness": (0.003, 0.03)}
_CLIMBED: Values = {"n_members": (12,), "max_parents": (24,), "epochs": (30,), "lam": (1000.0,), "gamma": (20.0,)}
_CLIMBED |= {"smoothness": (0.03,), "parent_dropout": (0.0, 0.2)}
_TREES: Values = {"n_members": (30,), "epochs": (30,), "lam": (1000.0,), "gamma": (20.0,)}
_TREES |= {"smoothness": (0.03,), "parent_dropout": (0.0, 0.2)}
_PENALTIES: Values = {"C": (0.03, 0.1, 0.3, 1.0)}
_ROUNDS: Values = {"learning_rate": (0.05, 0.1), "max_iter": (100, 300)}

_RIDGE: Values = {"lam": (30.0,), "gamma": (5.0, 50.0), "base_ridge": (1.0,), "ridge": (0.1, 1.0)}
_SLOW: Values = {"lam": (30.0,), "gamma": (5.0, 50.0), "smoothness": (0.01,), "learning_rate_decay": (0.1, 0.01)}
_AVERAGED = _SLOW | {"learning_rate_decay": (0.5, 0.1)}

_MNIST: Values = {"lam": (30.0,), "gamma": (50.0,), "smoothness": (0.03,)}
_SATIMAGE: Values = {"lam": (30.0,), "gamma": (20.0,), "smoothness": (0.01, 0.03)}
_OWN_MARGINS = {"mnist": {"lam": (30.0,), "gamma": (50.0,)}}
_OWN_SMOOTH = {"mnist": _MNIST}
_OWN_FREE = {"mnist": _MNIST | {"epochs": (20,)}, "satimage": _SATIMAGE | {"smoothness": (0.03,)}}
_OWN_CLIMBING = {
    "mnist": _MNIST | {"lam": (30.0, 300.0), "candidates": ("random",), "max_parents": (64,)},
    "satimage": _SATIMAGE | {"epochs": (200,)},
}
_OWN_SHRUNK = {"mnist": {"lam": (30.0,), "gamma": (50.0,), "shrinkage": (0.01,)}}
_WIDE: Values = {"epochs": (10,), "lam": (1000.0,), "gamma": (20.0,), "smoothness": (0.1,), "parent_dropout": (0.0,)}
_OWN_CLIMBED = {
    "letter": _CLIMBED | {"max_parents": (5,), "gamma": (10.0,), "smoothness": (0.003,)},
    "satimage": _CLIMBED | {"max_parents": (10,)},
    "mnist": {"n_members": (24,), "max_parents": (24,), **_WIDE},
}
_OWN_TREES = {"mnist": {"n_members": (40,), **_WIDE}}
_OWN_RIDGE = {"mnist": _RIDGE | {"gamma": (50.0,)}}
_OWN_SLOW = {"mnist": _MNIST | {"learning_rate_decay": (0.1, 0.01)}}
_OWN_AVERAGED = {"mnist": _MNIST | {"learning_rate_decay": (0.5, 0.1)}}
_OWN_SEARCHES = {
    "satimage": _SATIMAGE | {"smoothness": (0.03,)},
    "usps": {"lam": (30.0,), "gamma": (50.0,), "smoothness": (0.01,)},
    "mnist": _MNIST | {"candidates": ("random",), "max_parents": (64,)},
}
_OWN_PAIRS = {
    "usps": {"lam": (30.0,), "gamma": (50.0,), "smoothness": (0.01, 0.1)},
    "mnist": _MNIST | {"epochs": (20,)},
}
_OWN_ENSEMBLE = {
    "satimage": _SATIMAGE,
    "usps": {"lam": (30.0,), "gamma": (5.0,), "smoothness": (0.01, 0.1)},
    "mnist": _MNIST | {"epochs": (10,)},
}
_FEW: Values = {"epochs": (30,), "lam": (1000.0,), "gamma": (20.0,), "smoothness": (0.03,)}
_OWN_JOINT = {
    "satimage": {"gamma": (10.0, 30.0), "smoothness": (0.03, 0.1)},
    "usps": _FEW | {"parent_dropout": (0.0, 0.2)},
    "mnist": _WIDE,
}
_OWN_ROUNDS = {"mnist": {"learning_rate": (0.1,), "max_iter": (100, 300)}}

_THREE = {"mnist": 3}
_ONCE = {"satimage": 1, "usps": 1, "mnist": 1}  # no randomness
_ONCE_WITHOUT_STOPPING = {"satimage": 1, "usps": 1, "mnist": 3}  # boosting draws rows to stop early if rows are many

_DROPOUT: Options = {"parent_dropout": 0.2}
_SEARCHED: Options = {"structure": "subset", **_DROPOUT}
_COVER: Options = {"lam": 100.0, "eta": 1.0, "parent_dropout": 0.2, "learning_rate": 0.3}

_ONE, _SEVERAL, _BASELINE = "one network", "several networks", "baseline"

METHODS = {
    "nb": Method("naive Bayes", _ONE, _single(structure="none"), _MARGINS, _OWN_MARGINS, _THREE),
    "chow-liu-ml": Method("Chow-Liu, maximum likelihood", _ONE, _single(structure="chow-liu", parameters="ml")),
    "chow-liu": Method("Chow-Liu", _ONE, _single(structure="chow-liu"), _MARGINS, _OWN_MARGINS, _THREE),
    "chow-liu-dropout": Method(
        "Chow-Liu, dropout", _ONE, _single(structure="chow-liu", **_DROPOUT), _MARGINS, _OWN_MARGINS, _THREE
    ),
    "chow-liu-shrinkage": Method(
        "Chow-Liu, dropout, shrinkage", _ONE, _single(structure="chow-liu", **_DROPOUT), _SHRUNK, _OWN_SHRUNK, _THREE
    ),
    "chow-liu-smooth": Method(
        "Chow-Liu, dropout, smoothness", _ONE, _single(structure="chow-liu", **_DROPOUT), _SMOOTH, _OWN_SMOOTH, _THREE
    ),
    "chow-liu-ridge": Method(
        "Chow-Liu, dropout, ridge", _ONE, _single(structure="chow-liu", **_DROPOUT), _RIDGE, _OWN_RIDGE, _THREE
    ),
    "chow-liu-slow": Method(
        "Chow-Liu, dropout, smoothness, slower decay of rates",
        _ONE,
        _single(structure="chow-liu", **_DROPOUT),
        _SLOW,
        _OWN_SLOW,
        _THREE,
    ),
    "chow-liu-averaged": Method(
        "Chow-Liu, dropout, smoothness, averaged tables", _ONE, _averaged, _AVERAGED, _OWN_AVERAGED, _THREE
    ),
    "subset": Method("TAN Subset, K = 8", _ONE, _single(structure="subset"), _MARGINS, _OWN_MARGINS, _THREE),
    "subset-dropout": Method(
        "TAN Subset, dropout", _ONE, _single(structure="subset", **_DROPOUT), _MARGINS, _OWN_MARGINS, _THREE
    ),
    "subset-smooth": Method(
        "TAN Subset, dropout, smoothness", _ONE, _single(structure="subset", **_DROPOUT), _SMOOTH, _OWN_SMOOTH, _THREE
    ),
    "free-project": Method(
        "free, projected once, dropout, smoothness",
        _ONE,
        _single(structure="free", free="project", candidates="mixed", **_DROPOUT),
        _SMOOTH,
        _OWN_FREE,
    ),
    "free-arborescence": Method(
        "free, a forest at every step, dropout, smoothness",
        _ONE,
        _single(structure="free", free="arborescence", candidates="mixed", **_DROPOUT),
        _SMOOTH,
        _OWN_FREE,
    ),
    "greedy-conditional": Method(
        "hill climbing on the conditional likelihood",
        _ONE,
        _single(structure="greedy-conditional", **_DROPOUT),
        _SMOOTH,
        {name: values for name, values in _OWN_SEARCHES.items() if name != "usps"},
        _THREE,
    ),
    "greedy-margin": Method(
        "hill climbing on the margin",
        _ONE,
        _single(structure="greedy-margin", **_DROPOUT),
        _SMOOTH,
        _OWN_SEARCHES,
        _THREE,
    ),
    "greedy-left-out": Method(
        "hill climbing on the left-out margin",
        _ONE,
        _single(structure="greedy-left-out", **_DROPOUT),
        _SMOOTH,
        _OWN_CLIMBING,
    ),
    "annealed-margin": Method("simulated annealing on the margin", _ONE, _annealed, _SMOOTH, _OWN_SEARCHES, _THREE),
    "k-dependence": Method(
        "two extra parents", _SEVERAL, _single(structure="k-dependence", **_DROPOUT), _SMOOTH, _OWN_PAIRS, _THREE
    ),
    "ensemble-probability": Method(
        "10 searched trees, mean probability",
        _SEVERAL,
        _ensemble(of=_SEARCHED, n_members=10, combine="probability"),
        _SMOOTH,
        _OWN_ENSEMBLE,
        _THREE,
    ),
    "ensemble-log": Method(
        "10 searched trees, mean log-probability",
        _SEVERAL,
        _ensemble(of=_SEARCHED, n_members=10),
        _SMOOTH,
        _OWN_ENSEMBLE,
        _THREE,
    ),
    "ensemble-weighted": Method(
        "10 searched trees, weights fitted", _SEVERAL, _weighted, _SMOOTH, _OWN_ENSEMBLE, _THREE
    ),
    "ensemble-distribution": Method(
        "10 trees drawn from one search, mean log-probability",
        _SEVERAL,
        _ensemble(of=_SEARCHED, n_members=10, members="distribution"),
        _SMOOTH,
        _OWN_ENSEMBLE,
        _THREE,
    ),
    "ensemble-joint": Method(
        "10 searched trees, trained jointly",
        _SEVERAL,
        _ensemble(of={"structure": "subset", **_COVER}, n_members=10, training="joint"),
        _JOINT,
        _OWN_JOINT,
        _THREE,
    ),
    "climbed-joint": Method("hill-climbed trees, trained jointly", _SEVERAL, _climbed, _CLIMBED, _OWN_CLIMBED),
    "trees-joint": Method("trees of the best pairs, trained jointly", _SEVERAL, _trees, _TREES, _OWN_TREES, _THREE),
    "cover-joint": Method("a cover of pairs, trained jointly", _SEVERAL, _cover, _JOINT, _OWN_JOINT, _THREE),
    "logistic": Method("logistic regression, one-hot", _BASELINE, _logistic, _PENALTIES, own_seeds=_ONCE),
    "boosting": Method(
        "histogram gradient boosting", _BASELINE, _boosting, _ROUNDS, _OWN_ROUNDS, _ONCE_WITHOUT_STOPPING
    ),
}
