"""Small classifiers to export, and the other programs, imported where warnings are not errors."""

import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from tanager import GradientDescent, ParentSets, TANClassifier
from tanager.data import CategoryColumn, FrameEncoder, as_frame
from tanager.model import Network, ParentDistribution

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pgmpy.inference
    import pgmpy.readwrite
    import pyagrum
    import pydot.dot_parser


SEARCH = {"structure": "subset", "parameters": GradientDescent(epochs=10), "random_state": 0}


def iris_classifier(**options):
    """Numbers with names that other programs do not take, and classes as text."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = load_iris().target_names
    return TANClassifier(**{**SEARCH, **options}).fit(X, names[y]), X


def mixed_frame(n_rows=200, seed=0):
    """Text, numbers, booleans, missing cells, a constant column and a category of numbers."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour, or so": rng.choice(["red", "blue {dark}", "größer", "table", "Red"], n_rows).astype(object),
            "size (cm)": rng.normal(size=n_rows),
            "1st|guess": rng.choice(["1", "2", "1.5", "-1"], n_rows).astype(object),
            "table1": rng.integers(0, 4, n_rows),
            "class": rng.random(n_rows) < 0.5,
            "constant": np.ones(n_rows),
            "weight": rng.normal(size=n_rows).round(1),
        }
    )
    y = (frame["size (cm)"] + frame["weight"] > 0).astype(int) + (frame["colour, or so"] == "red")
    frame.loc[rng.random(n_rows) < 0.2, "colour, or so"] = None
    frame.loc[rng.random(n_rows) < 0.2, "size (cm)"] = np.nan
    return frame, y.to_numpy(np.int64)


def mixed_classifier(**options):
    frame, y = mixed_frame()
    return TANClassifier(**{**SEARCH, "categorical_features": ["table1", "class"], **options}).fit(frame, y), frame


def with_unknown_cells(frame, seed=1):
    """The frame with more missing cells and unseen categories, in every column but booleans and the constant one."""
    rng = np.random.default_rng(seed)
    frame = frame.copy()
    for name, unseen in [("colour, or so", "violet"), ("1st|guess", "7"), ("table1", 9)]:
        frame.loc[rng.random(len(frame)) < 0.3, name] = unseen
    frame["weight"] = frame["weight"].where(rng.random(len(frame)) > 0.3)
    return frame


def cyclic_classifier():
    """A pseudo-TAN of three features whose parents are a cycle."""
    X, y = np.random.default_rng(0).integers(0, 2, (60, 3)), np.arange(60) % 2
    cycle = ParentSets.from_lists([[1], [2], [0]])
    return TANClassifier(cycle, GradientDescent(epochs=3), random_state=0).fit(X, y), X


def random_classifier(model, seed=0):
    """A classifier of a random model (see tests/strategies.py) with one candidate per feature; values are codes."""
    clf = TANClassifier()
    columns = tuple(CategoryColumn(np.arange(card)) for card in model.cards)
    clf.encoder_ = FrameEncoder(columns, None)
    clf.classes_ = np.arange(model.n_classes)
    chosen = np.arange(len(model.cards))
    clf.network_ = clf.description_ = Network.from_arena(model.layout, model.theta, model.prior, chosen)
    clf._distribution = ParentDistribution(model.parent_sets, np.zeros(len(chosen)))
    clf.n_features_in_ = len(model.cards)
    return clf


def described_probabilities(clf, X):
    """Probabilities of the classes in the network that describes the data."""
    return posteriors(clf.description_, clf.encoder_.encode(as_frame(X)))


def posteriors(network, codes):
    log_joint = network.log_joint(np.ascontiguousarray(codes))
    joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def with_unknown_codes(model):
    """The rows of a random model with some codes unknown."""
    rng = np.random.default_rng(int(model.codes.sum()))
    return np.where(rng.random(model.codes.shape) < 0.3, model.cards, model.codes)


def read_dot(text):
    """Names of the nodes and pairs of the edges in a text for Graphviz, quoted as they are."""
    (graph,) = pydot.graph_from_dot_data(text)
    edges = {(edge.get_source(), edge.get_destination()) for edge in graph.get_edges()}
    return {node.get_name() for node in graph.get_nodes()}, edges


def pyagrum_probabilities(bn, rows, target="class"):
    """Probabilities of the class given the evidence of each row."""
    inference = pyagrum.VariableElimination(bn)
    inference.addTarget(target)
    results = []
    for row in rows:
        inference.setEvidence(row)
        inference.makeInference()
        results.append(inference.posterior(target)[:])
    return np.array(results)


def pgmpy_probabilities(model, rows, target="class"):
    inference = pgmpy.inference.VariableElimination(model)
    factors = [inference.query([target], evidence=row, show_progress=False) for row in rows]
    states = model.get_cpds(target).state_names[target]
    return np.array([[factor.get_value(**{target: state}) for state in states] for factor in factors])
