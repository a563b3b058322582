"""Scores of pairs of features, for screening candidate parents.

Conditional mutual information measures how strongly two features depend on each other within the classes, whether or
not that helps to distinguish the classes. The other scores measure the latter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tanager._options import check_choice
from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.model.cpt_counts import conditional_mutual_information
from tanager.model.layout import make_layout
from tanager.model.moves import Score, make_scorer
from tanager.structure import NO_PARENT, ParentSets

_MOST_ROWS = 5000  # enough to rank pairs by their gain
_FEATURES_AT_ONCE = 16  # whose CPTs are in memory at the same time


def pair_scores(
    name: str, rows: tuple[IntArray, IntArray, FloatArray], cards: IntArray, n_classes: int, crew: Crew | None = None
) -> FloatArray:
    """Score all pairs of features, float64[D, D], symmetric; the diagonal is zero.

    Parameters
    ----------
    name : str
        - "information": conditional mutual information given the class, I(X_i; X_j | C).
        - "explaining-away": I(X_i; X_j | C) - I(X_i; X_j), the information of the pair about the class beyond that
          of its two features separately (Bilmes, 2000).
        - "conditional": gain of the edge in the conditional log-likelihood of naive Bayes.
        - "margin": gain of the edge in the mean margin of naive Bayes, cut off at 1.
    rows : codes, y and weight
        Arrays of shape (N, D), (N,) and (N,).
    cards : int array of shape (D,)
    n_classes : int
    crew : Crew, optional

    Examples
    --------
    Feature 1 is feature 0 shifted by the class; feature 2 is noise.

    >>> rng = np.random.default_rng(0)
    >>> y, codes = rng.integers(0, 3, 300), rng.integers(0, 3, (300, 3))
    >>> codes[:, 1] = (codes[:, 0] + y) % 3
    >>> scores = pair_scores("margin", (codes, y, np.ones(300)), np.array([3, 3, 3]), 3)
    >>> bool(scores[0, 1] > scores[0, 2])
    True
    """
    check_choice("score", name, PAIR_SCORES)
    return PAIR_SCORES[name](rows, cards, n_classes, crew or Crew())


_Rows = tuple[IntArray, IntArray, FloatArray]


def _information(rows: _Rows, cards: IntArray, n_classes: int, crew: Crew) -> FloatArray:
    return conditional_mutual_information(*rows, np.asarray(cards, np.int64), crew)


def _explaining_away(rows: _Rows, cards: IntArray, n_classes: int, crew: Crew) -> FloatArray:
    codes, y, weight = rows
    without_class = _information((codes, np.zeros_like(y), weight), cards, 1, crew)
    return _information(rows, cards, n_classes, crew) - without_class


def _conditional_gain(rows: _Rows, cards: IntArray, n_classes: int, crew: Crew) -> FloatArray:
    return _gain(Score(is_margin=False, gamma=0.0), rows, cards, n_classes, crew)


def _margin_gain(rows: _Rows, cards: IntArray, n_classes: int, crew: Crew) -> FloatArray:
    return _gain(Score(is_margin=True, gamma=1.0), rows, cards, n_classes, crew)


PAIR_SCORES: dict[str, Callable[[_Rows, IntArray, int, Crew], FloatArray]] = {
    "information": _information,
    "explaining-away": _explaining_away,
    "conditional": _conditional_gain,
    "margin": _margin_gain,
}


def _gain(score: Score, rows: _Rows, cards: IntArray, n_classes: int, crew: Crew) -> FloatArray:
    """Gain of the edge of each pair in the score of naive Bayes.

    Except for smoothing, it is the same in both directions, so each pair is scored once.
    """
    n_features = len(cards)
    gains = np.zeros((n_features, n_features))
    for first in range(0, n_features, _FEATURES_AT_ONCE):
        features = range(first, min(first + _FEATURES_AT_ONCE, n_features))
        lists = [[NO_PARENT, *range(i)] if i in features else [NO_PARENT] for i in range(n_features)]
        layout = make_layout(ParentSets.from_lists(lists), cards, n_classes)
        scorer = make_scorer(layout, rows, score, max_rows=_MOST_ROWS, is_left_out=True, crew=crew)
        selected = layout.cpts.ptr[:-1].copy()
        scores = scorer.all_scores(selected, scorer.log_joint(selected), crew)
        for i in features:
            start, stop = layout.cpts.ptr[i : i + 2]
            gains[i, :i] = scores[start + 1 : stop] - scores[start]
    return gains + gains.T
