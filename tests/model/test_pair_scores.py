"""Scores of pairs: each by its definition, on rows where it is known which pair tells the class."""

import numpy as np
import pytest

from tanager._threads import Crew
from tanager.model import conditional_mutual_information, pair_scores
from tests.oracles import loss_oracle

NAMES = ["information", "explaining-away", "conditional", "margin"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y, codes = rng.integers(0, 3, 400), rng.integers(0, 3, (400, 20))
    codes[:, 18] = (codes[:, 3] + y) % 3  # tells the class together with feature 3
    codes[:, 1] = np.where(rng.random(400) < 0.9, codes[:, 0], codes[:, 1])  # depends on it whatever the class
    return codes, y, np.ones(400)


CARDS = np.full(20, 3)


@pytest.mark.parametrize("name", NAMES)
def test_the_pair_that_tells_the_class_comes_first(rows, name):
    scores = pair_scores(name, rows, CARDS, 3)
    assert scores.shape == (20, 20)
    np.testing.assert_array_equal(scores, scores.T)
    assert (np.diagonal(scores) == 0).all()
    np.fill_diagonal(scores, -np.inf)
    assert scores[3].argmax() == 18
    if name != "information":
        assert scores[0, 1] < 0.1 * scores[3, 18]


def test_information_and_what_it_loses_without_the_class(rows):
    codes, y, weight = rows
    expected = conditional_mutual_information(codes, y, weight, CARDS)
    np.testing.assert_array_equal(pair_scores("information", rows, CARDS, 3), expected)
    both = pair_scores("explaining-away", rows, CARDS, 3)
    joint = np.histogram2d(codes[:, 3], codes[:, 18], bins=3)[0] / 400
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert expected[3, 18] - both[3, 18] == pytest.approx((joint * np.log(joint / apart)).sum())


def test_conditional_gain_by_counting(rows):
    """Each row's own class is counted without the row."""
    codes, y, _ = rows

    def log_joint(parent):
        out = np.zeros((400, 3))
        for n in range(400):
            for c in range(3):
                is_counted = (y == c) & ((np.arange(400) != n) | (c != y[n]))
                out[n, c] = np.log(((y == c).sum() + 1) / 403)
                for i in range(20):
                    held = is_counted if i != 18 or parent < 0 else is_counted & (codes[:, parent] == codes[n, parent])
                    out[n, c] += np.log(((codes[held, i] == codes[n, i]).sum() + 1) / (held.sum() + 3))
        return out

    means = [
        np.mean([line[label] - loss_oracle.log_sum_exp(line) for line, label in zip(log_joint(j), y, strict=True)])
        for j in (-1, 3)
    ]
    assert pair_scores("conditional", rows, CARDS, 3)[18, 3] == pytest.approx(means[1] - means[0], abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_threads_do_not_change_scores(rows, name):
    with Crew(3) as crew:
        np.testing.assert_array_equal(pair_scores(name, rows, CARDS, 3, crew), pair_scores(name, rows, CARDS, 3))


def test_unknown_names():
    with pytest.raises(ValueError, match="score must be 'information'"):
        pair_scores("luck", (np.zeros((2, 1), int), np.zeros(2, int), np.ones(2)), np.array([1]), 1)
