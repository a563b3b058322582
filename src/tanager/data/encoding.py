"""From a `Table` to integer codes: one frozen encoder a column, learned from the rows with positive weight.

Column j has the codes 0 .. cards[j] - 1. The code cards[j] means *unknown*: a category that training did not show, or a
missing cell. It belongs to no bin and no category; what to do about it is left to the reader of the codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager.data.arrays import MISSING, column_label, object_array
from tanager.data.binning import Binning, check_sample_weight
from tanager.data.coders import (
    CategoryColumn,
    NumericColumn,
    check_finite,
    code_dtype,
    level_numbers,
    sort_categories,
)
from tanager.data.columns import Table

# Rows are encoded in blocks that stay in the cache, so that writing a row-major array column by column is cheap.
_BLOCK_ROWS = 32768


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """Encoders of all columns of a table.

    Attributes
    ----------
    columns : tuple of NumericColumn or CategoryColumn, length D
    names : tuple of str or None
        Column names of the training table.

    Examples
    --------
    >>> import numpy as np
    >>> from tanager.data import QuantileBinning, as_table
    >>> table = as_table(np.array([["red", 1.5], ["blue", 2.5], ["red", 3.5]], dtype=object))
    >>> encoder = TableEncoder.fit(table, table.is_categorical, None, QuantileBinning(max_bins=2))
    >>> encoder.cards
    array([2, 2], dtype=int32)
    >>> encoder.encode(as_table(np.array([["blue", 9], ["green", 0]], dtype=object)))
    array([[0, 1],
           [2, 0]], dtype=uint8)
    """

    columns: tuple[NumericColumn | CategoryColumn, ...]
    names: tuple[str, ...] | None

    @classmethod
    def fit(
        cls,
        table: Table,
        is_categorical: NDArray[np.bool_],
        sample_weight: NDArray[np.float64] | None,
        binning: Binning,
    ) -> TableEncoder:
        """Learn bins and categories from the rows with positive weight.

        Parameters
        ----------
        table : Table
        is_categorical : ndarray of bool, shape (D,)
            From `resolve_categorical`.
        sample_weight : ndarray of shape (N,) or None
        binning : callable
            Gives the cuts of the numeric columns; called once, with all of them and the weights.
        """
        if table.n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {table.n_columns})) while a minimum of 1 is required."
            )
        weight = check_sample_weight(sample_weight, table.n_rows)
        rows = slice(None) if weight is None or weight.all() else np.flatnonzero(weight)
        for index in range(table.n_columns):
            _check_training_column(table, index, rows)
        numeric = np.flatnonzero(~is_categorical).tolist()
        cuts = binning([_as_numbers(table, index) for index in numeric], weight)
        columns: dict[int, NumericColumn | CategoryColumn] = {
            index: NumericColumn(_frozen(column_cuts)) for index, column_cuts in zip(numeric, cuts, strict=True)
        }
        for index in np.flatnonzero(is_categorical).tolist():
            columns[index] = CategoryColumn(_frozen(_observed(table, index, rows)))
        ordered = tuple(columns[index] for index in range(table.n_columns))
        return cls(ordered, None if table.names is None else tuple(table.names))

    @property
    def cards(self) -> NDArray[np.int32]:
        """Number of codes of every column, shape (D,)."""
        return np.array([column.card for column in self.columns], dtype=np.int32)

    def encode(self, table: Table, allow_missing: bool = False, n_threads: int = 1) -> NDArray[Any]:
        """Turn a table into codes.

        Parameters
        ----------
        table : Table
            With the columns of the training table, in the same order.
        allow_missing : bool
            Whether a missing cell becomes the unknown code `cards[j]`; otherwise it is an error.
        n_threads : int
            Threads over blocks of rows. The result does not depend on it.

        Returns
        -------
        ndarray of shape (N, D), C-contiguous
            Codes in the smallest unsigned type that holds every card.
        """
        self._check_columns(table)
        coders = [
            column.coder(levels, column_label(self.names, index), allow_missing)
            for index, (column, levels) in enumerate(zip(self.columns, table.levels, strict=True))
        ]
        codes = np.empty((table.n_rows, table.n_columns), dtype=code_dtype(int(self.cards.max())))

        def encode_blocks(lo: int, hi: int) -> None:
            for start in range(lo * _BLOCK_ROWS, hi * _BLOCK_ROWS, _BLOCK_ROWS):
                rows = slice(start, start + _BLOCK_ROWS)
                for index, coder in enumerate(coders):
                    codes[rows, index] = coder(table.columns[index][rows])

        with Crew(n_threads) as crew:
            crew.run(encode_blocks, crew.split(-(-table.n_rows // _BLOCK_ROWS)))
        return codes

    def _check_columns(self, table: Table) -> None:
        """Compare names where both tables have them, otherwise the number of columns."""
        if self.names is not None and table.names is not None and list(self.names) != table.names:
            raise ValueError(_describe_name_change(self.names, table.names))
        if table.n_columns != len(self.columns):
            raise ValueError(
                f"X has {table.n_columns} features, but TableEncoder is expecting {len(self.columns)} features as input"
            )


def _as_numbers(table: Table, index: int) -> NDArray[Any]:
    """A numeric column, with a coded one decoded."""
    levels = table.levels[index]
    if levels is None:
        return table.columns[index]
    numbers: NDArray[np.float64] = np.append(level_numbers(levels, table.label(index)), np.nan)
    return numbers[table.columns[index]]


def _observed(table: Table, index: int, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
    """Sorted distinct values of the training rows of a category."""
    levels = table.levels[index]
    seen = np.unique(table.columns[index][rows])
    if levels is None:
        return seen
    if levels.dtype.kind != "O":
        return np.unique(levels[seen])
    return object_array(sort_categories(levels[seen].tolist(), table.label(index)))


def _check_training_column(table: Table, index: int, rows: slice | NDArray[np.intp]) -> None:
    """Refuse missing and infinite values in the rows that are trained on."""
    values, label = table.columns[index][rows], table.label(index)
    is_missing = values != values if table.levels[index] is None else values == MISSING
    n_missing = int(np.count_nonzero(is_missing))
    if n_missing:
        raise ValueError(
            f"{label} has missing values (NaN or None) in {n_missing} of {values.size} training rows; "
            "fill them or drop the rows before fitting"
        )
    check_finite(values, label)


def _describe_name_change(expected: tuple[str, ...], got: list[str]) -> str:
    """Say which columns are missing, extra or out of order."""
    missing = [name for name in expected if name not in got]
    extra = [name for name in got if name not in expected]
    parts = ["The columns of X differ from those of the training table."]
    if missing:
        parts.append(f"Missing: {', '.join(map(repr, missing))}.")
    if extra:
        parts.append(f"Not in the training table: {', '.join(map(repr, extra))}.")
    if not missing and not extra:
        moved = [name for name, there in zip(got, expected, strict=True) if name != there]
        parts.append(f"Out of order: {', '.join(map(repr, moved))}; reorder them with X[{list(expected)!r}].")
    return " ".join(parts)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only."""
    array.setflags(write=False)
    return array
