"""Features on a ring, such as the hours of a day or sensors around a mast, as structures of Tanager.

`Ring` is a search space: the parent of a feature is one of its neighbours on the ring, or none. `CutRing` narrows that
space down to one path before anything is trained.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.model_selection import train_test_split

from tanager import ChowLiu, Counts, Free, GradientDescent, NoParents, TANClassifier
from tanager.learning.structures import StructureOptions
from tanager.structure import ParentSets, fixed_parents


class Ring(StructureOptions):
    """Neighbours on the ring as candidate parents; training chooses among them.

    Parameters
    ----------
    reach : int, default=1
        How many steps away on the ring, in either direction, a parent may be.
    """

    forest: ClassVar[str] = "project"  # there is no ordering, so cycles must be broken at the end

    reach: int = 1

    def __post_init__(self) -> None:
        if self.reach < 1:
            raise ValueError(f"reach must be at least 1, got {self.reach!r}")

    def space(self, context, rng):
        """The candidate parents of each feature, -1 ("no parent") among them."""
        n = context.n_features
        steps = [step for step in range(-self.reach, self.reach + 1) if step != 0]
        return ParentSets.from_lists([[-1, *sorted({(i + step) % n for step in steps} - {i})] for i in range(n)])


class CutRing(StructureOptions):
    """The ring, cut between the two neighbours that tell least about each other: one path, and nothing to search."""

    is_fixed: ClassVar[bool] = True  # so its CPTs can be counted

    def space(self, context, rng):
        """The candidates: for each feature the one before it on the ring, or none."""
        n = context.n_features
        return ParentSets.from_lists([[-1] if n == 1 else [-1, (i - 1) % n] for i in range(n)])

    def search(self, space, context, rng):
        """What is left after the cut."""
        features = np.arange(context.n_features)
        before = np.roll(features, 1)
        parents = before.copy()
        parents[context.scores("information")[features, before].argmin()] = -1
        return fixed_parents(parents)


def make_ring(n_rows=4000, n_features=12, seed=0):
    """Sensors on a ring, of which each repeats its left neighbour in one class and contradicts it in the other.

    One sensor of the ring is independent of the one before it: the place to cut.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    X = np.empty((n_rows, n_features), int)
    X[:, 0] = rng.integers(0, 2, n_rows)
    for i in range(1, n_features):
        is_copied = rng.random(n_rows) < np.where(y == 1, 0.6, 0.4)
        X[:, i] = np.where(is_copied, X[:, i - 1], 1 - X[:, i - 1])
    return np.roll(X, 5, axis=1), y


def compare(n_rows=100):
    """Test error in % after training on few rows, where knowing the ring helps most."""
    X, X_test, y, y_test = train_test_split(*make_ring(), train_size=n_rows, random_state=0)
    trained = GradientDescent(loss="conditional", epochs=20)
    classifiers = {
        "naive Bayes, counted": TANClassifier(NoParents(), Counts()),
        "Chow-Liu tree, counted": TANClassifier(ChowLiu(), Counts()),
        "free search, trained": TANClassifier(Free(), trained, random_state=0),
        "ring, trained": TANClassifier(Ring(), trained, random_state=0),
        "ring, reach 3, trained": TANClassifier(Ring(reach=3), trained, random_state=0),
        "cut ring, counted": TANClassifier(CutRing(), Counts()),
    }
    return {name: 100 * (1 - clf.fit(X, y).score(X_test, y_test)) for name, clf in classifiers.items()}


if __name__ == "__main__":
    for name, error in compare().items():
        print(f"{name:22} error {error:.1f} %")
