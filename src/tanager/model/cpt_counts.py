"""Counts of rows in the cells of CPTs, and what follows from them in closed form: frequencies, information of pairs.

Counts add up: over pieces of a stream, files, or the parts of a cluster. Sums of whole numbers are exact, so counts do
not depend on how rows are cut into pieces, to the last bit. They are all that closed-form parameters need and, if all
pairs of features are counted, all that a Chow-Liu tree needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager import core
from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.model.layout import Layout, check_bytes, grouped_codes, make_layout, wide_codes
from tanager.structure import NO_PARENT, ParentSets

_BLOCK_BYTES = 1 << 17  # of codes that are counted at a time: few enough to stay in the cache for all candidates


@dataclass
class CptCounts:
    """Weights of the rows seen so far, summed in every cell of every CPT of a layout.

    Attributes
    ----------
    layout : Layout
    cells : float64 array of shape (layout.size,)
        An arena of counts.
    of_class : float64 array of shape (C,)
    n_rows : int
        Number of rows, whatever their weights.
    is_whole : bool
        Whether all weights were whole numbers.

    Examples
    --------
    >>> from tanager.structure import naive_bayes
    >>> counts = CptCounts.empty(make_layout(naive_bayes(1), [2], n_classes=2))
    >>> counts.add(np.array([[0], [1], [1]]), np.array([0, 1, 1]))
    >>> counts.layout.cpt(counts.cells, 0).tolist()
    [[[1.0, 0.0], [0.0, 2.0]]]
    """

    layout: Layout
    cells: FloatArray
    of_class: FloatArray
    n_rows: int = 0
    is_whole: bool = True

    @classmethod
    def empty(cls, layout: Layout) -> CptCounts:
        """No rows yet."""
        check_bytes(
            8 * layout.size,
            f"the counts of {layout.parent_sets.n_candidates:,} CPTs would take",
            "lower max_bins or max_categories, or leave out features with many values",
        )
        return cls(layout, np.zeros(layout.size), np.zeros(layout.n_classes))

    @property
    def n_counted(self) -> float:
        """Number of rows, counted with their weights if these are whole numbers."""
        return float(self.of_class.sum()) if self.is_whole else float(self.n_rows)

    def copy(self) -> CptCounts:
        """Counts that change by themselves."""
        return CptCounts(self.layout, self.cells.copy(), self.of_class.copy(), self.n_rows, self.is_whole)

    def add(self, codes: IntArray, y: IntArray, weight: FloatArray | None = None, crew: Crew | None = None) -> None:
        """Count some more rows, of weight one if no weights are given."""
        full = np.ones(len(y)) if weight is None else weight
        step = max(1, _BLOCK_BYTES // max(1, codes.shape[1] * codes.itemsize))
        for start in range(0, len(y), step):
            rows = slice(start, start + step)
            counts_of_cpts(self.layout, codes[rows], y[rows], full[rows], crew or Crew(), self.cells)
        self.of_class += np.bincount(y, full, minlength=self.layout.n_classes)
        self.n_rows += len(y)
        self.is_whole &= weight is None or bool((weight == np.floor(weight)).all())

    def merge(self, other: CptCounts) -> None:
        """Add the counts of other rows in the same layout."""
        self.cells += other.cells
        self.of_class += other.of_class
        self.n_rows += other.n_rows
        self.is_whole &= other.is_whole

    def scale(self, share: float) -> None:
        """Let all rows so far count for a share of what they did."""
        if share != 1.0:
            self.cells *= share
            self.of_class *= share
            self.is_whole = False

    def scaled_by_class(self, factors: FloatArray) -> CptCounts:
        """The counts where each row weighs so many times as much, by its class."""
        cells = (self.cells.reshape(-1, self.layout.n_classes) * factors).ravel()
        return CptCounts(self.layout, cells, self.of_class * factors, self.n_rows, is_whole=False)

    def select(self, layout: Layout) -> CptCounts:
        """The counts of another layout, of which every child and parent have been counted together.

        >>> counts = CptCounts.empty(all_pairs(np.array([2, 2]), n_classes=1))
        >>> counts.add(np.array([[0, 1], [1, 1]]), np.array([0, 0]))
        >>> layout = make_layout(ParentSets.from_lists([[1], [-1]]), [2, 2], n_classes=1)
        >>> counts.select(layout).cells.tolist()  # x0 given x1 = 0, given x1 = 1, and x1
        [0.0, 0.0, 1.0, 1.0, 0.0, 2.0]
        """
        counted = {pair: e for e, pair in enumerate(_families(self.layout))}
        cells = np.empty(layout.size)
        for e, (child, parent) in enumerate(_families(layout)):
            out = layout.cpt(cells, e)
            if (child, parent) in counted:
                out[...] = self.layout.cpt(self.cells, counted[child, parent])
            else:
                out[...] = self.layout.cpt(self.cells, counted[parent, child]).swapaxes(0, 1)
        return CptCounts(layout, cells, self.of_class, self.n_rows, self.is_whole)

    def recoded(self, cards: IntArray, maps: Sequence[IntArray]) -> CptCounts:
        """The same counts where values have other codes, and there may be more of them.

        Parameters
        ----------
        cards : int array of shape (D,)
        maps : sequence of D int arrays
            The new code of each value of each feature.
        """
        layout = make_layout(self.layout.parent_sets, cards, self.layout.n_classes)
        cells = np.zeros(layout.size)
        recode(self.layout, self.cells, layout, cells, maps)
        return CptCounts(layout, cells, self.of_class, self.n_rows, self.is_whole)

    def without_classes(self) -> CptCounts:
        """The counts of the same rows as if all were of one class."""
        layout = make_layout(self.layout.parent_sets, self.layout.cards, 1, groups=self.layout.groups)
        cells = self.cells.reshape(-1, self.layout.n_classes).sum(axis=1)
        return CptCounts(layout, cells, self.of_class.sum(keepdims=True), self.n_rows, self.is_whole)

    def information(self, crew: Crew | None = None) -> FloatArray:
        """``I(X_i; X_j | C)`` of the pairs of features that were counted, in nats, float64[D, D]."""
        crew, layout = crew or Crew(), self.layout
        n_features = layout.parent_sets.n_features
        information = np.zeros((n_features, n_features))
        ranges = crew.split_by_cost(np.diff(layout.cpts.ptr))
        shared = (tuple(layout.cpts), self.cells, float(self.of_class.sum()), information, layout.n_classes)
        crew.run(core.information_of_counts, ranges, *shared)
        return information


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


def all_pairs(cards: IntArray, n_classes: int) -> Layout:
    """The layout in which every feature is counted alone and with every feature before it."""
    lists = [[NO_PARENT, *range(i)] for i in range(len(cards))]
    return make_layout(ParentSets.from_lists(lists), cards, n_classes)


def recode(layout: Layout, arena: FloatArray, wider: Layout, out: FloatArray, maps: Sequence[IntArray]) -> None:
    """Copy the CPTs of an arena to one in which values have other codes; cells of new values stay as they are."""
    of_pairs = [(maps[a][:, None] * wider.cards[b] + maps[b]).ravel() for a, b in layout.pairs.tolist()]
    above = [*maps, *of_pairs, np.zeros(1, np.int64)]  # no parent, which is -1, comes last
    for e, (child, parent) in enumerate(_families(layout)):
        wider.cpt(out, e)[above[parent][:, None], maps[child]] = layout.cpt(arena, e)


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


def class_log_prior(y: IntArray, weight: FloatArray, n_classes: int, smoothing: float) -> FloatArray:
    """Log of the smoothed class frequencies, float64[C]."""
    return log_prior(np.bincount(y, weights=weight, minlength=n_classes).astype(np.float64), smoothing)


def log_prior(of_class: FloatArray, smoothing: float) -> FloatArray:
    """Log of the smoothed class frequencies, float64[C], from the counts of the classes."""
    counts = of_class + smoothing
    return np.log(counts / counts.sum())


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


def _families(layout: Layout) -> list[tuple[int, int]]:
    """Child and parent of every candidate."""
    sets = layout.parent_sets
    children = np.repeat(np.arange(sets.n_features), np.diff(sets.ptr))
    return list(zip(children.tolist(), sets.parents.tolist(), strict=True))
