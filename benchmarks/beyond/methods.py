"""What is compared, and what each method is tuned by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks.beyond import models, values
from benchmarks.beyond.left_out import AveragedCPTs, WeightedEnsemble
from benchmarks.beyond.models import DROPOUT, RIDGE, TOGETHER, Make, ensemble, single
from benchmarks.beyond.values import Options, Seeds, Tuning
from tanager import Screened

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
    make: Make
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


_chow_liu = single(models.CHOW_LIU, **DROPOUT)
_subset = single(models.SUBSET, **DROPOUT)
_free = single(models.FREE, **DROPOUT)
_searches = ensemble(models.SEARCHES, **DROPOUT)


def _free_among(candidates: Any) -> Make:
    return single(models.FREE.set_params(candidates=candidates), **DROPOUT)


def _averaged(dataset: str, options: Options, seed: int) -> Any:
    return AveragedCPTs(_chow_liu(dataset, options, seed))


def _weighted(dataset: str, options: Options, seed: int) -> Any:
    return WeightedEnsemble(_searches(dataset, options, seed))


def _boosting(dataset: str, options: Options, seed: int) -> Any:
    return HistGradientBoostingClassifier(random_state=seed, **options)


def _logistic(dataset: str, options: Options, seed: int) -> Any:
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(encoder, LogisticRegression(max_iter=1000, **options))


METHODS = {
    "nb": Method("naive Bayes", _ONE, single(models.NONE), values.MARGINS, values.FEWER_ON_MNIST),
    "chow-liu-ml": Method(
        "Chow-Liu, maximum likelihood", _ONE, models.counted(models.CHOW_LIU), values.NOTHING, values.ONE
    ),
    "chow-liu": Method("Chow-Liu", _ONE, single(models.CHOW_LIU), values.MARGINS, values.FEWER_ON_MNIST),
    "chow-liu-dropout": Method("Chow-Liu, dropout", _ONE, _chow_liu, values.MARGINS, values.FEWER_ON_MNIST),
    "chow-liu-shrinkage": Method("Chow-Liu, dropout, shrinkage", _ONE, _chow_liu, values.SHRUNK, values.FEWER_ON_MNIST),
    "chow-liu-ridge": Method(
        "Chow-Liu, dropout, ridge towards naive Bayes",
        _ONE,
        single(models.CHOW_LIU, **RIDGE),
        values.RIDGE,
        values.FEWER_ON_MNIST,
    ),
    "chow-liu-smooth": Method("Chow-Liu, dropout, smoothness", _ONE, _chow_liu, values.SMOOTH, values.FEWER_ON_MNIST),
    "chow-liu-slow": Method(
        "Chow-Liu, dropout, smoothness, slower decay of rates", _ONE, _chow_liu, values.SLOW, values.FEWER_ON_MNIST
    ),
    "chow-liu-averaged": Method(
        "Chow-Liu, dropout, smoothness, averaged CPTs", _ONE, _averaged, values.AVERAGED, values.FEWER_ON_MNIST
    ),
    "subset": Method("TAN Subset, K = 8", _ONE, single(models.SUBSET), values.MARGINS, values.FEWER_ON_MNIST),
    "subset-dropout": Method("TAN Subset, dropout", _ONE, _subset, values.MARGINS, values.FEWER_ON_MNIST),
    "subset-smooth": Method("TAN Subset, dropout, smoothness", _ONE, _subset, values.SMOOTH, values.FEWER_ON_MNIST),
    "free-project": Method("free, projected once, dropout, smoothness", _ONE, _free, values.FREE, values.USUAL),
    "free-arborescence": Method(
        "free, a forest at every step, dropout, smoothness",
        _ONE,
        single(models.FREE.set_params(forest="sample"), **DROPOUT),
        values.FREE,
        values.USUAL,
    ),
    "free-random": Method(
        "free, projected once, random candidates", _ONE, _free_among("random"), values.FREE, values.FEWER
    ),
    "free-screened": Method(
        "free, projected once, screened candidates",
        _ONE,
        _free_among(Screened(score="information", random_share=0.0)),
        values.FREE,
        values.FEWER,
    ),
    "free-screened-by-margin": Method(
        "free, projected once, half screened by the margin",
        _ONE,
        _free_among(Screened(score="margin", random_share=0.5)),
        values.FREE,
        values.FEWER,
    ),
    "free-all": Method(
        "free, projected once, all candidates",
        _ONE,
        single(models.FREE.set_params(candidates="random", max_parents=None), **DROPOUT),
        values.FREE,
        values.FEWER,
    ),
    "free-sized": Method("free, projected once, with a price on size", _CURVE, _free, values.SIZED, values.FEWER),
    "greedy-conditional": Method(
        "hill climbing on the conditional likelihood",
        _ONE,
        single(models.CLIMB, **DROPOUT),
        values.CONDITIONAL,
        values.FEWER_ON_MNIST,
    ),
    "greedy-margin": Method(
        "hill climbing on the margin",
        _ONE,
        models.margin_search(models.CLIMB_ON_MARGIN, **DROPOUT),
        values.MARGIN_SEARCH,
        values.USUAL,
    ),
    "greedy-left-out": Method(
        "hill climbing on the leave-one-out margin",
        _ONE,
        models.margin_search(models.CLIMB_ON_MARGIN.set_params(leave_one_out=True), **DROPOUT),
        values.LEFT_OUT,
        values.USUAL,
    ),
    "annealed-margin": Method(
        "simulated annealing on the margin", _ONE, models.annealed, values.MARGIN_SEARCH, values.FEWER_ON_MNIST
    ),
    "k-dependence": Method(
        "two extra parents", _SEVERAL, single(models.TWO_PARENTS, **DROPOUT), values.PAIRS, values.FEWER_ON_MNIST
    ),
    "ensemble-probability": Method(
        "10 searched trees, mean probability",
        _SEVERAL,
        ensemble(models.SEARCHES, combine="probability", **DROPOUT),
        values.SEARCHED,
        values.FEWER,
    ),
    "ensemble-log": Method(
        "10 searched trees, mean log-probability", _SEVERAL, _searches, values.SEARCHED, values.FEWER
    ),
    "ensemble-weighted": Method(
        "10 searched trees, fitted weights", _SEVERAL, _weighted, values.SEARCHED, values.FEWER
    ),
    "ensemble-distribution": Method(
        "10 trees drawn from one search, mean log-probability",
        _SEVERAL,
        ensemble(models.SAMPLED, **DROPOUT),
        values.SEARCHED,
        values.FEWER,
    ),
    "ensemble-joint": Method(
        "10 searched trees, trained jointly",
        _SEVERAL,
        ensemble(models.SEARCHES, training="joint", **TOGETHER),
        values.JOINT,
        values.FEWER,
    ),
    "climbed-joint": Method(
        "hill-climbed trees, trained jointly",
        _SEVERAL,
        ensemble(models.CLIMBS, training="joint", **TOGETHER),
        values.CLIMBED,
        values.USUAL,
    ),
    "trees-joint": Method(
        "trees of the best pairs, trained jointly",
        _SEVERAL,
        ensemble(models.TREES, training="joint", **TOGETHER),
        values.TREES,
        values.FEWER,
    ),
    "cover-joint": Method(
        "a cover of pairs, trained jointly", _SEVERAL, models.cover, values.JOINT, values.FEWER_ON_MNIST
    ),
    "cover-slow": Method(
        "a cover of pairs, trained jointly, slower decay of rates",
        _SEVERAL,
        models.cover,
        values.JOINT_SLOW,
        values.FEWER_ON_MNIST,
    ),
    "logistic": Method("logistic regression, one-hot", _BASELINE, _logistic, values.PENALTIES, values.ONE),
    "boosting": Method("histogram gradient boosting", _BASELINE, _boosting, values.ROUNDS, values.ONE_WITHOUT_STOPPING),
}

COMPARED = tuple(name for name, method in METHODS.items() if method.group != _CURVE)
"""Methods that have a line in the printed tables."""
