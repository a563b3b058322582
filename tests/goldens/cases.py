"""Classifiers of every kind on small data, whose predictions are recorded.

``python -m tests.goldens.record`` says which have changed to the last bit, and with ``--write`` records them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris

from tanager import (
    AllPredecessors,
    AnnealedSearch,
    ChowLiu,
    ConditionalLikelihood,
    Counts,
    CoveringPaths,
    DisjointTrees,
    Free,
    GradientDescent,
    GreedySearch,
    Hybrid,
    IndependentSearches,
    KDependence,
    Margin,
    MarginScore,
    NaiveBayesStart,
    Nearest,
    ParentSets,
    PenalisedLikelihood,
    Pseudo,
    RandomTree,
    SampledStructures,
    Screened,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
    paper_settings,
)
from tanager.learning import PRESETS, TREE_PARAMETERS
from tanager.structure import along_diagonal

N_SHOWN = 40  # rows whose probabilities are recorded

_single = partial(TANClassifier, random_state=3)
_several = partial(TANEnsembleClassifier, random_state=3)
_short = partial(GradientDescent, epochs=4, batch_size=40)
_subset = partial(_single, Subset())
_three = {"n_members": 3}


def mixed_rows() -> tuple[Any, Any]:
    """Numbers, words and missing cells, in three classes."""
    pandas = __import__("pandas")
    rng = np.random.default_rng(7)
    n_rows = 240
    y = rng.integers(0, 3, n_rows)
    a = rng.normal(y, 1.0)
    b = np.round(rng.normal(a - y, 0.7), 1)
    c = rng.choice(list("uvwxyz"), n_rows)
    c[y == 1] = rng.choice(list("uv"), (y == 1).sum())
    d = (b > 0).astype(int) + y * (rng.random(n_rows) < 0.5)
    e = rng.normal(size=n_rows) * (1 + y)
    f = np.where(rng.random(n_rows) < 0.1, np.nan, d + rng.integers(0, 2, n_rows))
    frame = pandas.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e, "f": f})
    return frame, np.array(["no", "perhaps", "yes"])[y]


def digit_rows() -> tuple[Any, Any]:
    """Small images."""
    X, y = load_digits(return_X_y=True)
    return X[:300] // 4, y[:300]


def iris_rows() -> tuple[Any, Any]:
    """Iris."""
    return load_iris(return_X_y=True)


def many_rows() -> tuple[Any, Any]:
    """Enough rows for a single split."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (6000, 5))
    return X, (X[:, 0] + X[:, 1] * (X[:, 2] > 1) + rng.integers(0, 2, 6000)) % 3


def cross_entropy(log_joint: Any, y: Any, sample_weight: Any) -> tuple[float, Any]:
    """A loss of the user's."""
    p = np.exp(log_joint - log_joint.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    one_hot = np.eye(p.shape[1], dtype=p.dtype)[y]
    weight = np.ones(len(y), np.float32) if sample_weight is None else sample_weight
    share = weight / weight.sum()
    value = float((weight * -np.log(p[np.arange(len(y)), y])).sum() / weight.sum())
    return value, ((p - one_hot) * share[:, None]).astype(np.float32)


def _of(recipe: Any, **options: Any) -> TANClassifier:
    return _single(**recipe.get_params(deep=False), **options)


def _paper() -> TANClassifier:
    return _single(Subset(max_parents=3), paper_settings()["parameters"].set_params(epochs=4, batch_size=40))


_SETS = ParentSets.from_lists([[-1, 1], [-1], [-1, 0, 1], [-1, 2], [-1, 0, 3], [-1, 4]], [1, 0, 2, 3, 4, 5])
_LIKELIHOOD = GradientDescent(ConditionalLikelihood(), start=NaiveBayesStart(1.0), ridge=0.3, smoothness=0.03)
_SEARCH = {"structure_learning_rate": 0.03}
_EVERYTHING = {"parent_dropout": 0.2, "ridge": 0.3, "smoothness": 0.05, "shrinkage": 0.02, "size_penalty": 0.5}

_MIXED: dict[str, Callable[[], Any]] = {
    "default": lambda: _single(),
    "default, seed 4": lambda: TANClassifier(random_state=4),
    "penalised, no parents": lambda: _single("none", PenalisedLikelihood(1.0, 1.0)),
    "preset tree": lambda: _of(PRESETS["tree"]),
    "preset tree, calibrated": lambda: _of(PRESETS["tree"], calibrate=True),
    "preset margin": lambda: _of(PRESETS["margin"]),
    "penalised": lambda: _single("chow-liu", PenalisedLikelihood(3.0, 1.0, max_groups=5)),
    "penalised, mdlp": lambda: _single(ChowLiu("residual"), PenalisedLikelihood(3.0, 10.0), binning="mdlp"),
    "likelihood": lambda: _single(Free(candidates="mixed"), _LIKELIHOOD.set_params(ridge=1.0, **_SEARCH)),
    "likelihood, calibrated": lambda: _single(
        Free(candidates="mixed"), _LIKELIHOOD.set_params(ridge=1.0, **_SEARCH), calibrate=True
    ),
    "likelihood, none": lambda: _single("none", GradientDescent("conditional", smoothness=0.01, ridge=1.0)),
    "counted, none": lambda: _single("none", "ml"),
    "counted, chow-liu": lambda: _single("chow-liu", "ml"),
    "none": lambda: _single("none", _short()),
    "random": lambda: _single("random", _short()),
    "random, natural": lambda: _single(RandomTree("natural"), _short()),
    "chow-liu": lambda: _single("chow-liu", _short()),
    "tree, explaining away": lambda: _single(ChowLiu("explaining-away"), _short()),
    "tree, conditional": lambda: _single(ChowLiu("conditional"), _short()),
    "tree, margin": lambda: _single(ChowLiu("margin"), _short()),
    "subset": lambda: _single(Subset(2), _short()),
    "subset, screened": lambda: _single(Subset(2, "screened"), _short()),
    "subset, mixed": lambda: _single(Subset(4, Screened("margin", random_share=0.5)), _short()),
    "subset, permutation": lambda: _single(Subset(ordering=[5, 3, 1, 0, 2, 4]), _short()),
    "all": lambda: _single(AllPredecessors("natural"), _short()),
    "k-dependence": lambda: _single(KDependence(3), _short()),
    "k-dependence, mixed": lambda: _single(KDependence(4, "mixed", max_table_size=600), _short()),
    "free": lambda: _single("free", _short()),
    "free, forests": lambda: _single(Free(forest="sample"), _short()),
    "free, all": lambda: _single(Free(max_parents=None), _short()),
    "pseudo": lambda: _single(Pseudo(3), _short()),
    "pseudo, screened": lambda: _single(Pseudo(3, "screened"), _short()),
    "greedy-conditional": lambda: _single("greedy", _short()),
    "greedy-margin": lambda: _single(GreedySearch("margin"), _short()),
    "greedy-margin, gamma 5": lambda: _single(GreedySearch(MarginScore(5.0)), _short()),
    "greedy-left-out": lambda: _single(GreedySearch("margin", leave_one_out=True), "ml"),
    "greedy, smoothing, some": lambda: _single(GreedySearch(smoothing=0.5, max_parents=2), Counts(0.5)),
    "annealed-margin": lambda: _single(AnnealedSearch(n_moves=500), _short()),
    "parents": lambda: _single([-1, 0, 0, 1, 1, 3], _short()),
    "parent sets": lambda: _single(_SETS, _short()),
    "paper": _paper,
    "loss nll": lambda: _subset(_short("nll")),
    "loss margin": lambda: _subset(_short(Margin(gamma=3.0, eta=2.0))),
    "loss conditional": lambda: _subset(_short(ConditionalLikelihood())),
    "loss hybrid": lambda: _subset(_short(Hybrid(lam=50.0, gamma=4.0, eta=5.0))),
    "loss of the user's": lambda: _subset(_short(cross_entropy)),
    "shrinkage": lambda: _subset(_short(shrinkage=0.1)),
    "smoothness": lambda: _subset(_short(smoothness=0.1)),
    "ridge": lambda: _subset(_short(ridge=1.0)),
    "ridge, started": lambda: _subset(_short(ridge=1.0, start=NaiveBayesStart(0.5))),
    "started": lambda: _subset(_short(start=NaiveBayesStart(0.5))),
    "parent dropout": lambda: _subset(_short(parent_dropout=0.3)),
    "parent dropout, fixed": lambda: _single("chow-liu", _short(parent_dropout=0.3)),
    "size penalty": lambda: _subset(_short(size_penalty=1.0)),
    "all regularisers": lambda: _single(Free(candidates="mixed"), _short(start="naive-bayes", **_EVERYTHING)),
    "dense, rates": lambda: _subset(
        _short(
            optimiser="dense", learning_rate=0.05, learning_rate_decay=0.1, structure_learning_rate=0.1, tau=(5.0, 0.5)
        )
    ),
    "smoothing": lambda: _single("chow-liu", Counts(0.1)),
    "calibrated": lambda: _single("chow-liu", _short(), calibrate=True),
    "one batch": lambda: _subset(GradientDescent(epochs=3, batch_size=10_000)),
    "missing ignored, quantiles": lambda: _subset(
        _short(), missing="ignore", binning="quantile", max_bins=4, max_categories=3
    ),
    "mdlp": lambda: _subset(_short(), binning="mdlp"),
    "fine": lambda: _single("chow-liu", _short(), binning="fine"),
    "threads": lambda: _subset(_short(), n_jobs=2),
    "ensemble default": lambda: _several(),
    "ensemble default, probability": lambda: _several(combine="probability"),
    "ensemble trees": lambda: _several("trees"),
    "ensemble preset margin": lambda: _several("trees", TREE_PARAMETERS["margin"]),
    "ensemble trees, penalised": lambda: _several(DisjointTrees(3, "residual"), PenalisedLikelihood(10.0, 3.0)),
    "ensemble cover, penalised": lambda: _several("cover", PenalisedLikelihood(3.0, 1.0, max_groups=5)),
    "ensemble trees, penalised, separate": lambda: _several(
        DisjointTrees(2), PenalisedLikelihood(3.0, 1.0), training="separate"
    ),
    "ensemble trees, likelihood": lambda: _several("trees", _LIKELIHOOD),
    "ensemble cover, likelihood": lambda: _several("cover", _LIKELIHOOD),
    "ensemble trees, separate": lambda: _several("trees", _LIKELIHOOD, training="separate"),
    "ensemble search": lambda: _several(IndependentSearches("subset", 3), _short()),
    "ensemble search, presets": lambda: _several(IndependentSearches(n_members=2)),
    "ensemble search, joint": lambda: _several(IndependentSearches("subset", 3), _short(), training="joint"),
    "ensemble search, joint free": lambda: _several(
        IndependentSearches("free", 3), _short(parent_dropout=0.2), training="joint"
    ),
    "ensemble distribution": lambda: _several(SampledStructures("subset", 3), _short()),
    "ensemble distribution, free": lambda: _several(SampledStructures("free", 3), _short()),
    "ensemble distribution, joint": lambda: _several(SampledStructures("subset", 3), _short(), training="joint"),
    "ensemble cover, counted": lambda: _several(CoveringPaths(2), "ml"),
    "ensemble trees, margin score": lambda: _several(DisjointTrees(2, "margin"), _short()),
    "ensemble search, probability": lambda: _several(IndependentSearches("subset", 3), _short(), combine="probability"),
}

_DIGITS: dict[str, Callable[[], Any]] = {
    "nearest": lambda: _single(Nearest((8, 8), 4), _short()),
    "nearest, rows": lambda: _single(Nearest((8, 8), 3, "A"), _short()),
    "subset, diagonal": lambda: _single(Subset(3, ordering=along_diagonal((8, 8))), _short()),
}

_OTHERS: dict[str, tuple[Callable[[], tuple[Any, Any]], Callable[[], Any]]] = {
    "iris: default": (iris_rows, lambda: TANClassifier(random_state=0)),
    "iris: ensemble": (iris_rows, lambda: TANEnsembleClassifier(random_state=0)),
    "6000 rows: default": (many_rows, lambda: TANClassifier(random_state=0)),
}

_WEIGHTED = ("default", "subset", "ensemble default", "penalised", "counted, chow-liu")

NAMES = (*_MIXED, *(f"{name}, weights" for name in _WEIGHTED), *(f"digits: {name}" for name in _DIGITS), *_OTHERS)


def predict_case(name: str) -> Any:
    """Probabilities of the rows shown, by a classifier fitted to all rows."""
    if name in _OTHERS:
        load, make = _OTHERS[name]
    elif name.startswith("digits: "):
        load, make = digit_rows, _DIGITS[name.removeprefix("digits: ")]
    else:
        load, make = mixed_rows, _MIXED[name.removesuffix(", weights")]
    X, y = load()
    weight = None
    if name.endswith(", weights"):
        weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    return make().fit(X, y, weight).predict_proba(X[:N_SHOWN])
