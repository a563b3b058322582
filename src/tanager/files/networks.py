"""One trained classifier in a model file: network, parent distribution, and training records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.files.container import Arrays
from tanager.files.header import Fields, shortened
from tanager.learning import Edges, Findings
from tanager.model import Groups, Layout, Network, ParentDistribution, make_groups, make_layout
from tanager.structure import ParentSets, extra_parents_of, fixed_parents

RECORDS = ("history", "parent_path")
"""Training records that a file may hold, each a mapping from names to arrays."""

_TOLERANCE = 1e-3  # of the sum of probabilities in single precision over thousands of values


@dataclass(frozen=True)
class Member:
    """One trained classifier.

    Attributes
    ----------
    network : Network
        That classifies.
    description : Network
        That describes the data; may be the same.
    distribution : ParentDistribution
    records : mapping
        Arrays by name, for each available one of `RECORDS`.
    options : mapping
        Options of the constructor.
    findings : Findings
    edits : tuple of mappings
        Changes by hand: "when", "who", "why" and "what" as texts, and the "change" as a value.
    before : Member, optional
        What there was before them.
    """

    network: Network
    description: Network
    distribution: ParentDistribution
    records: Mapping[str, Mapping[str, NDArray[Any]]]
    options: Mapping[str, Any]
    findings: Findings
    edits: tuple[Mapping[str, Any], ...] = ()
    before: Member | None = None


def pack_network(name: str, member: Member) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Turn a member, except for its options, into an entry of the header and arrays."""
    network, sets = member.network, member.distribution.parent_sets
    arrays = {
        f"{name}.parents": network.parents,
        **_pack_pairs(name, network.layout.parent_sets),
        **_pack_groups(name, network.layout.groups),
        f"{name}.theta": network.theta[: network.layout.size],
        f"{name}.log_prior": network.log_prior,
        f"{name}.phi": member.distribution.phi,
        **pack_parent_sets(f"{name}.candidates", sets),
    }
    description = member.description
    if description is not network:
        arrays[f"{name}.description.theta"] = description.theta[: description.layout.size]
        arrays[f"{name}.description.log_prior"] = description.log_prior
    if not np.array_equal(description.parents, network.parents):
        arrays[f"{name}.description.parents"] = description.parents
    arrays |= pack_findings(f"{name}.findings", member.findings)
    for record, columns in member.records.items():
        arrays |= {f"{name}.{record}.{key}": np.asarray(column) for key, column in columns.items()}
    entry = {
        "is_ordered": sets.is_ordered,
        "records": {record: list(columns) for record, columns in member.records.items()},
    }
    return entry, arrays


def unpack_network(
    name: str, entry: Fields, arrays: Arrays, cards: IntArray, n_classes: int, options: Mapping[str, Any]
) -> Member:
    """The inverse of `pack_network`; checks everything."""
    n_features = len(cards)
    parents = arrays.take(f"{name}.parents", "int64", length=n_features)
    pairs = _unpack_pairs(arrays, name)
    kept = ParentSets(np.arange(n_features + 1), parents, None, pairs)
    own = make_layout(kept, cards, n_classes, groups=_unpack_groups(arrays, name, cards))
    network = _unpack_probabilities(name, arrays, parents, own)
    description = _unpack_description(f"{name}.description", arrays, network)
    sets = unpack_parent_sets(arrays, f"{name}.candidates", entry.take("is_ordered", bool), n_features)
    phi = arrays.take(f"{name}.phi", "float32", "float64", length=sets.n_candidates)
    _check_phi(phi, sets, kept, name)
    records = _unpack_records(name, entry, arrays)
    _check_records(records, sets, name)
    findings = unpack_findings(f"{name}.findings", arrays, n_features)
    return Member(network, description, ParentDistribution(sets, phi), records, options, findings)


def pack_findings(name: str, findings: Findings) -> dict[str, NDArray[Any]]:
    """Turn what a fit found about features and edges into arrays."""
    edges = {f"{name}.edges.{key}": np.asarray(column) for key, column in findings.edges._asdict().items()}
    if findings.described is not None:
        own = findings.described._asdict()
        edges |= {f"{name}.described.{key}": np.asarray(column) for key, column in own.items()}
    return {f"{name}.importances": findings.importances, **edges}


def unpack_findings(name: str, arrays: Arrays, n_features: int) -> Findings:
    """The inverse of `pack_findings`; checks everything."""
    importances = arrays.take(f"{name}.importances", "float64", length=n_features)
    if not (np.isfinite(importances).all() and (importances >= 0).all()):
        raise ValueError(f"importances in {name!r} are not finite, or negative")
    own = f"{name}.described"
    described = _unpack_edges(own, arrays, n_features) if f"{own}.child" in arrays.names else None
    return Findings(importances, _unpack_edges(f"{name}.edges", arrays, n_features), described)


def _unpack_edges(name: str, arrays: Arrays, n_features: int) -> Edges:
    child = arrays.take(f"{name}.child", "int64")
    parent = arrays.take(f"{name}.parent", "int64", length=child.size)
    numbers = {
        key: arrays.take(f"{name}.{key}", "float64", length=child.size)
        for key in ("gain", "standard_error", "information")
    }
    ends = np.concatenate([child, parent])
    if ends.size and (ends.min() < 0 or ends.max() >= n_features):
        raise ValueError(f"an edge in {name!r} is not one of two features")
    if not np.isfinite(numbers["information"]).all() or any(np.isinf(column).any() for column in numbers.values()):
        raise ValueError(f"edges in {name!r} have numbers that are not finite")
    return Edges(child, parent, **numbers)


def _unpack_description(name: str, arrays: Arrays, network: Network) -> Network:
    """The network that describes the data, which may have a tree of its own."""
    if f"{name}.theta" not in arrays.names:
        return network
    layout, parents = network.layout, network.parents
    if f"{name}.parents" in arrays.names:
        parents = arrays.take(f"{name}.parents", "int64", length=network.n_features)
        layout = make_layout(fixed_parents(parents), network.cards, network.n_classes, groups=layout.groups)
    return _unpack_probabilities(name, arrays, parents, layout)


def _unpack_probabilities(name: str, arrays: Arrays, parents: NDArray[np.int64], layout: Layout) -> Network:
    theta = np.zeros(_checked_arena_size(layout, arrays, f"{name}.theta"), np.float32)
    theta[: layout.size] = arrays.take(f"{name}.theta", "float32", length=layout.size)
    log_prior = arrays.take(f"{name}.log_prior", "float64", length=layout.n_classes)
    _check_probabilities(layout, theta, log_prior, name)
    return Network(parents, layout, theta, log_prior)


def pack_parent_sets(name: str, sets: ParentSets) -> dict[str, NDArray[Any]]:
    """Turn a search space into arrays."""
    arrays: dict[str, NDArray[Any]] = {f"{name}.ptr": sets.ptr, f"{name}.parents": sets.parents}
    arrays |= _pack_pairs(name, sets)
    if sets.order is not None:
        arrays[f"{name}.order"] = sets.order
    return arrays


def unpack_parent_sets(arrays: Arrays, name: str, is_ordered: bool, n_features: int | None = None) -> ParentSets:
    """The inverse of `pack_parent_sets`."""
    ptr = arrays.take(f"{name}.ptr", "int64", length=None if n_features is None else n_features + 1)
    parents = arrays.take(f"{name}.parents", "int32")
    if ptr.size and (ptr.min() < 0 or ptr.max() > parents.size):
        raise ValueError(f"array '{name}.ptr' points beyond the candidates")
    pairs = _unpack_pairs(arrays, name)
    return ParentSets(ptr, parents, arrays.take(f"{name}.order", "int64") if is_ordered else None, pairs)


def _pack_pairs(name: str, sets: ParentSets) -> dict[str, NDArray[Any]]:
    """Pairs of parents, if there are any."""
    return {f"{name}.pairs": sets.pairs.ravel()} if sets.pairs.size else {}


def _unpack_pairs(arrays: Arrays, name: str) -> NDArray[np.int64]:
    if f"{name}.pairs" not in arrays.names:
        return np.empty((0, 2), np.int64)
    pairs = arrays.take(f"{name}.pairs", "int64")
    if not pairs.size or pairs.size % 2:
        raise ValueError(f"array '{name}.pairs' must hold two features for each pair, got {pairs.size} numbers")
    return pairs.reshape(-1, 2)


def _pack_groups(name: str, groups: Groups | None) -> dict[str, NDArray[Any]]:
    """Groups of values, if there are any."""
    return {} if groups is None else {f"{name}.groups": groups.of_value}


def _unpack_groups(arrays: Arrays, name: str, cards: IntArray) -> Groups | None:
    if f"{name}.groups" not in arrays.names:
        return None
    maps = np.split(arrays.take(f"{name}.groups", "int64", length=int(cards.sum())), np.cumsum(cards)[:-1])
    for feature, each in enumerate(maps):
        found = np.unique(each)
        if not np.array_equal(found, np.arange(found.size)):
            raise ValueError(f"array '{name}.groups' must number the groups of feature {feature} from 0 on")
    return make_groups(maps)


def _checked_arena_size(layout: Layout, arrays: Arrays, name: str) -> int:
    """Number of entries to allocate for the CPTs, after checking that the file has as many."""
    # In Python integers: a product of large numbers of values might overflow in an array.
    cards, n_classes = layout.cards.tolist(), layout.n_classes
    cards += [cards[a] * cards[b] for a, b in layout.pairs.tolist()]
    cards += [] if layout.groups is None else layout.groups.cards.tolist()
    cards += [1]
    size = sum(cards[j] * cards[i] * n_classes for i, j in enumerate(layout.cpts.parent.tolist()))
    if arrays.size_of(name) != size:
        raise ValueError(f"array {name!r} must have {size} entries, got {arrays.size_of(name)}")
    return layout.arena_size


def _check_probabilities(layout: Layout, theta: FloatArray, log_prior: FloatArray, name: str) -> None:
    """Check that CPTs and prior hold logarithms of probabilities."""
    if not np.isfinite(theta).all() or not np.isfinite(log_prior).all():
        raise ValueError(f"probabilities of {name!r} are not finite")
    # Clipped so that no exponential overflows: positive logarithms are wrong anyway.
    lines = np.exp(theta[: layout.size].clip(max=1.0)).reshape(-1, layout.n_classes)
    # A block of lines, one for each value of the child, for each value of the parent.
    tables = layout.cpts
    n_lines = np.repeat(layout.cards, tables.cards[tables.parent])
    totals = np.add.reduceat(lines, np.cumsum(n_lines) - n_lines, axis=0, dtype=np.float64)
    if np.abs(totals - 1.0).max() > _TOLERANCE:
        raise ValueError(f"probabilities of CPTs in {name!r} do not sum to one")
    if abs(np.exp(log_prior.clip(max=1.0)).sum() - 1.0) > _TOLERANCE:
        raise ValueError(f"probabilities of the classes in {name!r} do not sum to one")


def _check_phi(phi: FloatArray, sets: ParentSets, kept: ParentSets, name: str) -> None:
    """Check that phi defines a distribution, and that the selected parents are among the candidates."""
    highest = np.maximum.reduceat(phi, sets.ptr[:-1])
    if np.isnan(phi).any() or not np.isfinite(highest).all():
        raise ValueError(f"array '{name}.phi' does not define probabilities")
    if not np.isin(_edges(kept), _edges(sets)).all():
        raise ValueError(f"a parent in '{name}.parents' is not one of the feature's candidates")


def _unpack_records(name: str, entry: Fields, arrays: Arrays) -> dict[str, dict[str, NDArray[Any]]]:
    records = {}
    listed = entry.fields("records")
    for record in listed.values:
        if record not in RECORDS:
            raise ValueError(f"{name!r} has a record {shortened(record)}, which this tanager does not know: upgrade it")
        keys = listed.take(record, list)
        if any(type(key) is not str for key in keys) or len(set(keys)) < len(keys):
            raise ValueError(f"the record {record!r} of {name!r} must list distinct names")
        records[record] = {key: arrays.take_any(f"{name}.{record}.{key}") for key in keys}
    return records


def _check_records(records: Mapping[str, Mapping[str, NDArray[Any]]], sets: ParentSets, name: str) -> None:
    """Check the shapes of the training records."""
    history = records.get("history", {})
    if any(column.ndim != 1 for column in history.values()) or len({column.size for column in history.values()}) > 1:
        raise ValueError(f"the history of {name!r} must hold one number for each epoch")
    path = records.get("parent_path")
    if path is None:
        return
    if set(path) != {"epoch", "probability", "child", "parent"}:
        raise ValueError(f"the parent path of {name!r} must have epoch, probability, child and parent")
    if path["probability"].shape != (path["epoch"].size, sets.n_candidates) or path["epoch"].ndim != 1:
        raise ValueError(f"the parent path of {name!r} must hold a probability for each epoch and candidate")
    if not np.array_equal(path["child"], _children(sets)) or not np.array_equal(path["parent"], sets.parents):
        raise ValueError(f"the parent path of {name!r} is not that of its candidates")
    if not np.isfinite(path["probability"]).all():
        raise ValueError(f"the parent path of {name!r} has probabilities that are not finite")


def _edges(sets: ParentSets) -> IntArray:
    """A number for the child and the parents of each candidate, int64[E], independent of how pairs are numbered."""
    size = sets.n_features + 1
    members = extra_parents_of(sets.parents, sets.pairs, sets.n_features) + 1
    return (_children(sets) * size + members[:, 0]) * size + members[:, 1]


def _children(sets: ParentSets) -> IntArray:
    """The child of each candidate, int64[E]."""
    return np.repeat(np.arange(sets.n_features), np.diff(sets.ptr))
