"""structure="free": a search without an ordering that ends in a forest."""

import networkx as nx
import numpy as np
import pytest
from sklearn.datasets import make_classification

from tanager import TANClassifier
from tanager.structure import find_cycle


@pytest.fixture(scope="module")
def numbers():
    return make_classification(600, 8, n_informative=6, n_classes=3, random_state=2)


@pytest.mark.parametrize("seed", range(5))
def test_the_result_is_a_forest_of_candidates(numbers, seed):
    options = {"binning": "quantile", "epochs": 8, "max_parents": 4, "random_state": seed}
    free = TANClassifier("free", **options).fit(*numbers)
    pseudo = TANClassifier("pseudo", **options).fit(*numbers)
    assert find_cycle(free.parents_) is None
    assert free.network_.is_bayesian_network
    np.testing.assert_array_equal(free.parent_probabilities_, pseudo.parent_probabilities_)
    assert (free.parent_probabilities_[np.arange(8), free.parents_] > 0).all()


def test_the_forest_is_the_most_probable_one(numbers):
    free = TANClassifier("free", binning="quantile", epochs=30, structure_learning_rate=0.05, random_state=0).fit(
        *numbers
    )
    own = np.log(free.parent_probabilities_[np.arange(8), free.parents_]).sum()
    assert own == pytest.approx(_best_forest(free.parent_probabilities_), abs=1e-6)


def _best_forest(probabilities):
    """Log-probability of the best forest, by networkx: a root above all stands for no parent."""
    graph = nx.DiGraph()
    for child, row in enumerate(probabilities):
        for parent in np.flatnonzero(row > 0):
            graph.add_edge("root" if parent == len(row) - 1 else int(parent), child, weight=np.log(row[parent]))
    return nx.maximum_spanning_arborescence(graph).size(weight="weight")


def test_the_forest_is_trained_for_half_as_many_epochs(numbers):
    free = TANClassifier("free", binning="quantile", epochs=9, random_state=0).fit(*numbers)
    assert len(free.history_["loss"]) == 9 + 4
    assert free.history_["entropy"][8] > 0
    assert (free.history_["entropy"][9:] == 0).all()


def test_unknown_values_can_be_summed_out(numbers):
    X, y = numbers
    free = TANClassifier("free", binning="quantile", epochs=5, random_state=0).fit(X, y)
    holed = X.copy()
    holed[:, 0] = np.nan
    np.testing.assert_allclose(free.predict_proba(holed).sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_forests_drawn_at_every_step_need_no_second_training(numbers, seed):
    options = {"binning": "quantile", "epochs": 8, "max_parents": 4, "random_state": seed, "free": "arborescence"}
    free = TANClassifier("free", **options).fit(*numbers)
    assert find_cycle(free.parents_) is None
    assert len(free.history_["loss"]) == 8
    assert free.history_["entropy"][-1] > 0
    again = TANClassifier("free", n_jobs=2, **options).fit(*numbers)
    np.testing.assert_array_equal(free.network_.theta, again.network_.theta)
    assert free.score(*numbers) > 0.7


def test_forests_drawn_at_every_step_find_the_parent_that_matters():
    """Feature 1 is feature 0 shifted by the class: the two tell it together, and neither alone."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = rng.integers(0, 3, (600, 4))
    X[:, 1] = (X[:, 0] + y) % 3
    settings = {"categorical_features": range(4), "random_state": 0, "epochs": 30, "free": "arborescence"}
    free = TANClassifier("free", **settings).fit(X, y)
    assert free.parents_[1] == 0 or free.parents_[0] == 1
    assert free.score(X, y) == 1.0
