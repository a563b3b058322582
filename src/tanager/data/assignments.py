"""A few values by column, such as ``{"age": 40, "colour": "red"}``, as one row of codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data.arrays import read_cells
from tanager.data.encoding import FrameEncoder


def encode_assignment(encoder: FrameEncoder, values: Mapping[str | int, Any]) -> NDArray[np.int64]:
    """Codes of the named columns; the others, and values that training did not show, have the code "unknown".

    Parameters
    ----------
    encoder : FrameEncoder
    values : mapping
        From names or numbers of columns to values.

    Returns
    -------
    int64 array of shape (D,)

    Examples
    --------
    >>> from tanager.data import QuantileBinning, as_frame
    >>> frame = as_frame(np.array([["red", 1.5], ["blue", 2.5], ["red", 3.5]], dtype=object))
    >>> encoder = FrameEncoder.fit(frame, frame.is_categorical, None, QuantileBinning(max_bins=2))
    >>> encode_assignment(encoder, {0: "red"})
    array([1, 2])
    """
    codes = encoder.cards.astype(np.int64)
    seen: set[int] = set()
    for key, value in values.items():
        index = find_column(encoder, key)
        label = encoder.column_label(index)
        if index in seen:
            raise ValueError(f"{label} is given twice, by name and by number")
        seen.add(index)
        cell = read_cells([value], label)
        codes[index] = encoder.columns[index].coder(cell.levels, label)(cell.values)[0]
    return codes


def find_column(encoder: FrameEncoder, key: str | int) -> int:
    """Number of a column from its name or its number."""
    n_columns = len(encoder.columns)
    if isinstance(key, str):
        if encoder.names is not None and key in encoder.names:
            return encoder.names.index(key)
        if encoder.names is None:
            raise ValueError(f"there is no column {key!r}: the training frame had no names; use 0 to {n_columns - 1}")
        raise ValueError(f"there is no column {key!r}; the columns are {', '.join(map(repr, encoder.names))}")
    if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
        raise ValueError(f"a column must be given by its name or its number, got {key!r}")
    if not 0 <= key < n_columns:
        raise ValueError(f"there is no column {key}; columns are numbered 0 to {n_columns - 1}")
    return int(key)
