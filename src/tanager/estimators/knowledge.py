"""What a user knows beforehand, by names of columns: edges that are forbidden or required.

Everything is checked twice: what can be told without the data before X is read, the rest when its columns are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tanager._options import suggest
from tanager.data import Frame
from tanager.learning import FixedParents, as_structure
from tanager.structure import EdgeRules, check_edges


def check_knowledge(estimator: Any) -> None:
    """Refuse options that contradict each other whatever the data are."""
    forbid, require = (read_edges(name, getattr(estimator, name)) for name in ("forbid", "require"))
    check_edges(forbid, require)
    structure = getattr(estimator, "structure", "auto")
    if (forbid or require) and not isinstance(structure, str):
        _check_given(as_structure(structure), forbid, require)


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


def edge_rules(estimator: Any, frame: Frame) -> EdgeRules | None:
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


def column_position(option: str, column: Any, frame: Frame) -> int:
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


def _among(column: str, frame: Frame) -> str:
    return suggest(column, frame.names or ())
