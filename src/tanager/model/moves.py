"""Structures with counted CPTs, scored by how well they discriminate the classes, one changed parent at a time.

The CPTs of all candidates are counted once. A structure is represented by the log-joint of the rows, and a move to
another parent changes one of its terms. These are the scores of Grossman and Domingos (2004) and of Pernkopf, Wohlmayr
and Tschiatschek (2011, 2012), who keep the CPTs at maximum likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.model.cpt_counts import class_log_prior, count_rows, counts_of_cpts
from tanager.model.layout import Layout, check_bytes

_BYTES_PER_ENTRY = 16  # the counts, and two CPTs of logarithms


class Terms(NamedTuple):
    """Rows, and the CPTs that their terms are read from; arenas end in the zeros that unknown values read."""

    theta: FloatArray  # float32: log-probabilities of all candidates' CPTs
    own: FloatArray  # float32: the same, for the term of a row's own class; the row may be left out of the counts
    columns: IntArray  # int32[D + 1, N]: codes, feature-major; zeros for the virtual feature
    y: IntArray  # int64[N]
    weight: FloatArray  # float64[N], summing to one
    n_classes: int


class Score(NamedTuple):
    """The conditional log-likelihood, or the margin between the own class and the next, cut off at gamma."""

    is_margin: bool
    gamma: float


class Annealing(NamedTuple):
    """Moves to try one after the other, and what decides on those that lower the score."""

    slot: IntArray  # int64[T]: the feature of each move
    candidate: IntArray  # int64[T]: its new candidate
    threshold: FloatArray  # float64[T]: a move is made if the score changes by at least this; not above zero


@dataclass(frozen=True)
class MoveScorer:
    """Scores of structures that select one candidate of a search space for each feature; made by `make_scorer`.

    Attributes
    ----------
    layout : Layout
    terms : Terms
        Rows and CPTs, for the kernels.
    log_prior : float32 array of shape (C,)
    score : Score
    """

    layout: Layout
    terms: Terms
    log_prior: FloatArray
    score: Score

    def log_joint(self, selected: IntArray) -> FloatArray:
        """Log-joint of the rows under a structure, float32[N, P], padded to whole lanes."""
        log_joint = core.empty_log_joint(self.log_prior, len(self.terms.y))
        for slot, candidate in enumerate(selected):
            core.add_terms(slot, candidate, 1.0, self.terms, self.layout.cpts, log_joint)
        return log_joint

    def score_of(self, selected: IntArray, log_joint: FloatArray) -> float:
        """Score of a structure, given its log-joint."""
        return self.score_with(0, int(selected[0]), selected, log_joint)

    def score_with(self, slot: int, candidate: int, selected: IntArray, log_joint: FloatArray) -> float:
        """Score if one feature had another candidate."""
        base = self._without(slot, selected, log_joint)
        return core.candidate_score(slot, candidate, self.terms, self.layout.cpts, base, self.score)

    def all_scores(self, selected: IntArray, log_joint: FloatArray, crew: Crew) -> FloatArray:
        """Score with each candidate in place of the current one of its feature, float64[E]."""
        scores = np.empty(self.layout.parent_sets.n_candidates)
        ranges = crew.split_by_cost(np.diff(self.layout.cpts.ptr))
        crew.run(core.move_scores, ranges, self.terms, self.layout.cpts, selected, log_joint, self.score, scores)
        return scores

    def move(self, slot: int, candidate: int, selected: IntArray, log_joint: FloatArray) -> FloatArray:
        """Give a feature another candidate: changes ``selected`` and returns the new log-joint."""
        moved = self._without(slot, selected, log_joint)
        core.add_terms(slot, candidate, 1.0, self.terms, self.layout.cpts, moved)
        selected[slot] = candidate
        return moved

    def anneal(
        self, moves: Annealing, selected: IntArray, log_joint: FloatArray, best: IntArray, scores: FloatArray
    ) -> None:
        """Try moves in turn; those that would close a cycle are passed over.

        ``selected`` and ``log_joint`` follow the moves made; ``best`` is the best structure met. ``scores`` holds the
        score now and the score of the best structure, which are both known at the start.
        """
        core.anneal(moves, self.terms, self.layout.cpts, selected, log_joint, self.score, best, scores)

    def _without(self, slot: int, selected: IntArray, log_joint: FloatArray) -> FloatArray:
        """Copy of the log-joint without the terms of one feature."""
        base = log_joint.copy()
        core.add_terms(slot, int(selected[slot]), -1.0, self.terms, self.layout.cpts, base)
        return base


def make_scorer(
    layout: Layout,
    rows: tuple[IntArray, IntArray, FloatArray],
    score: Score,
    *,
    smoothing: float = 1.0,
    is_left_out: bool = False,
    max_rows: int | None = None,
    crew: Crew | None = None,
) -> MoveScorer:
    """Count the CPTs of all candidates, and prepare the rows for scoring.

    Parameters
    ----------
    layout : Layout
    rows : codes, y and weight
        Arrays of shape (N, D), (N,) and (N,).
    score : Score
    smoothing : float
        Added to every count.
    is_left_out : bool
        Whether the CPT entries of a row's own class are counted without that row, so that large CPTs are not scored on
        rows they have seen. It is removed as one row (of mean weight, unless weights are whole numbers), and only for
        its own class.
    max_rows : int, optional
        Number of rows to score, evenly spread; CPTs are counted from all rows.
    crew : Crew, optional
    """
    codes, y, weight = rows
    check_bytes(
        layout.size * _BYTES_PER_ENTRY,
        f"scoring the {layout.parent_sets.n_candidates} CPTs of this search space would take",
        "use candidates='screened' with a lower max_parents, or lower max_bins or max_categories",
    )
    crew, smoothing = crew or Crew(), float(smoothing)
    counts = counts_of_cpts(layout, codes, y, weight, crew)
    ranges = crew.split_by_cost(np.diff(layout.cpts.ptr))

    def logs(deducted: float) -> FloatArray:
        arena = np.zeros(layout.arena_size, np.float32)
        crew.run(core.log_frequencies, ranges, counts, layout.cpts, layout.n_classes, smoothing, deducted, arena)
        return arena

    theta = logs(0.0)
    own = logs(float(weight.sum()) / count_rows(weight)) if is_left_out else theta
    prior = class_log_prior(y, weight, layout.n_classes, smoothing).astype(np.float32)
    scored = spread_rows(len(y), max_rows)
    columns = np.zeros((codes.shape[1] + 1, len(scored)), np.int32)
    columns[:-1] = codes[scored].T
    share = (weight[scored] / weight[scored].sum()).astype(np.float64)
    terms = Terms(theta, own, columns, y[scored].astype(np.int64), share, layout.n_classes)
    return MoveScorer(layout, terms, prior, score)


def spread_rows(n_rows: int, most: int | None) -> NDArray[np.int64]:
    """At most ``most`` evenly spread row numbers; if rows are sorted by class, this keeps the class frequencies.

    >>> spread_rows(10, 4)
    array([0, 3, 6, 9])
    """
    if most is None or n_rows <= most:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, most).astype(np.int64)
