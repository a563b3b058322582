"""The network that describes the data."""

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

from tanager import Counts, GradientDescent, TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame
from tanager.model import CptCounts, describe

LOADERS = {"wine": load_wine, "breast_cancer": load_breast_cancer}


@pytest.mark.parametrize("name", LOADERS)
def test_probabilities_are_those_of_rows_that_were_not_trained_on(name):
    """The class prior, and each feature in a few bins given the class, by chi-square over all features."""
    X, y = LOADERS[name](return_X_y=True)
    X, rest, y, y_rest = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    clf = TANClassifier(random_state=0).fit(X, y)
    codes, network = clf.encoder_.encode(as_frame(rest)), clf.description_
    np.testing.assert_allclose(network.marginals().classes[0], np.bincount(y) / len(y), atol=0.01)
    statistic = degrees = 0.0
    for c in range(network.n_classes):
        given = network.marginals(classes=[c]).features
        for i in range(network.n_features):
            expected, observed = _in_quarters(
                given[i][0], np.bincount(codes[y_rest == c, i], minlength=network.cards[i])
            )
            # Both halves of the rows are a sample, so a difference has twice the variance of one.
            statistic += ((observed - expected) ** 2 / (2 * expected)).sum()
            degrees += len(expected) - 1
    # Features depend on each other, so the sum spreads more than a chi-square of as many degrees does.
    assert statistic < 1.5 * chi2.ppf(0.999, degrees)


def test_trained_network_would_not_pass_for_a_description():
    X, y = load_breast_cancer(return_X_y=True)
    clf = TANClassifier(random_state=0).fit(X, y)
    of_class = clf.encoder_.encode(as_frame(X))[y == 0, 0]
    frequencies = np.bincount(of_class, minlength=clf.network_.cards[0]) / len(of_class)
    distance = [
        np.abs(network.marginals(classes=[0]).features[0][0] - frequencies).sum() / 2
        for network in (clf.network_, clf.description_)
    ]
    assert distance[0] > 0.2
    assert distance[1] < 0.1


def test_counted_parameters_have_one_network():
    clf = TANClassifier("chow-liu", Counts(1.0)).fit(*load_wine(return_X_y=True))
    assert clf.description_ is clf.network_


def test_counts_that_discount_evidence_have_a_description_besides():
    X, y = load_breast_cancer(return_X_y=True)
    clf = TANClassifier("chow-liu", "ml").fit(X, y)
    of_class = clf.encoder_.encode(as_frame(X))[y == 0, 0]
    frequencies = np.bincount(of_class, minlength=clf.network_.cards[0]) / len(of_class)
    np.testing.assert_allclose(clf.description_.marginals(classes=[0]).features[0][0], frequencies, atol=0.03)


def count(network, codes, y, unit):
    counts = CptCounts.empty(network.layout)
    counts.add(codes, y, np.full(len(y), unit))
    return counts


def test_unit_of_weights_is_of_no_matter():
    X, y = load_wine(return_X_y=True)
    clf = TANClassifier("chow-liu", GradientDescent(epochs=2), random_state=0).fit(X, y)
    codes = clf.encoder_.encode(as_frame(X))
    ones, halves = (describe(clf.network_, count(clf.network_, codes, y, unit)).network for unit in (1.0, 0.5))
    np.testing.assert_array_equal(ones.theta, halves.theta)


def test_samples_come_from_the_description():
    X, y = load_breast_cancer(return_X_y=True)
    clf = TANClassifier(random_state=0).fit(X, y)
    _, classes = clf.sample(4000, random_state=0)
    assert abs(classes.mean() - y.mean()) < 0.03


def test_members_of_an_ensemble_describe_the_data_each():
    X, y = load_wine(return_X_y=True)
    ensemble = TANEnsembleClassifier("trees", "penalised", random_state=0).fit(X, y)
    for member in ensemble.estimators_:
        np.testing.assert_allclose(member.description_.marginals().classes[0], np.bincount(y) / len(y), atol=0.01)


def _in_quarters(probabilities, counts):
    """Expected and observed numbers of rows, with neighbouring values put together until a quarter is reached."""
    group = np.minimum((np.cumsum(probabilities) - probabilities / 2) * 4, 3).astype(int)
    expected = np.bincount(group, probabilities, minlength=4) * counts.sum()
    observed = np.bincount(group, counts, minlength=4)
    return expected[expected > 0], observed[expected > 0]
