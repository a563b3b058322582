"""What training rows say about structures before any training: scores of pairs, and searches by closed-form tables."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import FloatArray
from tanager.estimators.fitting import Rows
from tanager.model import make_layout, pair_scores
from tanager.structure import ParentSets
from tanager.training import StructureSearch


@dataclass(frozen=True)
class Evidence:
    """Encoded rows and what is needed to count them.

    Attributes
    ----------
    rows : Rows
    cards : int64 array of shape (D,)
    n_classes : int
    smoothing : float
        Added to each cell of the counts that searches go by.
    n_threads : int
    is_verbose : bool
    """

    rows: Rows
    cards: NDArray[np.int64]
    n_classes: int
    smoothing: float
    n_threads: int
    is_verbose: bool = False

    def scores(self, name: str) -> FloatArray:
        """Scores of all pairs of features, float64[D, D] (see `tanager.model.pair_scores`)."""
        rows = (self.rows.codes, self.rows.y, self.rows.full_weight())
        with Crew(self.n_threads) as crew:
            return pair_scores(name, rows, self.cards, self.n_classes, crew)

    def search(self, search: StructureSearch, parent_sets: ParentSets, rng: np.random.Generator) -> NDArray[np.int64]:
        """Parents that a search finds among the candidates, int64[D]."""
        rows = (self.rows.codes, self.rows.y, self.rows.full_weight())
        layout = make_layout(parent_sets, self.cards, self.n_classes)
        report = _show if self.is_verbose else None
        with Crew(self.n_threads) as crew:
            found = search.run(layout, rows, self.smoothing, rng, crew=crew, report=report)
        if self.is_verbose:
            sys.stderr.write("\n")
        return parent_sets.select(found.selected)


def _show(n_moves: int, score: float) -> None:
    """Rewrite one line on the terminal."""
    sys.stderr.write(f"\rmove {n_moves}  score {score:.6g} ")
    sys.stderr.flush()
