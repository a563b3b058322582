"""From encoded rows and a search space to a network, in closed form or by gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.losses import Loss
from tanager.model import (
    Layout,
    Network,
    ParentDistribution,
    check_memory,
    class_log_prior,
    count_rows,
    make_layout,
    table_log_frequencies,
)
from tanager.model.joint import join_layouts, split_distribution, split_networks
from tanager.structure import maximum_arborescence, naive_bayes
from tanager.training import (
    FeatureTables,
    History,
    Noise,
    ParentPath,
    Problem,
    Start,
    TrainingSettings,
    initial_state,
    keep_structure,
    make_problem,
    structure_of,
    train,
)
from tanager.training.progress import ProgressBar


class Rows(NamedTuple):
    """Encoded training rows."""

    codes: IntArray  # unsigned int[N, D]
    y: IntArray  # int64[N]
    weight: FloatArray | None  # float64[N]
    n_ordered: NDArray[np.int64] | None = None  # int64[D]: how many of the first values of each feature are in order

    def full_weight(self) -> FloatArray:
        """Weights of all rows, 1 where none were given."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def n_counted(self) -> float:
        """Number of rows, counted with their weights if these are whole numbers."""
        return count_rows(self.full_weight())

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.codes[index], self.y[index], weight, self.n_ordered)


class Fitted(NamedTuple):
    """What a fit leaves."""

    network: Network
    distribution: ParentDistribution
    history: History
    path: ParentPath


def fit_closed_form(layout: Layout, rows: Rows, smoothing: float, n_threads: int) -> Fitted:
    """Maximum likelihood parameters of a fixed structure."""
    weight = rows.full_weight()
    with Crew(n_threads) as crew:
        theta = table_log_frequencies(layout, rows.codes, rows.y, weight, smoothing, crew)
    prior = class_log_prior(rows.y, weight, layout.n_classes, smoothing)
    distribution = ParentDistribution(layout.parent_sets, np.zeros(layout.parent_sets.n_candidates))
    network = Network.from_arena(layout, theta, prior, distribution.most_probable())
    return Fitted(network, distribution, History(), ParentPath())


def fit_gradient(
    layout: Layout,
    rows: Rows,
    loss: Loss,
    settings: TrainingSettings,
    noise: Noise,
    *,
    is_free: bool = False,
    n_threads: int = 1,
    verbose: int = 0,
) -> Fitted:
    """Train tables and parent distribution, and keep the most probable structure.

    If the search ``is_free`` of an ordering, the most probable forest is kept instead. Unless each step drew a forest,
    it is then trained alone.
    """
    (fitted,) = fit_jointly(
        [layout], rows, loss, settings, noise, is_free=is_free, n_threads=n_threads, verbose=verbose
    )
    return fitted


def fit_jointly(
    layouts: Sequence[Layout],
    rows: Rows,
    loss: Loss,
    settings: TrainingSettings,
    noise: Noise,
    *,
    is_free: bool = False,
    n_threads: int = 1,
    verbose: int = 0,
) -> list[Fitted]:
    """Train several searches on the loss of their mean log-joint; else as `fit_gradient`. They share the history."""
    layout = layouts[0] if len(layouts) == 1 else join_layouts(layouts)
    may_merge = getattr(loss, "takes_weights", True)
    problem = make_problem(rows.codes, rows.y, rows.weight, settings.batch_size, may_merge=may_merge)
    problem = replace(problem, n_ordered=rows.n_ordered)
    on_epoch = ProgressBar(settings.epochs) if verbose else None
    phi = None
    if settings.parent_dropout > 0:
        layout, phi = with_tables_to_fall_back_on(layout)
    check_memory(layout)
    start = (
        None if settings.base_ridge is None else _train_naive_bayes(layout, problem, loss, settings, noise, n_threads)
    )
    base = None if start is None else start.tables
    state = initial_state(layout, noise, phi, start)
    train(state, layout, problem, loss, settings, noise, n_threads=n_threads, base=base, on_epoch=on_epoch)
    distribution = structure_of(state, layout)
    chosen = distribution.most_probable()
    if is_free:
        chosen = maximum_arborescence(layout.parent_sets, distribution.log_probabilities)
        if not settings.is_forest:
            keep_structure(state, chosen)
            train(state, layout, problem, loss, settings.for_refit(), noise, n_threads=n_threads, base=base)
    networks = split_networks(layout, state.theta.value, state.prior.value, chosen)
    if len(networks) == 1:
        return [Fitted(networks[0], distribution, state.history, state.path)]
    # Snapshots are of all members' candidates together, and are not kept.
    own = split_distribution(distribution, layout.n_members)
    return [Fitted(*pair, state.history, ParentPath()) for pair in zip(networks, own, strict=True)]


def _train_naive_bayes(
    layout: Layout, problem: Problem, loss: Loss, settings: TrainingSettings, noise: Noise, n_threads: int
) -> Start:
    """Train the classifier without extra parents on the same loss, for tables to start from."""
    own = make_layout(naive_bayes(len(layout.cards)), layout.cards, layout.n_classes)
    state = train(initial_state(own, noise), own, problem, loss, settings.for_base(), noise, n_threads=n_threads)
    tables = FeatureTables(state.theta.value[: own.size].copy(), own.tables.offset)
    return Start(tables, state.prior.value)


def training_bytes(layout: Layout, settings: TrainingSettings) -> int:
    """Bytes of the tables while they are trained."""
    return (with_tables_to_fall_back_on(layout)[0] if settings.parent_dropout > 0 else layout).training_bytes


def with_tables_to_fall_back_on(layout: Layout) -> tuple[Layout, FloatArray]:
    """Give every feature a table without a parent, and phi under which the added ones are never drawn."""
    old = layout.parent_sets
    new = old.with_no_parent()
    phi = np.zeros(new.n_candidates)
    is_added = np.diff(new.ptr) > np.diff(old.ptr)
    phi[new.ptr[:-1][is_added]] = -np.inf
    return make_layout(new, layout.cards, layout.n_classes, layout.n_members), phi
