"""Counts that back off to coarser frequencies: how much, rows that are left out, and discounted evidence."""

import numpy as np
import pytest

from tanager.model import CptCounts, back_off, make_layout
from tanager.model.backoff import Counted
from tanager.structure import ParentSets, naive_bayes
from tests.oracles.counting_oracle import backed_off_left_out

STRENGTHS = 10.0 ** np.arange(0.0, 3.1, 0.5)


def count(layout, codes, y, weight):
    counts = CptCounts.empty(layout)
    counts.add(codes, y, weight)
    return counts


def counted_cpt(counts):
    """The counts of one CPT, that of the second of two features given the first."""
    n_lines, n_values, n_classes = counts.shape
    layout = make_layout(ParentSets.from_lists([[-1], [0]]), [n_lines, n_values], n_classes)
    all_counts = CptCounts.empty(layout)
    layout.cpt(all_counts.cells, 0)[0], layout.cpt(all_counts.cells, 1)[...] = counts.sum(axis=1), counts
    all_counts.of_class[:], all_counts.n_rows = counts.sum(axis=(0, 1)), int(counts.sum())
    return Counted.of(all_counts)


def learn(layout, codes, y, weight):
    return back_off(count(layout, codes, y, weight), codes, y, weight)


def random_counts(seed, shape, mean=2.0):
    return np.random.default_rng(seed).poisson(mean, shape).astype(float)


def test_rows_that_a_cpt_is_pulled_by_are_the_best_ones():
    counts = random_counts(1, (3, 4, 2), mean=3.0)

    def likelihood(of_class, of_parent, of):
        left_out = backed_off_left_out(of, of_class, of_parent)
        return (of * np.log(np.where(of > 0, left_out, 1.0))).sum()

    of_class = max(STRENGTHS, key=lambda rows: likelihood(rows, 0.0, counts.sum(axis=0, keepdims=True)))
    of_parent = max(STRENGTHS, key=lambda rows: likelihood(of_class, rows, counts))
    assert counted_cpt(counts).prior_rows[1].tolist() == [of_class, of_parent]


def test_many_rows_are_their_frequencies_and_none_those_of_the_class():
    counts = np.array([[[3000.0], [7000.0]], [[0.0], [0.0]]])
    counted = counted_cpt(counts)
    found = counted.layout.cpt(counted.smoothed().values, 1)
    np.testing.assert_allclose(found[:, :, 0], [[0.3, 0.7], [0.3, 0.7]], atol=1e-3)


def repeated_feature(n_rows=600, n_copies=6, seed=0):
    """Copies of one feature that tells the class in three of four rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    value = np.where(rng.random(n_rows) < 0.75, y, 1 - y)
    return np.tile(value[:, None], n_copies).astype(np.uint8), y.astype(np.int64)


def posterior(network, codes):
    scores = network.log_joint(codes)
    return np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))


def test_evidence_that_features_repeat_is_discounted():
    codes, y = repeated_feature()
    network = learn(make_layout(naive_bayes(6), [2] * 6, 2), codes, y, np.ones(len(y)))
    share = np.mean(y[codes[:, 0] == 1])
    assert posterior(network, codes[codes[:, 0] == 1][:1])[0, 1] == pytest.approx(share, abs=0.03)
    for i in range(6):
        np.testing.assert_allclose(network.cpt(i).sum(axis=1), 1.0, atol=1e-6)
    # Without the class, values are as frequent as they were.
    marginal = (network.cpt(0)[0] * np.exp(network.log_prior)).sum(axis=1)
    np.testing.assert_allclose(marginal, np.bincount(codes[:, 0]) / len(y), atol=0.02)


def test_two_extra_parents_are_smoothed_but_not_discounted():
    codes, y = repeated_feature(n_copies=3)
    layout = make_layout(ParentSets.from_lists([[-1], [0], [(0, 1)]]), [2] * 3, 2)
    network = learn(layout, codes, y, np.ones(len(y)))
    counted = Counted.of(count(layout, codes, y, np.ones(len(y))))
    assert any(
        np.allclose(network.cpt(2), layout.cpt(counted.smoothed(factor).values, 2), atol=1e-5)
        for factor in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    )
    np.testing.assert_allclose(network.cpt(2).sum(axis=1), 1.0, atol=1e-5)


def test_unknown_values_and_weights_are_taken():
    codes, y = repeated_feature(200)
    codes = codes.copy()
    codes[::3, 1] = 2
    weight = np.random.default_rng(1).uniform(0.1, 2.0, 200)
    network = learn(make_layout(naive_bayes(6), [2] * 6, 2), codes, y, weight)
    same = learn(make_layout(naive_bayes(6), [2] * 6, 2), codes, y, 3.5 * weight)
    assert np.isfinite(network.theta).all()
    np.testing.assert_allclose(network.theta, same.theta, atol=1e-5)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_few_rows_and_one_class(n_rows):
    codes, y = repeated_feature(n_rows)
    for n_classes, classes in ((2, y), (1, np.zeros_like(y))):
        network = learn(make_layout(naive_bayes(6), [2] * 6, n_classes), codes, classes, np.ones(n_rows))
        assert np.isfinite(network.log_joint(codes)).all()
