"""What the edges of a structure add to the prediction of the class, on held-out rows, and to the description of data.

Without an edge, a feature says what it says without its parent. In a counted network that is its frequency given the
class. In one that was trained for the class posterior it is the part of its CPT that is a sum of an effect of the
feature and an effect of the parent: what the two say together and not alone is taken away, and everything else stays.

How much a feature says is the mean size of its contributions. The log-joint is a sum over the features; what one adds
to the log-odds of a class against the mean of all varies from row to row, and its importance is the mean distance
of that from its own mean. So a feature that says the same of every row has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray, IntArray
from tanager.learning.choosing import mean_difference
from tanager.learning.context import Context
from tanager.learning.ensembles import EnsembleRecipe
from tanager.learning.parameters import Counts, Fitted
from tanager.learning.penalised import PenalisedLikelihood
from tanager.learning.recipes import Recipe, as_parameters
from tanager.learning.rows import Rows, hold_out
from tanager.model import Network
from tanager.model.queries import class_joints
from tanager.model.tempering import MOST_LOSS

# Rows that are enough for a mean, taken at equal distances; fewer where their terms would take more than 32 MB.
_MOST_ROWS, _FEWEST_ROWS, _MOST_TERMS = 2_000, 100, 4_000_000
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

    importances: FloatArray  # [D]: mean size of the contributions of each feature (see `mean_contributions`)
    edges: Edges  # of the networks that classify
    described: Edges | None = None  # of the network that describes the data, if it has a tree of its own


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


def describe_edges(network: Network, information: FloatArray) -> Edges:
    """The edges of a network with the information that each child's have, and gains that are still unknown."""
    child, parent = np.array(edges_of([network]), np.int64).reshape(-1, 2).T
    unknown = np.full(len(child), np.nan)
    return Edges(child, parent, unknown, unknown, information[child])


def union_of(edges: Sequence[Edges]) -> Edges:
    """The distinct edges of several networks, with what the last one that has an edge says of it."""
    known = {pair: each for one in edges for pair, *each in zip(zip(*one[:2], strict=True), *one[2:], strict=True)}
    ends = np.array(sorted(known), np.int64).reshape(-1, 2)
    measured = np.array([known[pair] for pair in sorted(known)]).reshape(-1, 3)
    return Edges(*ends.T, *measured.T)


def gains_on(edges: Edges, networks: Sequence[Network], rows: Rows, temperature: float, *, is_counted: bool) -> Edges:
    """The edges with their gains on the given rows."""
    return _with_gains(edges, _edge_differences(edges, networks, rows, temperature, is_counted), rows.full_weight())


def _with_gains(edges: Edges, differences: FloatArray, weight: FloatArray) -> Edges:
    found = [mean_difference(each, weight) for each in differences]
    return edges._replace(
        gain=np.array([each.mean for each in found]), standard_error=np.array([each.standard_error for each in found])
    )


def held_out_gains(
    edges: Edges, recipe: Recipe | Sequence[Recipe] | EnsembleRecipe, rows: Rows, seed: int, temperature: float
) -> Edges:
    """The edges with their gains on a part of the rows, for networks that are learned from the others.

    If there are many classes, those of effects are found on the rows of a few of them (see `Context.few_classes`), all
    of which are then held out in turn, since they are few.

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
    recipes = [recipe] if isinstance(recipe, (Recipe, EnsembleRecipe)) else recipe
    parameters = recipes[0].parameters
    if isinstance(as_parameters(parameters), PenalisedLikelihood):
        rows = Context(rows).few_classes(seed).rows
        # No edge is left out again, though a part of the rows may show less of what it adds.
        recipes = [each.set_params(parameters__least_gain=None) for each in recipes]
    parts = hold_out(rows, seed)
    held_parts = [rows.take_part(held) for _, held in (parts if rows.class_copies > 1.0 else parts[:1])]
    differences = []
    for (kept, _), held in zip(parts, held_parts, strict=False):
        networks = _learn(recipes, Context(rows.take_part(kept), is_rough=True), seed)
        differences.append(_edge_differences(edges, networks, held, temperature, is_counted(parameters)))
    weight = np.concatenate([held.full_weight() for held in held_parts])
    return _with_gains(edges, np.concatenate(differences, axis=1), weight)


def _learn(recipes: Sequence[Recipe | EnsembleRecipe], part: Context, seed: int) -> list[Network]:
    networks = []
    for each in recipes:
        learned = each.learn(part, seed)
        networks += [learned.network] if isinstance(learned, Fitted) else [member.fitted.network for member in learned]
    return networks


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
    """How much the log-loss of each row rises without each edge, float64[E, N].

    Where d is what the scores of a row change by, that is the log of the sum over classes of p e^d, less d of its own.
    """
    scores = np.mean([network.log_joint(rows.codes) for network in networks], axis=0) / temperature
    scores[np.arange(len(scores)), rows.y] -= np.log(rows.class_copies)  # the other classes stand for several each
    scores -= np.logaddexp.reduce(scores, axis=1, keepdims=True)
    losses, probability = -scores[np.arange(len(scores)), rows.y], np.exp(scores)
    places = {edge: number for number, edge in enumerate(zip(edges.child.tolist(), edges.parent.tolist(), strict=True))}
    changes: dict[int, list[_Change]] = {number: [] for number in places.values()}
    for network in networks:
        frequencies = _frequencies(network) if is_counted else None
        for child, parents in enumerate(network.extra_parents.tolist()):
            known = [places[child, parent] for parent in parents if (child, parent) in places]
            if known:
                own = None if frequencies is None else frequencies[child]
                change = _without_parents(network, child, rows, own, temperature * len(networks))
                for number in known:
                    changes[number].append(change)
    differences = np.zeros((len(places), len(losses)))
    for number, of_edge in changes.items():
        factors, of_class = probability, np.zeros(len(losses))
        for change in of_edge:
            factors = factors * np.exp(change.table)[change.cell]
            of_class += change.table[change.cell, rows.y]
        without = losses + np.log(factors.sum(axis=1)) - of_class
        differences[number] = np.minimum(without, MOST_LOSS) - np.minimum(losses, MOST_LOSS)
    return differences


class _Change(NamedTuple):
    """What the scores of rows change by if a feature is without its parents."""

    table: FloatArray  # [cells + 1, C]: by cell of the CPT, and nothing in the last, where a value is unknown
    cell: IntArray  # [N]: of each row


def _without_parents(network: Network, child: int, rows: Rows, frequencies: FloatArray | None, scale: float) -> _Change:
    """Replace the term of a child by what it is without its parents, where all of them are known."""
    parents = [j for j in network.extra_parents[child].tolist() if j >= 0]
    codes, cards = rows.codes, network.cards
    line: IntArray = np.zeros(len(codes), np.int64)
    is_known = codes[:, child] < cards[child]
    for j in parents:
        groups, own = network.groups_of(j), codes[:, j].astype(np.int64)
        is_known &= own < cards[j]
        line = line * int(cards[j]) + own if groups is None else np.append(groups, 0)[own]
    cpt = network.layout.cpt(network.theta, child).astype(np.float64)
    n_cells = cpt.shape[0] * cpt.shape[1]
    cell = np.where(is_known, line * cpt.shape[1] + codes[:, child], n_cells)
    if frequencies is None:
        counts: FloatArray = np.bincount(cell, rows.full_weight(), minlength=n_cells + 1)[:-1].astype(np.float64)
        alone = _sum_of_effects(cpt, counts.reshape(cpt.shape[:2]))
    else:
        alone = np.broadcast_to(frequencies, cpt.shape)
    table = np.concatenate([(alone - cpt).reshape(n_cells, -1) / scale, np.zeros((1, cpt.shape[2]))])
    return _Change(table, cell)


def _frequencies(network: Network) -> list[FloatArray] | None:
    """Log-probabilities of the values of each feature given the class, [R_i, C]; None if they cannot be found."""
    if network.has_pairs or not network.is_bayesian_network:
        return None
    joints = class_joints(network.forest())
    return [np.log(np.maximum(each / each.sum(axis=0), np.finfo(np.float64).tiny)) for each in joints]


def _sum_of_effects(cpt: FloatArray, counts: FloatArray) -> FloatArray:
    """The nearest sum of an effect of the parent and an effect of the child, for each class, [G, R, C]."""
    weight = counts + 1e-9  # lines that no row has get a value, too
    weighted = weight[:, :, None] * cpt
    of_child_alone, of_parent_alone = weighted.sum(axis=0), weighted.sum(axis=1)
    of_value, of_line = weight.sum(axis=0)[:, None], weight.sum(axis=1)[:, None]
    of_parent: FloatArray = np.zeros_like(of_parent_alone)
    of_child = of_parent
    for _ in range(_ROUNDS):
        of_child = (of_child_alone - weight.T @ of_parent) / of_value
        of_parent = (of_parent_alone - weight @ of_child) / of_line
    return of_parent[:, None] + of_child


def mean_contributions(networks: Sequence[Network], codes: IntArray, weight: FloatArray) -> FloatArray:
    """Mean distance of each feature's contribution to the log-odds from its mean, in nats, float64[D].

    Parameters
    ----------
    networks : sequence of Network
        Networks whose mean log-joint classifies.
    codes : int array of shape (N, D)
    weight : float array of shape (N,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import Counts, TANClassifier
    >>> from tanager.data import as_frame
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier("none", Counts(1.0)).fit(X, y)
    >>> mean_contributions([clf.network_], clf.encoder_.encode(as_frame(X)), np.ones(150)).round(1)
    array([1.5, 1. , 2.3, 2.3])
    """
    n_features, n_classes = networks[0].n_features, networks[0].n_classes
    n_rows = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_TERMS // (n_features * n_classes)))
    step = -(-len(codes) // n_rows)
    share, terms = weight[::step] / weight[::step].sum(), centred_terms(networks, codes[::step])
    terms -= np.einsum("n,ndc->dc", share, terms)
    sizes: FloatArray = share @ np.abs(terms, out=terms).mean(axis=2)
    # With two classes the contribution to their log-odds is twice the distance of each from their mean.
    return sizes * n_classes / max(n_classes - 1, 1)


def centred_terms(networks: Sequence[Network], codes: IntArray) -> FloatArray:
    """What each feature adds to the log-odds of each class against the mean of all classes, float64[N, D, C]."""
    terms = networks[0].log_terms(codes)
    for network in networks[1:]:
        terms += network.log_terms(codes)
    terms /= len(networks)
    terms -= terms.mean(axis=2, keepdims=True)
    return terms
