"""A classifier whose features have many values as children and groups of them as parents."""

import numpy as np
import pandas as pd

from tanager import Companion, DisjointTrees, GradientDescent, TANClassifier, TANEnsembleClassifier

NAMES = ["age", "height", "town", "pets", "weight"]
PARENTS = [-1, 0, 1, 2, 2]


def people(n_rows=1500, seed=0):
    """Whole numbers, numbers with missing cells, a category of 30 values, a few whole numbers, and numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    frame = pd.DataFrame(
        {
            "age": np.clip(rng.normal(30 + 8 * y, 9), 17, 80).astype(int),
            "height": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(1.7 + 0.05 * y, 0.1).round(3)),
            "town": [f"town {k}" for k in np.minimum(rng.geometric(0.1, n_rows) + 3 * y, 30)],
            "pets": np.minimum(rng.poisson(1 + y), 4),
            "weight": rng.lognormal(9 + 0.3 * y, 0.5),
        }
    )
    return frame, np.array(["low", "middle", "high"])[y]


def fine_classifier(parents=PARENTS, **options):
    """The classifier and its rows; every feature but "pets" has fewer groups than values."""
    frame, y = people()
    clf = TANClassifier(parents, "penalised", random_state=0, **options).fit(frame, y)
    groups = clf.network_.layout.groups
    assert (groups.cards < clf.network_.cards).tolist() == [True, True, True, False, True]
    return clf, frame


def with_companion(**options):
    """Trees of smooth effects with a companion that was trained for a margin."""
    companion = Companion(DisjointTrees(2), GradientDescent(epochs=5))
    members = DisjointTrees(2, "residual")
    return TANEnsembleClassifier(members, "penalised", companion=companion, random_state=0, **options).fit(*people())
