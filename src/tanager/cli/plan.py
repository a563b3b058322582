"""From the options of ``tanager reproduce`` to runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from tanager.datasets import find_entry
from tanager.experiments.campaign import GOALS, campaign
from tanager.experiments.grids import Protocol, best_margin, best_published, expand, paper_grid, sample_grid
from tanager.experiments.methods import find_method, methods_for
from tanager.experiments.search import HalvingPlan, HalvingSearch
from tanager.experiments.spec import PAPER_EPOCHS, RunSpec
from tanager.experiments.store import Store

DEFAULT_DATASET = "digits"
DEFAULT_RUNS = 10
DEFAULT_SEARCH_RUNS = HalvingPlan.n_configurations


@dataclass(frozen=True)
class RunOptions:
    """Which runs to make.

    Attributes
    ----------
    datasets, methods : tuple of str
        Empty is the default data set, and all columns of Table 1 that apply to it.
    n_configurations : int or None
        Number of configurations of each grid; None is the default number.
    is_campaign, is_published, is_search, is_resumed : bool
        All grids side by side; the authors' best configurations; successive halving; runs that earlier commands left.
    epochs : int or None
        None is the number in the paper.
    max_parents : tuple of int
    orderings : tuple of str
    draws : tuple of int
    learning_rates : tuple of float
        Keep configurations with one of these values, and those without such a choice; empty keeps all.
    around : (float, float), "published" or None
        Prefer configurations near this lambda and gamma, or near the best published ones.
    protocol : {"both", "test", "validation"}
    seed : int
    """

    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    n_configurations: int | None = None
    is_campaign: bool = False
    is_published: bool = False
    is_search: bool = False
    is_resumed: bool = False
    epochs: int | None = None
    max_parents: tuple[int, ...] = ()
    orderings: tuple[str, ...] = ()
    draws: tuple[int, ...] = ()
    learning_rates: tuple[float, ...] = ()
    around: tuple[float, float] | Literal["published"] | None = None
    protocol: Protocol = "both"
    seed: int = 0


@dataclass(frozen=True)
class Stage:
    """Runs that do not depend on each other."""

    title: str
    specs: list[RunSpec]


def plan_stages(options: RunOptions, store: Store) -> Iterator[Stage]:
    """Yield the stages in order; a later one may depend on what earlier ones stored."""
    if options.is_resumed and not (options.datasets or options.methods):
        yield Stage("unfinished runs", store.outstanding())
    elif options.is_campaign:
        yield Stage("campaign", _campaign(options))
    elif options.is_search:
        yield from _search_stages(options, store)
    else:
        protocol: Protocol = "test" if options.is_published else options.protocol
        configurations = [spec for cell in _cells(options) for spec in _configurations(options, *cell)]
        if not configurations:
            raise ValueError("the authors published no configuration of these methods for these data sets")
        yield Stage("runs", [run for spec in configurations for run in expand(spec, protocol)])
        if protocol == "validation":
            yield Stage("best on all rows", list(_refits(configurations, store)))


def _campaign(options: RunOptions) -> list[RunSpec]:
    """The runs behind the results page, or those of some data sets and methods."""
    datasets, methods = options.datasets, options.methods
    goals = [
        goal
        for goal in GOALS
        if goal.dataset in (datasets or (goal.dataset,)) and goal.method in (methods or (goal.method,))
    ]
    if not goals:
        raise ValueError("the campaign has no runs of these methods for these data sets")
    return campaign(goals)


def chosen_datasets(options: RunOptions) -> list[str]:
    """The data sets to run, checked."""
    return [find_entry(name).name for name in options.datasets or (DEFAULT_DATASET,)]


def _cells(options: RunOptions) -> list[tuple[str, str]]:
    return [
        (dataset, find_method(method).name)
        for dataset in chosen_datasets(options)
        for method in options.methods or methods_for(find_entry(dataset))
    ]


def _configurations(options: RunOptions, dataset: str, method: str) -> list[RunSpec]:
    if options.is_published:
        found = best_published(dataset, method)
        if options.methods and not found:
            raise ValueError(f"the authors published no configuration of method {method!r} for {dataset}")
    else:
        grid = [spec for spec in paper_grid(dataset, method) if _is_wanted(options, spec)]
        if not grid:
            raise ValueError(
                f"no configuration of method {method!r} for {dataset} matches --max-parents, --ordering, --draw and "
                "--learning-rate"
            )
        n_default = DEFAULT_SEARCH_RUNS if options.is_search else DEFAULT_RUNS
        n_wanted = n_default if options.n_configurations is None else options.n_configurations
        around = best_margin(dataset) if options.around == "published" else options.around
        found = sample_grid(grid, n_wanted, around)
    return [_with_options(options, spec) for spec in found]


def _is_wanted(options: RunOptions, spec: RunSpec) -> bool:
    choices = (
        (spec.max_parents, options.max_parents),
        (None if spec.ordering is None else str(spec.ordering), options.orderings),
        (spec.draw, options.draws),
        (spec.learning_rate, options.learning_rates),
    )
    return all(value is None or not wanted or value in wanted for value, wanted in choices)


def _with_options(options: RunOptions, spec: RunSpec) -> RunSpec:
    if spec.epochs is None:
        return spec
    return replace(spec, epochs=options.epochs or spec.epochs, seed=options.seed)


def _refits(configurations: list[RunSpec], store: Store) -> Iterator[RunSpec]:
    """For each fold, the run on all rows of the configuration with the lowest validation error."""
    best: dict[tuple[str, str, int], tuple[float, RunSpec]] = {}
    for configuration in configurations:
        for spec in expand(configuration, "validation"):
            result = store.get(spec)
            if result is None or result.validation_error is None:
                continue
            cell = spec.dataset, spec.method, spec.fold
            if cell not in best or result.validation_error < best[cell][0]:
                best[cell] = result.validation_error, spec
    for _, spec in best.values():
        yield replace(spec, validation_share=0.0)


def _search_stages(options: RunOptions, store: Store) -> Iterator[Stage]:
    n_configurations = options.n_configurations or DEFAULT_SEARCH_RUNS
    plan = HalvingPlan(n_configurations=n_configurations, epochs=options.epochs or PAPER_EPOCHS)
    searches, without_choice = [], []
    for dataset, method in _cells(options):
        configurations = _configurations(options, dataset, method)
        if find_method(method).has_margin:
            folds = range(1, find_entry(dataset).n_folds + 1)
            searches += [HalvingSearch(configurations, fold, plan) for fold in folds]
        else:
            without_choice += [run for spec in configurations for run in expand(spec)]
    for number, (_, epochs) in enumerate(plan.rungs):
        specs = [spec for search in searches for spec in search.rung(number, store)]
        title = f"rung {number + 1} of {plan.n_rungs}, {epochs} epochs"
        yield Stage(title, specs if number else [*without_choice, *specs])
    yield Stage("best on all rows", [spec for search in searches for spec in search.refit(store)])


def read_around(text: str | None) -> tuple[float, float] | Literal["published"] | None:
    """Parse ``--around``: "published", or a lambda and a gamma.

    >>> read_around("110, 18")
    (110.0, 18.0)
    """
    if text is None:
        return None
    if text == "published":
        return "published"
    try:
        lam, gamma = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--around must be 'published' or LAMBDA,GAMMA such as 110,18, got {text!r}") from None
    if not (0 < lam < float("inf") and 0 < gamma < float("inf")):
        raise ValueError(f"lambda and gamma of --around must be above 0, got {text!r}")
    return lam, gamma
