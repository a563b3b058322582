"""What a user knows beforehand, by names of columns: edges, cut points, and the order of categories.

Everything is checked twice: what can be told without the data before X is read, the rest when its columns are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._options import suggest
from tanager.data import Frame, GivenValues, resolve_categorical
from tanager.learning import FixedParents, as_structure
from tanager.structure import EdgeRules, check_edges

DIRECTIONS = (-1, 0, 1)


class ColumnNames(NamedTuple):
    """What rules need to know of a frame."""

    names: list[str] | None
    n_columns: int


def check_knowledge(estimator: Any) -> None:
    """Refuse options that contradict each other whatever the data are."""
    forbid, require = (read_edges(name, getattr(estimator, name)) for name in ("forbid", "require"))
    check_edges(forbid, require)
    structure = getattr(estimator, "structure", "auto")
    if (forbid or require) and not isinstance(structure, str):
        _check_given(as_structure(structure), forbid, require)
    if isinstance(estimator.binning, Mapping):
        for column, cuts in estimator.binning.items():
            read_cuts(_plain_column("binning", column), cuts)
    for column, order in _orders(estimator.ordinal_features).items():
        read_order(_plain_column("ordinal_features", column), order)
    for column, direction in _directions(estimator.monotonic_cst).items():
        if isinstance(direction, bool) or direction not in DIRECTIONS:
            raise ValueError(f"monotonic_cst of column {column!r} must be 1, 0 or -1, got {direction!r}")


def read_edges(option: str, edges: Any) -> list[tuple[Any, Any]]:
    """Edges (parent, child) as a list of pairs of names or positions."""
    if edges is None:
        return []
    if isinstance(edges, (str, bytes, Mapping)) or not hasattr(edges, "__iter__"):
        raise ValueError(f"{option} must be a list of pairs (parent, child) of columns, got {edges!r}")
    pairs = []
    for edge in edges:
        if not isinstance(edge, (tuple, list)) or len(edge) != 2:
            raise ValueError(f"{option} must hold pairs (parent, child) of columns, got {edge!r}")
        pairs.append((_plain_column(option, edge[0]), _plain_column(option, edge[1])))
    return pairs


def edge_rules(estimator: Any, frame: Frame | ColumnNames) -> EdgeRules | None:
    """The rules of an estimator for the columns of a frame, or None if there are none."""
    edges = {
        option: [
            (column_position(option, parent, frame), column_position(option, child, frame))
            for parent, child in read_edges(option, getattr(estimator, option))
        ]
        for option in ("forbid", "require")
    }
    if not any(edges.values()):
        return None
    labels = [f"column {i}" for i in range(frame.n_columns)] if frame.names is None else frame.names
    return EdgeRules.from_edges(frame.n_columns, edges["forbid"], edges["require"], labels)


def read_cuts(column: Any, cuts: Any) -> NDArray[np.float64]:
    """Cut points of a column, which must rise; a number on a cut belongs to the bin above."""
    try:
        array = np.array(cuts, np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim != 1 or not np.isfinite(array).all() or (np.diff(array) <= 0).any():
        raise ValueError(f"binning of column {column!r} must be a list of numbers that rise, got {cuts!r}")
    return array


def read_order(column: Any, order: Any) -> list[Any]:
    """All values of a column in their order."""
    is_list = isinstance(order, (list, tuple, np.ndarray)) and np.ndim(np.array(order, object)) == 1
    values = [value.item() if isinstance(value, np.generic) else value for value in order] if is_list else []
    if len(values) < 2 or any(not isinstance(value, (str, int, float)) or value != value for value in values):
        raise ValueError(
            f"ordinal_features of column {column!r} must be a list of its values, texts or numbers, in their order, "
            f"got {order!r}"
        )
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise ValueError(f"ordinal_features of column {column!r} has the value {twice!r} twice")
    return values


def given_values(estimator: Any, frame: Frame) -> GivenValues:
    """Cut points and orders of categories, by numbers of columns; ordered columns of a frame count by themselves."""
    cuts = estimator.binning if isinstance(estimator.binning, Mapping) else {}
    orders = {index: frame.levels[index].tolist() for index in sorted(frame.ordered)}  # type: ignore[union-attr]
    orders |= {
        column_position("ordinal_features", column, frame): read_order(column, order)
        for column, order in _orders(estimator.ordinal_features).items()
    }
    return GivenValues(
        {column_position("binning", column, frame): read_cuts(column, each) for column, each in cuts.items()}, orders
    )


def directions_of(estimator: Any, frame: Frame, is_ordered: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """Whether the log-odds must rise, 1, or fall, -1, with each column, int64[D]; None if none is constrained."""
    directions = np.zeros(frame.n_columns, np.int64)
    for column, direction in _directions(estimator.monotonic_cst).items():
        index = column_position("monotonic_cst", column, frame)
        if direction and not is_ordered[index]:
            raise ValueError(
                f"monotonic_cst names {frame.label(index)}, which holds categories without an order: give one in "
                "ordinal_features"
            )
        directions[index] = direction
    return directions if directions.any() else None


def which_are_numbers(estimator: Any, frame: Frame, given: GivenValues) -> NDArray[np.bool_]:
    """Which columns are numbers, bool[D]; those that are ordinal by their dtype only if they are no numbers."""
    is_number = ~resolve_categorical(frame, estimator.categorical_features)
    named = {column_position("ordinal_features", column, frame) for column in _orders(estimator.ordinal_features)}
    is_number[list(named)] = False
    for index in given.cuts:
        if not is_number[index]:
            what = "is ordinal" if index in named else "holds categories"
            raise ValueError(f"binning has cut points for {frame.label(index)}, which {what}: leave one of them out")
    return is_number


def column_position(option: str, column: Any, frame: Frame | ColumnNames) -> int:
    """Position of a column that an option names, or numbers."""
    if isinstance(column, str):
        if frame.names is None:
            raise ValueError(
                f"{option} names the column {column!r}, but X has no column names: pass a frame, or give positions"
            )
        if column not in frame.names:
            raise ValueError(f"{option} names the column {column!r}, which X does not have; {_among(column, frame)}")
        return frame.names.index(column)
    if not 0 <= column < frame.n_columns:
        raise ValueError(f"{option} has column {column}, but X has {frame.n_columns} columns, counted from 0")
    return int(column)


def _directions(monotonic_cst: Any) -> Mapping[Any, Any]:
    """Directions by column, from a dict or from a list with one for each column."""
    if monotonic_cst is None:
        return {}
    if isinstance(monotonic_cst, Mapping):
        return {_plain_column("monotonic_cst", column): each for column, each in monotonic_cst.items()}
    if isinstance(monotonic_cst, (list, tuple, np.ndarray)):
        return dict(enumerate(np.asarray(monotonic_cst, object).tolist()))
    raise ValueError(
        f"monotonic_cst must be a dict from columns to 1 or -1, such as {{'income': 1}}, got {monotonic_cst!r}"
    )


def _orders(ordinal_features: Any) -> Mapping[Any, Any]:
    if ordinal_features is not None and not isinstance(ordinal_features, Mapping):
        raise ValueError(
            "ordinal_features must be a dict from columns to lists of their values in order, such as "
            f"{{'size': ['S', 'M', 'L']}}, got {ordinal_features!r}"
        )
    return ordinal_features or {}


def _plain_column(option: str, column: Any) -> Any:
    """A name, or a position as a plain number, so that edges can be compared."""
    if isinstance(column, str):
        return column
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and column >= 0:
        return int(column)
    raise ValueError(f"{option} must name columns, or give positions from 0 on, got {column!r}")


def _check_given(structure: Any, forbid: Sequence[tuple[Any, Any]], require: Sequence[tuple[Any, Any]]) -> None:
    """Compare edges by position with a structure that lists the parents of features."""
    if not isinstance(structure, FixedParents):
        return
    parents = np.asarray(structure.parents)
    known = [
        [edge for edge in edges if all(isinstance(column, int) and column < len(parents) for column in edge)]
        for edges in (forbid, require)
    ]
    labels = [f"column {i}" for i in range(len(parents))]
    EdgeRules.from_edges(len(parents), known[0], known[1], labels).check(parents)


def _among(column: str, frame: Frame | ColumnNames) -> str:
    return suggest(column, frame.names or ())
