"""The part of an ONNX graph from codes to the log-joint of each class.

If every value of a batch is known, the log-joint is a sum of CPT rows, gathered in one operation. A batch with unknown
values takes the other branch, which sums them out exactly by messages from the leaves to the roots, as
`tanager.core.marginal_log_joint` does, for all rows at once.
"""

from __future__ import annotations

import numpy as np

from tanager._types import Cpts, FloatArray, IntArray
from tanager.exports.onnx_graph import GraphWriter
from tanager.model import Groups, LogAverage, Network
from tanager.structure import topological_order

# Log of zero, but finite: minus infinity minus itself would not be a number.
_IMPOSSIBLE = -1e30


class Codes:
    """The codes of a batch, int64[N, D] with code == card if unknown, and results that are used more than once."""

    def __init__(self, graph: GraphWriter, codes: str, cards: list[int]) -> None:
        self.name = codes
        self.cards = cards
        self.is_unknown = graph.add("GreaterOrEqual", codes, graph.constant(np.array(cards, np.int64)))
        n_unknown = graph.add("ReduceSum", graph.cast(self.is_unknown, np.int64), keepdims=0)
        self.any_unknown = graph.add("Greater", n_unknown, graph.constant(np.array(0, np.int64)))


def write_network(graph: GraphWriter, codes: Codes, network: Network) -> str:
    """Log-joint double[N, C] of one network; with a cycle, terms that depend on unknown values are left out."""
    if network.has_pairs:
        return _write_open_lines(graph, codes, network)
    if not network.is_bayesian_network:
        return _write_network_lines(graph, codes, network)
    exact, lines = graph.branch(), graph.branch()
    results = (
        _write_messages(exact, codes, network),
        _write_network_lines(lines, codes, network),
    )
    return graph.choose(codes.any_unknown, (exact, lines), results)


def write_average(graph: GraphWriter, codes: Codes, average: LogAverage) -> str:
    """Mean log-joint double[N, C] of networks: one sum if all values are known, otherwise network by network."""
    if len(average.pairs):
        return graph.mean(*(write_network(graph, codes, network) for network in average.members))
    exact, lines = graph.branch(), graph.branch()
    each = [
        _write_messages(exact, codes, network)
        if network.is_bayesian_network
        else _write_network_lines(exact, codes, network)
        for network in average.members
    ]
    results = (
        exact.mean(*each),
        _write_lines(lines, codes, average.cpts, average.theta, average.log_prior, average.groups),
    )
    return graph.choose(codes.any_unknown, (exact, lines), results)


def _write_network_lines(graph: GraphWriter, codes: Codes, network: Network) -> str:
    layout = network.layout
    return _write_lines(graph, codes, layout.cpts, network.theta, network.log_prior, layout.groups)


def _write_lines(
    graph: GraphWriter, codes: Codes, tables: Cpts, theta: FloatArray, log_prior: FloatArray, groups: Groups | None
) -> str:
    """Sum of CPT rows; an unknown value reads a row of zeros after the last CPT."""
    n_features, n_classes = len(codes.cards), len(log_prior)
    size = int(tables.offset[-1])
    arena = np.concatenate([theta[:size].reshape(-1, n_classes), np.zeros((1, n_classes), np.float32)])
    child, parent = tables.child, tables.parent
    has_parent = parent < len(tables.cards) - 1
    # A feature without an extra parent reads its own code instead, times zero.
    parent = np.where(has_parent, parent, child)
    stride = np.where(has_parent, tables.cards[child], 0)

    def gather(name: str, features: IntArray) -> str:
        return graph.add("Gather", name, graph.constant(features.astype(np.int64)), axis=1)

    columns = codes.name if groups is None else _write_groups(graph, codes, groups)
    line = graph.add("Mul", gather(columns, parent), graph.constant(stride.astype(np.int64)))
    line = graph.add("Add", line, gather(codes.name, child))
    line = graph.add("Add", line, graph.constant(tables.offset[:-1].astype(np.int64) // n_classes))
    is_unknown = graph.add("Or", gather(codes.is_unknown, child), gather(codes.is_unknown, parent % n_features))
    line = graph.add("Where", is_unknown, graph.constant(np.array(len(arena) - 1, np.int64)), line)
    terms = graph.cast(graph.add("Gather", graph.constant(arena), line, axis=0), np.float64)
    total = graph.add("ReduceSum", terms, graph.constant(np.array([1], np.int64)), keepdims=0)
    return graph.add("Add", total, graph.constant(np.asarray(log_prior, np.float64)))


def _write_groups(graph: GraphWriter, codes: Codes, groups: Groups) -> str:
    """The codes followed by the groups of the values, int64[N, 2 D]; an unknown value has any group."""
    highest = graph.constant(np.array(codes.cards, np.int64) - 1)
    place = graph.add("Add", graph.add("Min", codes.name, highest), graph.constant(groups.start[:-1].astype(np.int64)))
    found = graph.add("Gather", graph.constant(groups.of_value.astype(np.int64)), place, axis=0)
    return graph.add("Concat", codes.name, found, axis=1)


def _write_open_lines(graph: GraphWriter, codes: Codes, network: Network) -> str:
    """Sum of rows of CPTs that have entries for unknown values, for features with up to two parents."""
    tables = network.open_cpts().cpts
    arena = np.concatenate([table.reshape(-1, network.n_classes) for table in tables])
    n_lines = np.array([table[..., 0].size for table in tables])
    child = np.arange(network.n_features)
    # A feature without a parent reads its own code instead, times zero.
    first, second = np.where(network.extra_parents >= 0, network.extra_parents, child[:, None]).T
    by_second = np.array([table.shape[2] for table in tables])
    by_first = by_second * np.array([table.shape[1] for table in tables])
    strides = np.where(network.extra_parents.T >= 0, [by_first, by_second], 0)
    known = graph.add("Min", codes.name, graph.constant(np.array(codes.cards, np.int64)))

    def scaled(features: IntArray, stride: IntArray) -> str:
        column = graph.add("Gather", known, graph.constant(features.astype(np.int64)), axis=1)
        return graph.add("Mul", column, graph.constant(stride.astype(np.int64)))

    line = graph.add("Add", scaled(first, strides[0]), scaled(second, strides[1]))
    line = graph.add("Add", line, known)
    line = graph.add("Add", line, graph.constant((np.cumsum(n_lines) - n_lines).astype(np.int64)))
    terms = graph.add("Gather", graph.constant(arena), line, axis=0)
    total = graph.add("ReduceSum", terms, graph.constant(np.array([1], np.int64)), keepdims=0)
    return graph.add("Add", total, graph.constant(np.asarray(network.log_prior, np.float64)))


def _write_messages(graph: GraphWriter, codes: Codes, network: Network) -> str:
    """Sum out unknown values; beliefs and messages are double[C, N, number of values]."""
    received: dict[int, list[str]] = {feature: [] for feature in range(-1, network.n_features)}
    indicators = _write_indicators(graph, codes)
    log_evidence = graph.split(indicators, codes.cards, axis=2)
    evidence = graph.split(graph.add("Exp", indicators), codes.cards, axis=2)
    for feature in topological_order(network.parents)[::-1].tolist():
        # From [x_parent, x, c] to [c, x, x_parent]; the message of a group is that of all its values.
        table = graph.constant(np.ascontiguousarray(network.cpt(feature, grouped=True).transpose(2, 1, 0)))
        if not received[feature]:
            message = graph.add("Log", graph.add("MatMul", evidence[feature], table))
        else:
            belief = graph.add("Sum", log_evidence[feature], *received[feature])
            highest = graph.add("ReduceMax", belief, axes=[2], keepdims=1)
            weights = graph.add("Exp", graph.add("Sub", belief, highest))
            message = graph.add("Add", graph.add("Log", graph.add("MatMul", weights, table)), highest)
        parent = int(network.parents[feature])
        groups = network.groups_of(parent) if parent >= 0 else None
        if groups is not None:
            message = graph.add("Gather", message, graph.constant(groups.astype(np.int64)), axis=2)
        received[parent].append(message)
    prior = graph.constant(np.asarray(network.log_prior, np.float64)[:, None, None])
    total = graph.add("Sum", prior, *received[-1])
    flat = graph.add("Squeeze", total, graph.constant(np.array([2], np.int64)))
    return graph.add("Transpose", flat, perm=[1, 0])


def _write_indicators(graph: GraphWriter, codes: Codes) -> str:
    """Log-indicators of the values that agree with each row, double[1, N, sum of cards]; all values if unknown.

    The values of all features are concatenated, so that many features do not require many nodes.
    """
    feature = graph.constant(np.repeat(np.arange(len(codes.cards), dtype=np.int64), codes.cards))
    value = graph.constant(np.concatenate([np.arange(card, dtype=np.int64) for card in codes.cards]))
    agrees = graph.add("Equal", graph.add("Gather", codes.name, feature, axis=1), value)
    agrees = graph.add("Or", agrees, graph.add("Gather", codes.is_unknown, feature, axis=1))
    log_agrees = graph.add("Where", agrees, graph.constant(np.array(0.0)), graph.constant(np.array(_IMPOSSIBLE)))
    return graph.add("Unsqueeze", log_agrees, graph.constant(np.array([0], np.int64)))
