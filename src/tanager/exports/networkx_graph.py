"""The structure of a classifier as a networkx graph, and as GraphML and DOT text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tanager.data import unique_labels
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.exports.tables import check_fitted, class_labels, needs_extra
from tanager.model import Network


def to_networkx(clf: TANClassifier, target: str = "class", *, tables: bool = True) -> Any:
    """Convert a classifier to a directed graph of the class and the features.

    Parameters
    ----------
    clf : TANClassifier
        The graph of a pseudo-TAN may have cycles.
    target : str, default="class"
        Name of the class node; a feature with the same name gets a numeric suffix.
    tables : bool, default=True
        Whether nodes have ``values``, ``given`` and ``cpt``, and edges ``groups``. Without them, all attributes are
        text and numbers, as graph formats such as GraphML require.

    Returns
    -------
    networkx.DiGraph
        Nodes have ``kind`` ("class" or "feature"), ``n_values``, ``values`` (list of str) and ``cpt`` (nested lists:
        ``[x_parent][x][c]`` for a feature, with one ``x_parent`` if it has no extra parent, and ``[c]`` for the
        class). Features also have ``given`` (list of str), what each ``x_parent`` stands for. Edges have
        ``probability``, the learned probability of the parent; from the class it is 1. Where values of a parent are
        grouped, ``x_parent`` is the group, and the edge has ``groups``, the group of each value of the parent.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_networkx(TANClassifier([-1, 0, 0, 2], parameters="ml").fit(X, y))
    >>> sorted(graph.predecessors("x3"))
    ['class', 'x2']
    >>> graph.nodes["x3"]["values"]
    ['< 0.8', '0.8 to 1.75', '>= 1.75']
    """
    check_fitted(clf)
    if isinstance(clf, TANEnsembleClassifier):
        raise TypeError("an ensemble is not one network; export each of its estimators_ instead")
    network = clf.description_
    root, *names = unique_labels([target, *clf.encoder_.feature_labels])
    graph = _import_networkx().DiGraph(classifier=type(clf).__name__)
    graph.add_node(root, kind="class", **_contents(class_labels(clf), np.exp(network.log_prior), tables))
    for feature, name in enumerate(names):
        values = clf.encoder_.value_labels(feature)
        graph.add_node(name, kind="feature", **_contents(values, network.cpt(feature, grouped=True), tables))
        if tables:
            parents = [j for j in network.extra_parents[feature].tolist() if j >= 0]
            graph.nodes[name]["given"] = clf.encoder_.joint_labels({j: network.groups_of(j) for j in parents})
    graph.add_edges_from((root, name, {"probability": 1.0}) for name in names)
    probabilities = clf.parent_probabilities_
    if not np.array_equal(network.parents, clf.network_.parents):
        probabilities = np.ones_like(probabilities)  # a tree that describes the data was not drawn from a distribution
    for child, parent in _feature_edges(network):
        groups = network.groups_of(parent) if tables else None
        extra = {} if groups is None else {"groups": groups.tolist()}
        graph.add_edge(names[parent], names[child], probability=float(probabilities[child, parent]), **extra)
    return graph


def to_graphml(clf: TANClassifier, target: str = "class") -> str:
    """The structure, without CPTs, as GraphML; parameters as in `to_networkx`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> to_graphml(TANClassifier("none", parameters="ml").fit(X, y))[:8]
    '<graphml'
    """
    graph = to_networkx(clf, target, tables=False)
    return "\n".join(_import_networkx().generate_graphml(graph)) + "\n"


def to_dot(clf: TANClassifier, target: str = "class") -> str:
    """The structure, without CPTs, as DOT text for Graphviz; parameters as in `to_networkx`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(to_dot(TANClassifier("none", parameters="ml").fit(X[:, :1], y)), end="")
    digraph "tanager" {
      "class" [kind="class", n_values="3"];
      "x0" [kind="feature", n_values="3"];
      "class" -> "x0" [probability="1.0"];
    }
    """
    # Written here, because networkx requires another package for it, which does not quote every name.
    graph = to_networkx(clf, target, tables=False)
    lines = [f"{_quoted(name)} {_dot_attributes(attributes)};" for name, attributes in graph.nodes(data=True)]
    lines += [
        f"{_quoted(parent)} -> {_quoted(child)} {_dot_attributes(attributes)};"
        for parent, child, attributes in graph.edges(data=True)
    ]
    return "\n".join(['digraph "tanager" {', *(f"  {line}" for line in lines), "}\n"])


def _contents(values: list[str], cpt: Any, has_tables: bool) -> dict[str, Any]:
    """Attributes of a node."""
    contents: dict[str, Any] = {"n_values": len(values)}
    if has_tables:
        contents |= {"values": values, "cpt": cpt.tolist()}
    return contents


def _feature_edges(network: Network) -> Iterator[tuple[int, int]]:
    """Child and parent of each edge between features."""
    return ((child, j) for child, parents in enumerate(network.extra_parents.tolist()) for j in parents if j >= 0)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _dot_attributes(attributes: dict[str, Any]) -> str:
    return "[" + ", ".join(f"{key}={_quoted(str(value))}" for key, value in attributes.items()) + "]"


def _import_networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise needs_extra("networkx") from None
    return networkx
