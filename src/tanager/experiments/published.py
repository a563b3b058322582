"""The settings and random draws of the published experiments, as data (section 4.2 and the authors' seeds).

The authors drew hyperparameters, orderings and candidate subsets from two seeded generators. They are drawn again here
in the same sequence, so any published run can be identified by the number of its ordering (0 to 4), of its subset
draw, and of its hyperparameters within setting (I) or (II).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._options import check_choice
from tanager.learning import GradientDescent
from tanager.losses import Hybrid
from tanager.structure import (
    ParentSets,
    all_candidates,
    candidates_from_permutations,
    draw_permutations,
    fixed_parents,
)

_SEED_I = 265304870
_SEED_II = 361273804

BATCH_SIZES = {"letter": 100, "satimage": 50, "usps": 100, "mnist": 250}
"""Number of rows in a mini-batch."""

_N_FEATURES = {"letter": 16, "satimage": 36, "usps": 256, "mnist": 196}

LEARNING_RATES = (3e-3, 3e-2)
"""Learning rates of the CPTs; the authors ran every configuration with both."""

SUBSET_SIZES = (2, 5, 8)
"""Values of K of TAN Subset."""


@dataclass(frozen=True)
class PublishedDraws:
    """Random draws of the experiments on a data set of ``n_features``.

    Attributes
    ----------
    setting_1 : float64 array of shape (500, 3)
        lambda, gamma and eta of setting (I): naive Bayes, TAN All, Chow-Liu.
    setting_2 : float64 array of shape (100, 3)
        The same for setting (II): TAN Random, Subset, Heuristic, Chow-Liu.
    orderings : int64 array of shape (5, D)
        The natural order and four random ones.
    subsets : list of 10 lists of D int arrays
        For each position in an ordering, the positions before it, shuffled. The first K are the candidates of TAN
        Subset (draws 0 to 4); the first one is the parent in TAN Random (draws 0 to 9).
    """

    setting_1: NDArray[np.float64]
    setting_2: NDArray[np.float64]
    orderings: NDArray[np.int64]
    subsets: list[list[NDArray[np.int64]]]

    def subset(self, ordering: int, draw: int, max_parents: int) -> ParentSets:
        """Search space of TAN Subset."""
        return candidates_from_permutations(self.orderings[ordering], self.subsets[draw], max_parents)

    def random(self, ordering: int, draw: int) -> ParentSets:
        """Structure of TAN Random: the first candidate of each feature."""
        order = self.orderings[ordering]
        parents = np.full(len(order), -1)
        for feature, positions in zip(order[1:], self.subsets[draw][1:], strict=True):
            parents[feature] = order[positions[0]]
        return fixed_parents(parents)


def published_draws(n_features: int) -> PublishedDraws:
    """Repeat the random draws of the authors.

    Examples
    --------
    >>> draws = published_draws(16)
    >>> draws.setting_2[15].round(2).tolist()
    [110.42, 17.97, 10.0]
    """
    first = np.random.RandomState(_SEED_I)
    first.randint(1, int(1e9), 1000)
    log_lam, log_gamma = first.uniform(0, 3, 500), first.uniform(-1, 2, 500)
    setting_1 = np.column_stack([10**log_lam, 10**log_gamma, first.uniform(1, 20, 500)])
    first.randint(1, int(1e9), 4000)
    orderings = np.array([np.arange(n_features), *(first.permutation(n_features) for _ in range(4))])
    subsets = [draw_permutations(n_features, first) for _ in range(10)]
    second = np.random.RandomState(_SEED_II)
    second.randint(1, int(1e9), 9600)
    lam = 10 ** second.uniform(1, 3, 100)
    setting_2 = np.column_stack([lam, 10 ** second.uniform(-1, 2, 100), np.full(100, 10.0)])
    return PublishedDraws(setting_1, setting_2, orderings, subsets)


BEST_SUBSET = {"letter": (3, 1, 15), "satimage": (0, 3, 91), "usps": (2, 3, 64), "mnist": (2, 0, 65)}
"""Best published configurations of TAN Subset with K = 8: ordering, subset draw, number in setting (II)."""

BEST_ALL = {"letter": (3, 442), "satimage": (2, 379)}
"""Best published configurations of TAN All: ordering, number in setting (I)."""


def paper_settings(dataset: str | None = None, method: str | None = None) -> dict[str, Any]:
    """Settings of the paper as options of `tanager.TANClassifier`.

    Parameters
    ----------
    dataset : {"letter", "satimage", "usps", "mnist"}, optional
        Adds the batch size of that data set.
    method : {"subset", "all"}, optional
        Adds the authors' best configuration for that data set, its search space and the hyperparameters of its loss:
        TAN Subset with K = 8, or TAN All (letter and satimage only). They were selected on the test rows.

    Returns
    -------
    dict
        The option "parameters", and with ``method`` also the option "structure".

    Examples
    --------
    >>> paper_settings("satimage")["parameters"].batch_size
    50
    >>> paper_settings("letter", "subset")["structure"]
    ParentSets(n_features=16, n_candidates=108, is_ordered=True)
    """
    parameters = GradientDescent(
        loss=Hybrid(),
        epochs=500,
        learning_rate=3e-2,
        learning_rate_decay=1e-3,
        structure_learning_rate=1e-3,
        tau=(10.0, 0.1),
        optimiser="dense",
    )
    if dataset is None:
        if method is not None:
            raise ValueError("method requires a dataset")
        return {"parameters": parameters}
    check_choice("dataset", dataset, BATCH_SIZES)
    parameters = parameters.set_params(batch_size=BATCH_SIZES[dataset])
    if method is None:
        return {"parameters": parameters}
    structure, loss = _best_configuration(dataset, method)
    return {"structure": structure, "parameters": parameters.set_params(loss=loss)}


def _best_configuration(dataset: str, method: str) -> tuple[ParentSets, Hybrid]:
    check_choice("method", method, ("subset", "all"))
    draws = published_draws(_N_FEATURES[dataset])
    if method == "subset":
        ordering, draw, number = BEST_SUBSET[dataset]
        structure = draws.subset(ordering, draw, 8)
        lam, gamma, eta = draws.setting_2[number]
    else:
        if dataset not in BEST_ALL:
            raise ValueError(f"TAN All was published for {' and '.join(BEST_ALL)} only, not for {dataset}")
        ordering, number = BEST_ALL[dataset]
        structure = all_candidates(draws.orderings[ordering])
        lam, gamma, eta = draws.setting_1[number]
    return structure, Hybrid(float(lam), float(gamma), float(eta))
