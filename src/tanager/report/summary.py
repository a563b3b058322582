"""The text of the report: a summary of the classifier, and what each chart shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.estimators.findings import Edge
from tanager.learning import (
    STRUCTURES,
    AllPredecessors,
    AnnealedSearch,
    ChowLiu,
    FixedParents,
    Free,
    GivenSpace,
    GreedySearch,
    KDependence,
    Nearest,
    NoParents,
    PenalisedLikelihood,
    Pseudo,
    RandomTree,
    Subset,
)
from tanager.report.evaluation import Evaluation
from tanager.report.markup import card
from tanager.report.payload import shorten, used_structure

_STRUCTURES: dict[type, str] = {
    NoParents: "naive Bayes",
    RandomTree: "a random tree",
    ChowLiu: "the Chow-Liu tree",
    Subset: "a search over some earlier features",
    AllPredecessors: "a search over all earlier features",
    Nearest: "a search over the nearest pixels",
    KDependence: "a search over earlier features and pairs of them",
    Free: "a search without an ordering",
    Pseudo: "a search that may end in cycles",
    GreedySearch: "a forest found by hill climbing",
    AnnealedSearch: "a forest found by simulated annealing",
    FixedParents: "a given structure",
    GivenSpace: "a given search space",
}

_TREES = {"residual": "the tree of pairs that add most to what single features tell"}

_LONGEST_OPTION = 200  # characters; a value with all its options rarely has more


def describe_model(clf: TANClassifier | TANEnsembleClassifier) -> str:
    """The classifier in a sentence."""
    if isinstance(clf, TANEnsembleClassifier):
        kind = "log-probabilities" if clf.combine == "log" else "probabilities"
        n_members = len(clf.estimators_)
        members = f"{n_members} TAN classifier{'s' if n_members > 1 else ''}"
        return f"Average of the {kind} of {members}. {clf.choice_['why']}"
    return f"Bayesian network classifier: {_structure(clf)}; {_learning(clf)}. {clf.choice_['why']}"


def _learning(clf: TANClassifier) -> str:
    """How the parameters were learned, in words."""
    n_epochs = len(clf.history_["loss"])
    if n_epochs:
        return f"gradient descent, {n_epochs} epochs"
    is_penalised = isinstance(clf.options_.get("parameters", clf.parameters), PenalisedLikelihood)
    return "penalised likelihood" if is_penalised else "maximum likelihood"


def _structure(clf: TANClassifier) -> str:
    """The structure in words; a class of the user's own, or one that a model file does not hold, has none."""
    structure = used_structure(clf)
    if isinstance(structure, str) and structure in STRUCTURES:
        structure = STRUCTURES[structure]()
    if isinstance(structure, ChowLiu) and structure.score != "information":
        return _TREES.get(structure.score, f"the tree of largest {structure.score} score")
    return _STRUCTURES.get(type(structure), "a custom structure")


def size_cards(clf: TANClassifier | TANEnsembleClassifier) -> str:
    """How large the classifier is, as cards."""
    n_features = len(clf.encoder_.columns)
    cards = [("Features", f"{n_features:,}", f"{int(clf.encoder_.cards.sum()):,} values in all")]
    cards += [("Classes", f"{len(clf.classes_):,}", "")]
    if isinstance(clf, TANEnsembleClassifier):
        members = [member.network_.extra_parents.tolist() for member in clf.estimators_]
        n_edges = len({(child, *parents) for each in members for child, parents in enumerate(each)})
        cards += [("Members", f"{len(clf.estimators_)}", f"{n_edges:,} distinct CPTs")]
        cards += [("Parameters", f"{clf.average_.n_parameters:,}", "of the average")]
    else:
        cards += [("Extra parents", f"{int((clf.network_.extra_parents >= 0).sum()):,}", f"of {n_features:,} features")]
        cards += [("Parameters", f"{clf.network_.n_parameters:,}", "CPT entries")]
    return "\n".join(card(*each) for each in cards)


def list_options(clf: TANClassifier | TANEnsembleClassifier) -> list[tuple[str, str]]:
    """Options as they were given, those of values included, and then as they were used where a fit decided."""
    given = clf.get_params()
    used = {
        f"{name} as used": value
        for name, value in sorted(clf.options_.items())
        if name in given and repr(value) != repr(given[name])
    }
    return [(name, _short(value)) for name, value in [*sorted(given.items()), *used.items()]]


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray | list | tuple) and len(value) > 8:
        return f"{type(value).__name__} of length {len(value)}"
    return shorten(repr(value), _LONGEST_OPTION)


def network_text(clf: TANClassifier | TANEnsembleClassifier) -> str:
    """What is special about the network."""
    if isinstance(clf, TANEnsembleClassifier):
        return ""
    if not clf.network_.is_bayesian_network:
        return (
            "The parents form a cycle, so this is not a Bayesian network: it classifies, but has no joint distribution."
        )
    network = clf.description_
    groups, parents = network.layout.groups, network.parents[network.parents >= 0]
    if groups is None or not (groups.cards < network.cards)[parents].any():
        return ""
    return "Where a feature with many values is a parent, its values are put into groups, the rows of the CPT."


def members_text(clf: TANClassifier | TANEnsembleClassifier) -> str:
    """What the edges of an ensemble show."""
    if not isinstance(clf, TANEnsembleClassifier):
        return ""
    return f"The width of an edge is the fraction of the {len(clf.estimators_)} members that have it."


def evaluation_text(evaluation: Evaluation | None) -> str:
    """What the charts of predictions show."""
    return "" if evaluation is None else f"On {evaluation.n_rows:,} rows."


def examples_text(n_rows: int, combine: str) -> str:
    """What is shown of single rows."""
    text = f"Some of the {n_rows:,} rows, counted from 0, with what each value added to the log-odds. "
    if combine == "probability":
        text = f"Some of the {n_rows:,} rows, counted from 0. An average of probabilities is not a sum over features. "
    return text + "If the rows are confidential, so is this page."


def edges_text(edges: Sequence[Edge]) -> str:
    """What the numbers of the edges are."""
    if not edges:
        return "No feature has another feature as parent: each depends on the class alone."
    if np.isnan(edges[0].gain):
        return "What the edges add to predictions was not measured."
    n_clear = sum(edge.adds for edge in edges)
    clear = "No edge alone lowers it"
    if n_clear:
        clear = f"{n_clear} of {len(edges)} edges lower it (the others are pale)"
    return (
        "The number of an edge is how much lower the log-loss of held-out rows is with it, in nats a row. "
        f"{clear} by more than two standard errors."
    )
