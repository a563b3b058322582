"""The classifiers that methods start from. Every option is named, so that the comparison does not follow the defaults.

A function here returns a `Make`, which builds a classifier with the usual options of a data set and then sets those
that are tuned, by ``set_params`` with nested names such as ``parameters__loss__gamma``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.beyond.values import Options
from tanager import (
    AnnealedSearch,
    ChowLiu,
    Counts,
    CoveringPaths,
    DisjointTrees,
    Free,
    GradientDescent,
    GreedySearch,
    Hybrid,
    IndependentSearches,
    KDependence,
    MarginScore,
    NaiveBayesStart,
    NoParents,
    SampledStructures,
    Screened,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)

Make = Callable[[str, Options, int], Any]
"""From data set, tuned options and seed to an estimator that is not fitted yet."""

BATCH_SIZES = {"letter": 100, "satimage": 50, "usps": 100, "mnist": 250, "digits": 50}
"""Rows of a mini-batch, as in the paper."""

EPOCHS = {"letter": 60, "satimage": 60, "usps": 60, "mnist": 40, "digits": 20}

_N_FEATURES = {"letter": 16, "satimage": 36, "usps": 256, "mnist": 196, "digits": 64}

_MOST_PATHS = 30  # for time and memory

_N_MOVES = {"letter": 20_000, "satimage": 20_000, "usps": 200_000, "mnist": 200_000, "digits": 20_000}
"""Moves of simulated annealing: more where there are many candidates."""

_ENCODING: Options = {
    "categorical_features": "from_dtype",
    "binning": "none",
    "max_bins": None,
    "max_categories": None,
    "missing": "value",
    "ordinal_features": None,
    "class_weight": None,
    "forbid": None,
    "require": None,
    "monotonic_cst": None,
    "time_limit": None,
    "calibrate": False,
}

NONE = NoParents()
CHOW_LIU = ChowLiu(score="information")
SUBSET = Subset(max_parents=8, candidates="random", ordering="random")
FREE = Free(max_parents=8, candidates=Screened(score="information", random_share=0.5), forest="project")
TWO_PARENTS = KDependence(max_parents=8, candidates="random", max_table_size=50_000, ordering="random")
CLIMB = GreedySearch(
    score="conditional",
    smoothing=1.0,
    leave_one_out=False,
    max_parents=None,
    candidates="random",
    lazy=True,
    tolerance=1e-4,
    max_moves=None,
    max_rows=20_000,
)
CLIMB_ON_MARGIN = CLIMB.set_params(score=MarginScore(gamma=1.0))
ANNEAL = AnnealedSearch(
    score=MarginScore(gamma=1.0),
    smoothing=1.0,
    leave_one_out=False,
    max_parents=None,
    candidates="random",
    n_moves=20_000,
    temperature=(1.0, 1e-3),
    max_rows=20_000,
)

SEARCHES = IndependentSearches(structure=SUBSET, n_members=10)
SAMPLED = SampledStructures(structure=SUBSET, n_members=10)
TREES = DisjointTrees(n_members=30, score="conditional")
CLIMBS = IndependentSearches(
    # The margin is that of one tree, of which the ensemble has several.
    structure=CLIMB.set_params(score=MarginScore(gamma=50.0), leave_one_out=True, max_rows=8000, max_parents=24),
    n_members=12,
)

DROPOUT: Options = {"parent_dropout": 0.2}
RIDGE: Options = {**DROPOUT, "start": NaiveBayesStart(ridge=1.0)}
TOGETHER: Options = {**DROPOUT, "loss__lam": 100.0, "loss__eta": 1.0, "learning_rate": 0.3}
"""Changes of `_descent`, the last for trees that are trained together."""


def single(structure: Any, **changes: Any) -> Make:
    """One network; ``changes`` are options of its gradient descent."""

    def make(dataset: str, options: Options, seed: int) -> TANClassifier:
        model = TANClassifier(structure, _descent(dataset, changes), random_state=seed, **_ENCODING)
        return model.set_params(**options)

    return make


def counted(structure: Any) -> Make:
    """One network whose CPTs are counted."""

    def make(dataset: str, options: Options, seed: int) -> TANClassifier:
        model = TANClassifier(structure, Counts(smoothing=1.0), random_state=seed, **_ENCODING)
        return model.set_params(**options)

    return make


def margin_search(search: Any, **changes: Any) -> Make:
    """One network found by its margin, which is cut off where the margin of the loss is."""

    def make(dataset: str, options: Options, seed: int) -> TANClassifier:
        model = single(search, **changes)(dataset, options, seed)
        return model.set_params(structure__score__gamma=model.parameters.loss.gamma)

    return make


def annealed(dataset: str, options: Options, seed: int) -> TANClassifier:
    """One network found by simulated annealing."""
    search = ANNEAL.set_params(n_moves=_N_MOVES[dataset])
    return margin_search(search, **DROPOUT)(dataset, options, seed)


def ensemble(members: Any, *, training: str = "separate", combine: str = "log", **changes: Any) -> Make:
    """Several networks; ``changes`` are options of their gradient descent."""

    def make(dataset: str, options: Options, seed: int) -> TANEnsembleClassifier:
        how: Options = {"training": training, "companion": None, "combine": combine, "random_state": seed}
        model = TANEnsembleClassifier(members, _descent(dataset, changes), **how, **_ENCODING)
        return model.set_params(**options)

    return make


def cover(dataset: str, options: Options, seed: int) -> TANEnsembleClassifier:
    """Paths that hold every pair of features once: half as many as there are features, if these are not too many."""
    paths = CoveringPaths(n_members=min(_MOST_PATHS, (_N_FEATURES[dataset] + 1) // 2))
    return ensemble(paths, training="joint", **TOGETHER)(dataset, options, seed)


def _descent(dataset: str, changes: Options) -> GradientDescent:
    """The usual gradient descent on a data set, with some options changed."""
    usual = GradientDescent(
        loss=Hybrid(lam=10.0, gamma=1.0, eta=10.0),
        epochs=EPOCHS[dataset],
        batch_size=BATCH_SIZES[dataset],
        learning_rate=0.1,
        learning_rate_decay=1e-3,
        structure_learning_rate=0.01,
        tau=(10.0, 0.1),
        optimiser="selected",
        start="random",
        parent_dropout=0.0,
        shrinkage=0.0,
        smoothness=0.0,
        ridge=0.0,
        size_penalty=0.0,
        early_stopping=None,
        regularisers=(),
    )
    return usual.set_params(**changes)
