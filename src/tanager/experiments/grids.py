"""The paper's grids of runs, as lists of specs (section 4.2), and parts of them.

A spec of a grid stands for a configuration: its fold is 1 and it trains on all training rows. `expand` lists the runs
of a configuration. The sizes match those of the authors' scripts except for TAN Heuristic, which has 3,200 there: the
paper describes three orderings, which give 2,400.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.datasets import Entry, find_entry
from tanager.experiments.even import even_order
from tanager.experiments.methods import MOST_FEATURES_FOR_ALL, applies, find_method
from tanager.experiments.published import (
    BATCH_SIZES,
    BEST_ALL,
    BEST_SUBSET,
    LEARNING_RATES,
    SUBSET_SIZES,
    PublishedDraws,
    published_draws,
)
from tanager.experiments.spec import IMAGE_ORDERINGS, N_ORDERINGS, PAPER_EPOCHS, PAPER_STRUCTURE_RATE, RunSpec

VALIDATION_SHARE = 0.2
"""Held-out fraction of the training rows, for selection."""

HEURISTIC_SIZES = (1, 2, 5, 8)
"""Values of K of TAN Heuristic."""

RECOVERY_RATES = (3e-2, 1e-1)
"""Learning rates of the recovery experiment; the paper does not give any. CPTs that learn more slowly are still far
from their optimum when the distribution over parents settles, and the search then misses the tree."""

RECOVERY_STRUCTURE_RATE = 3e-4
"""Learning rate of the distribution over parents in the recovery experiment: slower than the paper's, for the same
reason."""

Protocol = Literal["both", "test", "validation"]

_N_SUBSET_DRAWS = 5
_N_RANDOM_DRAWS = 10
_DIGITS_BATCH_SIZE = 50

Choice = dict[str, Any]
# Search spaces, and rows of lambda, gamma and eta.
Axes = tuple[Sequence[Choice], NDArray[np.float64]]


def paper_grid(dataset: str, method: str) -> list[RunSpec]:
    """All configurations that the paper tried for one cell of its Table 1.

    Parameters
    ----------
    dataset : str
        The grid of digits, which the paper does not use, follows the same rules.
    method : str
        "recover" has one configuration for each of two learning rates. The grid of "pseudo" is not published; it is
        that of TAN Subset without the orderings, plus all other features as candidates if there are few features.

    Examples
    --------
    >>> len(paper_grid("letter", "subset"))
    15000
    """
    entry = find_entry(dataset)
    if not applies(find_method(method).name, entry):
        raise ValueError(f"method {method!r} does not apply to {dataset}: see docs/reproduce.md")
    if method == "recover":
        return list(_recover(entry))
    if method not in _AXES:
        return [RunSpec(dataset=dataset, method=method)]
    spaces, margins = _AXES[method](entry, published_draws(entry.n_features))
    # Each search space with all hyperparameters and both learning rates.
    return [
        _trained(entry, method, rate, space | _margin(values))
        for space, values, rate in itertools.product(spaces, margins, LEARNING_RATES)
    ]


def n_experiments(dataset: str, method: str) -> int:
    """Number of experiments of a grid: its configurations, with the learning rates counted once.

    >>> n_experiments("letter", "chow-liu")
    600
    """
    if method not in _AXES:
        return 1
    entry = find_entry(dataset)
    spaces, margins = _AXES[method](entry, published_draws(entry.n_features))
    return len(spaces) * len(margins)


def published_spec(
    dataset: str,
    method: str,
    number: int,
    *,
    setting: Literal[1, 2] | None = None,
    learning_rate: float = 3e-2,
    **choices: Any,
) -> RunSpec:
    """Identify one published configuration by its numbers.

    Parameters
    ----------
    dataset, method : str
    number : int
        Number of its hyperparameters within the setting: 0 to 499 in setting (I), 0 to 99 in setting (II).
    setting : {1, 2}, optional
        Defaults to the setting that the authors used for the method, and to (I) for Chow-Liu, which had both.
    learning_rate : float
    **choices
        ``ordering``, ``draw`` and ``max_parents``, as the method requires.

    Examples
    --------
    >>> spec = published_spec("letter", "subset", 15, ordering=3, draw=1, max_parents=8)
    >>> round(spec.lam, 2), round(spec.gamma, 2), spec.eta
    (110.42, 17.97, 10.0)
    """
    entry = find_entry(dataset)
    if not find_method(method).has_margin:
        raise ValueError(f"method {method!r} has no hyperparameters to number")
    draws = published_draws(entry.n_features)
    if setting is None:
        setting = 1 if method in ("nb", "all", "chow-liu") else 2
    values = draws.setting_1 if setting == 1 else draws.setting_2
    if not 0 <= number < len(values):
        raise ValueError(f"setting {setting} has the numbers 0 to {len(values) - 1}, got {number}")
    return _trained(entry, method, learning_rate, _margin(values[number]) | choices)


def best_published(dataset: str, method: str) -> list[RunSpec]:
    """Configurations whose numbers the authors published, at both learning rates; empty if there are none.

    For a method without hyperparameters there is nothing to choose, and the whole grid is returned.

    >>> [spec.learning_rate for spec in best_published("letter", "all")]
    [0.003, 0.03]
    """
    if not find_method(method).has_margin:
        return paper_grid(dataset, method)
    if method == "subset" and dataset in BEST_SUBSET:
        ordering, draw, number = BEST_SUBSET[dataset]
        choices: Choice = {"ordering": ordering, "draw": draw, "max_parents": 8}
    elif method == "all" and dataset in BEST_ALL:
        ordering, number = BEST_ALL[dataset]
        choices = {"ordering": ordering}
    else:
        return []
    return [published_spec(dataset, method, number, learning_rate=rate, **choices) for rate in LEARNING_RATES]


def sample_grid(
    grid: Sequence[RunSpec], n_configurations: int, around: tuple[float, float] | None = None
) -> list[RunSpec]:
    """Configurations spread evenly over a grid, without repetition; a larger sample contains the smaller ones.

    An experiment comes with both its learning rates before the next one (see `even_order`).

    Parameters
    ----------
    grid : sequence of RunSpec
    n_configurations : int
    around : (float, float), optional
        A lambda and a gamma. Configurations nearest to them, on a logarithmic scale, come first.

    Examples
    --------
    >>> grid = paper_grid("letter", "nb")
    >>> sample_grid(grid, 3) == sample_grid(grid, 5)[:3]
    True
    >>> [round(spec.lam) for spec in sample_grid(grid, 3, around=(110, 18))]
    [101, 101, 81]
    """
    order = even_order(grid)
    if around is not None:
        order = [order[i] for i in np.argsort(_distances(order, around), kind="stable")]
    return order[:n_configurations]


def best_margin(dataset: str) -> tuple[float, float]:
    """Lambda and gamma of the best published configuration of TAN Subset.

    >>> lam, gamma = best_margin("letter")
    >>> round(lam, 2), round(gamma, 2)
    (110.42, 17.97)
    """
    if dataset not in BEST_SUBSET:
        raise ValueError(f"no configuration was published for {dataset}; name a lambda and a gamma instead")
    *_, number = BEST_SUBSET[dataset]
    lam, gamma, _ = published_draws(find_entry(dataset).n_features).setting_2[number].tolist()
    return lam, gamma


def _distances(configurations: Sequence[RunSpec], around: tuple[float, float]) -> Any:
    """Distance in the plane of log lambda and log gamma; constant for configurations without them."""
    points = np.array([(spec.lam or 1.0, spec.gamma or 1.0) for spec in configurations])
    return np.hypot(*np.log(points / np.array(around)).T).round(9)


def expand(configuration: RunSpec, protocol: Protocol = "both") -> list[RunSpec]:
    """Runs of a configuration, fold by fold.

    Parameters
    ----------
    configuration : RunSpec
    protocol : {"both", "test", "validation"}
        "test" trains on all training rows, as the paper did. "validation" holds out some of them and measures the
        error there, for selection. "both" makes both runs: selection on validation reports the test error of the run
        on all training rows. Methods without hyperparameters have nothing to select and train on all rows only.

    Examples
    --------
    >>> len(expand(paper_grid("satimage", "nb")[0]))
    10
    """
    shares = {"both": (0.0, VALIDATION_SHARE), "test": (0.0,), "validation": (VALIDATION_SHARE,)}[protocol]
    if not find_method(configuration.method).has_margin:
        shares = (0.0,)
    folds = range(1, find_entry(configuration.dataset).n_folds + 1)
    return [replace(configuration, fold=fold, validation_share=share) for fold in folds for share in shares]


def _trained(entry: Entry, method: str, learning_rate: float, choices: Choice) -> RunSpec:
    return RunSpec(
        dataset=entry.name,
        method=method,
        learning_rate=learning_rate,
        epochs=PAPER_EPOCHS,
        batch_size=BATCH_SIZES.get(entry.name, _DIGITS_BATCH_SIZE),
        structure_learning_rate=PAPER_STRUCTURE_RATE,
        optimiser="dense",
        **choices,
    )


def _margin(values: Any) -> Choice:
    lam, gamma, eta = map(float, values)
    return {"lam": lam, "gamma": gamma, "eta": eta}


def _naive_bayes(entry: Entry, draws: PublishedDraws) -> Axes:
    return [{}], draws.setting_1


def _chow_liu(entry: Entry, draws: PublishedDraws) -> Axes:
    return [{}], np.concatenate([draws.setting_1, draws.setting_2])


def _random(entry: Entry, draws: PublishedDraws) -> Axes:
    return [{"ordering": o, "draw": d} for o in range(N_ORDERINGS) for d in range(_N_RANDOM_DRAWS)], draws.setting_2


def _subset(entry: Entry, draws: PublishedDraws) -> Axes:
    choices = itertools.product(range(N_ORDERINGS), range(_N_SUBSET_DRAWS), SUBSET_SIZES)
    return [{"ordering": o, "draw": d, "max_parents": k} for o, d, k in choices], draws.setting_2


def _all(entry: Entry, draws: PublishedDraws) -> Axes:
    return [{"ordering": o} for o in range(N_ORDERINGS)], draws.setting_1


def _heuristic(entry: Entry, draws: PublishedDraws) -> Axes:
    return [{"ordering": o, "max_parents": k} for o in IMAGE_ORDERINGS for k in HEURISTIC_SIZES], draws.setting_2


def _pseudo(entry: Entry, draws: PublishedDraws) -> Axes:
    spaces = [{"draw": d, "max_parents": k} for d in range(_N_SUBSET_DRAWS) for k in SUBSET_SIZES]
    if entry.n_features <= MOST_FEATURES_FOR_ALL:
        spaces.append({"draw": 0, "max_parents": entry.n_features - 1})
    return spaces, draws.setting_2


def _recover(entry: Entry) -> Iterator[RunSpec]:
    is_small = entry.n_features <= MOST_FEATURES_FOR_ALL
    space = {"draw": 0, "max_parents": entry.n_features - 1 if is_small else max(SUBSET_SIZES)}
    for rate in RECOVERY_RATES:
        yield replace(_trained(entry, "recover", rate, space), structure_learning_rate=RECOVERY_STRUCTURE_RATE)


_AXES: dict[str, Callable[[Entry, PublishedDraws], Axes]] = {
    "nb": _naive_bayes,
    "random": _random,
    "chow-liu": _chow_liu,
    "subset": _subset,
    "all": _all,
    "heuristic": _heuristic,
    "pseudo": _pseudo,
}
