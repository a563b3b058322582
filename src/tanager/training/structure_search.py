"""Searches over forests by a discriminative score of structures with closed-form tables.

Baselines to the search by gradient descent: greedy hill climbing on the conditional likelihood (Grossman and Domingos,
2004) or on the margin (Pernkopf and Wohlmayr, 2011), and simulated annealing on the margin (Pernkopf and Wohlmayr,
2013). A move gives one feature another parent, its first one, or none, and keeps a forest.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.kernels.moves import Annealing, Score, descends_from
from tanager.model import Layout
from tanager.model.moves import MoveScorer, make_scorer
from tanager.structure import maximum_arborescence
from tanager.training.schedules import geometric

_LEAST_GAIN = 1e-6  # smaller gains may be rounding, and would let moves go round in circles
_PROBES = 200  # moves that set the scale of temperatures
_BLOCKS = 50  # reports of an annealed search

Report = Callable[[int, float], object]
"""Called now and then with the number of moves made or tried, and the score."""


class Found(NamedTuple):
    """What a search ends with."""

    selected: NDArray[np.int64]  # int64[D]: candidate of each feature
    score: float
    n_moves: int  # moves made by hill climbing, moves tried by annealing


class StructureSearch(Protocol):
    """A search over the forests of a search space."""

    def run(
        self,
        layout: Layout,
        rows: tuple[IntArray, IntArray, FloatArray],
        smoothing: float,
        rng: np.random.Generator,
        *,
        crew: Crew | None = None,
        report: Report | None = None,
    ) -> Found:
        """Search for a forest of high score on the rows: codes, y and weight."""


@dataclass(frozen=True)
class GreedySearch:
    """Greedy hill climbing: the move that gains most is made, as long as one gains anything. Starts without parents.

    Attributes
    ----------
    score : {"conditional", "margin"}
        Mean conditional log-likelihood, or mean margin (the log-ratio of the own class to the next), cut off at gamma.
    gamma : float
    is_lazy : bool
        Whether gains found before other moves were made are taken as estimates, so that only the most promising moves
        are scored again; when none of them gains any more, all are. Else all moves are scored after each.
    tolerance : float
        A lazy search ends when all moves since they were last scored together have added less than this share of the
        score.
    leaves_out : bool
        Whether a row is scored by tables that were counted without it. The literature does not; without it, scores
        favour large tables.
    max_moves : int or None
        Moves to make at most.
    max_rows : int or None
        Rows to score at most. Tables are always counted from all rows.

    Examples
    --------
    Feature 1 is feature 0 shifted by the class; feature 2 is noise.

    >>> from tanager.model import make_layout
    >>> from tanager.structure import pseudo_candidates
    >>> rng = np.random.default_rng(0)
    >>> y, codes = rng.integers(0, 3, 300), rng.integers(0, 3, (300, 3))
    >>> codes[:, 1] = (codes[:, 0] + y) % 3
    >>> layout = make_layout(pseudo_candidates(3), [3, 3, 3], n_classes=3)
    >>> found = GreedySearch("margin", max_moves=1).run(layout, (codes, y, np.ones(300)), 1.0, rng)
    >>> layout.parent_sets.select(found.selected)
    array([ 1, -1, -1])
    """

    score: Literal["conditional", "margin"] = "conditional"
    gamma: float = 1.0
    is_lazy: bool = True
    tolerance: float = 1e-4
    leaves_out: bool = False
    max_moves: int | None = None
    max_rows: int | None = 20_000

    def __post_init__(self) -> None:
        _check_score(self.score, self.gamma)
        _check_limits(max_moves=self.max_moves, max_rows=self.max_rows)
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"tolerance must be at least 0 and below 1, got {self.tolerance!r}")

    def run(
        self,
        layout: Layout,
        rows: tuple[IntArray, IntArray, FloatArray],
        smoothing: float,
        rng: np.random.Generator,
        *,
        crew: Crew | None = None,
        report: Report | None = None,
    ) -> Found:
        """Search for a forest of high score on the rows: codes, y and weight."""
        crew = crew or Crew()
        scorer = _scorer(self, layout, rows, smoothing, crew)
        most = math.inf if self.max_moves is None else self.max_moves
        selected, n_moves = _start(layout), 0
        while True:
            # The log-joint is summed anew, so that rounding does not add up.
            log_joint = scorer.log_joint(selected)
            score = scorer.score_of(selected, log_joint)
            scores = scorer.all_scores(selected, log_joint, crew)
            n_before, before = n_moves, score
            for improved in _climb(scorer, selected, log_joint, score, scores):
                n_moves, score = n_moves + 1, improved
                if report is not None:
                    report(n_moves, score)
                if n_moves >= most or not self.is_lazy:
                    break
            is_slow = self.is_lazy and score - before < self.tolerance * abs(score)
            if n_moves == n_before or n_moves >= most or is_slow:
                return Found(selected, score, n_moves)


@dataclass(frozen=True)
class AnnealedSearch:
    """Simulated annealing: random moves are made if they gain, and with falling probability if they lose.

    Attributes
    ----------
    score : {"margin", "conditional"}
        As in `GreedySearch`.
    gamma : float
    n_moves : int
        Moves to try.
    temperature : (float, float)
        At the first and the last move, geometric in between, in units of the mean change that a move makes at the
        start. A move that loses d is made with probability exp(-d / temperature).
    leaves_out : bool
    max_rows : int or None
        As in `GreedySearch`.
    """

    score: Literal["conditional", "margin"] = "margin"
    gamma: float = 1.0
    n_moves: int = 20_000
    temperature: tuple[float, float] = (1.0, 1e-3)
    leaves_out: bool = False
    max_rows: int | None = 20_000

    def __post_init__(self) -> None:
        _check_score(self.score, self.gamma)
        _check_limits(n_moves=self.n_moves, max_rows=self.max_rows)
        pair = self.temperature if isinstance(self.temperature, (tuple, list)) else ()
        if len(pair) != 2 or not all(map(_is_above_zero, pair)):
            raise ValueError(f"temperature must be a pair of finite numbers above 0, got {self.temperature!r}")

    def run(
        self,
        layout: Layout,
        rows: tuple[IntArray, IntArray, FloatArray],
        smoothing: float,
        rng: np.random.Generator,
        *,
        crew: Crew | None = None,
        report: Report | None = None,
    ) -> Found:
        """Search for a forest of high score on the rows: codes, y and weight."""
        scorer = _scorer(self, layout, rows, smoothing, crew or Crew())
        selected = _start(layout)
        log_joint = scorer.log_joint(selected)
        scores = np.full(2, scorer.score_of(selected, log_joint))
        best = selected.copy()
        moves = self._draw_moves(scorer, selected, log_joint, rng)
        edges = np.linspace(0, self.n_moves, min(_BLOCKS, self.n_moves) + 1).astype(np.int64)
        for start, stop in pairwise(edges):
            some = Annealing(moves.slot[start:stop], moves.candidate[start:stop], moves.threshold[start:stop])
            scorer.anneal(some, selected, log_joint, best, scores)
            log_joint = scorer.log_joint(selected)
            if report is not None:
                report(int(stop), float(scores[1]))
        return Found(best, float(scores[1]), self.n_moves)

    def _draw_moves(
        self, scorer: MoveScorer, selected: IntArray, log_joint: FloatArray, rng: np.random.Generator
    ) -> Annealing:
        """Draw all moves, and the losses up to which they are made."""
        child = np.repeat(np.arange(len(selected)), np.diff(scorer.layout.tables.ptr))
        candidate = rng.integers(0, len(child), self.n_moves)
        log_uniform = np.log(rng.random(self.n_moves) + np.finfo(float).tiny)
        score = scorer.score_of(selected, log_joint)
        probes = [e for e in candidate[:_PROBES] if e != selected[child[e]]]
        changes = [abs(scorer.score_with(int(child[e]), int(e), selected, log_joint) - score) for e in probes]
        scale = float(np.mean(changes)) if changes else 1.0
        return Annealing(child[candidate], candidate, log_uniform * scale * geometric(*self.temperature, self.n_moves))


def _climb(
    scorer: MoveScorer, selected: NDArray[np.int64], log_joint: FloatArray, score: float, scores: FloatArray
) -> Iterator[float]:
    """Make the moves that gain, best first, and yield the score after each.

    ``scores`` of moves that were found before the last move was made only say which to score again.
    """
    parent = scorer.layout.tables.parent
    child = np.repeat(np.arange(len(selected)), np.diff(scorer.layout.tables.ptr))
    gains = scores - score
    queue = [(-float(gains[e]), int(e), 0) for e in np.flatnonzero(gains > _LEAST_GAIN)]
    heapq.heapify(queue)
    n_moves = 0
    while queue:
        _, e, known_at = heapq.heappop(queue)
        slot = int(child[e])
        if descends_from(parent[e], slot, parent, selected):
            continue
        if known_at < n_moves:
            gain = scorer.score_with(slot, e, selected, log_joint) - score
            if gain > _LEAST_GAIN:
                heapq.heappush(queue, (-gain, e, n_moves))
            continue
        log_joint = scorer.move(slot, e, selected, log_joint)
        score = scorer.score_of(selected, log_joint)
        n_moves += 1
        yield score


def _scorer(
    search: GreedySearch | AnnealedSearch,
    layout: Layout,
    rows: tuple[IntArray, IntArray, FloatArray],
    smoothing: float,
    crew: Crew,
) -> MoveScorer:
    score = Score(search.score == "margin", float(search.gamma))
    return make_scorer(
        layout,
        rows,
        score,
        smoothing=smoothing,
        is_left_out=search.leaves_out,
        max_rows=search.max_rows,
        crew=crew,
    )


def _start(layout: Layout) -> NDArray[np.int64]:
    """No parent for the features that may go without, and any forest for the others."""
    return maximum_arborescence(layout.parent_sets, (layout.parent_sets.parents < 0).astype(np.float64))


def _is_above_zero(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value) and float(value) > 0


def _check_score(score: str, gamma: float) -> None:
    if score not in ("conditional", "margin"):
        raise ValueError(f"score must be 'conditional' or 'margin', got {score!r}")
    if not _is_above_zero(gamma):
        raise ValueError(f"gamma must be a finite number above 0, got {gamma!r}")


def _check_limits(**limits: int | None) -> None:
    for name, value in limits.items():
        if value is not None and not (isinstance(value, Integral) and value >= 1):
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
