"""What the edges of a structure add to the prediction of the class, on held-out rows, and to the description of data.

Without an edge, a feature says what it says without its parent. In a counted network that is its frequency given the
class. In one that was trained for the class posterior it is the part of its CPT that is a sum of an effect of the
feature and an effect of the parent: what the two say together and not alone is taken away, and everything else stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.learning.choosing import mean_difference
from tanager.learning.context import Context, Rows, hold_out
from tanager.learning.members import EnsembleRecipe
from tanager.learning.parameters import Counts
from tanager.learning.recipes import Recipe, as_parameters
from tanager.model import Network, edge_information, log_losses
from tanager.model.queries import class_joints

_ROUNDS = 10  # of fitting the effects of feature and parent in turn; few are left unsettled after so many


class Edges(NamedTuple):
    """The distinct edges of one or several networks and what they add, in nats a row."""

    child: NDArray[np.int64]  # [E]
    parent: NDArray[np.int64]  # [E]
    gain: FloatArray  # [E]: log-loss of held-out rows without the edge, less that with it; NaN if none were held out
    standard_error: FloatArray  # [E]: of the gain
    information: FloatArray  # [E]: how much more probable the parent makes the child's value, given the class


class Findings(NamedTuple):
    """What a fit found out about its features and edges."""

    importances: FloatArray  # [D]: mean size of the contributions of each feature (see `tanager.model.importance`)
    edges: Edges


def with_edges_of(findings: Findings, networks: Sequence[Network]) -> Findings:
    """The findings about the edges that networks still have; nothing is known of new ones."""
    known = {pair: k for k, pair in enumerate(zip(*(each.tolist() for each in findings.edges[:2]), strict=True))}
    pairs = edges_of(networks)
    places = np.array([known.get(pair, -1) for pair in pairs], np.int64)
    child, parent = np.array(pairs, np.int64).reshape(-1, 2).T
    measured = [
        np.where(places >= 0, np.append(each, unknown)[places], unknown)
        for each, unknown in zip(findings.edges[2:], (np.nan, np.nan, 0.0), strict=True)
    ]
    return findings._replace(edges=Edges(child, parent, *measured))


def edges_of(networks: Sequence[Network]) -> list[tuple[int, int]]:
    """Distinct pairs of a feature and a parent."""
    return sorted(
        {
            (child, parent)
            for network in networks
            for child, parents in enumerate(network.extra_parents.tolist())
            for parent in parents
            if parent >= 0
        }
    )


def describe_edges(networks: Sequence[Network], descriptions: Sequence[Network], rows: Rows) -> Edges:
    """The edges of networks with the information of each in the data, and gains that are still unknown."""
    pairs = edges_of(networks)
    information = dict.fromkeys(pairs, 0.0)
    for description in descriptions:
        of_child = edge_information(description, Context(rows).counts(description.layout))
        for child, parent in edges_of([description]):
            information[child, parent] = float(of_child[child])
    ends, unknown = np.array(pairs, np.int64).reshape(-1, 2), np.full(len(pairs), np.nan)
    return Edges(ends[:, 0], ends[:, 1], unknown, unknown, np.array([information[pair] for pair in pairs]))


def gains_on(edges: Edges, networks: Sequence[Network], rows: Rows, temperature: float, *, is_counted: bool) -> Edges:
    """The edges with their gains on the given rows."""
    differences = _edge_differences(edges, networks, rows, temperature, is_counted)
    found = [mean_difference(each, rows.full_weight()) for each in differences]
    return edges._replace(
        gain=np.array([each.mean for each in found]), standard_error=np.array([each.standard_error for each in found])
    )


def held_out_gains(
    edges: Edges, recipe: Recipe | Sequence[Recipe] | EnsembleRecipe, rows: Rows, seed: int, temperature: float
) -> Edges:
    """The edges with their gains on a part of the rows, for networks that are learned from the others.

    Parameters
    ----------
    edges : Edges
    recipe : Recipe, list of Recipe, or EnsembleRecipe
        Learns the parameters of the structure of the edges: one network, several one by one, or several together.
    rows : Rows
    seed : int
    temperature : float
        That log-joints are divided by.
    """
    if not len(edges.child) or rows.n_counted < 2:
        return edges
    kept, held = (rows.take_part(part) for part in hold_out(rows, seed)[0])
    part = Context(kept)
    if isinstance(recipe, EnsembleRecipe):
        networks = [each.fitted.network for each in recipe.learn(part, seed)]
        parameters = recipe.parameters
    else:
        recipes = [recipe] if isinstance(recipe, Recipe) else recipe
        networks = [each.learn(part, seed).network for each in recipes]
        parameters = recipes[0].parameters
    return gains_on(edges, networks, held, temperature, is_counted=is_counted(parameters))


def is_counted(parameters: Any) -> bool:
    """Whether CPTs are frequencies, which a temperature has not changed."""
    found = as_parameters(parameters)
    return isinstance(found, Counts) and not found.backs_off


def of_member(edges: Edges, of_all: Edges) -> Edges:
    """The edges of a member of an ensemble with the gains that they have in it."""
    places = {pair: k for k, pair in enumerate(zip(of_all.child.tolist(), of_all.parent.tolist(), strict=True))}
    own = [places[pair] for pair in zip(edges.child.tolist(), edges.parent.tolist(), strict=True)]
    return edges._replace(gain=of_all.gain[own], standard_error=of_all.standard_error[own])


def _edge_differences(
    edges: Edges, networks: Sequence[Network], rows: Rows, temperature: float, is_counted: bool
) -> FloatArray:
    """How much the log-loss of each row rises without each edge, float64[E, N]."""
    scores = np.mean([network.log_joint(rows.codes) for network in networks], axis=0) / temperature
    losses = log_losses(scores, rows.y)
    counted = [_frequencies(network) if is_counted else None for network in networks]
    differences = np.zeros((len(edges.child), len(losses)))
    for number, edge in enumerate(zip(edges.child.tolist(), edges.parent.tolist(), strict=True)):
        changed = scores.copy()
        for network, frequencies in zip(networks, counted, strict=True):
            _take_away(changed, network, edge, rows, frequencies, temperature * len(networks))
        differences[number] = log_losses(changed, rows.y) - losses
    return differences


def _take_away(
    scores: FloatArray,
    network: Network,
    edge: tuple[int, int],
    rows: Rows,
    frequencies: list[FloatArray] | None,
    scale: float,
) -> None:
    """Replace the term of a child by what it is without its parents, in place, where all of them are known."""
    child, parent = edge
    parents = [j for j in network.extra_parents[child].tolist() if j >= 0]
    if parent not in parents:
        return
    codes, cards = rows.codes, network.cards
    is_known = (codes[:, [child, *parents]] < cards[[child, *parents]]).all(axis=1)
    line: IntArray = np.zeros(int(is_known.sum()), np.int64)
    for j in parents:
        groups, own = network.groups_of(j), codes[is_known, j].astype(np.int64)
        line = line * int(cards[j]) + own if groups is None else groups[own]
    x = codes[is_known, child].astype(np.int64)
    cpt = network.layout.cpt(network.theta, child).astype(np.float64)
    if frequencies is None:
        counts = np.zeros(cpt.shape[:2])
        np.add.at(counts, (line, x), rows.full_weight()[is_known])
        alone = _sum_of_effects(cpt, counts)
    else:
        alone = np.broadcast_to(frequencies[child], cpt.shape)
    scores[is_known] += (alone[line, x] - cpt[line, x]) / scale


def _frequencies(network: Network) -> list[FloatArray] | None:
    """Log-probabilities of the values of each feature given the class, [R_i, C]; None if they cannot be found."""
    if network.has_pairs or not network.is_bayesian_network:
        return None
    joints = class_joints(network.forest())
    return [np.log(np.maximum(each / each.sum(axis=0), np.finfo(np.float64).tiny)) for each in joints]


def _sum_of_effects(cpt: FloatArray, counts: FloatArray) -> FloatArray:
    """The nearest sum of an effect of the parent and an effect of the child, for each class, [G, R, C]."""
    weight = counts[:, :, None] + 1e-9  # lines that no row has get a value, too
    of_parent = np.zeros((len(cpt), 1, cpt.shape[2]))
    of_child = np.zeros((1, *cpt.shape[1:]))
    for _ in range(_ROUNDS):
        of_child = (weight * (cpt - of_parent)).sum(axis=0, keepdims=True) / weight.sum(axis=0, keepdims=True)
        of_parent = (weight * (cpt - of_child)).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
    return of_parent + of_child
