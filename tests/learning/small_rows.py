"""Rows to learn parameters from in a moment, and what learning gave."""

import numpy as np

from tanager.learning import Context, Rows
from tanager.model import make_layout
from tanager.structure import all_candidates

CARDS, N_CLASSES = np.array([3, 2, 4, 2]), 3


def a_context(n_rows=200, weight=None, **options):
    """Rows whose features depend on the class and on each other."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=n_rows)
    codes = rng.integers(0, CARDS, size=(n_rows, 4), dtype=np.uint8)
    codes[:, 1] = (codes[:, 0] + y) % 2
    codes[:, 2] = np.where(rng.random(n_rows) < 0.6, y + codes[:, 3], codes[:, 2])
    return Context(Rows(codes, y, weight, CARDS, N_CLASSES, n_ordered=CARDS), **options)


def lay_out(*spaces):
    return [make_layout(space, CARDS, N_CLASSES) for space in spaces]


def learn(parameters, space=None, *, context=None, seed=3, forest=None):
    layouts = lay_out(space or all_candidates(range(4)))
    (fitted,) = parameters.learn(layouts, context or a_context(), seed, forest)
    return fitted


def bits(fitted):
    """What learning gave, to the last bit."""
    network = fitted.network
    arrays = (network.theta, network.log_prior, network.parents, fitted.distribution.phi, *fitted.path.snapshots)
    return [array.tobytes() for array in arrays] + [fitted.history.to_arrays()["loss"].tobytes()]


def seven_features(n_features=7):
    """Rows of seven features or another number, of three values each, in three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    codes = (rng.integers(0, 3, (200, n_features)) + y[:, None] * rng.integers(0, 2, (200, n_features))) % 3
    return Context(Rows(codes.astype(np.uint8), y, None, np.full(n_features, 3), 3))
