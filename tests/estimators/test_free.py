"""structure="free": a search without an ordering that ends in a forest."""

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
    without_parents = np.log(free.parent_probabilities_[:, -1]).sum()
    best_of_all = np.log(free.parent_probabilities_.max(axis=1)).sum()
    assert without_parents < own <= best_of_all


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
