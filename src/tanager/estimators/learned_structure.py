"""What a fitted classifier says of its structure, read off its network and its parent distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._types import FloatArray
from tanager.model import Network, ParentDistribution


class StructureMixin:
    """Adds the parents of the features and their probabilities."""

    network_: Network
    _distribution: ParentDistribution

    @property
    def parents_(self) -> NDArray[np.int64]:
        """Extra parent of each feature, (D,), -1 for none; the first where there are two."""
        check_is_fitted(self)
        return self.network_.members[:, 0]

    @property
    def second_parents_(self) -> NDArray[np.int64]:
        """The other extra parent of features that have two, (D,), -1 for the rest."""
        check_is_fitted(self)
        return self.network_.members[:, 1]

    @property
    def parent_pairs_(self) -> NDArray[np.int64]:
        """Pairs of parents that were candidates, (P, 2)."""
        check_is_fitted(self)
        return self._distribution.parent_sets.pairs

    @property
    def parent_probabilities_(self) -> FloatArray:
        """Learned probability of each parent of each feature, (D, D + 1); the last column is for no parent.

        A pair of parents counts for both, so that a row with pairs may sum to more than one.
        """
        check_is_fitted(self)
        return self._distribution.matrix()
