"""How the members of an ensemble come to have different structures, and how they are trained."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.utils import check_random_state

from tanager.estimators.choosing import NO_CHOICE
from tanager.estimators.defaults import GIVEN, with_preset
from tanager.estimators.evidence import Evidence
from tanager.estimators.fitting import Rows, fit_jointly
from tanager.estimators.options import is_free, make_loss, make_settings
from tanager.estimators.preparing import lay_out
from tanager.estimators.tan import TANClassifier
from tanager.model import Layout
from tanager.structure import maximum_arborescence
from tanager.structure.covering import covering_paths, disjoint_trees
from tanager.training import Noise

MEMBERS = ("search", "distribution", "trees", "cover")
TRAININGS = ("separate", "joint")


def make_members(
    template: TANClassifier, how: str, rows: Rows, seeds: Sequence[int], n_jobs: int | None = None
) -> list[TANClassifier]:
    """Unfitted members with the template's bins, categories and classes, one for each seed.

    Parameters
    ----------
    template : TANClassifier
        After `encode_training`.
    how : {"search", "distribution", "trees", "cover"}
        As in `tanager.TANEnsembleClassifier`.
    rows : Rows
    seeds : sequence of int
        With "trees" and "cover" there are fewer members than seeds if fewer hold all pairs.
    n_jobs : int or None
        Threads that count pairs for "trees", or search for "distribution"; None is 1 or those of the template.
    """
    if how == "search":
        return [_sibling(template, seed) for seed in seeds]
    rng = np.random.default_rng(seeds[0])
    structures: list[Any]
    if how == "cover":
        structures = [parents.tolist() for parents in covering_paths(rows.codes.shape[1], len(seeds), rng)]
    elif how == "trees":
        cards = template.encoder_.cards.astype(np.int64)
        evidence = Evidence(rows, cards, len(template.classes_), template.smoothing, effective_n_jobs(n_jobs))
        scores = evidence.scores(template.screening)
        structures = [parents.tolist() for parents in disjoint_trees(scores, len(seeds), rng)]
    else:
        searcher = _sibling(template, seeds[0])
        if n_jobs is not None:
            searcher.set_params(n_jobs=n_jobs)
        structures = _draw_structures(searcher.fit_encoded(rows), len(seeds), rng)
    return [
        _sibling(template, seed).set_params(structure=structure)
        for seed, structure in zip(seeds, structures, strict=False)
    ]


def train_separately(members: Sequence[TANClassifier], rows: Rows, n_jobs: int | None) -> list[TANClassifier]:
    """Train each member on its own loss, some at the same time."""
    # The kernels release the interpreter lock, and threads share the codes.
    fitted: list[TANClassifier] = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(member.fit_encoded)(rows) for member in members
    )
    return fitted


def train_jointly(members: Sequence[TANClassifier], rows: Rows, n_jobs: int | None) -> list[TANClassifier]:
    """Train all members on the loss of their mean log-joint."""
    plans = [with_preset(member, GIVEN, rows.n_counted) for member in members]
    first = plans[0]
    if first.parameters != "gradient":
        raise ValueError(f"training='joint' needs parameters='gradient', got parameters={first.parameters!r}")
    seeds = [check_random_state(member.random_state).randint(np.iinfo(np.int32).max) for member in members]
    layouts: list[Layout] = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(lay_out)(plan, rows, seed) for plan, seed in zip(plans, seeds, strict=True)
    )
    fitted = fit_jointly(
        layouts,
        rows,
        make_loss(first),
        make_settings(first),
        Noise(seeds[0]),
        is_free=is_free(first),
        n_threads=effective_n_jobs(n_jobs),
        verbose=first.verbose,
    )
    for member, own in zip(members, fitted, strict=True):
        member.choice_, member.options_ = NO_CHOICE.to_dict(), {}
        member.take_fitted(own)
    return list(members)


def _draw_structures(searcher: TANClassifier, n_draws: int, rng: np.random.Generator) -> list[Any]:
    """Structures drawn from what a search learned; without cycles unless the search allows them."""
    distribution = searcher._distribution
    sets, log_probability = distribution.parent_sets, distribution.log_probabilities
    structures = []
    for _ in range(n_draws):
        perturbed = log_probability + rng.gumbel(size=len(log_probability))
        if is_free(searcher):
            chosen = maximum_arborescence(sets, perturbed)
        else:
            chosen = np.array([lo + perturbed[lo:hi].argmax() for lo, hi in pairwise(sets.ptr)])
        structures.append(sets.keep(chosen))
    return structures


def _sibling(template: TANClassifier, seed: int) -> TANClassifier:
    """A member with the template's options, bins, categories and classes, and a random state of its own."""
    member = clone(template).set_params(random_state=seed)
    for name, value in vars(template).items():
        if name.endswith("_"):
            setattr(member, name, value)
    return member
