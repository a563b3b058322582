"""Searches over forests by a discriminative score of structures with counted CPTs.

Baselines to the search by gradient descent: greedy hill climbing on the conditional likelihood (Grossman and Domingos,
2004) or on the margin (Pernkopf and Wohlmayr, 2011), and simulated annealing on the margin (Pernkopf and Wohlmayr,
2013). A move gives one feature another parent, its first one, or none, and keeps a forest.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager._options import Options, ShortNames, check_choice, check_count, check_number, check_pair
from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.learning.candidates import CANDIDATES, RandomCandidates, Screened, check_candidates, other_features
from tanager.learning.context import Context
from tanager.learning.structures import StructureOptions
from tanager.model import Layout, make_layout
from tanager.model.moves import Annealing, MoveScorer, Score, make_scorer
from tanager.structure import ParentSets, fixed_parents, maximum_arborescence
from tanager.training.settings import geometric

_LEAST_GAIN = 1e-6  # smaller gains may be rounding, and would let moves go round in circles
_PROBES = 200  # moves that set the scale of temperatures
_BLOCKS, _LARGEST_BLOCK = 50, 20_000  # reports of an annealed search, and moves between two of them

Report = Callable[[int, float], bool]
"""Called now and then with the number of moves made or tried, and the score; True ends the search."""


class ConditionalScore(Options):
    """Mean conditional log-likelihood of the classes."""

    def for_kernels(self) -> Score:
        """The score as the kernels take it."""
        return Score(is_margin=False, gamma=0.0)


class MarginScore(Options):
    """Mean margin: the log-ratio of the own class to the next, cut off at ``gamma``.

    Parameters
    ----------
    gamma : float, above 0, default=1.0
        Margins beyond it count no more; higher values look at rows that are already right, too.
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, above=0)

    def for_kernels(self) -> Score:
        """The score as the kernels take it."""
        return Score(is_margin=True, gamma=float(self.gamma))


SCORES = ShortNames("score", {"conditional": ConditionalScore, "margin": MarginScore}, "for_kernels")
"""Scores of structures by the words that searches take for them."""


class Found(NamedTuple):
    """What a search ends with."""

    selected: NDArray[np.int64]  # int64[D]: candidate of each feature
    score: float
    n_moves: int  # moves made by hill climbing, moves tried by annealing


class ScoreSearch(StructureOptions):
    """Base of the searches by a score: the forest they find is the one structure that is trained."""

    short_names: ClassVar = {"candidates": CANDIDATES, "score": SCORES}
    is_fixed: ClassVar[bool] = True

    def _candidates(self, context: Context, rng: np.random.Generator) -> ParentSets:
        return other_features(self, context, rng)

    def search(self, space: ParentSets, context: Context, rng: np.random.Generator) -> ParentSets:
        """The forest that the search finds."""
        if space.is_fixed:
            return space
        layout = make_layout(space, context.rows.cards, context.rows.n_classes)

        def report(n_moves: int, score: float) -> bool:
            if context.verbose:
                _show(n_moves, score)
            return context.limits.is_over("the search for a structure ended early")

        rows = (context.rows.codes, context.rows.y, context.rows.full_weight())
        with Crew(context.n_threads) as crew:
            found = self.run(layout, rows, rng, crew=crew, report=report)
        if context.verbose:
            sys.stderr.write("\n")
        return fixed_parents(space.select(found.selected))

    def run(
        self,
        layout: Layout,
        rows: tuple[IntArray, IntArray, FloatArray],
        rng: np.random.Generator,
        *,
        crew: Crew | None = None,
        report: Report | None = None,
    ) -> Found:
        """Search for a forest of high score on the rows: codes, y and weight."""
        crew = crew or Crew()
        return self._run(
            _scorer(self, layout, rows, crew), _start(layout), rng, crew, report or (lambda n_moves, score: False)
        )

    def _run(
        self, scorer: MoveScorer, selected: NDArray[np.int64], rng: np.random.Generator, crew: Crew, report: Report
    ) -> Found:
        """Search from the selected candidates on, which may be changed."""
        raise NotImplementedError


class GreedySearch(ScoreSearch):
    """Greedy hill climbing: the move that gains most is made, as long as one gains anything. Starts without parents.

    Parameters
    ----------
    score : {"conditional", "margin"} or MarginScore, default="conditional"
        What to climb on: the conditional log-likelihood, or the margin.
    smoothing : float, above 0, default=1.0
        Added to each cell of the counts that structures are scored by.
    leave_one_out : bool, default=False
        Score each row by CPTs that were counted without it. The literature does not; without it, scores favour large
        CPTs.
    max_parents : int or None, default=None
        Number of candidate parents of each feature; None takes all other features.
    candidates : {"random", "screened", "mixed"} or Screened, default="random"
    lazy : bool, default=True
        Take gains found before other moves were made as estimates, so that only the most promising moves are scored
        again; when none of them gains any more, all are. Otherwise all moves are scored after each.
    tolerance : float, at least 0 and below 1, default=1e-4
        A lazy search ends when all moves since they were last scored together have added less than this share of the
        score.
    max_moves : int or None, default=None
        Moves to make at most.
    max_rows : int or None, default=20000
        Rows to score at most. CPTs are always counted from all rows.

    Examples
    --------
    Feature 1 is feature 0 shifted by the class; feature 2 is noise.

    >>> from tanager.structure import pseudo_candidates
    >>> rng = np.random.default_rng(0)
    >>> y, codes = rng.integers(0, 3, 300), rng.integers(0, 3, (300, 3))
    >>> codes[:, 1] = (codes[:, 0] + y) % 3
    >>> layout = make_layout(pseudo_candidates(3), [3, 3, 3], n_classes=3)
    >>> found = GreedySearch("margin", max_moves=1).run(layout, (codes, y, np.ones(300)), rng)
    >>> layout.parent_sets.select(found.selected)
    array([ 1, -1, -1])
    """

    score: str | ConditionalScore | MarginScore = "conditional"
    smoothing: float = 1.0
    leave_one_out: bool = False
    max_parents: int | None = None
    candidates: str | Screened | RandomCandidates = "random"
    lazy: bool = True
    tolerance: float = 1e-4
    max_moves: int | None = None
    max_rows: int | None = 20_000

    def __post_init__(self) -> None:
        _check_search(self)
        check_choice("lazy", self.lazy, (True, False))
        check_number("tolerance", self.tolerance, least=0, below=1)
        if self.max_moves is not None:
            check_count("max_moves", self.max_moves)

    def _run(
        self, scorer: MoveScorer, selected: NDArray[np.int64], rng: np.random.Generator, crew: Crew, report: Report
    ) -> Found:
        most = math.inf if self.max_moves is None else self.max_moves
        n_moves = 0
        while True:
            # The log-joint is summed anew, so that rounding does not add up.
            log_joint = scorer.log_joint(selected)
            score = scorer.score_of(selected, log_joint)
            scores = scorer.all_scores(selected, log_joint, crew)
            n_before, before = n_moves, score
            for improved in _climb(scorer, selected, log_joint, score, scores):
                n_moves, score = n_moves + 1, improved
                if report(n_moves, score):
                    return Found(selected, score, n_moves)
                if n_moves >= most or not self.lazy:
                    break
            is_slow = self.lazy and score - before < self.tolerance * abs(score)
            if n_moves == n_before or n_moves >= most or is_slow:
                return Found(selected, score, n_moves)


class AnnealedSearch(ScoreSearch):
    """Simulated annealing: random moves are made if they gain, and with falling probability if they lose.

    Parameters
    ----------
    score : {"margin", "conditional"} or MarginScore, default="margin"
        As in `GreedySearch`.
    smoothing, leave_one_out, max_parents, candidates, max_rows
        As in `GreedySearch`.
    n_moves : int, default=20000
        Moves to try.
    temperature : (float, float), default=(1.0, 1e-3)
        At the first and the last move, geometric in between, in units of the mean change that a move makes at the
        start. A move that loses d is made with probability exp(-d / temperature).
    """

    score: str | ConditionalScore | MarginScore = "margin"
    smoothing: float = 1.0
    leave_one_out: bool = False
    max_parents: int | None = None
    candidates: str | Screened | RandomCandidates = "random"
    n_moves: int = 20_000
    temperature: tuple[float, float] = (1.0, 1e-3)
    max_rows: int | None = 20_000

    def __post_init__(self) -> None:
        _check_search(self)
        check_count("n_moves", self.n_moves)
        check_pair("temperature", self.temperature)

    def _run(
        self, scorer: MoveScorer, selected: NDArray[np.int64], rng: np.random.Generator, crew: Crew, report: Report
    ) -> Found:
        log_joint = scorer.log_joint(selected)
        scores = np.full(2, scorer.score_of(selected, log_joint))
        best = selected.copy()
        moves = self._draw_moves(scorer, selected, log_joint, rng)
        n_blocks = max(min(_BLOCKS, self.n_moves), self.n_moves // _LARGEST_BLOCK)
        edges = np.linspace(0, self.n_moves, n_blocks + 1).astype(np.int64)
        for start, stop in pairwise(edges):
            some = Annealing(moves.slot[start:stop], moves.candidate[start:stop], moves.threshold[start:stop])
            scorer.anneal(some, selected, log_joint, best, scores)
            log_joint = scorer.log_joint(selected)
            if report(int(stop), float(scores[1])):
                return Found(best, float(scores[1]), int(stop))
        return Found(best, float(scores[1]), self.n_moves)

    def _draw_moves(
        self, scorer: MoveScorer, selected: IntArray, log_joint: FloatArray, rng: np.random.Generator
    ) -> Annealing:
        """Draw all moves, and the losses up to which they are made."""
        child = np.repeat(np.arange(len(selected)), np.diff(scorer.layout.cpts.ptr))
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
    parent = scorer.layout.cpts.parent
    child = np.repeat(np.arange(len(selected)), np.diff(scorer.layout.cpts.ptr))
    gains = scores - score
    queue = [(-float(gains[e]), int(e), 0) for e in np.flatnonzero(gains > _LEAST_GAIN)]
    heapq.heapify(queue)
    n_moves = 0
    while queue:
        _, e, known_at = heapq.heappop(queue)
        slot = int(child[e])
        if core.descends_from(parent[e], slot, parent, selected):
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


def _scorer(search: Any, layout: Layout, rows: tuple[IntArray, IntArray, FloatArray], crew: Crew) -> MoveScorer:
    return make_scorer(
        layout,
        rows,
        search.resolved("score").for_kernels(),
        smoothing=search.smoothing,
        is_left_out=search.leave_one_out,
        max_rows=search.max_rows,
        crew=crew,
    )


def _start(layout: Layout) -> NDArray[np.int64]:
    """No parent for the features that may go without, and any forest for the others."""
    return maximum_arborescence(layout.parent_sets, (layout.parent_sets.parents < 0).astype(np.float64))


def _check_search(search: Any) -> None:
    """Check the options that both searches have."""
    search.resolved("score")
    check_number("smoothing", search.smoothing, above=0)
    check_choice("leave_one_out", search.leave_one_out, (True, False))
    check_candidates(search)
    if search.max_rows is not None:
        check_count("max_rows", search.max_rows)


def _show(n_moves: int, score: float) -> None:
    """Rewrite one line on the terminal."""
    sys.stderr.write(f"\rmove {n_moves}  score {score:.6g} ")
    sys.stderr.flush()
