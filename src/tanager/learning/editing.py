"""Changes to a learned network by hand: a line of a CPT, or an edge.

There are two networks: the one that classifies and the one that describes the data. A line is changed in one of them,
an edge in both if they have one structure. What a change needs beyond what it says comes from the network itself:
values that are not named keep their proportions, and a feature with a new parent, or without its old one, has the
probabilities that the network implies. So an edge that is added changes nothing until its lines are set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._options import Options, check_choice
from tanager._types import FloatArray, IntArray
from tanager.data import FrameEncoder, encode_assignment, find_column
from tanager.learning.edges import Findings, with_edges_of
from tanager.model import Network, ParentDistribution, make_layout
from tanager.structure import ParentSets, find_cycle

_LEAST = 1e-30  # probability of a combination that the network takes for impossible


class Editable(NamedTuple):
    """What changes apply to."""

    network: Network
    description: Network
    distribution: ParentDistribution
    findings: Findings


class SetLine(Options):
    """Set probabilities of a feature's values, given a class and the value of its extra parent.

    Parameters
    ----------
    feature : str or int
        Column, by name or position.
    label : class
    probabilities : dict
        From values, as they are in the data, to probabilities above 0. Values that it does not name share the rest in
        the proportions that they have; if all are named, the probabilities are divided by their sum.
    given : dict, optional
        From the extra parent, or both if there are two, to a value. Values of a parent that are grouped have one line.
    network : {"network", "description"}, default="network"
        Which network to change: the one that classifies, or the one that describes the data.

    Examples
    --------
    >>> SetLine("colour", "ripe", {"green": 0.01})
    SetLine(feature='colour', label='ripe', probabilities={'green': 0.01})
    """

    feature: str | int
    label: Any
    probabilities: Mapping[Any, float]
    given: Mapping[str | int, Any] | None = None
    network: str = "network"

    def __post_init__(self) -> None:
        check_choice("network", self.network, ("network", "description"))
        if not isinstance(self.probabilities, Mapping) or not self.probabilities:
            raise ValueError(f"probabilities must be a dict from values to probabilities, got {self.probabilities!r}")
        for value, probability in self.probabilities.items():
            is_number = isinstance(probability, Real) and not isinstance(probability, bool)
            if not is_number or not math.isfinite(probability) or probability <= 0:
                raise ValueError(
                    f"the probability of {value!r} must be a finite number above 0, got {probability!r}: a value that "
                    "cannot be would outweigh all other columns, so give a small number such as 1e-4"
                )
        if self.given is not None and not isinstance(self.given, Mapping):
            raise ValueError(f"given must be a dict from the parent to its value, got {self.given!r}")

    def apply(self, fitted: Editable, encoder: FrameEncoder, classes: NDArray[Any]) -> Editable:
        """The networks with the line set."""
        feature = find_column(encoder, self.feature)
        known = classes.tolist()
        if self.label not in known:
            raise ValueError(f"{self.label!r} is not a class; the classes are {', '.join(map(repr, known))}")
        codes = {_code(encoder, feature, value): float(each) for value, each in self.probabilities.items()}
        if len(codes) < len(self.probabilities):
            raise ValueError(
                f"two of the values {list(self.probabilities)} are one for {encoder.column_label(feature)}"
            )
        network: Network = getattr(fitted, self.network)
        changed = _with_line(network, feature, self._line(network, encoder, feature), known.index(self.label), codes)
        if fitted.network is fitted.description:
            return fitted._replace(network=changed, description=changed)
        if self.network == "description":
            return fitted._replace(description=changed)
        return fitted._replace(network=changed)

    def _line(self, network: Network, encoder: FrameEncoder, feature: int) -> int:
        """Number of the line: of the parent's group of values, or of both parents' values."""
        parents = [j for j in network.extra_parents[feature].tolist() if j >= 0]
        given = {find_column(encoder, key): value for key, value in (self.given or {}).items()}
        if set(given) != set(parents):
            names = " and ".join(encoder.feature_labels[j] for j in parents) or "no extra parent"
            raise ValueError(
                f"{encoder.column_label(feature)} has {names}: given must have a value for each extra parent alone"
            )
        line = 0
        for j in parents:
            code, groups = _code(encoder, j, given[j]), network.groups_of(j)
            line = line * int(network.cards[j]) + (code if groups is None else int(groups[code]))
        return line

    def said(self, encoder: FrameEncoder) -> str:
        """The change in words."""
        name = encoder.feature_labels[find_column(encoder, self.feature)]
        where = "".join(f", {key} = {value}" for key, value in (self.given or {}).items())
        shares = ", ".join(f"{value}: {probability:g}" for value, probability in self.probabilities.items())
        whose = "description of the data" if self.network == "description" else "classifying network"
        return f"probabilities of {name} given class = {self.label}{where} set to {shares} in the {whose}"


class SetParent(Options):
    """Give a feature another extra parent, or none, in both networks.

    If the description has a tree of its own, it stays as it is.

    Parameters
    ----------
    feature : str or int
        Column, by name or position.
    parent : str, int or None, default=None
        Column; None removes the edge.
    """

    feature: str | int
    parent: str | int | None = None

    def apply(self, fitted: Editable, encoder: FrameEncoder, classes: NDArray[Any]) -> Editable:
        """The networks with the edge."""
        child = find_column(encoder, self.feature)
        parent = -1 if self.parent is None else find_column(encoder, self.parent)
        network = _with_parent(fitted.network, child, parent, encoder)
        description = network
        if not np.array_equal(fitted.description.parents, fitted.network.parents):
            description = fitted.description
        elif fitted.description is not fitted.network:
            description = _with_parent(fitted.description, child, parent, encoder)
        sets = network.layout.parent_sets
        distribution = ParentDistribution(sets, np.zeros(sets.n_candidates))
        return Editable(network, description, distribution, with_edges_of(fitted.findings, [network]))

    def said(self, encoder: FrameEncoder) -> str:
        """The change in words."""
        name = encoder.feature_labels[find_column(encoder, self.feature)]
        if self.parent is None:
            return f"extra parent of {name} removed"
        return f"extra parent of {name} set to {encoder.feature_labels[find_column(encoder, self.parent)]}"


Change = SetLine | SetParent


def _code(encoder: FrameEncoder, feature: int, value: Any) -> int:
    """Code of a value as it is in the data, or of the label of a bin."""
    labels = encoder.value_labels(feature)
    if isinstance(value, str) and value in labels:
        return labels.index(value)
    try:
        code = int(encode_assignment(encoder, {feature: value})[feature])
    except ValueError:
        code = int(encoder.cards[feature])
    if code >= encoder.cards[feature]:
        shown = ", ".join(map(repr, labels[:20]))
        raise ValueError(f"{encoder.column_label(feature)} has no value {value!r}; its values are {shown}")
    return code


def _with_line(network: Network, feature: int, line: int, label: int, codes: Mapping[int, float]) -> Network:
    theta = network.theta.copy()
    entries = network.layout.cpt(theta, feature)[line, :, label]
    probabilities = np.exp(entries.astype(np.float64))
    is_named = np.isin(np.arange(len(probabilities)), list(codes))
    named, rest = sum(codes.values()), float(probabilities[~is_named].sum())
    if is_named.all():
        rest = 0.0
    elif named >= 1:
        raise ValueError(
            f"the probabilities sum to {named:g}, which leaves nothing for the other values: name them all"
        )
    probabilities[~is_named] *= (1.0 - named) / rest if rest else 1.0
    probabilities[list(codes)] = list(codes.values())
    entries[...] = np.log(probabilities / probabilities.sum())
    return replace(network, theta=theta)


def _with_parent(network: Network, child: int, parent: int, encoder: FrameEncoder) -> Network:
    if network.has_pairs:
        raise ValueError("edges cannot be changed where features have two extra parents")
    parents, groups = network.parents.copy(), network.layout.groups
    if not network.is_bayesian_network:
        raise ValueError("edges cannot be changed where parents form a cycle, since the network has no probabilities")
    parents[child] = parent
    cycle = find_cycle(parents)
    if cycle is not None:
        path = " -> ".join(encoder.feature_labels[i] for i in [*cycle, cycle[0]])
        raise ValueError(f"the edge would close a cycle: {path}")
    sets = ParentSets.from_lists([[j] for j in parents.tolist()])
    layout = make_layout(sets, network.cards, network.n_classes, groups=groups)
    theta = np.zeros(layout.arena_size, np.float32)
    for i in range(network.n_features):
        own = _implied(network, child, parent) if i == child else network.layout.cpt(network.theta, i)
        layout.cpt(theta, i)[...] = own
    return Network(parents, layout, theta, network.log_prior)


def _implied(network: Network, child: int, parent: int) -> FloatArray:
    """Log-probabilities of a feature given each group of another's values, or alone, and the class, [G, R, C]."""
    classes: IntArray = np.arange(network.n_classes)
    if parent < 0:
        joint = network.query([child], classes=classes)[:, None, :]
    else:
        joint = network.query([parent, child], classes=classes)
        groups = network.groups_of(parent)
        if groups is not None:
            members = [groups == group for group in range(int(groups.max()) + 1)]
            joint = np.stack([joint[:, each].sum(axis=1) for each in members], axis=1)
    joint = np.maximum(joint, _LEAST)
    implied: FloatArray = np.log(joint / joint.sum(axis=2, keepdims=True)).transpose(1, 2, 0)
    return implied
