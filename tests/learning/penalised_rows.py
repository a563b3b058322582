"""Rows to fit penalised effects to, and parameters for them with and without given strengths."""

import numpy as np

from tanager import PenalisedLikelihood, TANClassifier
from tanager.learning import Context, Rows, strengths

GIVEN = PenalisedLikelihood(main=1.0, pairs=1.0)
TUNED = PenalisedLikelihood()


def numbers(n_rows=200, n_classes=2, n_features=4, seed=0):
    """Numbers of which some tell the class, two of them together only."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, n_features))
    score = 2 * X[:, 0] + 3 * X[:, -1] * X[:, -2] + rng.normal(scale=0.5, size=n_rows)
    return X, np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)


def make_context(n_rows=300, n_classes=3, n_threads=1, seed=0):
    """Two ordered features of 20 values, one of them with missing cells, and a category of 30."""
    rng = np.random.default_rng(seed)
    cards = np.array([20, 21, 30])
    codes = np.stack([rng.integers(0, card, n_rows) for card in cards], axis=1).astype(np.uint8)
    score = codes[:, 0] / 5 + (codes[:, 1] > 9) * (codes[:, 2] % 3) + rng.normal(size=n_rows)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    return Context(Rows(codes, y, None, cards, n_classes, np.array([20, 20, 0])), n_threads)


def hold_out_one_part_of_more(n_rows, monkeypatch):
    """Where there are more rows than these, one part of them is held out in place of three."""
    monkeypatch.setattr(strengths, "_MANY_ROWS", n_rows)
    monkeypatch.setattr("tanager.learning.rows._FEW_ROWS", n_rows)


def fit(X, y, structure="chow-liu", parameters=GIVEN, weight=None, **options):
    return TANClassifier(structure, parameters, **{"random_state": 0, **options}).fit(X, y, weight)
