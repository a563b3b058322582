"""Discriminative scores of changed parents: what searches over structures with closed-form tables go by.

The log-joint of a row is a sum with one term for each feature, so another parent for a feature changes one term. The
score of a structure is a weighted mean over rows of the conditional log-likelihood or of the margin, cut off at gamma;
neither changes when a constant is added to the log-joint of a row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tanager._jit import kernel
from tanager._types import FloatArray, IntArray, Tables
from tanager.kernels.batch import table_places
from tanager.kernels.elementary import exp
from tanager.kernels.lanes import LANES

# What fills lines up to whole lanes: no class, as far as maxima and sums can tell.
_NO_CLASS = np.float32(-1e30)

_BLOCK = 64


class Terms(NamedTuple):
    """Rows, and the tables that their terms are read from; arenas end in the zeros that unknown values read."""

    theta: FloatArray  # float32: log-probabilities of all candidates' tables
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


@kernel
def log_frequencies(
    lo: int,
    hi: int,
    counts: FloatArray,
    tables: Tables,
    n_classes: int,
    smoothing: float,
    deducted: float,
    theta: FloatArray,
) -> None:
    """Fill the tables of slots lo to hi with logs of smoothed frequencies, each cell with so much less of its own."""
    for s in range(lo, hi):
        card = tables.cards[tables.child[s]]
        for e in range(tables.ptr[s], tables.ptr[s + 1]):
            block = counts[tables.offset[e] : tables.offset[e + 1]].reshape(-1, card, n_classes)
            out = theta[tables.offset[e] : tables.offset[e + 1]].reshape(-1, card, n_classes)
            for x_parent in range(block.shape[0]):
                for c in range(n_classes):
                    total = smoothing * card + block[x_parent, :, c].sum()
                    for x in range(card):
                        less = min(block[x_parent, x, c], deducted)
                        out[x_parent, x, c] = math.log((block[x_parent, x, c] - less + smoothing) / (total - less))


@kernel
def add_terms(slot: int, candidate: int, sign: float, terms: Terms, tables: Tables, log_joint: FloatArray) -> None:
    """Add a candidate's terms to ``log_joint[N, P]``, or take them away."""
    places = np.empty(terms.y.shape[0], np.int64)
    table_places(terms.columns, tables, slot, candidate, terms.n_classes, places)
    theta, own, y = terms.theta, terms.own, terms.y
    factor = np.float32(sign)
    for n in range(y.shape[0]):
        line = log_joint[n]
        before = line[y[n]]
        for c in range(terms.n_classes):
            line[c] += factor * theta[places[n] + c]
        line[y[n]] = before + factor * own[places[n] + y[n]]


@kernel
def empty_log_joint(prior: FloatArray, n_rows: int) -> FloatArray:
    """The log-joint of rows before any feature is seen, float32[N, P]."""
    n_classes = prior.shape[0]
    log_joint = np.full((n_rows, (n_classes + LANES - 1) // LANES * LANES), _NO_CLASS)
    for n in range(n_rows):
        for c in range(n_classes):
            log_joint[n, c] = prior[c]
    return log_joint


@kernel
def move_scores(
    lo: int,
    hi: int,
    terms: Terms,
    tables: Tables,
    selected: IntArray,
    log_joint: FloatArray,
    score: Score,
    scores: FloatArray,
) -> None:
    """Fill ``scores[E]`` for the candidates of slots lo to hi: the score if the slot had that candidate instead."""
    base = np.empty_like(log_joint)
    for s in range(lo, hi):
        base[:] = log_joint
        add_terms(s, selected[s], -1.0, terms, tables, base)
        for e in range(tables.ptr[s], tables.ptr[s + 1]):
            scores[e] = candidate_score(s, e, terms, tables, base, score)


@kernel
def candidate_score(slot: int, candidate: int, terms: Terms, tables: Tables, base: FloatArray, score: Score) -> float:
    """Score of the log-joint that a candidate's terms make of ``base[N, P]``, which lacks those of the slot."""
    places = np.empty(terms.y.shape[0], np.int64)
    table_places(terms.columns, tables, slot, candidate, terms.n_classes, places)
    if score.is_margin:
        return _mean_margin(places, terms, base, score.gamma)
    return _mean_log_probability(places, terms, base)


@kernel
def _mean_margin(places: IntArray, terms: Terms, base: FloatArray, gamma: float) -> float:
    """Mean over rows of the margin, cut off at gamma."""
    theta, own, y, weight = terms.theta, terms.own, terms.y, terms.weight
    total = 0.0
    for n in range(y.shape[0]):
        line, label = base[n], y[n]
        rival = _NO_CLASS
        for c in range(terms.n_classes):
            value = line[c] + theta[places[n] + c]
            rival = max(rival, value if c != label else _NO_CLASS)
        total += weight[n] * min(gamma, line[label] + own[places[n] + label] - rival)
    return total


@kernel
def _mean_log_probability(places: IntArray, terms: Terms, base: FloatArray) -> float:
    """Mean over rows of the log-probability of the own class given the features, which counts down to -88.

    Rows go by blocks, so that the exponentials of a block are one long loop, which the compiler vectorises.
    """
    theta, own, y, weight = terms.theta, terms.own, terms.y, terms.weight
    width = base.shape[1]
    odds = np.empty(_BLOCK * width, np.float32)
    total = 0.0
    for start in range(0, y.shape[0], _BLOCK):
        n_rows = min(_BLOCK, y.shape[0] - start)
        for b in range(n_rows):
            n = start + b
            line, label, place = base[n], y[n], places[n]
            terms_of_row, out = theta[place : place + width], odds[b * width : (b + 1) * width]
            shift = line[label] + own[place + label]
            for c in range(width):
                out[c] = line[c] + terms_of_row[c] - shift
            out[label] = np.float32(0.0)
        for k in range(n_rows * width):
            odds[k] = exp(odds[k])
        for b in range(n_rows):
            of_row = 0.0
            for c in range(width):
                of_row += odds[b * width + c]
            total -= weight[start + b] * math.log(of_row)
    return total


@kernel
def descends_from(feature: int, ancestor: int, parent: IntArray, selected: IntArray) -> bool:
    """Whether the ancestor is met on the way up from a feature, itself included; D ends the way."""
    n_features = selected.shape[0]
    while feature < n_features and feature != ancestor:
        feature = parent[selected[feature]]
    return feature == ancestor


@kernel
def anneal(
    moves: Annealing,
    terms: Terms,
    tables: Tables,
    selected: IntArray,
    log_joint: FloatArray,
    score: Score,
    best: IntArray,
    scores: FloatArray,
) -> None:
    """Try moves in turn; those that would close a cycle are passed over.

    ``selected`` and ``log_joint`` follow the moves made; ``best`` is the best structure met. ``scores`` holds the
    score now and the score of the best structure, which are both known at the start.
    """
    base = np.empty_like(log_joint)
    for t in range(moves.slot.shape[0]):
        s, e = moves.slot[t], moves.candidate[t]
        if e == selected[s] or descends_from(tables.parent[e], s, tables.parent, selected):
            continue
        base[:] = log_joint
        add_terms(s, selected[s], -1.0, terms, tables, base)
        changed = candidate_score(s, e, terms, tables, base, score)
        if changed - scores[0] < moves.threshold[t]:
            continue
        add_terms(s, e, 1.0, terms, tables, base)
        log_joint[:] = base
        selected[s] = e
        scores[0] = changed
        if changed > scores[1]:
            scores[1] = changed
            best[:] = selected
