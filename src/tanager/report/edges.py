"""The edges of a report, as a printed table: what each adds to predictions and to the description of the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tanager.estimators.findings import Edge
from tanager.report.markup import MISSING, details, measured_table, number, percent
from tanager.report.rows import Classifier


def edge_table(clf: Classifier, edges: Sequence[Edge]) -> str:
    """All edges, those that add most first; of an ensemble with the share of the members that have them."""
    if not edges:
        return ""
    members = getattr(clf, "estimators_", [clf])
    counts = Counter((edge.child, edge.parent) for member in members for edge in member.edges_)
    ordered = sorted(edges, key=lambda edge: (-edge.gain if edge.gain == edge.gain else 0.0, -edge.information))
    lines = [
        [
            f"{edge.parent} → {edge.child}",
            *([percent(counts[edge.child, edge.parent] / len(members), 0)] if len(members) > 1 else []),
            _gain(edge),
            "yes" if edge.adds else MISSING,
            number(edge.information, 4),
        ]
        for edge in ordered
    ]
    share = ["Members"] if len(members) > 1 else []
    heads = ["Edge", *share, "Lowers the log-loss by", "Beyond chance", "Tells about the data"]
    return details("Table of all edges", measured_table(heads, lines))


def _gain(edge: Edge) -> str:
    if edge.gain != edge.gain:
        return MISSING
    return f"{number(edge.gain, 4)}\n± {number(edge.standard_error, 4)}"
