"""What is compared, and what each method is tuned by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks.beyond import values
from benchmarks.beyond.left_out import AveragedTables, WeightedEnsemble
from benchmarks.beyond.values import Options, Seeds, Tuning
from tanager import TANClassifier, TANEnsembleClassifier
from tanager.training import AnnealedSearch, GreedySearch

BATCH_SIZES = {"letter": 100, "satimage": 50, "usps": 100, "mnist": 250, "digits": 50}
"""Rows of a mini-batch, as in the paper."""

EPOCHS = {"letter": 60, "satimage": 60, "usps": 60, "mnist": 40, "digits": 20}

_N_FEATURES = {"letter": 16, "satimage": 36, "usps": 256, "mnist": 196, "digits": 64}

_N_MOVES = {"usps": 200_000, "mnist": 200_000}

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

_DROPOUT: Options = {"parent_dropout": 0.2}
_SEARCHED: Options = {"structure": "subset", **_DROPOUT}
_COVER: Options = {"lam": 100.0, "eta": 1.0, "parent_dropout": 0.2, "learning_rate": 0.3}

_ONE, _SEVERAL, _BASELINE, _CURVE = "one network", "several networks", "baseline", "curve"


@dataclass(frozen=True)
class Method:
    """A method and what it is tuned by.

    Attributes
    ----------
    title : str
    group : {"one network", "several networks", "baseline", "curve"}
    make : callable
        From data set, options and seed to an estimator.
    tuning : Tuning
    fewer_seeds : dict
        Number of seeds tested, for data sets where that is less than the usual number.
    """

    title: str
    group: str
    make: Callable[[str, Options, int], Any]
    tuning: Tuning
    fewer_seeds: Seeds

    def grid(self, dataset: str) -> list[Options]:
        """All combinations of values that are tried."""
        return self.tuning.grid(dataset)

    def n_seeds(self, dataset: str, usual: int) -> int:
        """How many seeds are tested."""
        return min(usual, self.fewer_seeds.get(dataset, usual))


def make_model(dataset: str, method: str, options: Options, seed: int) -> Any:
    """An estimator that is not fitted yet."""
    return METHODS[method].make(dataset, options, seed)


def _tan(dataset: str, options: Options, seed: int | None) -> TANClassifier:
    of_dataset: Options = {"epochs": EPOCHS[dataset], "batch_size": BATCH_SIZES[dataset]}
    return TANClassifier(random_state=seed, **_FIXED | of_dataset | options)


def _single(**fixed: Any) -> Callable[[str, Options, int], Any]:
    return lambda dataset, options, seed: _tan(dataset, fixed | options, seed)


def _chow_liu(dataset: str, options: Options, seed: int) -> Any:
    return _tan(dataset, {"structure": "chow-liu", **_DROPOUT, **options}, seed)


def _free(how: str, candidates: str = "mixed", screening: str = "information") -> Callable[[str, Options, int], Any]:
    return _single(structure="free", free=how, candidates=candidates, screening=screening, **_DROPOUT)


def _ensemble(*, of: Options, **fixed: Any) -> Callable[[str, Options, int], Any]:
    def make(dataset: str, options: Options, seed: int) -> Any:
        own = {name: value for name, value in options.items() if name in ("n_members",)}
        member = {name: value for name, value in options.items() if name not in own}
        return TANEnsembleClassifier(_tan(dataset, of | member, None), random_state=seed, **fixed | own)

    return make


def _cover(dataset: str, options: Options, seed: int) -> Any:
    """Half as many members as features hold every pair once; no more than 30, for time and memory."""
    n_members = min(30, (_N_FEATURES[dataset] + 1) // 2)
    return _ensemble(of={"structure": "none", **_COVER}, n_members=n_members, members="cover", training="joint")(
        dataset, options, seed
    )


def _climbed(dataset: str, options: Options, seed: int) -> Any:
    """Trees that hill climbing finds among random candidates; the margin that it looks at is that of one tree."""
    search = GreedySearch("margin", gamma=50.0, leaves_out=True, max_rows=8000)
    member = {"structure": search, "candidates": "random", **_COVER}
    return _ensemble(of=member, members="search", training="joint")(dataset, options, seed)


def _trees(dataset: str, options: Options, seed: int) -> Any:
    return _ensemble(of={"structure": "none", "screening": "conditional", **_COVER}, members="trees", training="joint")(
        dataset, options, seed
    )


def _annealed(dataset: str, options: Options, seed: int) -> Any:
    """More moves where there are many candidates."""
    search = AnnealedSearch("margin", gamma=options["gamma"], n_moves=_N_MOVES.get(dataset, 20_000))
    return _tan(dataset, {"structure": search, **_DROPOUT, **options}, seed)


def _averaged(dataset: str, options: Options, seed: int) -> Any:
    return AveragedTables(_chow_liu(dataset, options, seed))


def _weighted(dataset: str, options: Options, seed: int) -> Any:
    return WeightedEnsemble(_ensemble(of=_SEARCHED, n_members=10)(dataset, options, seed))


def _boosting(dataset: str, options: Options, seed: int) -> Any:
    return HistGradientBoostingClassifier(random_state=seed, **options)


def _logistic(dataset: str, options: Options, seed: int) -> Any:
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(encoder, LogisticRegression(max_iter=1000, **options))


METHODS = {
    "nb": Method("naive Bayes", _ONE, _single(structure="none"), values.MARGINS, values.FEWER_ON_MNIST),
    "chow-liu-ml": Method(
        "Chow-Liu, maximum likelihood",
        _ONE,
        _single(structure="chow-liu", parameters="ml"),
        values.NOTHING,
        values.ONE,
    ),
    "chow-liu": Method("Chow-Liu", _ONE, _single(structure="chow-liu"), values.MARGINS, values.FEWER_ON_MNIST),
    "chow-liu-dropout": Method("Chow-Liu, dropout", _ONE, _chow_liu, values.MARGINS, values.FEWER_ON_MNIST),
    "chow-liu-shrinkage": Method("Chow-Liu, dropout, shrinkage", _ONE, _chow_liu, values.SHRUNK, values.FEWER_ON_MNIST),
    "chow-liu-ridge": Method("Chow-Liu, dropout, ridge", _ONE, _chow_liu, values.RIDGE, values.FEWER_ON_MNIST),
    "chow-liu-smooth": Method("Chow-Liu, dropout, smoothness", _ONE, _chow_liu, values.SMOOTH, values.FEWER_ON_MNIST),
    "chow-liu-slow": Method(
        "Chow-Liu, dropout, smoothness, slower decay of rates", _ONE, _chow_liu, values.SLOW, values.FEWER_ON_MNIST
    ),
    "chow-liu-averaged": Method(
        "Chow-Liu, dropout, smoothness, averaged tables", _ONE, _averaged, values.AVERAGED, values.FEWER_ON_MNIST
    ),
    "subset": Method("TAN Subset, K = 8", _ONE, _single(structure="subset"), values.MARGINS, values.FEWER_ON_MNIST),
    "subset-dropout": Method("TAN Subset, dropout", _ONE, _single(**_SEARCHED), values.MARGINS, values.FEWER_ON_MNIST),
    "subset-smooth": Method(
        "TAN Subset, dropout, smoothness", _ONE, _single(**_SEARCHED), values.SMOOTH, values.FEWER_ON_MNIST
    ),
    "free-project": Method(
        "free, projected once, dropout, smoothness", _ONE, _free("project"), values.FREE, values.USUAL
    ),
    "free-arborescence": Method(
        "free, a forest at every step, dropout, smoothness", _ONE, _free("arborescence"), values.FREE, values.USUAL
    ),
    "free-random": Method(
        "free, projected once, random candidates", _ONE, _free("project", "random"), values.FREE, values.FEWER
    ),
    "free-screened": Method(
        "free, projected once, screened candidates", _ONE, _free("project", "screened"), values.FREE, values.FEWER
    ),
    "free-screened-by-margin": Method(
        "free, projected once, half screened by the margin",
        _ONE,
        _free("project", screening="margin"),
        values.FREE,
        values.FEWER,
    ),
    "free-all": Method(
        "free, projected once, all candidates", _ONE, _free("project", "all"), values.FREE, values.FEWER
    ),
    "free-sized": Method(
        "free, projected once, with a price on size", _CURVE, _free("project"), values.SIZED, values.FEWER
    ),
    "greedy-conditional": Method(
        "hill climbing on the conditional likelihood",
        _ONE,
        _single(structure="greedy-conditional", **_DROPOUT),
        values.CONDITIONAL,
        values.FEWER_ON_MNIST,
    ),
    "greedy-margin": Method(
        "hill climbing on the margin",
        _ONE,
        _single(structure="greedy-margin", **_DROPOUT),
        values.MARGIN_SEARCH,
        values.USUAL,
    ),
    "greedy-left-out": Method(
        "hill climbing on the left-out margin",
        _ONE,
        _single(structure="greedy-left-out", **_DROPOUT),
        values.LEFT_OUT,
        values.USUAL,
    ),
    "annealed-margin": Method(
        "simulated annealing on the margin", _ONE, _annealed, values.MARGIN_SEARCH, values.FEWER_ON_MNIST
    ),
    "k-dependence": Method(
        "two extra parents",
        _SEVERAL,
        _single(structure="k-dependence", **_DROPOUT),
        values.PAIRS,
        values.FEWER_ON_MNIST,
    ),
    "ensemble-probability": Method(
        "10 searched trees, mean probability",
        _SEVERAL,
        _ensemble(of=_SEARCHED, n_members=10, combine="probability"),
        values.SEARCHED,
        values.FEWER,
    ),
    "ensemble-log": Method(
        "10 searched trees, mean log-probability",
        _SEVERAL,
        _ensemble(of=_SEARCHED, n_members=10),
        values.SEARCHED,
        values.FEWER,
    ),
    "ensemble-weighted": Method(
        "10 searched trees, weights fitted", _SEVERAL, _weighted, values.SEARCHED, values.FEWER
    ),
    "ensemble-distribution": Method(
        "10 trees drawn from one search, mean log-probability",
        _SEVERAL,
        _ensemble(of=_SEARCHED, n_members=10, members="distribution"),
        values.SEARCHED,
        values.FEWER,
    ),
    "ensemble-joint": Method(
        "10 searched trees, trained jointly",
        _SEVERAL,
        _ensemble(of={"structure": "subset", **_COVER}, n_members=10, training="joint"),
        values.JOINT,
        values.FEWER,
    ),
    "climbed-joint": Method("hill-climbed trees, trained jointly", _SEVERAL, _climbed, values.CLIMBED, values.USUAL),
    "trees-joint": Method("trees of the best pairs, trained jointly", _SEVERAL, _trees, values.TREES, values.FEWER),
    "cover-joint": Method("a cover of pairs, trained jointly", _SEVERAL, _cover, values.JOINT, values.FEWER_ON_MNIST),
    "cover-slow": Method(
        "a cover of pairs, trained jointly, slower decay of rates",
        _SEVERAL,
        _cover,
        values.JOINT_SLOW,
        values.FEWER_ON_MNIST,
    ),
    "logistic": Method("logistic regression, one-hot", _BASELINE, _logistic, values.PENALTIES, values.ONE),
    "boosting": Method("histogram gradient boosting", _BASELINE, _boosting, values.ROUNDS, values.ONE_WITHOUT_STOPPING),
}

COMPARED = tuple(name for name, method in METHODS.items() if method.group != _CURVE)
"""Methods that have a line in the tables."""
