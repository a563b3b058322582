"""Candidate parents as structures ask for them: in which order features come, and which of them are taken.

A search along an ordering takes a feature's predecessors, others take all other features. Of these some are drawn at
random or put first by a score of pairs; edges that are forbidden or required are kept to.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tanager._options import Options, ShortNames, check_choice, check_count, check_number
from tanager._types import FloatArray
from tanager.learning.context import Context
from tanager.model import PAIR_SCORES
from tanager.structure import (
    ParentSets,
    natural_order,
    pseudo_candidates,
    random_order,
    screened_candidates,
    subset_candidates,
)


class RandomCandidates(Options):
    """Candidate parents drawn at random."""

    def choose(
        self, context: Context, k: int, rng: np.random.Generator, order: NDArray[np.int64] | None = None
    ) -> ParentSets:
        """Up to ``k`` candidates of each feature: of all others, or of its predecessors in an order."""
        # With rules, all are drawn, since some may have to be left out.
        most = k if context.rules is None else context.n_features - 1
        drawn = (
            pseudo_candidates(context.n_features, most, rng) if order is None else subset_candidates(order, most, rng)
        )
        return drawn if context.rules is None else context.rules.thin(drawn, k)

    def scores(self, context: Context) -> FloatArray | None:
        """No scores."""
        return None

    def n_random(self, k: int) -> int:
        """How many of k pairs of candidates are random beside those of highest score."""
        return 0


class Screened(Options):
    """Candidate parents that a score of pairs of features puts first, or some of them and some random ones.

    Parameters
    ----------
    score : {"information", "explaining-away", "conditional", "margin"}, default="information"
        Conditional mutual information given the class; the same less the mutual information without the class; or what
        the pair adds to the conditional likelihood, or to the margin, of naive Bayes.
    random_share : float from 0 to 1, default=0.0
        The share of candidates drawn at random instead. A score sees pairs alone, and 0.5 makes up for what it misses.

    Examples
    --------
    >>> Screened("margin", random_share=0.5)
    Screened(score='margin', random_share=0.5)
    """

    score: Literal["information", "explaining-away", "conditional", "margin"] = "information"
    random_share: float = 0.0

    def __post_init__(self) -> None:
        check_choice("score", self.score, PAIR_SCORES)
        check_number("random_share", self.random_share, least=0)
        if self.random_share > 1:
            raise ValueError(f"random_share must be at most 1, got {self.random_share!r}")

    def choose(
        self, context: Context, k: int, rng: np.random.Generator, order: NDArray[np.int64] | None = None
    ) -> ParentSets:
        """Up to ``k`` candidates of each feature: of all others, or of its predecessors in an order."""
        rules, scores, n_random = context.rules, context.scores(self.score), self.n_random(k)
        is_allowed = None if rules is None else ~rules.is_forbidden
        found = screened_candidates(scores, k, n_random=n_random, rng=rng, order=order, is_allowed=is_allowed)
        return found if rules is None else rules.thin(found, k)

    def scores(self, context: Context) -> FloatArray | None:
        """Scores of all pairs of features."""
        return context.scores(self.score)

    def n_random(self, k: int) -> int:
        """How many of k candidates are random."""
        return int(self.random_share * k)


CANDIDATES = ShortNames(
    "candidates",
    {"random": RandomCandidates, "screened": Screened, "mixed": lambda: Screened(random_share=0.5)},
    "choose",
    others="Screened(...)",
    renamed={"all": "max_parents=None, which takes all other features"},
)
"""Ways to choose candidates, by the words that structures take for them."""


def other_features(structure: Any, context: Context, rng: np.random.Generator) -> ParentSets:
    """Candidates from all other features, by the ``max_parents`` and ``candidates`` of a structure."""
    if structure.max_parents is None:
        return pseudo_candidates(context.n_features)
    chosen: ParentSets = structure.resolved("candidates").choose(context, clip(structure.max_parents, context), rng)
    return chosen


def check_candidates(structure: Any) -> None:
    """Check the ``max_parents`` and ``candidates`` of a structure without an ordering."""
    structure.resolved("candidates")
    if structure.max_parents is not None:
        check_count("max_parents", structure.max_parents)
    elif structure.candidates != "random":
        raise ValueError(
            f"candidates={structure.candidates!r} has no effect with max_parents=None, which takes all other features "
            "as candidates: give max_parents too, or leave candidates out"
        )


def check_ordering(ordering: Any, words: tuple[str, ...] = ("random", "natural")) -> None:
    """Require a known word or a permutation."""
    if isinstance(ordering, str):
        check_choice("ordering", ordering, words)
        return
    order = np.asarray(ordering)
    if order.ndim != 1 or order.dtype.kind not in "iu" or not np.array_equal(np.sort(order), np.arange(order.size)):
        raise ValueError(
            f"ordering must be {', '.join(map(repr, words))} or a permutation that holds each feature, counted from 0, "
            f"once, got {ordering!r}"
        )


def make_order(ordering: Any, context: Context, rng: np.random.Generator) -> NDArray[np.int64]:
    """The order of the features that a word or a permutation stands for; required parents come before children."""
    n_features, rules = context.n_features, context.rules
    if isinstance(ordering, str) and ordering == "random":
        drawn = random_order(n_features, rng)
        return drawn if rules is None else rules.arrange(drawn)
    order = natural_order(n_features) if isinstance(ordering, str) else np.asarray(ordering).astype(np.int64)
    if order.size != n_features:
        raise ValueError(f"ordering lists {order.size} features, but X has {n_features}")
    if rules is not None:
        rules.check_order(order)
    return order


def clip(max_parents: int, context: Context) -> int:
    """As many candidates as there can be: few features are not an error."""
    return max(1, min(int(max_parents), context.n_features - 1))
