import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from tanager.model import ParentDistribution
from tanager.structure import ParentSets, naive_bayes
from tests.oracles import model_oracle
from tests.strategies import models


@given(models(max_rows=1))
def test_probabilities_entropy_and_matrix(model):
    distribution = ParentDistribution(model.parent_sets, model.phi)
    expected = [np.exp(model_oracle.log_softmax_vector(model.phi[start:stop])) for start, stop in pairwise(model.ptr)]
    np.testing.assert_allclose(distribution.probabilities, np.concatenate(expected), rtol=1e-12)

    entropies = [-sum(p * math.log(p) for p in segment) for segment in expected if len(segment) > 1]
    mean = sum(entropies) / len(entropies) if entropies else 0.0
    assert distribution.mean_entropy() == pytest.approx(mean, abs=1e-12)

    matrix = distribution.matrix()
    n_features = len(model.cards)
    assert matrix.shape == (n_features, n_features + 1)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    assert np.count_nonzero(matrix) == len(model.phi)
    for e, (i, j) in enumerate(zip(model.child, model.parent, strict=True)):
        assert matrix[i, n_features if j == -1 else j] == distribution.probabilities[e]


@given(models(max_rows=1))
def test_most_probable_has_the_highest_probability(model):
    distribution = ParentDistribution(model.parent_sets, model.phi)
    chosen = distribution.most_probable()
    without_noise, _ = model_oracle.sample(model.phi, np.zeros(len(model.phi)), model.ptr, tau=1.0)
    assert chosen.tolist() == without_noise.tolist()


def test_first_of_equal_candidates_is_most_probable():
    sets = ParentSets.from_lists([[-1], [-1, 0], [1, -1, 0]])
    distribution = ParentDistribution(sets, np.array([0.0, 0.0, 0.0, -1.0, 2.0, 2.0]))
    assert distribution.most_probable().tolist() == [0, 1, 4]


def test_uniform_has_the_greatest_entropy():
    sets = ParentSets.from_lists([[-1], [-1, 0], [-1, 0, 1]])
    assert ParentDistribution(sets, np.zeros(6)).mean_entropy() == pytest.approx((math.log(2) + math.log(3)) / 2)


def test_nothing_to_choose_has_no_entropy():
    assert ParentDistribution(naive_bayes(3), np.zeros(3)).mean_entropy() == 0.0


def test_certain_choice_has_no_entropy():
    sets = ParentSets.from_lists([[-1], [-1, 0]])
    distribution = ParentDistribution(sets, np.array([0.0, 2e3, 0.0]))
    assert distribution.probabilities.tolist() == [1.0, 1.0, 0.0]
    assert distribution.mean_entropy() == 0.0
