"""Rows of nine features, and the spaces that structures give for them."""

import numpy as np
from sklearn.datasets import make_classification

from tanager.learning import Rows
from tanager.model import pair_scores

N_FEATURES, N_VALUES, N_CLASSES = 9, 4, 3
ORDER = [8, 3, 5, 0, 1, 7, 2, 6, 4]
SCORES = ["information", "explaining-away", "conditional", "margin"]


def rows_of(n_features=N_FEATURES, n_rows=400):
    """Numbers cut at their quartiles, in three classes."""
    X, y = make_classification(n_rows, N_FEATURES, n_informative=6, n_classes=N_CLASSES, random_state=1)
    codes = np.column_stack([np.searchsorted(np.quantile(x, [0.25, 0.5, 0.75]), x) for x in X.T[:n_features]])
    return Rows(codes.astype(np.uint8), y, None, np.full(n_features, N_VALUES), N_CLASSES)


def space_of(structure, context, seed=0):
    return structure.space(context, np.random.default_rng(seed))


def candidates_of(structure, context, seed=0):
    """Candidates of each feature, as sets."""
    return [set(candidates) for candidates in space_of(structure, context, seed).to_lists()]


def scores_of(context, name):
    rows = context.rows
    return pair_scores(name, (rows.codes, rows.y, np.ones(len(rows.y))), rows.cards, rows.n_classes)
