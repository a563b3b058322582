"""Summaries of columns that add up, from which bins and categories are found without the rows.

Of a column of numbers, the weight of every distinct value in every class is kept while there are at most 16,384 values;
bins found from it are those of all rows. A column with more values is represented by a random sample of 131,072 rows.
The share of rows below any point then differs by less than 0.6 % between sample and rows, with a probability of 99.9 %
(Dvoretzky, Kiefer and Wolfowitz), and the MDL method sees no more evidence than the sample has: cuts that only more
rows would justify are left out. Of a category, the weight of every value is kept; beyond 131,072 values the rarest are
dropped, and are unknown later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import MISSING, object_array
from tanager.data.categories import ordinal_values
from tanager.data.coders import (
    CategoryColumn,
    NumericColumn,
    check_finite,
    infinite_error,
    infinite_levels,
    number_reader,
    sort_categories,
)
from tanager.data.columns import Frame
from tanager.data.contents import BinContents
from tanager.data.encoding import FrameEncoder, GivenValues, Missing
from tanager.data.mdlp import make_binning

MOST_VALUES = 1 << 14
_MOST_CATEGORIES = 1 << 17
_NOTHING_GIVEN = GivenValues()

_Numbers = NDArray[np.float64]
_Classes = NDArray[np.int64]


def _distinct(values: NDArray[Any]) -> tuple[_Numbers, NDArray[np.int64]]:
    """Distinct values, sorted, and the place of each value among them; those of whole numbers may have no rows."""
    if values.dtype.kind in "iu" and values.dtype.itemsize <= 4:
        low, high = int(values.min()), int(values.max())
        if high - low < MOST_VALUES:
            # Looking whole numbers up is many times faster than sorting them.
            return np.arange(low, high + 1, dtype=np.float64), values.astype(np.int64) - low
    # Adding zero makes minus zero zero.
    return np.unique(np.asarray(values, np.float64) + 0.0, return_inverse=True)


@dataclass
class NumberSummary:
    """Weights of the distinct values of a column of numbers in each class.

    ``values``, ``y`` and ``weight`` have an entry for each value and class that occur together; None if the column has
    too many values.
    """

    cells: tuple[_Numbers, _Classes, _Numbers] | None = field(
        default_factory=lambda: (np.empty(0), np.empty(0, np.int64), np.empty(0))
    )

    def add(self, values: NDArray[Any], y: _Classes, weight: _Numbers) -> None:
        """Add rows, none of them missing."""
        if self.cells is None or not values.size:
            return
        distinct, place = _distinct(values)
        n_classes = int(y.max()) + 1
        totals = np.bincount(place * n_classes + y, weight, minlength=distinct.size * n_classes)
        seen = np.flatnonzero(totals)
        self._include(distinct[seen // n_classes], seen % n_classes, totals[seen])

    def merge(self, other: NumberSummary) -> None:
        """Add the rows of another summary."""
        if other.cells is None:
            self.cells = None
        else:
            self._include(*other.cells)

    def renumber(self, numbers: _Classes) -> None:
        """Give classes other numbers."""
        if self.cells is not None:
            self.cells = (self.cells[0], numbers[self.cells[1]], self.cells[2])

    def _include(self, *cells: NDArray[Any]) -> None:
        if self.cells is None:
            return
        values, y, weight = (np.concatenate(pair) for pair in zip(self.cells, cells, strict=True))
        order = np.lexsort((y, values))
        values, y, weight = values[order], y[order], weight[order]
        is_first = np.append(True, (values[1:] != values[:-1]) | (y[1:] != y[:-1]))
        starts = np.flatnonzero(is_first)
        if np.count_nonzero(np.diff(values[starts])) >= MOST_VALUES:
            self.cells = None
        else:
            self.cells = (values[starts], y[starts], np.add.reduceat(weight, starts))


@dataclass
class CategorySummary:
    """Weights of the values of a category."""

    totals: Counter[Any] = field(default_factory=Counter)
    is_object: bool = False  # whether values are Python objects, rather than numbers or booleans of one type

    def add(self, cells: NDArray[Any], levels: NDArray[Any] | None, weight: _Numbers) -> None:
        """Add rows, none of them missing; cells are values, or places in ``levels``."""
        if levels is None:
            found, place = np.unique(cells, return_inverse=True)
        else:
            place, found = cells, levels
            self.is_object |= levels.dtype.kind == "O"
        totals = np.bincount(place, weight, minlength=len(found))
        is_seen = np.bincount(place, minlength=len(found)) > 0
        self.totals.update(dict(zip(found[is_seen].tolist(), totals[is_seen].tolist(), strict=True)))
        self._limit()

    def merge(self, other: CategorySummary) -> None:
        """Add the rows of another summary."""
        self.totals.update(other.totals)
        self.is_object |= other.is_object
        self._limit()

    def column(
        self, has_missing: bool, most: int | None, label: str, order: Sequence[Any] | None = None
    ) -> CategoryColumn:
        """The encoder of the column (see `FrameEncoder.fit`)."""
        values = sort_categories(self.totals, label)
        categories = object_array(values) if self.is_object else np.array(values)
        if order is not None:
            ordered = ordinal_values(categories, order, label)
            return CategoryColumn(ordered, ordered[:0], has_missing, is_ordinal=True)
        if most is None or len(values) <= most:
            return CategoryColumn(categories, categories[:0], has_missing)
        totals = np.array([self.totals[value] for value in values])
        is_kept = np.zeros(len(values), np.bool_)
        is_kept[np.argsort(-totals, kind="stable")[: most - 1]] = True
        return CategoryColumn(categories[is_kept], categories[~is_kept], has_missing)

    def _limit(self) -> None:
        if len(self.totals) > 2 * _MOST_CATEGORIES:
            self.totals = Counter(dict(self.totals.most_common(_MOST_CATEGORIES)))


@dataclass
class ColumnSummary:
    """A column, of numbers or categories as its first values say."""

    values: NumberSummary | CategorySummary | None = None
    has_missing: bool = False
    origin: str = ""  # piece that the first values came from

    def add(self, frame: Frame, index: int, is_category: bool, y: _Classes, weight: _Numbers, origin: str = "") -> None:
        """Add the cells of a frame; a column that was of the other kind before is refused."""
        cells, levels, label = frame.columns[index], frame.levels[index], frame.label(index)
        is_missing = cells != cells if levels is None else cells == MISSING
        if is_missing.any():
            self.has_missing = True
            cells, y, weight = cells[~is_missing], y[~is_missing], weight[~is_missing]
        if not cells.size:
            return
        kind: type[Any] = CategorySummary if is_category else NumberSummary
        if self.values is None:
            self.values, self.origin = kind(), origin
        if not isinstance(self.values, kind):
            raise _mixed_error(label, is_category, "the pieces before")
        if levels is not None and np.isin(cells, infinite_levels(levels)).any():
            raise infinite_error(label)
        if isinstance(self.values, CategorySummary):
            self.values.add(cells, levels, weight)
        else:
            numbers = number_reader(levels, label)(cells)
            check_finite(numbers, label)
            self.values.add(numbers, y, weight)

    def merge(self, other: ColumnSummary, label: str) -> None:
        """Add the rows of another summary; a column that was of the other kind before is refused."""
        self.has_missing |= other.has_missing
        if self.values is None:
            self.values, self.origin = other.values, other.origin
        elif other.values is not None:
            if type(self.values) is not type(other.values):
                is_category = isinstance(other.values, CategorySummary)
                raise _mixed_error(f"{other.origin}: {label}", is_category, self.origin)
            self.values.merge(other.values)  # type: ignore[arg-type]


@dataclass
class FrameSummary:
    """Summaries of all columns of a frame that comes in pieces.

    Attributes
    ----------
    names : list of str or None
    columns : list of ColumnSummary, length D
    """

    names: list[str] | None
    columns: list[ColumnSummary]

    @classmethod
    def of(cls, frame: Frame) -> FrameSummary:
        """An empty summary for frames like this one."""
        return cls(frame.names, [ColumnSummary() for _ in frame.columns])

    def add(
        self, frame: Frame, is_categorical: NDArray[np.bool_], y: _Classes, weight: _Numbers, origin: str = ""
    ) -> None:
        """Add rows of positive weight; ``origin`` is how messages call them."""
        for index, column in enumerate(self.columns):
            column.add(frame, index, bool(is_categorical[index]), y, weight, origin)

    def merge(self, other: FrameSummary) -> None:
        """Add the rows of another summary."""
        for index, (own, its) in enumerate(zip(self.columns, other.columns, strict=True)):
            own.merge(its, f"column {index if self.names is None else repr(self.names[index])}")

    def renumber(self, numbers: _Classes) -> None:
        """Give classes other numbers."""
        for column in self.columns:
            if isinstance(column.values, NumberSummary):
                column.values.renumber(numbers)

    @property
    def is_number(self) -> NDArray[np.bool_]:
        """Which columns have numbers."""
        return np.array([isinstance(column.values, NumberSummary) for column in self.columns])

    def encoder(
        self,
        sample: Frame,
        of_sample: tuple[_Classes, _Numbers | None],
        binning: str,
        max_bins: int | None,
        *,
        missing: Missing,
        max_categories: int | None,
        n_rows: float,
        factors: _Numbers | None = None,
        given: GivenValues = _NOTHING_GIVEN,
    ) -> FrameEncoder:
        """Bins and categories, those of `FrameEncoder.fit` unless a column has too many values.

        Parameters
        ----------
        sample : Frame
            Some of the rows, for columns with too many values.
        of_sample : classes and weights
        binning : str
            See `make_binning`.
        max_bins, missing, max_categories
            See `FrameEncoder.fit`.
        n_rows : float
            Number of all rows.
        factors : float array of shape (C,), optional
            What the weights of the rows of each class are multiplied by.
        given : GivenValues
            As in `FrameEncoder.fit`.
        """

        def cut(values: _Numbers, y: _Classes, weight: _Numbers | None) -> _Numbers:
            if factors is not None:
                weight = factors[y] * (1.0 if weight is None else weight)
            return make_binning(binning, y, max_bins, n_rows=n_rows)([values], weight)[0]

        columns: list[NumericColumn | CategoryColumn] = []
        for index, column in enumerate(self.columns):
            label, values = sample.label(index), column.values
            has_missing = column.has_missing and missing == "value"
            if values is None and missing == "ignore":
                raise ValueError(f"{label} has no values, only missing ones; drop it, or use missing='value'")
            if isinstance(values, NumberSummary) and binning == "none":
                values = _as_categories(values, label)
            if isinstance(values, NumberSummary):
                read = number_reader(sample.levels[index], label)
                cells = values.cells or (read(sample.columns[index]), *of_sample)
                cuts = given.cuts[index] if index in given.cuts else cut(*cells)
                contents = BinContents.read(cells[0], cuts, cells[2])
                columns.append(NumericColumn(_frozen(cuts), has_missing, contents))
            else:
                held = values or CategorySummary()
                columns.append(held.column(has_missing, max_categories, label, given.orders.get(index)))
        return FrameEncoder(tuple(columns), None if self.names is None else tuple(self.names))


def _mixed_error(label: str, is_category: bool, before: str) -> ValueError:
    held = ("numbers", "categories") if is_category else ("categories", "numbers")
    return ValueError(
        f"{label} holds {held[1]}, but {held[0]} in {before}; make it one of them in all pieces, or name it in "
        "categorical_features"
    )


def _as_categories(summary: NumberSummary, label: str) -> CategorySummary:
    if summary.cells is None:
        raise ValueError(f"{label} has more than {MOST_VALUES:,} distinct values, too many for binning='none'")
    values, _, weight = summary.cells
    totals: Counter[Any] = Counter()
    for value, each in zip(values.tolist(), weight.tolist(), strict=True):
        totals[value] += each
    return CategorySummary(totals)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
