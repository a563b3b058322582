"""The network that describes the data."""

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

from tanager import Counts, GradientDescent, TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame
from tanager.model import CptCounts, describe, description, make_layout
from tanager.structure import fixed_parents

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
    of_class = clf.encoder_.encode(as_frame(X))[y == 0, 5]
    frequencies = np.bincount(of_class, minlength=clf.network_.cards[5]) / len(of_class)
    distance = [
        np.abs(network.marginals(classes=[0]).features[5][0] - frequencies).sum() / 2
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
    ones, halves = (describe(count(clf.network_, codes, y, unit)) for unit in (1.0, 0.5))
    np.testing.assert_array_equal(ones.network.theta, halves.network.theta)
    assert ones.surprise == halves.surprise


def test_left_out_rows_are_as_surprising_as_new_ones():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 3, (4000, 1)) for _ in range(2)]
    first, new = (np.hstack([x, (x + (rng.random(x.shape) < 0.2)) % 3, rng.integers(0, 4, x.shape)]) for x in rows)
    y = rng.integers(0, 2, 4000)
    layout = make_layout(fixed_parents([-1, 0, 1]), [3, 3, 4], n_classes=2)
    counts = CptCounts.empty(layout)
    counts.add(first, y)
    found = describe(counts)
    assert found.surprise == pytest.approx(-found.network.log_likelihood(new, y).mean(), rel=0.01)
    np.testing.assert_allclose(found.information, [0, np.log(3) - 0.5, 0], atol=0.02)


def redundant_rows():
    """The class is told by x0 together with each of the others, which have copies that tell nothing."""
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 3, (3, 3000))
    copies = [np.where(rng.random(3000) < 0.95, each, 2 - each) for each in (b, c)]
    return np.column_stack([a, b, c, *copies]).astype(str), ((a + b) % 2 + (a + c) % 2 > 0).astype(int)


def test_a_tree_of_its_own_describes_data_that_the_learned_one_does_not():
    X, y = redundant_rows()
    clf = TANClassifier(random_state=0).fit(X, y)
    edges = [{frozenset(edge[:2]) for edge in found} for found in (clf.edges_, clf.description_edges_)]
    copies = {frozenset(("x1", "x3")), frozenset(("x2", "x4"))}
    assert not copies <= edges[0]
    assert copies <= edges[1]
    assert "Another tree describes the data clearly better" in clf.summary()
    assert np.isnan([edge.gain for edge in clf.description_edges_]).all()
    codes, y = clf.encoder_.encode(as_frame(X)), np.asarray(y)
    copied = (codes[:, 1] == codes[:, 3]).mean()
    np.testing.assert_allclose(np.trace(clf.description_.query([1, 3])[0]), copied, atol=0.01)


def test_of_many_rows_some_tell_the_tree(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    all_rows = TANClassifier(random_state=0).fit(X, y).description_edges_
    monkeypatch.setattr(description, "_MOST_PAIRS_OF_CELLS", 100_000)  # every third row
    every_third = TANClassifier(random_state=0).fit(X, y).description_edges_
    shared = {(edge.child, edge.parent) for edge in all_rows} & {(edge.child, edge.parent) for edge in every_third}
    assert 5 < len(shared) < len(all_rows)


def test_given_structures_and_rules_hold_for_the_description_too():
    X, y = redundant_rows()
    for options in ({"structure": [-1, 0, 0, 0, 0]}, {"forbid": [(2, 3), (3, 2)]}):
        clf = TANClassifier(parameters="penalised", random_state=0, **options).fit(X, y)
        np.testing.assert_array_equal(clf.description_.parents, clf.network_.parents)
        assert clf.description_edges_ == clf.edges_


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
