"""How cost grows: ten times the rows, ten times the features at fixed K, four times the classes.

The figure is the ratio of the times divided by the factor, so 1 is linear and less is better than linear. Every feature
has eight values and, in the search, exactly eight candidate parents besides none. Chow-Liu is linear in the number of
pairs of features, so its time for ten times the features is compared with the growth of the pairs. The larger sizes no
longer fit into the caches that hold the smaller ones. A step also updates CPTs, however few rows it has, so it is far
from linear in the rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.chow_liu import chow_liu
from benchmarks.data import Fold, random_fold
from benchmarks.records import Row, Section, Target
from benchmarks.shapes import Shape
from benchmarks.timing import ratio, time_in_turns
from tanager import GradientDescent, Hybrid, Pseudo, TANClassifier
from tanager.model import make_layout
from tanager.structure import ParentSets
from tanager.training import Noise, Schedule, Stepper, TrainingSettings, initial_state, make_problem
from tanager.training.noise import GumbelStream

_N_VALUES, _K = 8, 8
_TARGET = Target(1.2, at_most=True)


def _shape(n_rows: int, n_features: int, n_classes: int) -> Shape:
    return Shape(n_rows, 100, n_classes, (_N_VALUES,) * n_features)


def _step(shape: Shape) -> Callable[[], object]:
    """One step of training on a batch of all rows of the shape."""
    rng = np.random.default_rng(0)
    n_features = len(shape.cards)
    others = [[j for j in range(n_features) if j != i] for i in range(n_features)]
    candidates = [[-1, *rng.permutation(parents)[:_K].tolist()] for parents in others]
    layout = make_layout(ParentSets.from_lists(candidates), list(shape.cards), shape.n_classes)
    fold = random_fold(shape)
    noise = Noise(0)
    state = initial_state(layout, noise)
    gumbel = GumbelStream(noise, layout.parent_sets.n_candidates)
    problem = make_problem(fold.X_train, fold.y_train.astype(np.int64), None, shape.n_rows, may_merge=False)
    stepper = Stepper(state, layout, problem, Hybrid(100.0, 10.0, 10.0), TrainingSettings())
    rows, schedule = np.arange(shape.n_rows), Schedule(0.1, 1.0)
    return lambda: stepper.run(rows, gumbel.steps(state.step, 1), None, schedule)


def _fit(shape: Shape) -> Callable[[], object]:
    """One epoch through the estimator."""
    fold = random_fold(shape)
    model = TANClassifier(Pseudo(max_parents=_K), GradientDescent(epochs=1), binning="none", random_state=0)
    return lambda: model.fit(fold.X_train, fold.y_train)


def _fit_chow_liu(shape: Shape) -> Callable[[], object]:
    fold = random_fold(shape)
    model = chow_liu()
    return lambda: model.fit(fold.X_train, fold.y_train)


def _predict(shape: Shape) -> Callable[[], object]:
    """Predict all rows with a network that was trained on some of them."""
    fold = random_fold(shape)
    parents = np.arange(-1, len(shape.cards) - 1)
    model = TANClassifier(parents, parameters="ml", binning="none").fit(*_first_rows(fold, shape))
    return lambda: model.predict(fold.X_train)


def _first_rows(fold: Fold, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    n_rows = max(1000, _N_VALUES, shape.n_classes)
    return fold.X_train[:n_rows], fold.y_train[:n_rows]


def _n_pairs(n_features: int) -> int:
    return n_features * (n_features - 1) // 2


# What is measured, how, and its size: rows, features, classes.
_WORK: dict[str, tuple[Callable[[Shape], Callable[[], object]], tuple[int, int, int]]] = {
    "training step": (_step, (100, 50, 8)),
    "epoch of a fit": (_fit, (10_000, 50, 8)),
    "Chow-Liu fit": (_fit_chow_liu, (10_000, 40, 8)),
    "predict": (_predict, (50_000, 50, 8)),
}


def run(*, tiny: bool = False) -> Section:
    """Measure this library alone."""
    rows = []
    for what, (make, (n_rows, n_features, n_classes)) in _WORK.items():
        if tiny:
            n_rows, n_features = min(n_rows, 100), 4
        larger = {
            "10 times the rows": (_shape(10 * n_rows, n_features, n_classes), 10.0),
            "10 times the features": (_shape(n_rows, 10 * n_features, n_classes), 10.0),
            "4 times the classes": (_shape(n_rows, n_features, 4 * n_classes), 4.0),
        }
        base = make(_shape(n_rows, n_features, n_classes))
        for change, (shape, factor) in larger.items():
            linear = f"{factor:g} times"
            if what == "Chow-Liu fit" and "features" in change:
                factor = _n_pairs(10 * n_features) / _n_pairs(n_features)
                linear = f"{factor:.3g} times (pairs)"
            rivals = {"base": base, "larger": make(shape)}
            times = time_in_turns(rivals, rounds=2 if tiny else 5, calls={"base": 3}, warm_up=2)
            growth = ratio(times["larger"], times["base"]) / factor
            peer = f"linear growth, {linear}"
            target = None if tiny else _TARGET
            rows.append(Row(f"{what}, {change}", times["larger"], peer, times["base"].times(factor), growth, target))
    notes = ["The ratio is the time divided by what linear growth from the smaller size would give. One thread."]
    return Section("Growth of cost", rows, notes)
