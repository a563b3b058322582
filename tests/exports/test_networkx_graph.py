"""The structure as a graph, through the readers of networkx and pydot."""

import io

import networkx as nx
import numpy as np
import pytest

from tanager import GradientDescent, IndependentSearches, TANClassifier, TANEnsembleClassifier
from tanager.exports import to_dot, to_graphml, to_networkx
from tests.exports.classifiers import cyclic_classifier, mixed_classifier, read_dot
from tests.fine_bins import fine_classifier


@pytest.fixture(scope="module")
def clf():
    return mixed_classifier(structure="all", missing="ignore")[0]


def test_graph_holds_the_network(clf):
    graph = to_networkx(clf)
    names = clf.encoder_.feature_labels
    names[names.index("class")] = "class (2)"
    assert set(graph) == {"class", *names}
    assert graph.nodes["class"]["kind"] == "class"
    assert graph.nodes["class"]["values"] == ["0", "1", "2"]
    np.testing.assert_allclose(graph.nodes["class"]["cpt"], np.exp(clf.description_.log_prior))
    for feature, name in enumerate(names):
        node, parent = graph.nodes[name], clf.parents_[feature]
        assert node["values"] == clf.encoder_.value_labels(feature)
        np.testing.assert_array_equal(node["cpt"], clf.description_.cpt(feature))
        assert set(graph.predecessors(name)) == {"class"} | ({names[parent]} if parent >= 0 else set())
        if parent >= 0:
            assert graph.edges[names[parent], name]["probability"] == clf.parent_probabilities_[feature, parent]
    assert nx.is_directed_acyclic_graph(graph)
    assert (clf.parents_ >= 0).any()


def test_lines_are_values_of_the_parent(clf):
    graph = to_networkx(clf)
    for feature, name in enumerate(list(graph)[1:]):
        parent = clf.parents_[feature]
        assert graph.nodes[name]["given"] == ([""] if parent < 0 else clf.encoder_.value_labels(parent))
        assert not any("groups" in attributes for _, _, attributes in graph.in_edges(name, data=True))


def test_lines_are_groups_of_values_if_these_are_grouped():
    clf, _ = fine_classifier()
    graph = to_networkx(clf)
    town, height = graph.nodes["town"], graph.nodes["height"]
    assert len(town["given"]) == len(town["cpt"]) == 13
    assert town["given"][0].startswith("< ")
    assert town["given"][-1] == "missing"
    assert height["given"][1] == "23 to 26"
    groups = graph.edges["height", "town"]["groups"]
    assert len(groups) == len(height["values"])
    np.testing.assert_array_equal(np.array(town["cpt"])[groups], clf.description_.cpt(2))
    assert "groups" not in graph.edges["class", "town"]
    read = nx.read_graphml(io.BytesIO(to_graphml(clf).encode()))
    assert set(read.edges["height", "town"]) == {"probability"}


def test_graphml_round_trip(clf):
    read = nx.read_graphml(io.BytesIO(to_graphml(clf).encode()))
    expected = to_networkx(clf, tables=False)
    assert dict(read.nodes(data=True)) == dict(expected.nodes(data=True))
    assert list(read.edges(data=True)) == list(expected.edges(data=True))


def test_dot_round_trip(clf):
    nodes, edges = read_dot(to_dot(clf))
    expected = to_networkx(clf)
    assert nodes == {f'"{name}"' for name in expected}
    assert edges == {(f'"{parent}"', f'"{child}"') for parent, child in expected.edges}


def test_names_are_quoted_in_dot():
    X = np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)
    clf = TANClassifier("none", parameters="ml").fit(X, [0, 1, 0, 1])
    nodes, _ = read_dot(to_dot(clf, target='say "class" \\'))
    assert nodes == {'"x0"', '"say \\"class\\" \\\\"'}


def test_cycles_stay_and_ensembles_are_refused():
    X, y = np.random.default_rng(0).integers(0, 2, (30, 3)), np.arange(30) % 2
    graph = to_networkx(cyclic_classifier()[0])
    assert set(graph.edges) >= {("x1", "x0"), ("x2", "x1"), ("x0", "x2")}
    members, parameters = IndependentSearches("none", n_members=2), GradientDescent(epochs=1)
    ensemble = TANEnsembleClassifier(members, parameters, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="estimators_"):
        to_networkx(ensemble)
