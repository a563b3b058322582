"""From a `Frame` to integer codes: one frozen encoder a column, learned from the rows with positive weight.

Column j has the codes 0 .. cards[j] - 1. The code cards[j] means *unknown*: a category that training did not show, or a
missing cell where missing cells have no code of their own. It belongs to no bin and no category; what to do about it is
left to the reader of the codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import IntArray
from tanager.data.arrays import is_missing
from tanager.data.binning import Binning, check_sample_weight
from tanager.data.categories import RowIndex, observed_values, ordinal_values, pool_rare
from tanager.data.coders import (
    CategoryColumn,
    NumericColumn,
    are_ready,
    check_finite,
    code_dtype,
    copy_codes,
    infinite_error,
    infinite_levels,
    may_hold,
    number_reader,
)
from tanager.data.columns import Frame
from tanager.data.contents import BinContents
from tanager.data.decoding import Bins, decode_column, draw_column
from tanager.data.labels import group_labels, unique_labels, value_labels

Missing = Literal["value", "ignore"]


class GivenValues(NamedTuple):
    """What the user says about the values of columns, by their numbers."""

    cuts: Mapping[int, NDArray[np.float64]] = {}
    """Cuts of numeric columns."""
    orders: Mapping[int, Sequence[Any]] = {}
    """All values of ordinal columns, in their order."""


_NOTHING_GIVEN = GivenValues()

# Rows are encoded in blocks that stay in the cache, so that writing a row-major array column by column is cheap.
_BLOCK_ROWS = 32768

_FEW_ROWS = 4  # that are compared with the cuts of all columns at once: a call for each column would take longer


@dataclass(frozen=True, eq=False)
class FrameEncoder:
    """Encoders of all columns of a frame.

    Attributes
    ----------
    columns : tuple of NumericColumn or CategoryColumn, length D
    names : tuple of str or None
        Column names of the training frame.
    dtypes : tuple of str or None
        Names of the types of its columns, as NumPy or pandas call them; None if they are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from tanager.data import QuantileBinning, as_frame
    >>> frame = as_frame(np.array([["red", 1.5], ["blue", 2.5], ["red", 3.5]], dtype=object))
    >>> encoder = FrameEncoder.fit(frame, frame.is_categorical, None, QuantileBinning(max_bins=2))
    >>> encoder.cards
    array([2, 2], dtype=int32)
    >>> encoder.encode(as_frame(np.array([["blue", 9], ["green", 0]], dtype=object)))
    array([[0, 1],
           [2, 0]], dtype=uint8)
    """

    columns: tuple[NumericColumn | CategoryColumn, ...]
    names: tuple[str, ...] | None
    dtypes: tuple[str, ...] | None = None

    @classmethod
    def fit(
        cls,
        frame: Frame,
        is_categorical: NDArray[np.bool_],
        sample_weight: NDArray[np.float64] | None,
        binning: Binning,
        *,
        missing: Missing = "value",
        max_categories: int | None = None,
        given: GivenValues = _NOTHING_GIVEN,
        keeps_contents: bool = True,
    ) -> FrameEncoder:
        """Learn bins and categories from the rows with positive weight.

        Parameters
        ----------
        frame : Frame
        is_categorical : ndarray of bool, shape (D,)
            From `resolve_categorical`.
        sample_weight : ndarray of shape (N,) or None
        binning : callable
            Gives the cuts of the numeric columns; called once, with all of them and the weights.
        missing : {"value", "ignore"}
            Whether missing cells of a column that has some get a code of their own, or the code "unknown". A column
            with nothing but missing cells has that one code, whatever it is meant to hold; with "ignore" it is an
            error.
        max_categories : int or None
            Largest number of codes for the values of a category, at least 2; the code of missing cells is not counted.
            Where there are more values, the heaviest keep a code of their own, the smaller of equally heavy ones
            first, and the others share one.
        given : GivenValues
            Cuts that `binning` is not asked for, and ordinal columns, whose values all have a code of their own.
        keeps_contents : bool
            Whether quantiles of the numbers in each bin are kept, from which numbers can be drawn.
        """
        _check_options(missing, max_categories)
        if frame.n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {frame.n_columns})) while a minimum of 1 is required."
            )
        weight = check_sample_weight(sample_weight, frame.n_rows)
        rows: RowIndex = slice(None) if weight is None or weight.all() else np.flatnonzero(weight)
        missing_share = [_check_training_column(frame, index, rows, missing) for index in range(frame.n_columns)]
        has_missing = [missing == "value" and share > 0 for share in missing_share]
        # A column without a value has no bins either: it is a category that never had one.
        is_numeric = ~is_categorical & (np.array(missing_share) < 1)
        open_columns = [index for index in np.flatnonzero(is_numeric).tolist() if index not in given.cuts]
        numbers = {index: _as_numbers(frame, index) for index in np.flatnonzero(is_numeric).tolist()}
        found = binning([numbers[index] for index in open_columns], weight)
        cuts = {**dict(zip(open_columns, found, strict=True)), **given.cuts}
        columns: dict[int, NumericColumn | CategoryColumn] = {}
        for index in range(frame.n_columns):
            if is_numeric[index]:
                own = cuts[index]
                contents = BinContents.read(numbers[index], own, weight) if keeps_contents else BinContents.between(own)
                columns[index] = NumericColumn(_frozen(own), has_missing[index], contents)
            elif index in given.orders:
                order = ordinal_values(observed_values(frame, index, rows), given.orders[index], frame.label(index))
                columns[index] = CategoryColumn(_frozen(order), order[:0], has_missing[index], is_ordinal=True)
            else:
                categories, pooled = pool_rare(frame, index, rows, weight, max_categories)
                columns[index] = CategoryColumn(_frozen(categories), _frozen(pooled), has_missing[index])
        ordered = tuple(columns[index] for index in range(frame.n_columns))
        return cls(ordered, None if frame.names is None else tuple(frame.names), frame.dtypes)

    @cached_property
    def cards(self) -> NDArray[np.int32]:
        """Number of codes of every column, shape (D,)."""
        return _frozen(np.array([column.card for column in self.columns], dtype=np.int32))

    def n_ordered(self, is_number: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of the first codes of every column are in an order that means something, shape (D,).

        Codes of missing cells and of pooled values come after them. Besides ordinal columns, only those that
        ``is_number`` names have any: the numbers of a category may mean nothing.
        """
        sizes = [
            column.cuts.size + 1 if isinstance(column, NumericColumn) else column.categories.size
            for column in self.columns
        ]
        is_ordinal = [isinstance(column, CategoryColumn) and column.is_ordinal for column in self.columns]
        return np.where(is_number | np.array(is_ordinal), sizes, 0).astype(np.int64)

    def pooled(self) -> dict[str | int, list[Any]]:
        """Rare values that share a code, for each column that has some, by name or number."""
        keys: Iterable[str | int] = range(len(self.columns)) if self.names is None else self.names
        return {
            key: column.pooled.tolist()
            for key, column in zip(keys, self.columns, strict=True)
            if isinstance(column, CategoryColumn) and column.pooled.size
        }

    @property
    def feature_labels(self) -> list[str]:
        """Names of the columns, all different; x0, x1, ... where the training frame had none."""
        return unique_labels([f"x{index}" for index in range(len(self.columns))] if self.names is None else self.names)

    def column_label(self, index: int) -> str:
        """How messages name a column: by its name where it has one, otherwise by its position."""
        return f"column {index}" if self.names is None else f"column {self.names[index]!r}"

    def value_labels(self, feature: int, groups: IntArray | None = None) -> list[str]:
        """What each code of a column stands for, in words; with the group of each code, what each group stands for.

        >>> from tanager.data import QuantileBinning, as_frame
        >>> frame = as_frame(np.array([["red"], ["blue"]], dtype=object))
        >>> FrameEncoder.fit(frame, frame.is_categorical, None, QuantileBinning(2)).value_labels(0)
        ['blue', 'red']
        """
        if groups is not None:
            return group_labels(self.columns[feature], groups)
        return list(self._value_labels[feature])

    @cached_property
    def _value_labels(self) -> list[list[str]]:
        return [value_labels(column) for column in self.columns]

    def joint_labels(self, groups: Mapping[int, IntArray | None]) -> list[str]:
        """What each combination of the values of some columns stands for, the last varying fastest.

        Parameters
        ----------
        groups : mapping
            From the numbers of the columns to the groups of their codes, or None where each value stands for itself.
            Without columns there is one combination, of nothing.
        """
        return [", ".join(values) for values in product(*(self.value_labels(*each) for each in groups.items()))]

    def encode(self, frame: Frame, n_threads: int = 1) -> NDArray[Any]:
        """Turn a frame into codes.

        Parameters
        ----------
        frame : Frame
            With the columns of the training frame, in the same order.
        n_threads : int
            Threads over blocks of rows. The result does not depend on it.

        Returns
        -------
        ndarray of shape (N, D), C-contiguous
            Codes in the smallest unsigned type that holds every card.
        """
        self.check_columns(frame)
        codes = np.empty((frame.n_rows, frame.n_columns), dtype=code_dtype(int(self.cards.max())))
        array, is_short = frame.array, frame.n_rows <= _FEW_ROWS
        if is_short and self._encode_few(array, codes):
            return codes
        if is_short and array is not None:  # a row of a larger array need not lie in one piece
            array = np.ascontiguousarray(array)
        with Crew(n_threads) as crew:
            if self._is_ready and array is not None and may_hold(array, self.cards):
                copy_codes(array, self.cards, codes, crew)
            else:
                self._encode_columns(frame, codes, crew)
        return codes

    def _encode_few(self, array: NDArray[Any] | None, codes: NDArray[Any]) -> bool:
        """Fill the codes of a few rows of finite numbers, all columns at once; False if they are something else."""
        cuts = self._padded_cuts
        if cuts is None or array is None or array.dtype.kind not in "iuf":
            return False
        numbers = array.astype(np.float64)
        if not np.isfinite(numbers).all():
            return False
        np.sum(numbers[:, :, None] >= cuts, axis=2, out=codes, dtype=codes.dtype)
        return True

    @cached_property
    def _padded_cuts(self) -> NDArray[np.float64] | None:
        """The cuts of all columns, followed by infinity, float64[D, most cuts]; None if a column holds categories."""
        columns = [column for column in self.columns if isinstance(column, NumericColumn)]
        if len(columns) < len(self.columns):
            return None
        cuts = np.full((len(columns), max(column.cuts.size for column in columns)), np.inf)
        for line, column in zip(cuts, columns, strict=True):
            line[: column.cuts.size] = column.cuts
        return cuts

    def _encode_columns(self, frame: Frame, codes: NDArray[Any], crew: Crew) -> None:
        """Fill the codes of a frame, column by column."""
        coders = [
            column.coder(levels, self.column_label(index))
            for index, (column, levels) in enumerate(zip(self.columns, frame.levels, strict=True))
        ]

        def encode_blocks(lo: int, hi: int) -> None:
            for start in range(lo * _BLOCK_ROWS, hi * _BLOCK_ROWS, _BLOCK_ROWS):
                rows = slice(start, start + _BLOCK_ROWS)
                for index, coder in enumerate(coders):
                    codes[rows, index] = coder(frame.columns[index][rows])

        crew.run(encode_blocks, crew.split(-(-frame.n_rows // _BLOCK_ROWS)))

    @cached_property
    def _is_ready(self) -> bool:
        """Whether whole numbers are their own codes."""
        return are_ready(self.columns)

    def decode(self, codes: NDArray[Any], bins: Bins = "label") -> list[NDArray[Any]]:
        """Turn codes back into columns of values; ``encode`` gives the same codes again if bins are their medians.

        Parameters
        ----------
        codes : int array of shape (N, D)
        bins : {"label", "median"}
            What stands for a bin of numbers: its label, or the median of the numbers that training showed in it.

        Returns
        -------
        list of ndarray, each of shape (N,)
            Missing and unknown values are NaN among numbers and None among others. Rare values that share a code become
            the first of them.

        Examples
        --------
        >>> from tanager.data import QuantileBinning, as_frame
        >>> frame = as_frame(np.array([["red", 1.5], ["blue", 2.5], ["red", 3.5]], dtype=object))
        >>> encoder = FrameEncoder.fit(frame, frame.is_categorical, None, QuantileBinning(max_bins=3))
        >>> encoder.decode(np.array([[1, 0], [0, 1]]))
        [array(['red', 'blue'], dtype=object), array(['1.5', '2.5'], dtype=object)]
        """
        array = self._check_codes(codes)
        return [decode_column(column, array[:, i], bins) for i, column in enumerate(self.columns)]

    def draw(self, codes: NDArray[Any], rng: np.random.Generator) -> list[NDArray[Any]]:
        """Columns of values that are drawn from what codes stand for (see `tanager.data.decoding.draw_column`).

        Examples
        --------
        >>> from tanager.data import QuantileBinning, as_frame
        >>> frame = as_frame(np.array([[1.5], [2.5], [2.75], [3.5]]))
        >>> encoder = FrameEncoder.fit(frame, frame.is_categorical, None, QuantileBinning(max_bins=2))
        >>> (numbers,) = encoder.draw(np.zeros((100, 1), np.int64), np.random.default_rng(0))
        >>> float(numbers.min()) >= 1.5, float(numbers.max()) <= 2.5
        (True, True)
        """
        array = self._check_codes(codes)
        # One line of random numbers for each column, whatever its kind: a column draws the same beside any others.
        uniform = rng.random((len(self.columns), len(array)))
        return [draw_column(column, array[:, i], uniform[i]) for i, column in enumerate(self.columns)]

    def _check_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Codes as an array, checked."""
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != len(self.columns) or array.dtype.kind not in "iu":
            raise ValueError(
                f"codes must be integers of shape (N, {len(self.columns)}), got {array.dtype} of shape {array.shape}"
            )
        outside = np.argwhere((array < 0) | (array > self.cards))
        if outside.size:
            n, i = outside[0]
            label = self.column_label(int(i))
            raise ValueError(f"row {n}, {label}: code {array[n, i]} is outside 0 to {self.cards[i]}")
        return array

    def check_columns(self, frame: Frame) -> None:
        """Compare names where both frames have them, otherwise the number of columns."""
        if self.names is not None and frame.names is not None and list(self.names) != frame.names:
            raise ValueError(_describe_name_change(self.names, frame.names))
        if frame.n_columns != len(self.columns):
            raise ValueError(
                f"X has {frame.n_columns} features, but FrameEncoder is expecting {len(self.columns)} features as input"
            )


def _check_options(missing: Missing, max_categories: int | None) -> None:
    """Refuse options that are not understood."""
    if missing not in ("value", "ignore"):
        raise ValueError(f"missing must be 'value' or 'ignore', got {missing!r}")
    if max_categories is None:
        return
    if not isinstance(max_categories, (int, np.integer)) or max_categories < 2:
        raise ValueError(f"max_categories must be None or an integer from 2 on, got {max_categories!r}")


def _as_numbers(frame: Frame, index: int) -> NDArray[Any]:
    """A numeric column, with a coded one decoded."""
    return number_reader(frame.levels[index], frame.label(index))(frame.columns[index])


def _check_training_column(frame: Frame, index: int, rows: RowIndex, missing: Missing) -> float:
    """Refuse infinite numbers in the rows that are trained on, and the lack of any value; return the share missing."""
    levels, cells, label = frame.levels[index], frame.columns[index][rows], frame.label(index)
    if levels is None:
        check_finite(cells, label)
    elif np.isin(cells, infinite_levels(levels)).any():
        raise infinite_error(label)
    n_missing = int(np.count_nonzero(is_missing(cells, levels)))
    if missing == "ignore" and n_missing == cells.size:
        raise ValueError(
            f"{label} has no values in the training rows, only missing ones; drop it, or use missing='value'"
        )
    return n_missing / cells.size


def _describe_name_change(expected: tuple[str, ...], got: list[str]) -> str:
    """Say which columns are missing, extra or out of order."""
    missing = [name for name in expected if name not in got]
    extra = [name for name in got if name not in expected]
    parts = ["The columns of X differ from those of the training frame."]
    if missing:
        parts.append(f"Missing: {', '.join(map(repr, missing))}.")
    if extra:
        parts.append(f"Not in the training frame: {', '.join(map(repr, extra))}.")
    if not missing and not extra:
        moved = [name for name, there in zip(got, expected, strict=True) if name != there]
        parts.append(f"Out of order: {', '.join(map(repr, moved))}; reorder them with X[{list(expected)!r}].")
    return " ".join(parts)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only."""
    array.setflags(write=False)
    return array
