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

from tanager import TANClassifier, TANEnsembleClassifier

BATCH_SIZES = {"letter": 100, "satimage": 50, "usps": 100, "mnist": 250, "digits": 50}
"""Rows of a mini-batch, as in the paper."""

EPOCHS = {"letter": 60, "satimage": 60, "usps": 60, "mnist": 40, "digits": 20}

Options = dict[str, Any]


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
    """

    title: str
    group: str
    make: Callable[[str, Options, int], Any]
    values: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def grid(self) -> list[Options]:
        """All combinations of the values."""
        return [dict(zip(self.values, chosen, strict=True)) for chosen in product(*self.values.values())]


def make_model(dataset: str, method: str, options: Options, seed: int) -> Any:
    """An estimator that is not fitted yet."""
    return METHODS[method].make(dataset, options, seed)


def _tan(dataset: str, options: Options, seed: int | None) -> TANClassifier:
    settings: Options = {"epochs": EPOCHS[dataset], "batch_size": BATCH_SIZES[dataset], "max_categories": None}
    return TANClassifier(binning="none", random_state=seed, **settings | options)


def _single(**fixed: Any) -> Callable[[str, Options, int], Any]:
    return lambda dataset, options, seed: _tan(dataset, fixed | options, seed)


def _ensemble(*, of: Options, **fixed: Any) -> Callable[[str, Options, int], Any]:
    def make(dataset: str, options: Options, seed: int) -> Any:
        own = {name: value for name, value in options.items() if name in ("n_members",)}
        member = {name: value for name, value in options.items() if name not in own}
        return TANEnsembleClassifier(_tan(dataset, of | member, None), random_state=seed, **fixed | own)

    return make


def _boosting(dataset: str, options: Options, seed: int) -> Any:
    return HistGradientBoostingClassifier(random_state=seed, **options)


def _logistic(dataset: str, options: Options, seed: int) -> Any:
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(encoder, LogisticRegression(max_iter=1000, **options))


_MARGINS = {"lam": (10.0, 100.0), "gamma": (2.0, 10.0)}

METHODS = {
    "chow-liu-ml": Method(
        "Chow-Liu, maximum likelihood", "one network", _single(structure="chow-liu", parameters="ml")
    ),
    "chow-liu": Method("Chow-Liu", "one network", _single(structure="chow-liu"), _MARGINS),
    "chow-liu-dropout": Method(
        "Chow-Liu, parent dropout", "one network", _single(structure="chow-liu", parent_dropout=0.2), _MARGINS
    ),
    "subset": Method("TAN Subset, K = 8", "one network", _single(structure="subset"), _MARGINS),
    "subset-dropout": Method(
        "TAN Subset, K = 8, parent dropout", "one network", _single(structure="subset", parent_dropout=0.1), _MARGINS
    ),
    "free-project": Method(
        "free, projected once", "one network", _single(structure="free", free="project", parent_dropout=0.1), _MARGINS
    ),
    "free-arborescence": Method(
        "free, a forest at every step",
        "one network",
        _single(structure="free", free="arborescence", parent_dropout=0.1),
        _MARGINS,
    ),
    "ensemble-search": Method(
        "10 searched trees, log average",
        "several networks",
        _ensemble(of={"structure": "subset"}, n_members=10),
        _MARGINS,
    ),
    "logistic": Method("logistic regression, one-hot", "baseline", _logistic, {"C": (0.1, 1.0)}),
    "boosting": Method("histogram gradient boosting", "baseline", _boosting, {"learning_rate": (0.05, 0.1)}),
}
