"""Parameters in closed form: smoothed relative frequencies, and the conditional mutual information of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.model.layout import Layout, check_bytes, grouped_codes, wide_codes


def class_log_prior(y: IntArray, weight: FloatArray, n_classes: int, smoothing: float) -> FloatArray:
    """Log of the smoothed class frequencies, float64[C]."""
    return log_prior(np.bincount(y, weights=weight, minlength=n_classes).astype(np.float64), smoothing)


def log_prior(of_class: FloatArray, smoothing: float) -> FloatArray:
    """Log of the smoothed class frequencies, float64[C], from the counts of the classes."""
    counts = of_class + smoothing
    return np.log(counts / counts.sum())


def cpt_log_frequencies(
    layout: Layout, codes: IntArray, y: IntArray, weight: FloatArray, smoothing: float, crew: Crew | None = None
) -> FloatArray:
    """Log of the smoothed relative frequencies of every candidate's CPT, as an arena of float64.

    Parameters
    ----------
    layout : Layout
    codes : int array of shape (N, D)
    y : int array of shape (N,)
    weight : float array of shape (N,)
    smoothing : float
        Added to every count.
    """
    return log_frequencies(layout, counts_of_cpts(layout, codes, y, weight, crew or Crew()), smoothing)


def log_frequencies(layout: Layout, counts: FloatArray, smoothing: float) -> FloatArray:
    """Log of the smoothed relative frequencies of every candidate's CPT, from an arena of counts."""
    arena = counts + smoothing
    for e in range(layout.parent_sets.n_candidates):
        cpt = layout.cpt(arena, e)
        cpt /= cpt.sum(axis=1, keepdims=True)
    return np.log(arena, out=arena)


def counts_of_cpts(
    layout: Layout, codes: IntArray, y: IntArray, weight: FloatArray, crew: Crew, counts: FloatArray | None = None
) -> FloatArray:
    """Weights of the rows summed in every cell of every candidate's CPT, as an arena of float64.

    They are added to ``counts`` if these are given.
    """
    if counts is None:
        counts = np.zeros(layout.size)
    if layout.groups is None:
        codes = wide_codes(codes, layout.pairs, layout.cpts.cards, crew)
    else:
        codes = grouped_codes(codes, layout.groups, crew.n_threads)
    rows = (np.ascontiguousarray(codes), np.asarray(y, np.int64), np.asarray(weight, np.float64))
    ranges = crew.split_by_cost(np.diff(layout.cpts.ptr))
    crew.run(core.count_cpts, ranges, *rows, layout.cpts, counts, layout.n_classes)
    return counts


def conditional_mutual_information(
    codes: IntArray, y: IntArray, weight: FloatArray, cards: NDArray[np.int64], crew: Crew | None = None
) -> FloatArray:
    """``I(X_i; X_j | C)`` of all pairs of features in nats, float64[D, D], from unsmoothed counts."""
    crew = crew or Crew()
    n_features = codes.shape[1]
    information = np.zeros((n_features, n_features))
    check_bytes(
        crew.n_threads * 2 * int(cards.max()) ** 2 * (int(y.max()) + 1) * 8,
        "the counts of one pair of features would take",
        "lower max_bins or max_categories, or leave out features with many values",
    )
    columns, n_classes = np.ascontiguousarray(codes.T), int(y.max()) + 1
    rows = (columns, np.asarray(y, np.int64), np.asarray(weight, np.float64))
    crew.run(core.pair_information, crew.split_by_cost(np.arange(n_features)), *rows, cards, information, n_classes)
    return information


def count_rows(weight: FloatArray) -> float:
    """Number of rows that the weights represent: their sum if they are whole numbers, otherwise their count.

    Examples
    --------
    >>> count_rows(np.array([2.0, 3.0])), count_rows(np.array([0.2, 0.3]))
    (5.0, 2.0)
    """
    return float(weight.sum()) if (weight == np.floor(weight)).all() else float(len(weight))
